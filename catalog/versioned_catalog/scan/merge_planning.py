"""Planning merges: of segments that touch, what is read of each, and what is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from versioned_catalog.datafile.merge_task import Member, MergeTask
from versioned_catalog.expressions.filters import BoundFilter, filter_on
from versioned_catalog.log.delta import PLAIN, Delta
from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.keys import Key, keys_or_none
from versioned_catalog.projection.metadata_columns import KEYED_METADATA_COLUMNS, is_metadata
from versioned_catalog.pruning.bounds import SegmentBounds
from versioned_catalog.scan.selection import Selected
from versioned_catalog.scan.tasks import Plans, order_of, segment_task
from versioned_catalog.types.types import Column

OVERHEAD = 2
"""How much more a merge costs than reading, so that it gets a piece of work of its own earlier."""


Ends = tuple[Key | None, Key | None]
"""Of a segment, what no row's key is less than, and what none begins with more than; None if that is
not known."""


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
        state: the snapshot.
        wanted: the columns shown, and after them those that only the filter looks at.
        filter: which rows; None for all.
        shown: how many of the columns are shown.
        tombstones: whether rows that were deleted are wanted, too.
    """

    def __init__(
        self,
        state: TableState,
        wanted: Sequence[Column],
        filter: BoundFilter | None,
        shown: int,
        *,
        tombstones: bool = False,
    ) -> None:
        key_ids, internal = state.schema.row_key, {column.id for column in KEYED_METADATA_COLUMNS}
        keys = [state.schema.column(column_id) for column_id in key_ids]
        values = [c for c in wanted if c.id not in key_ids and c.id not in internal]
        self._state = state
        self._wanted = tuple(wanted)
        self._filter = filter
        self._shown = shown
        self._tombstones = tombstones
        self._read = (*keys, *values, *KEYED_METADATA_COLUMNS)
        self._keys, self._values = len(keys), values
        self._plans = Plans(state, self._read)

    def tasks(
        self,
        rows: Sequence[dict[str, Any]],
        selected: Selected,
        ends: Sequence[Ends],
        *,
        prune: bool,
    ) -> list[tuple[MergeTask, int]]:
        """The merges of the groups of a scan, and how many bytes each reads.

        Args:
            rows: the core columns of the segments that are read.
            selected: the groups among them.
            ends: of the segments that are read.
            prune: whether rows are skipped by the row key before they are merged.
        """
        return [
            (
                self.task(
                    [(rows[at], self._delta(selected, at), ends[at]) for at in group],
                    prune,
                ),
                OVERHEAD * sum(rows[at]["bytes"] for at in group),
            )
            for group in selected.groups
        ]

    @staticmethod
    def _delta(selected: Selected, at: int) -> Delta:
        return selected.deltas[at] if selected.deltas else PLAIN

    def task(
        self, segments: Sequence[tuple[dict[str, Any], Delta, Ends]], prune: bool
    ) -> MergeTask:
        """The merge of some segments: of each its core columns, its delta and its ends."""
        by_id = {column.id: at for at, column in enumerate(self._read)}
        return MergeTask(
            members=tuple(self._member(*one, prune=prune) for one in segments),
            keys=self._keys,
            values=len(self._values),
            columns=self._wanted,
            places=tuple(by_id[column.id] for column in self._wanted),
            filter=self._filter,
            shown=self._shown,
            tombstones=self._tombstones,
        )

    def _member(self, row: dict[str, Any], delta: Delta, ends: Ends, *, prune: bool) -> Member:
        by_key = (
            None if self._filter is None else filter_on(self._filter, self._state.schema.row_key)
        )
        task = segment_task(self._state, row, self._plans, delta)
        order = order_of(row, delta)
        return Member(
            task=replace(task, filter=by_key if prune else None, prune=prune),
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
