"""The targets of the fuzzer, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fuzz import stored, written


@dataclass(frozen=True)
class Target:
    """A parser to be fuzzed.

    Args:
        make: creates an input.
        attempt: feeds an input to the parser; an exception is a finding.
    """

    make: Callable[[Random], bytes]
    attempt: Callable[[bytes], None]


TARGETS = {
    name: Target(make, attempt) for name, make, attempt in [*stored.targets(), *written.targets()]
}


def _make_any(random: Random) -> bytes:
    name = random.choice(sorted(set(TARGETS) - {ANY}))
    return name.encode() + b"\n" + TARGETS[name].make(random)


def _attempt_any(data: bytes) -> None:
    name, _, inner = data.partition(b"\n")
    TARGETS[name.decode()].attempt(inner)


ANY = "any"
TARGETS[ANY] = Target(_make_any, _attempt_any)
