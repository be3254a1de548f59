"""Rules for the faults of a proxy: for chosen requests, or at random by a seed."""

from __future__ import annotations

import enum
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self


class Fault(enum.StrEnum):
    """The fault of a request. *Before*: the server never sees it. *After*: it took effect."""

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
"""Faults that only conditional puts meet."""


STUCK, STUCK_SECONDS = 100, 6.0


@dataclass(frozen=True)
class Request:
    """The properties of a request that rules match.

    Args:
        method: the HTTP method.
        path: bucket, key and query.
        conditional: whether it has the header ``If-None-Match``.
        name: method and path without their random parts.
    """

    method: str
    path: str
    conditional: bool

    @property
    def name(self) -> str:
        return f"{self.method} {shape(self.path)}"


def shape(path: str) -> str:
    """A path without its random parts, its bucket and its first folder."""
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
        fault: the fault.
        method, path: patterns of the method, and of a part of the path.
        name: method and path without their random parts; empty for any.
        skip: how many of the matching requests are passed on first.
        times: how many of them meet the fault after that.
        client: the process to kill, with its session if it leads one.
        seconds: the length of a delay.
    """

    fault: Fault
    method: str = "[A-Z]+"
    path: str = ""
    name: str = ""
    skip: int = 0
    times: int = 1
    client: int = 0
    seconds: float = 0.1

    def fits(self, request: Request) -> bool:
        if self.name not in ("", request.name):
            return False
        return bool(
            re.fullmatch(self.method, request.method) and re.search(self.path, request.path)
        )


@dataclass(frozen=True)
class Random:
    """Random faults.

    The n-th request of a name (method and path) meets the same fault for the same seed, whatever the
    order of the requests of several clients.

    Args:
        seed: the seed.
        rates: the probability of each fault, by its name; their sum is at most 1.
        seconds: the longest delay.
        stuck: the share of conditionally put names whose first ``STUCK`` requests get 409; the requests
            of half of these names arrive later.
    """

    seed: int
    rates: Mapping[str, float]
    seconds: float = 0.2
    stuck: float = 0.0

    def draw(self, request: Request, number: int) -> tuple[Fault, float] | None:
        if request.conditional and number <= STUCK:
            drawn = _fraction(f"{self.seed} {request.name}")
            if drawn < self.stuck:
                return (
                    Fault.ERROR_409 if drawn < self.stuck / 2 else Fault.LATE_409
                ), STUCK_SECONDS
        drawn = _fraction(f"{self.seed} {number} {request.name}")
        for name, rate in self.rates.items():
            if drawn < rate:
                fault = Fault[name]
                if fault in CONDITIONAL and not request.conditional:
                    return None
                return fault, self.seconds * drawn / rate
            drawn -= rate
        return None


def _fraction(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) / 2**64


@dataclass
class Rules:
    """The rules of a proxy, and the number of requests that each has matched.

    Args:
        rules: the first rule that matches and is not used up applies.
        random: random faults for requests that no rule applies to.
    """

    rules: tuple[Rule, ...] = ()
    random: Random | None = None
    _matched: Counter[Any] = field(default_factory=Counter)

    def fault_of(self, request: Request) -> tuple[Fault, float, int] | None:
        """Count a request; return its fault, the seconds of delay and the client to kill."""
        for at, rule in enumerate(self.rules):
            if rule.fits(request):
                self._matched[at] += 1
                if rule.skip < self._matched[at] <= rule.skip + rule.times:
                    return rule.fault, rule.seconds, rule.client
        if self.random is None:
            return None
        self._matched[request.name] += 1
        drawn = self.random.draw(request, self._matched[request.name])
        return None if drawn is None else (*drawn, 0)

    def to_json(self) -> dict[str, Any]:
        random = None if self.random is None else asdict(self.random)
        return {"rules": [asdict(rule) for rule in self.rules], "random": random}

    @classmethod
    def from_json(cls, members: dict[str, Any]) -> Self:
        rules = (Rule(**{**rule, "fault": Fault(rule["fault"])}) for rule in members["rules"])
        random = members["random"]
        return cls(tuple(rules), None if random is None else Random(**random))
