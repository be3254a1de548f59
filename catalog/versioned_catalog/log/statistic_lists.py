"""Statistics of wide tables: one list a statistic and segment (FORMAT.md, section 8).

With a Parquet column for each statistic, a checkpoint of a thousand columns would have thousands, and
their number takes most of the time to write and read it.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.statistics.stats import ColumnStats
from versioned_catalog.types.arrow_values import array_of

LIST_TYPES = {
    "nulls": pa.int64(),
    "nans": pa.int64(),
    "min": pa.string(),
    "max": pa.string(),
    "inexact": pa.int8(),
}
"""The statistics, and the types of their elements in lists; bounds are value text."""

FIELDS = tuple(
    pa.field(f"statistics.{name}", pa.list_(pa.field("element", type_)))
    for name, type_ in LIST_TYPES.items()
)
"""The columns of a checkpoint that hold the lists."""

MOST_COLUMNS = 250
"""Columns, nested ones counted, up to which each statistic has a column of its own."""


def stored_statistic(stats: ColumnStats | None, name: str) -> Any:
    """One statistic as checkpoints store it; None is unknown."""
    if stats is None:
        return None
    if name == "inexact":
        return stats.min_inexact + 2 * stats.max_inexact
    return getattr(stats, name)


def lists_of(
    segments: Sequence[Mapping[int, ColumnStats]], ids: Sequence[int], name: str
) -> pa.ListArray:
    """One statistic of some segments: one list a segment, in the order of ``ids``."""
    values = [stored_statistic(stats.get(one), name) for stats in segments for one in ids]
    ends = range(0, (len(segments) + 1) * len(ids), max(len(ids), 1))
    offsets = array_of(list(ends)[: len(segments) + 1], pa.int32())
    return pa.ListArray.from_arrays(offsets, array_of(values, LIST_TYPES[name]))


def at_place(lists: pa.ChunkedArray, place: int) -> pa.ChunkedArray:
    """The element at one place of each list; null if the list is null or shorter."""
    chunks = [pc.take(chunk.values, _indices(chunk, [place])) for chunk in lists.chunks]
    return pa.chunked_array(chunks, lists.type.value_type)


def reorder(lists: pa.ChunkedArray, places: Sequence[int | None]) -> pa.ChunkedArray:
    """Lists of the elements at these places, in their order; null for a place of None."""
    return pa.chunked_array([_reorder(chunk, places) for chunk in lists.chunks], lists.type)


def _reorder(lists: pa.ListArray, places: Sequence[int | None]) -> pa.ListArray:
    values = pc.take(lists.values, _indices(lists, places))
    ends = itertools.accumulate([len(places)] * len(lists), initial=0)
    return pa.ListArray.from_arrays(array_of(list(ends), pa.int32()), values)


def _indices(lists: pa.ListArray, places: Sequence[int | None]) -> pa.Int64Array:
    """For each list and place, the index of its element among the elements of all lists."""
    count, width = len(lists), len(places)
    starts = lists.offsets[:count].cast(pa.int64())
    lengths = pc.fill_null(pc.list_value_length(lists), pa.scalar(0, pa.int32())).cast(pa.int64())
    each = struct.pack(f"={width}q", *(2**62 if place is None else place for place in places))
    place = pa.Array.from_buffers(pa.int64(), count * width, [None, pa.py_buffer(each * count)])
    ends = array_of(list(range(0, (count + 1) * width, width)), pa.int32())
    row = pc.list_parent_indices(pa.ListArray.from_arrays(ends, place))
    exists = pc.less(place, pc.take(lengths, row))
    return pc.if_else(exists, pc.add(place, pc.take(starts, row)), pa.nulls(1, pa.int64())[0])


def check_lists(table: pa.Table, count: int) -> None:
    """Refuse a checkpoint whose lists of statistics, of ``count`` columns, are damaged.

    Raises:
        CorruptTableError: a column is missing, of another type, or has longer lists.
    """
    for field in FIELDS:
        if field.name not in table.column_names:
            raise CorruptTableError(f"the column {field.name} is missing")
        column = table[field.name]
        if not pa.types.is_list(column.type) or column.type.value_type != field.type.value_type:
            raise CorruptTableError(f"the column {field.name} has another type")
        longest = pc.max(pc.list_value_length(column)).as_py() if table.num_rows else 0
        if longest is not None and longest > count:
            raise CorruptTableError(f"the column {field.name} has lists that are too long")
