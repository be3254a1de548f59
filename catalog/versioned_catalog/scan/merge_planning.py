"""The merge tasks of overlapping segments, with every value decided where the scan is planned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import pyarrow as pa

from versioned_catalog.datafile.merge_task import Member, MergeTask
from versioned_catalog.expressions.filters import BoundFilter, filter_on
from versioned_catalog.log.delta import Delta
from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.keys import Key, keys_or_none
from versioned_catalog.projection.metadata_columns import KEYED_METADATA_COLUMNS, is_metadata
from versioned_catalog.projection.narrowing import Narrowing
from versioned_catalog.pruning.bounds import SegmentBounds
from versioned_catalog.scan.tasks import Row, TaskPlanner, order_of
from versioned_catalog.types.types import Column

OVERHEAD = 2
"""The cost of merging relative to reading, so that a merge fills a split earlier."""

Ends = tuple[Key | None, Key | None]
"""The bounds of a segment in the first column of the row key; None where unknown. No key of the
segment is less than the lower one, and none has a first value above the upper one."""


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
        self._members = TaskPlanner.of(state, read, by_key, prune=prune)
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
