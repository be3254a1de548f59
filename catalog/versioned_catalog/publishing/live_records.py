"""The records of all live segments of a snapshot, also of those that only a checkpoint holds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from versioned_catalog.log.record import LiveSegment, SegmentRecord
from versioned_catalog.log.segment_table import statistics_of
from versioned_catalog.log.state import TableState
from versioned_catalog.statistics.stats import ColumnStats
from versioned_catalog.types.leaves import Family
from versioned_catalog.types.types import Column, DataType, family, walk
from versioned_catalog.values.leaf_text import leaf_text

_CUT_BELOW, _CUT_ABOVE = 1, 2
"""Bits of the statistic ``inexact`` (FORMAT.md, section 8)."""


def live_records(state: TableState) -> list[LiveSegment]:
    """Return the live segments in order, with the statistics of the current schema's columns.

    Bounds are value text in the type of the current schema, whatever the segment was written with.
    """
    rows = state.segments.core.to_pylist()
    statistics: list[dict[int, ColumnStats]] = [{} for _ in rows]
    for column, _ in walk(state.schema.columns):
        for found, stats in zip(statistics, _statistics(state, column), strict=True):
            if stats is not None:
                found[column.id] = stats
    deltas = state.segments.deltas.decode()
    return [
        LiveSegment(
            SegmentRecord(
                path=row["path"],
                schema_version=row["schema_version"],
                rows=row["rows"],
                bytes=row["bytes"],
                partition=tuple(row["partition"] or ()),
                columns=stats,
                checksum=row["checksum"],
                delta=delta,
            ),
            row["sequence"],
            row["ordinal"],
            row["commit_time"],
        )
        for row, stats, delta in zip(rows, statistics, deltas, strict=True)
    ]


def _statistics(state: TableState, column: Column) -> list[ColumnStats | None]:
    names = statistics_of(column.type)

    def values(name: str) -> list[Any]:
        if name not in names:
            return [None] * state.segments.count
        array = state.segments.statistic(name, column, state.schemas)
        return _texts(array, column.type) if name in ("min", "max") else list(array.to_pylist())

    columns = (values(name) for name in ("nulls", "nans", "min", "max", "inexact"))
    return [_stats(*found) for found in zip(*columns, strict=True)]


def _stats(
    nulls: int | None, nans: int | None, low: str | None, high: str | None, inexact: int | None
) -> ColumnStats | None:
    if nulls is None and nans is None and low is None and high is None:
        return None
    cut = inexact or 0
    return ColumnStats(nulls, nans, low, high, bool(cut & _CUT_BELOW), bool(cut & _CUT_ABOVE))


def _texts(array: pa.ChunkedArray, type_: DataType) -> list[str | None]:
    """The value texts of bounds. Temporal values may lie beyond Python's years, so they are read as
    integers."""
    if family(type_) is Family.TEMPORAL:
        width = 32 if pa.types.is_date32(array.type) else 64
        array = array.cast(pa.int32() if width == 32 else pa.int64())
    return [None if value is None else leaf_text(value, type_) for value in array.to_pylist()]
