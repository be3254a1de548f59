"""Statistics of a segment from the footer that Spark's or our Parquet writer wrote.

An import asks for the bounds of each column of each file: arrays of one value cost many times more than
the values. What this module does not decode is left to ``chunk_bounds``.

A footer holds less than the values do: null counts that include the nulls of parents, and bounds in
which NaN is the greatest double. Statistics that do not follow for certain are left out.
"""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.log.statistics import ColumnStats, Key, lower_text, upper_text
from versioned_catalog.model import types
from versioned_catalog.model.arrow import array_of
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Family
from versioned_catalog.storage.footer import Chunk
from versioned_catalog.storage.parquet import check_column_chunks, open_parquet, translate_errors

_FORMATS = {0: "<?", 1: "<i", 2: "<q", 4: "<f", 5: "<d"}
"""By physical type, of BOOLEAN, INT32, INT64, FLOAT and DOUBLE."""

_BYTE_TYPES = {6, 7}
"""The physical types BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY."""


def chunk_bounds(
    chunks: Sequence[Chunk], stored: pa.DataType, type_: pa.DataType
) -> tuple[pa.Array, pa.Array]:
    """The lower and the upper bounds of chunks; all null if one is not a value of the type.

    Args:
        chunks: of one column.
        stored: the type of the column in the file.
        type_: the type that it was written in.
    """
    try:
        lows = [_value(chunk.min, chunk.physical_type, stored, type_) for chunk in chunks]
        highs = [_value(chunk.max, chunk.physical_type, stored, type_) for chunk in chunks]
        return array_of(lows, type_), array_of(highs, type_)
    except (struct.error, TypeError, ValueError, ArithmeticError, AttributeError):
        unknown = pa.nulls(len(chunks), type_)
        return unknown, unknown


def _value(raw: bytes | None, physical: int, stored: pa.DataType, type_: pa.DataType) -> Any:
    """A bound as ``array_of`` takes it.

    Raises:
        ValueError, struct.error: it is not a value of the type.
    """
    if raw is None:
        return None
    if _is_time(type_) and stored != type_:
        raise ValueError("the unit or the time zone is another one")
    if physical in _FORMATS:
        (value,) = struct.unpack(_FORMATS[physical], raw)
        return decimal.Decimal(value) if pa.types.is_decimal(type_) else value
    if physical not in _BYTE_TYPES:
        raise ValueError("values of this physical type have no order")
    if pa.types.is_decimal(type_):
        return decimal.Decimal(int.from_bytes(raw, "big", signed=True))
    return raw.decode() if pa.types.is_string(type_) else raw


def _is_time(type_: pa.DataType) -> bool:
    """Whether values are integers whose meaning depends on the unit in the file."""
    return bool(pa.types.is_timestamp(type_) or pa.types.is_time(type_))


_LAYOUTS: dict[tuple[pa.DataType, int], struct.Struct] = {
    (pa.int32(), 1): struct.Struct("<i"),
    (pa.date32(), 1): struct.Struct("<i"),
    (pa.int64(), 2): struct.Struct("<q"),
    (pa.timestamp("us"), 2): struct.Struct("<q"),
    (pa.timestamp("us", "UTC"), 2): struct.Struct("<q"),
    (pa.float32(), 4): struct.Struct("<f"),
    (pa.float64(), 5): struct.Struct("<d"),
}
"""By the type in the file and the physical type."""

_BYTES = {(pa.string(), 6), (pa.binary(), 6)}


def plain_ends(chunks: Sequence[Chunk], stored: pa.DataType) -> tuple[Key, Key] | None:
    """The minimum and maximum of a column of one chunk; None if this function can't decode them.

    >>> plain_ends([Chunk(1, 0, b"\\x02\\0\\0\\0", b"\\x07\\0\\0\\0")], pa.int32())
    (2, 7)
    """
    if len(chunks) != 1:
        return None
    (chunk,) = chunks
    if chunk.min is None or chunk.max is None:
        return None
    if (stored, chunk.physical_type) in _BYTES:
        return chunk.min, chunk.max
    layout = _LAYOUTS.get((stored, chunk.physical_type))
    if layout is None or not len(chunk.min) == len(chunk.max) == layout.size:
        return None
    (low,), (high,) = layout.unpack(chunk.min), layout.unpack(chunk.max)
    is_ordered = low <= high  # false for NaN
    return (low, high) if is_ordered else None


def read_footer(tail: bytes) -> pq.FileMetaData:
    """Parse a Parquet footer from the end of a file.

    Raises:
        CorruptTableError: it is not a Parquet footer.
    """
    source, name = pa.BufferReader(tail), "what was written"
    footer = open_parquet(source, name).metadata
    check_column_chunks(source, footer, name)
    return footer


def footer_stats(footer: pq.FileMetaData, schema: Schema) -> dict[int, ColumnStats]:
    """The statistics, by column ID, that a footer of parquet-mr proves.

    The file has all columns of the schema, under which it was written.
    """
    leaves = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
    stats: dict[int, ColumnStats] = {}
    with translate_errors("what was written", "has bounds that can't be"):
        for column in schema.columns:
            stats |= _visit(footer, leaves, column, column.physical_name, parents_null=False)
    return stats


def _visit(
    footer: pq.FileMetaData,
    leaves: dict[str, int],
    column: types.Column,
    path: str,
    *,
    parents_null: bool,
) -> dict[int, ColumnStats]:
    """The statistics of a column and of the columns inside it, by ID.

    Args:
        leaves: the index of each leaf in the footer, by its dotted path.
        parents_null: whether a struct around it may be null in some row.
    """
    if isinstance(column.type, types.Struct):
        inside = list(_leaf_paths(column.type.fields, path))
        full = any(_nulls(footer, leaves.get(leaf)) == 0 for leaf in inside)
        stats = {column.id: ColumnStats(0)} if full else {}
        for field in column.type.fields:
            below = f"{path}.{field.physical_name}"
            stats |= _visit(footer, leaves, field, below, parents_null=not full)
        return stats
    if not types.is_compared(column.type) or path not in leaves:
        return {}
    return {column.id: _leaf(footer, leaves[path], column.type, parents_null=parents_null)}


def _leaf_paths(fields: Iterable[types.Column], above: str) -> Iterator[str]:
    for field in fields:
        path = f"{above}.{field.physical_name}"
        if isinstance(field.type, types.Struct):
            yield from _leaf_paths(field.type.fields, path)
        else:
            yield path


def _chunks(footer: pq.FileMetaData, index: int) -> list[Any]:
    return [footer.row_group(g).column(index).statistics for g in range(footer.num_row_groups)]


def _nulls(footer: pq.FileMetaData, index: int | None) -> int | None:
    """How often a leaf is null, its parents' nulls included; None if unknown."""
    if index is None:
        return None
    chunks = _chunks(footer, index)
    if not all(chunk is not None and chunk.has_null_count for chunk in chunks):
        return None
    return sum(int(chunk.null_count) for chunk in chunks)


def _leaf(
    footer: pq.FileMetaData, index: int, type_: types.DataType, *, parents_null: bool
) -> ColumnStats:
    all_nulls = _nulls(footer, index)
    nulls = None if parents_null and all_nulls != 0 else all_nulls
    bounds = _bounds(_chunks(footer, index), type_)
    only_nulls = all_nulls == footer.num_rows
    nans = 0 if types.is_floating(type_) and (only_nulls or bounds is not None) else None
    if bounds is None:
        return ColumnStats(nulls, nans)
    low, low_cut = lower_text(bounds[0], type_) or (None, False)
    high, high_cut = upper_text(bounds[1], type_) or (None, False)
    return ColumnStats(nulls, nans, low, high, low_cut, high_cut)


def _bounds(chunks: list[Any], type_: types.DataType) -> tuple[Key, Key] | None:
    """The minimum and the maximum; None if a row group has no bounds or may hold NaN."""
    extent: tuple[Key, Key] | None = None
    for chunk in chunks:
        if chunk is None or not chunk.has_min_max:
            if chunk is not None and chunk.has_null_count and chunk.num_values == 0:
                continue  # only nulls
            return None
        low, high = _key(chunk.min_raw, type_), _key(chunk.max_raw, type_)
        if isinstance(low, float) and isinstance(high, float):
            if math.isnan(low) or math.isnan(high):
                return None
            low, high = low or -0.0, high or 0.0
        extent = (low, high) if extent is None else (min(extent[0], low), max(extent[1], high))
    return extent


def _key(raw: Any, type_: types.DataType) -> Key:
    """A raw bound of the file as a comparable value."""
    match type_:
        case types.Decimal(_, scale):
            unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
            digits = tuple(map(int, str(abs(unscaled))))
            return decimal.Decimal((int(unscaled < 0), digits, -scale))
        case _ if types.family(type_) in (Family.TEXT, Family.BINARY):
            return raw if isinstance(raw, bytes) else str(raw).encode()
        case _:
            key: Key = raw
            return key
