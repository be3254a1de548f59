"""Statistics of a segment from the footer that Spark's Parquet writer (parquet-mr) wrote.

A footer holds less than the values do: null counts that include the nulls of parents, and bounds in
which NaN is the greatest double. Statistics that do not follow for certain are left out.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from versioned_catalog.schema.schema import Schema
from versioned_catalog.statistics.extremes import Key, lower_text, upper_text
from versioned_catalog.statistics.stats import ColumnStats
from versioned_catalog.storage.parquet import check_column_chunks, open_parquet, translate_errors
from versioned_catalog.types import types
from versioned_catalog.types.leaves import Family


def read_footer(tail: bytes) -> pq.FileMetaData:
    """Parse a Parquet footer from the end of a file.

    Raises:
        CorruptTableError: it is not a Parquet footer.
    """
    source, what = pa.BufferReader(tail), "what was written"
    footer = open_parquet(source, what).metadata
    check_column_chunks(source, footer, what)
    return footer


def footer_stats(footer: pq.FileMetaData, schema: Schema) -> dict[int, ColumnStats]:
    """The statistics that follow for certain, by column ID, from a footer that parquet-mr wrote.

    The file has all columns of the schema, under which it was written.
    """
    leaves = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
    found: dict[int, ColumnStats] = {}
    with translate_errors("what was written", "has bounds that can't be"):
        for column in schema.columns:
            found |= _visit(footer, leaves, column, column.physical_name, parents_null=False)
    return found


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
        found = {column.id: ColumnStats(0)} if full else {}
        for field in column.type.fields:
            below = f"{path}.{field.physical_name}"
            found |= _visit(footer, leaves, field, below, parents_null=not full)
        return found
    if types.is_nested(column.type) or types.is_opaque(column.type) or path not in leaves:
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
    found: tuple[Key, Key] | None = None
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
        found = (low, high) if found is None else (min(found[0], low), max(found[1], high))
    return found


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
