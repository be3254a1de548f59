"""Check an interleaving of transactions by the states of its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

Row = tuple[int, int, int]
"""A row: its permanent number, the key that filters use, and a counter."""

State = tuple[Row, ...]


@dataclass(frozen=True)
class Done:
    """An acknowledged transaction.

    Args:
        what: ``append``, ``delete``, ``increment``, ``replace``, ``alter`` or ``rollback``.
        base, version: its base version, and the version that it was given; None for a
            version if it had nothing to do.
        key: the key of the rows that it read.
        rows: the rows that it added.
        to: the version that it rolled back to.
    """

    what: str
    base: int
    version: int | None
    key: int = 0
    rows: tuple[Row, ...] = ()
    to: int = 0


def findings(history: list[Done], states: list[State], *, serializable: bool) -> list[str]:
    """What neither snapshot isolation nor, if ``serializable``, a serial order explains."""
    found = [text for done in history for text in _of_one(done, states, serializable)]
    given = Counter(done.version for done in history if done.version is not None)
    found += [f"{v} was given twice" for v, count in given.items() if count > 1]
    return found


def _of_one(done: Done, states: list[State], serializable: bool) -> Iterable[str]:
    base = states[done.base]
    seen = [row for row in base if row[1] == done.key] if done.what in READS else []
    if done.version is None:
        if seen:
            yield f"{done}: it did nothing, although rows matched"
        return
    before, after = states[done.version - 1], states[done.version]
    if missing := Counter(seen) - Counter(before):
        yield f"{done}: a lost update of {sorted(missing)}"
    if serializable and done.what in READS:
        now = [row for row in before if row[1] == done.key]
        if Counter(now) != Counter(seen):
            yield f"{done}: write skew, it read {seen}, and the rows before it were {now}"
    if done.what == "rollback":
        expected = Counter(states[done.to])
        if Counter(before) != Counter(base):
            yield f"{done}: it undid a commit that it had not seen"
    else:
        expected = Counter(before) - Counter(seen) + Counter(_added(done, seen))
    if Counter(after) != expected:
        yield f"{done}: {before} became {after}"


READS = ("delete", "increment", "replace")


def _added(done: Done, seen: list[Row]) -> Iterable[Row]:
    if done.what == "increment":
        return [(number, key, count + 1) for number, key, count in seen]
    return done.rows
