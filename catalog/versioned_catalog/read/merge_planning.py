"""The merge tasks of overlapping segments, and their splitting by ranges of keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter

import pyarrow as pa

from versioned_catalog.errors import VersionedError
from versioned_catalog.log.record import Delta
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.types import Column, is_metadata
from versioned_catalog.read.apply_plan import Narrowing
from versioned_catalog.read.bounds import RowGroupBounds, SegmentBounds
from versioned_catalog.read.filters import And, BoundFilter, Compare, Literal, Op, filter_on
from versioned_catalog.read.metadata_columns import KEYED_METADATA_COLUMNS
from versioned_catalog.read.planning import Row, TaskPlanner, order_of
from versioned_catalog.read.row_keys import Key, keys_or_none
from versioned_catalog.read.segment_file import open_segment
from versioned_catalog.read.tasks import Member, MergeTask
from versioned_catalog.storage.store import Store

OVERHEAD = 2
"""The cost of merging relative to reading, so that a merge fills a split earlier."""

Ends = tuple[Key | None, Key | None]
"""The bounds of a segment in the first column of the row key; None where unknown. No key of the
segment is below the lower bound, and no first value of a key is above the upper bound."""


def ends_of(state: TableState, chosen: pa.BooleanArray | None = None) -> list[Ends]:
    """The ends of the live segments of a snapshot, or of those that are chosen."""
    bounds = SegmentBounds(state, state.schema)(state.schema.row_key[0])
    assert bounds is not None, "columns of the row key are top-level columns"
    low, high = bounds.min, bounds.max
    if chosen is not None:
        low, high = low.filter(chosen), high.filter(chosen)
    return list(zip(keys_or_none(low), keys_or_none(high), strict=True))


class MergePlanner:
    """Plans the merges of one scan.

    Args:
        wanted: the columns shown, and after them those that only the filter needs.
        tombstones: whether deleted rows are wanted, too.
        prune: whether rows are skipped by the row key before they are merged.
        narrowing: as of ``MergeTask``.
    """

    def __init__(
        self,
        state: TableState,
        wanted: Sequence[Column],
        filter: BoundFilter | None,
        shown: int,
        *,
        tombstones: bool = False,
        prune: bool = True,
        narrowing: Narrowing | None = None,
    ) -> None:
        key_ids, internal = state.schema.row_key, {column.id for column in KEYED_METADATA_COLUMNS}
        keys = [state.schema.column(column_id) for column_id in key_ids]
        self._values = [c for c in wanted if c.id not in key_ids and c.id not in internal]
        read = (*keys, *self._values, *KEYED_METADATA_COLUMNS)
        by_id = {column.id: at for at, column in enumerate(read)}
        by_key = filter_on(filter, key_ids) if filter is not None and prune else None
        self._members = TaskPlanner.of(state, read, by_key, prune=prune, marks=False)
        self._merge = partial(
            MergeTask,
            keys=len(keys),
            values=len(self._values),
            columns=tuple(wanted),
            places=tuple(by_id[column.id] for column in wanted),
            filter=filter,
            shown=shown,
            tombstones=tombstones,
            narrowing=narrowing,
        )

    def tasks(
        self,
        rows: Sequence[Row],
        deltas: Sequence[Delta],
        ends: Sequence[Ends],
        groups: Iterable[Sequence[int]],
    ) -> list[tuple[MergeTask, int]]:
        """The merges of a scan, and the cost of each in bytes; ``groups`` hold places of segments."""
        return [
            (
                self.task([(rows[at], deltas[at], ends[at]) for at in group]),
                OVERHEAD * sum([rows[at]["bytes"] for at in group]),
            )
            for group in groups
        ]

    def task(self, segments: Sequence[tuple[Row, Delta, Ends]]) -> MergeTask:
        """The merge of some segments: of each its core columns, its delta and its ends."""
        return self._merge(tuple([self._member(*segment) for segment in segments]))

    def _member(self, row: Row, delta: Delta, ends: Ends) -> Member:
        order = order_of(row, delta)
        return Member(
            task=self._members.task(row, delta),
            order=order,
            sequences=delta.sequences or (order[0], order[0]),
            patched=self._patched(delta),
            lower=ends[0],
            upper=ends[1],
        )

    def _patched(self, delta: Delta) -> frozenset[int] | None:
        if delta.patch is None:
            return None
        return frozenset(
            at
            for at, column in enumerate(self._values)
            if column.id in delta.patch or is_metadata(column)
        )


SPLIT_ROWS = 1_500_000
"""The approximate number of rows of a split."""

BLOCKS_OF_SPLIT = 4
"""A segment with fewer rows than this part of a split is one block, so that its footer is not read."""


def split_merge(store: Store, task: MergeTask, key: int) -> list[MergeTask]:
    """Split a merge into disjoint ranges of the first column of the row key, whose ID is ``key``.

    The ranges have about equally many rows, and begin where row groups or segments do.
    """
    parts = task.rows // SPLIT_ROWS
    if parts < 2:
        return [task]
    blocks = [block for member in task.members for block in _blocks(store, member, key)]
    type_ = to_arrow_type(task.members[0].task.plan.outputs[0].column.type)
    cuts = [_Cut.at(least, type_) for least in _chosen(blocks, parts)]
    splits = [_part(task, key, low, high) for low, high in pairwise([None, *cuts, None])]
    return [part for part in splits if part.members]


@dataclass(frozen=True)
class _Block:
    """A row group, or a whole segment, with bounds of the first column of its keys."""

    rows: int
    least: Key
    greatest: Key


def _blocks(store: Store, member: Member, key: int) -> list[_Block]:
    """The blocks of a segment with known bounds."""
    rows, ends = [member.task.rows], [(member.lower, member.upper)]
    if member.task.rows >= SPLIT_ROWS // BLOCKS_OF_SPLIT:
        try:
            footer = open_segment(store, member.task).footer
        except VersionedError:
            return []  # reading it reports the error
        bounds = RowGroupBounds(footer, range(len(footer.rows)), member.task.plan, frozenset())(key)
        if bounds is not None:
            rows = footer.rows
            ends = list(zip(keys_or_none(bounds.min), keys_or_none(bounds.max), strict=True))
    return [
        _Block(count, least, greatest)
        for count, (least, greatest) in zip(rows, ends, strict=True)
        if least is not None and greatest is not None
    ]


def _chosen(blocks: Sequence[_Block], parts: int) -> list[Key]:
    """Choose cuts between ``parts`` of about equally many rows, in order, at the least keys of blocks.

    Near where a part should end, the cut is best that goes through the fewest rows: two splits read a
    block that it goes through.
    """
    starts = sorted((block.least, block.rows) for block in blocks)
    ends = deque(sorted((block.greatest, block.rows) for block in blocks))
    total = sum(block.rows for block in blocks)
    begun = ended = 0
    best: dict[int, tuple[int, int, Key]] = {}
    for least, same in groupby(starts, key=itemgetter(0)):
        while ends and ends[0][0] < least:
            ended += ends.popleft()[1]
        number = (2 * begun * parts + total) // (2 * total)
        cut = (begun - ended, abs(begun * parts - number * total), least)
        if 0 < number < parts:
            best[number] = min(best.get(number, cut), cut)
        begun += sum(rows for _, rows in same)
    return [key for _, _, key in best.values()]


@dataclass(frozen=True)
class _Cut:
    """A value of the first key column, and the least key with it."""

    value: Literal
    key: Key

    @staticmethod
    def at(key: Key, type_: pa.DataType) -> _Cut:
        """The cut at a key, as a value of the column's type."""
        value = key[0].decode() if pa.types.is_string(type_) else key[0]
        return _Cut(Literal(value, type_), key)


def _part(task: MergeTask, key: int, low: _Cut | None, high: _Cut | None) -> MergeTask:
    """The split of the keys whose first value is from ``low`` to below ``high``."""
    members = [member for member in task.members if _reaches(member, low, high)]
    return replace(task, members=tuple(_bounded(member, key, low, high) for member in members))


def _reaches(member: Member, low: _Cut | None, high: _Cut | None) -> bool:
    """Whether a segment may hold rows from ``low`` to below ``high``."""
    below = low is not None and member.upper is not None and member.upper < low.key
    above = high is not None and member.lower is not None and member.lower >= high.key
    return not below and not above


def _bounded(member: Member, key: int, low: _Cut | None, high: _Cut | None) -> Member:
    """Restrict a segment to the rows from ``low`` to below ``high``, unless it holds no others."""
    ends: list[BoundFilter] = []
    if low is not None and (member.lower is None or member.lower < low.key):
        ends.append(Compare(key, Op.GE, low.value))
    if high is not None and (member.upper is None or member.upper >= high.key):
        ends.append(Compare(key, Op.LT, high.value))
    if not ends:
        return member
    asked = () if member.task.filter is None else (member.task.filter,)
    return replace(member, task=replace(member.task, filter=And((*asked, *ends)), prune=True))
