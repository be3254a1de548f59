"""What a proxy does to which request: told one by one, or drawn from a seed."""

from __future__ import annotations

import enum
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self


class Fault(enum.StrEnum):
    """What happens to one request. *Before*: the server never sees it. *After*: it took effect."""

    DELAY = "delayed"
    DROP_REQUEST = "dropped"
    DROP_REPLY = "its reply dropped"
    LATE = "dropped, and arrives later"
    LATE_409 = "409, and arrives later"
    CUT_REQUEST = "cut in its body"
    CUT_REPLY = "its reply cut"
    HANG = "never answered"
    ERROR_500 = "500 before"
    ERROR_503 = "503 before"
    ERROR_409 = "409 before"
    ERROR_403 = "403 before"
    ERROR_500_AFTER = "500 after"
    ERROR_503_AFTER = "503 after"
    ERROR_409_AFTER = "409 after"
    NO_UPLOAD_AFTER = "404 NoSuchUpload after"
    UNCONDITIONAL = "its condition left out"
    LOSER_TOLD_WON = "412 turned into 200"
    KILL_BEFORE = "its client killed before"
    KILL_AFTER = "its client killed after"


CONDITIONAL = (Fault.ERROR_409, Fault.ERROR_409_AFTER, Fault.LATE_409)
"""What only happens to a put with a condition."""


STUCK, STUCK_SECONDS = 100, 6.0


@dataclass(frozen=True)
class Asked:
    """A request, as rules see it.

    Args:
        method: of HTTP.
        path: bucket and key, with the query.
        conditional: whether it has ``If-None-Match``.
        name: method and path without what is random in them.
    """

    method: str
    path: str
    conditional: bool

    @property
    def name(self) -> str:
        return f"{self.method} {shape(self.path)}"


def shape(path: str) -> str:
    """A path without what is random in it, and without its bucket and first folder."""
    path, _, query = path.partition("?")
    path = path.lstrip("/").partition("/")[2].partition("/")[2]
    path = re.sub(r"[0-9a-f]{32}|[0-9a-f-]{36}", "ID", path)
    path = re.sub(r"data/[0-9]+-", "data/N-", path)
    names = [part.partition("=")[0] for part in query.split("&") if part]
    return path + ("?" + "&".join(sorted(names)) if names else "")


@dataclass(frozen=True)
class Rule:
    """A fault for chosen requests.

    Args:
        fault: what happens.
        method, path: the method, and a pattern that is searched for in the path.
        name: method and path without what is random; empty for any.
        skip: how many of these go unharmed first.
        times: how many are struck then.
        client: the process to kill; all of its session, where it leads one.
        seconds: of delays.
    """

    fault: Fault
    method: str = "[A-Z]+"
    path: str = ""
    name: str = ""
    skip: int = 0
    times: int = 1
    client: int = 0
    seconds: float = 0.1

    def fits(self, asked: Asked) -> bool:
        if self.name not in ("", asked.name):
            return False
        return bool(re.fullmatch(self.method, asked.method) and re.search(self.path, asked.path))


@dataclass(frozen=True)
class Random:
    """Faults by chance.

    The n-th request of a name (method and path) meets the same fault whenever the seed is the same,
    in whatever order the requests of several clients come.

    Args:
        seed: of the draws.
        rates: how often each fault happens, by name; adding up to 1 at most.
        seconds: the longest delay.
        stuck: how many of the names that are put with a condition get no answer for ``STUCK`` requests;
            every second of them arrives later.
    """

    seed: int
    rates: Mapping[str, float]
    seconds: float = 0.2
    stuck: float = 0.0

    def draw(self, asked: Asked, number: int) -> tuple[Fault, float] | None:
        if asked.conditional and number <= STUCK:
            drawn = _fraction(f"{self.seed} {asked.name}")
            if drawn < self.stuck:
                return (
                    Fault.ERROR_409 if drawn < self.stuck / 2 else Fault.LATE_409
                ), STUCK_SECONDS
        drawn = _fraction(f"{self.seed} {number} {asked.name}")
        for name, rate in self.rates.items():
            if drawn < rate:
                fault = Fault[name]
                if fault in CONDITIONAL and not asked.conditional:
                    return None
                return fault, self.seconds * drawn / rate
            drawn -= rate
        return None


def _fraction(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) / 2**64


@dataclass
class Rules:
    """All that a proxy goes by, and how far it is.

    Args:
        rules: the first that fits and is not used up counts.
        random: by chance, for what no rule fits.
    """

    rules: tuple[Rule, ...] = ()
    random: Random | None = None
    _met: Counter[Any] = field(default_factory=Counter)

    def fault_of(self, asked: Asked) -> tuple[Fault, float, int] | None:
        """The fault, seconds and the client of a request; counts it."""
        for at, rule in enumerate(self.rules):
            if rule.fits(asked):
                self._met[at] += 1
                if rule.skip < self._met[at] <= rule.skip + rule.times:
                    return rule.fault, rule.seconds, rule.client
        if self.random is None:
            return None
        self._met[asked.name] += 1
        drawn = self.random.draw(asked, self._met[asked.name])
        return None if drawn is None else (*drawn, 0)

    def to_json(self) -> dict[str, Any]:
        random = None if self.random is None else asdict(self.random)
        return {"rules": [asdict(rule) for rule in self.rules], "random": random}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        rules = (Rule(**{**rule, "fault": Fault(rule["fault"])}) for rule in told["rules"])
        random = told["random"]
        return cls(tuple(rules), None if random is None else Random(**random))
