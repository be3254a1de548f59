"""Check the replies that many processes got from one log of commits: does an order explain them all?

Imports nothing of the project: whoever records a history fills in these values.
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

LANDED, OPEN, REFUSED = "landed", "open", "refused"


@dataclass(frozen=True)
class Commit:
    """A commit as the process that requested it knows it.

    Args:
        who: the process.
        what: ``append``, ``alter``, ...
        began, ended: seconds of one clock for all processes.
        outcome: ``landed``, ``open`` (the outcome is unknown to it) or ``refused``.
        version: the version that it was given; None unless it landed.
        rows: the rows that it appended.
    """

    who: str
    what: str
    began: float
    ended: float
    outcome: str
    version: int | None = None
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Look:
    """What a reader saw.

    Args:
        who: the process.
        began, ended: seconds; ``began`` is when it requested the newest version.
        version: the version that it read.
        newest: whether it read the newest version; otherwise it traveled in time.
        span: it read the rows from the first of these up to, but without, the second.
        seen: the rows, for each time that it read them.
        count: the number of all rows that it was given; None if it did not request that.
    """

    who: str
    began: float
    ended: float
    version: int
    newest: bool
    span: tuple[int, int]
    seen: tuple[tuple[int, ...], ...]
    count: int | None = None


@dataclass(frozen=True)
class Log:
    """The log after the run.

    Args:
        operations: the operation of each version.
        rows: the rows that each version added.
    """

    operations: Mapping[int, str]
    rows: Mapping[int, Sequence[int]] = field(default_factory=dict)


def findings(commits: Sequence[Commit], looks: Sequence[Look], log: Log) -> list[str]:
    """What no order of the commits explains; empty if the history is consistent."""
    return [
        *_gaps(log),
        *_acknowledged(commits, log),
        *_rows(commits, log),
        *_real_time(commits, looks),
        *_seen(looks, log),
    ]


def _gaps(log: Log) -> Iterable[str]:
    if sorted(log.operations) != list(range(len(log.operations))):
        yield "the versions have gaps"
    if strange := set(log.rows) - set(log.operations):
        yield f"rows of versions that do not exist: {sorted(strange)[:5]}"


def _acknowledged(commits: Sequence[Commit], log: Log) -> Iterable[str]:
    """Every version that a process was given exists once, with the operation that it requested."""
    landed = [commit for commit in commits if commit.outcome == LANDED]
    for version, count in Counter(commit.version for commit in landed).items():
        if count > 1:
            yield f"version {version} was given {count} times"
    for commit in landed:
        if commit.version is None or log.operations.get(commit.version) != commit.what:
            yield f"lost: {commit.what} {commit.version} of {commit.who}"
    for what in {commit.what for commit in commits}:
        there = sum(operation == what for operation in log.operations.values())
        sure = sum(commit.what == what for commit in landed)
        maybe = sum(commit.what == what and commit.outcome == OPEN for commit in commits)
        if not sure <= there <= sure + maybe:
            yield f"{there} of {what}, where {sure} were acknowledged and {maybe} left open"


def _rows(commits: Sequence[Commit], log: Log) -> Iterable[str]:
    """The rows of every append are all there once, or not at all."""
    at: dict[int, list[int]] = {}
    for version, rows in log.rows.items():
        for row in rows:
            at.setdefault(row, []).append(version)
    for commit in commits:
        places = [at.pop(row, []) for row in commit.rows]
        found = {version for place in places for version in place}
        if any(len(place) > 1 for place in places):
            yield f"duplicate: {commit.rows} of {commit.who} at {sorted(found)}"
        elif len(found) > 1 or len({len(place) for place in places}) > 1:
            yield f"half committed: {commit.rows} of {commit.who} at {sorted(found)}"
        elif commit.outcome == LANDED and commit.rows and found != {commit.version}:
            yield f"lost: {commit.rows} of {commit.who}, given {commit.version}, at {sorted(found)}"
        elif commit.outcome == REFUSED and found:
            yield f"refused, but committed: {commit.rows} of {commit.who} at {sorted(found)}"
    if at:
        yield f"rows that no commit wrote: {sorted(at)[:5]}"


def _real_time(commits: Sequence[Commit], looks: Sequence[Look]) -> Iterable[str]:
    """A commit that ended before another began is ordered before it: linearizability.

    A read of the newest version is ordered right after that version.
    """
    points = [
        (c.began, c.ended, c.version, False, f"{c.what} of {c.who}") for c in _versions(commits)
    ]
    points += [(k.began, k.ended, k.version, True, f"a look of {k.who}") for k in looks if k.newest]
    ended = sorted((end, version, name) for _, end, version, _, name in points)
    times = [end for end, _, _ in ended]
    newest = list(itertools.accumulate(ended, lambda a, b: max(a, b, key=lambda one: one[1])))
    for began, _, version, is_look, name in points:
        before = bisect.bisect_left(times, began)
        if before and (newest[before - 1][1] > version - (0 if is_look else 1)):
            _, other, theirs = newest[before - 1]
            yield f"{name} at {version} began after {theirs} at {other} had ended"


def _versions(commits: Sequence[Commit]) -> Iterable[Commit]:
    return (commit for commit in commits if commit.outcome == LANDED and commit.version is not None)


def _seen(looks: Sequence[Look], log: Log) -> Iterable[str]:
    """Readers saw the sum of the commits up to their version, each time that they read."""
    versions = sorted(log.operations)
    totals = list(itertools.accumulate(len(log.rows.get(version, ())) for version in versions))
    rows = sorted((row, version) for version, added in log.rows.items() for row in added)
    for look in looks:
        begin, end = (bisect.bisect_left(rows, (bound, -1)) for bound in look.span)
        expected = [row for row, version in rows[begin:end] if version <= look.version]
        for seen in look.seen:
            if sorted(seen) != expected:
                wrong = sorted((Counter(seen) - Counter(expected)).elements())[:5]
                missing = sorted((Counter(expected) - Counter(seen)).elements())[:5]
                yield f"{look.who} at {look.version} saw {wrong}, did not see {missing}"
        if look.version not in log.operations:
            yield f"{look.who} read {look.version}, which does not exist"
        elif look.count is not None and look.count != totals[look.version]:
            yield f"{look.who} at {look.version} counted {look.count}, not {totals[look.version]}"
