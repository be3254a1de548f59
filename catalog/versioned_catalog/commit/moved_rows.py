"""Where the rows are that an operation removes, after compactions (FORMAT.md, section 11, note 21)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.attempt import Attempt, once
from versioned_catalog.commit.operations import Overwrite, Rewrite, Write
from versioned_catalog.errors import NotFoundError
from versioned_catalog.log.bitmaps import Positions
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.marks import marked_rows
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import array_of
from versioned_catalog.storage.store import Store

MOVED = "moved"
"""The member of a compaction's ``details``: its groups, as FORMAT.md, section 5, describes them."""

MOST_ROWS = 5_000_000
"""The most rows of whole segments that an operation marks instead: that takes up to 2 s an attempt."""


@dataclass(frozen=True)
class Removal:
    """The rows that an operation removes, in the newest state.

    Args:
        paths: the live segments that it removes, in the order of the state.
        marks: the rows that it marks, by the path of their segment.
        is_whole: whether these are all rows that it planned to remove.
    """

    paths: tuple[str, ...] = ()
    marks: Mapping[str, Positions] = field(default_factory=dict)
    is_whole: bool = True


@once
def removal(attempt: Attempt[Write]) -> Removal:
    """The rows that an operation removes: those that it planned, where compactions have moved them."""
    operation = attempt.operation
    marks = planned_marks(operation)
    if operation.removed == () and not marks:
        return Removal()  # an append must not build a table of all segments
    paths, wanted = _live(attempt)
    segments = attempt.state.segments
    is_whole = len(paths) == wanted and all(segments.rows_of(path) is not None for path in marks)
    if not is_whole and isinstance(operation, Overwrite | Rewrite):
        followed = _followed(attempt)
        if followed is not None:
            return Removal(_in_order(attempt, followed.whole), followed.rows)
    return Removal(paths, marks, is_whole)


def planned_marks(operation: Write) -> dict[str, Positions]:
    """The rows that an operation planned to mark; no segment without rows."""
    if not isinstance(operation, Rewrite):
        return {}
    return {path: rows for path, rows in operation.marks.items() if len(rows)}


def _live(attempt: Attempt[Write]) -> tuple[tuple[str, ...], int]:
    """The live ones of the segments that an operation planned to remove, and the number of all."""
    operation = attempt.operation
    if operation.removed is not None:
        return _in_order(attempt, operation.removed), len(operation.removed)
    core = attempt.state.segments.core
    chosen = pc.less_equal(core["sequence"], operation.base.version)
    return tuple(core["path"].filter(chosen).to_pylist()), operation.base.segments


def _in_order(attempt: Attempt[Write], paths: Collection[str]) -> tuple[str, ...]:
    if not paths:
        return ()
    live = attempt.state.segments.core["path"]
    return tuple(live.filter(pc.is_in(live, array_of([*paths], pa.string()))).to_pylist())


@dataclass(frozen=True)
class _Rows:
    """Rows of a state: every row of some segments, and rows at positions of others."""

    whole: frozenset[str]
    rows: Mapping[str, Positions]

    def touches(self, paths: Collection[str]) -> bool:
        return not (self.whole.isdisjoint(paths) and self.rows.keys().isdisjoint(paths))


def _followed(attempt: Attempt[Write]) -> _Rows | None:
    """Where the planned rows are in the newest state; None if one is gone, or if this can't be known."""
    operation, is_keyed = attempt.operation, attempt.state.schema.is_keyed
    try:
        at = _Rows(_planned_paths(attempt), planned_marks(operation))
        for entry in attempt.since(operation.base.version):
            if isinstance(entry, Stub) or not (is_keyed or at.whole.isdisjoint(entry.marked)):
                return None
            if not at.touches(entry.removed):
                continue
            moved = _after(attempt, entry, at) if entry.head.operation == "compact" else None
            if moved is None:
                return None
            at = moved
    except NotFoundError:
        return None  # a state that is needed is expired
    return at


def _planned_paths(attempt: Attempt[Write]) -> frozenset[str]:
    """The segments that an operation planned to remove."""
    operation = attempt.operation
    if operation.removed is not None:
        return frozenset(operation.removed)
    base = attempt.at(operation.base.version)
    assert base is not None, "an operation is planned on a table"
    return frozenset(base.segments.paths)


def _after(attempt: Attempt[Write], entry: Commit, at: _Rows) -> _Rows | None:
    """Where rows are after a compaction; None if it does not say so, or if one was deleted before."""
    for group in groups_of(entry):
        if not at.touches(group.removed):
            continue
        paths = frozenset(record.path for record in group.added)
        if at.whole.issuperset(group.removed):
            at = _Rows(at.whole.difference(group.removed) | paths, at.rows)
            continue
        before = attempt.at(entry.head.version - 1)
        assert before is not None, "a compaction changes a table"
        positions = _positions(attempt.log.store, before, group, at)
        if positions is None:
            return None
        kept = {path: rows for path, rows in at.rows.items() if path not in group.removed}
        at = _Rows(at.whole.difference(group.removed), kept | _divided(positions, group.added))
    return at


@dataclass(frozen=True)
class Group:
    """Segments that a compaction merged.

    Args:
        removed, added: paths of the old segments, and the new ones, which hold the same rows.
        in_order: whether their rows are in the order of those of the old ones.
    """

    removed: Sequence[str]
    added: Sequence[SegmentRecord]
    in_order: bool


def groups_of(entry: Commit) -> Iterator[Group]:
    """The groups of a compaction; all segments are one if it does not say more.

    The details of an entry are not checked when it is read, and other software may write them.
    """
    counts: Any = entry.details.get(MOVED)
    if not isinstance(counts, list) or not all(map(_are_counts, counts)):
        counts = []
    sums = [sum(group[side] for group in counts) for side in (0, 1)]
    if sums != [len(entry.removed), len(entry.added)]:
        yield Group(entry.removed, entry.added, in_order=False)
        return
    removed, added = iter(entry.removed), iter(entry.added)
    for inputs, outputs, *unordered in counts:
        yield Group(tuple(islice(removed, inputs)), tuple(islice(added, outputs)), not unordered)


def _are_counts(value: Any) -> bool:
    """Whether a value is two counts, followed by false if the rows are not in order."""
    match value:
        case [removed, added] | [removed, added, False]:
            return all(type(count) is int and count >= 0 for count in (removed, added))
        case _:
            return False


def counts_of(groups: Sequence[tuple[int, int, bool]]) -> list[list[int | bool]]:
    """The JSON of groups: how many segments each removed and added, and whether rows are in order."""
    return [[removed, added, *([] if in_order else [False])] for removed, added, in_order in groups]


def _positions(store: Store, before: TableState, group: Group, at: _Rows) -> Positions | None:
    """The positions of rows among all that a group has after its compaction.

    None if they can't be known, or if one of them was marked before it, or if they are too many.
    """
    if not group.in_order or before.schema.is_keyed:
        return None
    found: list[Positions] = []
    begin = moved = 0
    for path in group.removed:
        rows = before.segments.rows_of(path)
        if rows is None:
            return None
        marked = marked_rows(store, before.segments.mark_of(path), path, rows)
        left = rows - len(marked)
        if path in at.whole:
            moved += left
            if moved > MOST_ROWS:
                return None
            found.append(np.arange(begin, begin + left))
        elif path in at.rows:
            ours = at.rows[path]
            ranks = np.searchsorted(marked, ours)
            if (ranks < np.searchsorted(marked, ours, side="right")).any():
                return None
            found.append(begin + ours - ranks)
        begin += left
    if begin != sum(record.rows for record in group.added):
        return None
    return np.concatenate(found)


def _divided(positions: Positions, segments: Sequence[SegmentRecord]) -> dict[str, Positions]:
    """Positions among the rows of several segments, as positions in each."""
    divided: dict[str, Positions] = {}
    begin = 0
    for record in segments:
        first, end = np.searchsorted(positions, (begin, begin + record.rows))
        if first < end:
            divided[record.path] = positions[first:end] - begin
        begin += record.rows
    return divided
