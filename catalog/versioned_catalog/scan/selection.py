"""Selecting the segments of a scan, and those that it must merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.expressions.filters import BoundFilter, filter_on
from versioned_catalog.log.delta import PLAIN, Delta
from versioned_catalog.log.deltas import Deltas, Mask
from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.overlaps import key_ranges, members_of, overlapping
from versioned_catalog.projection.arrays import one_array
from versioned_catalog.pruning.segments import some_match
from versioned_catalog.types.arrow_values import ZERO, array_of, from_numpy


@dataclass(frozen=True)
class Selected:
    """The segments that a scan reads.

    Args:
        chosen: whether each live segment is read; None for all.
        deltas: the deltas of the segments that are read; None if all are plain.
        groups: the segments that must be merged, by their places among those that are read.
    """

    chosen: pa.Array | None
    deltas: Deltas | None = None
    groups: tuple[tuple[int, ...], ...] = ()

    def decoded(self, count: int) -> Sequence[Delta]:
        """The deltas of the ``count`` segments that are read.

        Raises:
            CorruptTableError: one is invalid.
        """
        return [PLAIN] * count if self.deltas is None else self.deltas.decode()


def select(
    state: TableState, filter: BoundFilter | None, limit: int | None, *, prune: bool
) -> Selected:
    """Select the segments that may hold wanted rows; ``limit`` rows are wanted in any order.

    None stands for no filter, and for no limit.
    """
    if state.schema.is_keyed:
        return _select_keyed(state, filter, limit, prune=prune)
    if filter is None:
        rows = state.segments.core["rows"]
        return Selected(None if limit is None else _first(rows, limit))
    if not prune or not state.segments.count:
        return Selected(None)
    return Selected(some_match(state, filter))


def _select_keyed(
    state: TableState, filter: BoundFilter | None, limit: int | None, *, prune: bool
) -> Selected:
    """The segments of a keyed table that may hold wanted rows.

    A filter on the row key may skip any segment. A filter on other columns may skip only a segment
    that is not merged: in a merged one it might skip the newest version of a row and show an older one.
    """
    segments = state.segments
    by_key = filter_on(filter, state.schema.row_key) if filter is not None and prune else None
    near = np.ones(segments.count, bool) if by_key is None else _matching(state, by_key)
    groups = _groups(state, np.flatnonzero(near), segments.deltas)
    merged = np.zeros(segments.count, bool)
    merged[list(chain.from_iterable(groups))] = True
    clean = near & ~merged & ~segments.deltas.deletes_only
    if filter is not None and prune:
        clean &= _matching(state, filter)
    if filter is None and limit is not None and not groups:
        clean &= _as_mask(_first(pc.if_else(from_numpy(clean), segments.core["rows"], ZERO), limit))
    chosen = clean | merged
    read = from_numpy(chosen)
    place_in_scan = (np.cumsum(chosen) - 1).tolist()
    return Selected(
        read,
        None if segments.deltas.are_plain else segments.deltas.filter(read),
        tuple(tuple([place_in_scan[place] for place in group]) for group in groups),
    )


def _matching(state: TableState, filter: BoundFilter) -> Mask:
    return _as_mask(some_match(state, filter))


def _as_mask(values: pa.Array) -> Mask:
    found: Mask = values.to_numpy(zero_copy_only=False)
    return found


def _groups(state: TableState, places: npt.NDArray[np.int64], deltas: Deltas) -> list[list[int]]:
    """The segments that must be merged; groups of nothing but tombstones are left out."""
    groups = overlapping(key_ranges(state), places)
    sizes = np.bincount(groups)
    has_ops = np.bincount(groups, deltas.has_ops[places]) > 0
    only_tombstones = np.bincount(groups, deltas.deletes_only[places]) == sizes
    return members_of(groups, places, ((sizes > 1) | has_ops) & ~only_tombstones)


def _first(rows: pa.ChunkedArray, limit: int) -> pa.Array:
    """The first segments that together have at least ``limit`` rows."""
    before = pc.subtract(pc.cumulative_sum(rows), rows)
    found = pc.less(before, array_of([limit], pa.int64())[0])
    return one_array(found)
