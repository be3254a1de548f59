"""What is fuzzed, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fuzz import stored


@dataclass(frozen=True)
class Target:
    """Something that is parsed.

    Args:
        make: an input.
        attempt: feeds an input to it; whatever it raises is a finding.
    """

    make: Callable[[Random], bytes]
    attempt: Callable[[bytes], None]


TARGETS = {name: Target(make, attempt) for name, make, attempt in [*stored.targets()]}
