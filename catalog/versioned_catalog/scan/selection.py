"""Which segments a scan reads, and which of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.expressions.filters import BoundFilter, filter_on
from versioned_catalog.log.delta import PLAIN, Delta, delta_from_text
from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.overlaps import key_ranges, touching
from versioned_catalog.projection.arrays import one_array
from versioned_catalog.pruning.segments import some_match
from versioned_catalog.types.arrow_values import ZERO, array_of, repeat


@dataclass(frozen=True)
class Selected:
    """The segments of a scan.

    Args:
        chosen: for each live segment, whether it is read; None for all.
        deltas: what those that are read say beside others; empty where none says anything.
        groups: those that must be merged, by their places among the segments that are read.
    """

    chosen: pa.Array | None
    deltas: tuple[Delta, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()


def select(
    state: TableState, filter: BoundFilter | None, limit: int | None, *, prune: bool
) -> Selected:
    """The segments that may hold wanted rows.

    Args:
        state: the snapshot.
        filter: which rows; None for all.
        limit: how many rows are wanted, whichever; None for all.
        prune: whether statistics are used.
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
    """A value may be that of a row which another segment replaces: only clean segments are skipped
    by what a filter says of values, and all by what it says of the row key."""
    core = state.segments.core
    every = repeat(True, state.segments.count)
    by_key = filter_on(filter, state.schema.row_key) if filter is not None and prune else None
    near = every if by_key is None else some_match(state, by_key)
    deltas = list(map(delta_from_text, core["extra"].to_pylist()))
    groups = _groups(state, pc.indices_nonzero(near).to_pylist(), deltas)
    merged = {place for group in groups for place in group}
    clean = pc.and_not(near, _mask(merged, len(every)))
    clean = pc.and_not(clean, _mask(_tombstones(deltas), len(every)))
    if filter is not None and prune:
        clean = pc.and_(clean, some_match(state, filter))
    if filter is None and limit is not None and not groups:
        rows = pc.if_else(clean, core["rows"], ZERO)
        clean = pc.and_(clean, _first(rows, limit))
    chosen = pc.or_(clean, _mask(merged, len(every)))
    kept = {place: at for at, place in enumerate(pc.indices_nonzero(chosen).to_pylist())}
    return Selected(
        chosen,
        tuple(deltas[place] for place in kept) if any(d != PLAIN for d in deltas) else (),
        tuple(tuple(kept[place] for place in group) for group in groups),
    )


def _groups(state: TableState, places: Sequence[int], deltas: list[Delta]) -> list[list[int]]:
    """The segments that must be merged; groups that hold nothing but tombstones are left out."""
    found = touching(key_ranges(state), places)
    return [
        group
        for group in found
        if (len(group) > 1 or deltas[group[0]].ops)
        and not all(deltas[place].deletes_only for place in group)
    ]


def _tombstones(deltas: list[Delta]) -> set[int]:
    return {place for place, delta in enumerate(deltas) if delta.deletes_only}


def _mask(places: set[int], count: int) -> pa.BooleanArray:
    return array_of([place in places for place in range(count)], pa.bool_())


def _first(rows: pa.ChunkedArray, limit: int) -> pa.Array:
    """Which segments come first, as many as it takes to have so many rows."""
    before = pc.subtract(pc.cumulative_sum(rows), rows)
    found = pc.less(before, array_of([limit], pa.int64())[0])
    return one_array(found)
