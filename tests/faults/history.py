"""Judges what many processes were told by one log of commits: is there an order that explains it all?

Imports nothing of ours: whoever records a history fills in these values.
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
    """A commit as the process knows it that asked for it.

    Args:
        who: the process.
        what: ``append``, ``alter``, ...
        began, ended: seconds of one clock for all processes.
        outcome: ``landed``, ``open`` (it was told that nobody knows) or ``refused``.
        version: what it was told; None unless it landed.
        rows: what it appended.
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
        began, ended: seconds; ``began`` is when it asked for the newest version.
        version: the version it read.
        newest: whether that was the newest there was; else it travelled in time.
        span: it looked for rows from the first of these up to, but without, the second.
        seen: for each time it read them, the rows.
        count: how many rows it was told there are in all; None if it did not ask.
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
    """The log afterwards.

    Args:
        operations: of each version.
        rows: what each version added.
    """

    operations: Mapping[int, str]
    rows: Mapping[int, Sequence[int]] = field(default_factory=dict)


def complaints(commits: Sequence[Commit], looks: Sequence[Look], log: Log) -> list[str]:
    """What no order of the commits explains; empty if all is well."""
    return [
        *_gaps(log),
        *_told(commits, log),
        *_rows(commits, log),
        *_real_time(commits, looks),
        *_seen(looks, log),
    ]


def _gaps(log: Log) -> Iterable[str]:
    if sorted(log.operations) != list(range(len(log.operations))):
        yield "the versions have gaps"
    if strange := set(log.rows) - set(log.operations):
        yield f"rows of versions that are not there: {sorted(strange)[:5]}"


def _told(commits: Sequence[Commit], log: Log) -> Iterable[str]:
    """Versions that were told are there, once, as what they are."""
    landed = [commit for commit in commits if commit.outcome == LANDED]
    for version, count in Counter(commit.version for commit in landed).items():
        if count > 1:
            yield f"version {version} was told {count} times"
    for commit in landed:
        if commit.version is None or log.operations.get(commit.version) != commit.what:
            yield f"lost: {commit.what} {commit.version} of {commit.who}"
    for what in {commit.what for commit in commits}:
        there = sum(operation == what for operation in log.operations.values())
        sure = sum(commit.what == what for commit in landed)
        maybe = sum(commit.what == what and commit.outcome == OPEN for commit in commits)
        if not sure <= there <= sure + maybe:
            yield f"{there} of {what}, where {sure} were told and {maybe} left open"


def _rows(commits: Sequence[Commit], log: Log) -> Iterable[str]:
    """Every append is there whole and once, or not at all."""
    at: dict[int, list[int]] = {}
    for version, rows in log.rows.items():
        for row in rows:
            at.setdefault(row, []).append(version)
    for commit in commits:
        places = [at.pop(row, []) for row in commit.rows]
        found = {version for place in places for version in place}
        if any(len(place) > 1 for place in places):
            yield f"doubled: {commit.rows} of {commit.who} at {sorted(found)}"
        elif len(found) > 1 or len({len(place) for place in places}) > 1:
            yield f"half there: {commit.rows} of {commit.who} at {sorted(found)}"
        elif commit.outcome == LANDED and commit.rows and found != {commit.version}:
            yield f"lost: {commit.rows} of {commit.who}, told {commit.version}, at {sorted(found)}"
        elif commit.outcome == REFUSED and found:
            yield f"refused, and there: {commit.rows} of {commit.who} at {sorted(found)}"
    if at:
        yield f"rows that nobody wrote: {sorted(at)[:5]}"


def _real_time(commits: Sequence[Commit], looks: Sequence[Look]) -> Iterable[str]:
    """What ended before another began stands before it: linearizability.

    A look at the newest version stands where that version does, or right after it.
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
    """Readers saw the sum of the commits up to their version, whenever they read it."""
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
            yield f"{look.who} read {look.version}, which is not there"
        elif look.count is not None and look.count != totals[look.version]:
            yield f"{look.who} at {look.version} counted {look.count}, not {totals[look.version]}"
