"""Arranging rows for segments: by partition, sorted, with one row a row key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.merge_on_read.keys import comparable
from versioned_catalog.merge_on_read.ordering import last_of_keys, sorted_order
from versioned_catalog.projection.arrays import one_array
from versioned_catalog.schema.partition_values import PartitionKey
from versioned_catalog.schema.schema import PartitionField, Schema
from versioned_catalog.schema.transform_values import apply_transform
from versioned_catalog.schema.transforms import parse_transform, result_type
from versioned_catalog.types.arrow_values import scalar_of
from versioned_catalog.types.types import Column
from versioned_catalog.values.literals import from_scalar_text

ColumnPath = tuple[Column, ...]
"""A column, preceded by the columns that contain it."""


def _column(table: pa.Table, schema: Schema, column_id: int) -> pa.ChunkedArray:
    """A column by ID, also inside structs."""
    line = (*schema.ancestors(column_id), schema.column(column_id))
    return column_at(table, schema.columns, line)


def column_at(table: pa.Table, columns: Sequence[Column], line: ColumnPath) -> pa.ChunkedArray:
    """A column of rows by its path, also inside structs."""
    found = table.column(next(i for i, c in enumerate(columns) if c.id == line[0].id))
    for parent, child in pairwise(line):
        found = pc.struct_field(found, parent.type.fields.index(child))  # type: ignore[union-attr]
    return found


def split(table: pa.Table, schema: Schema) -> Iterator[tuple[PartitionKey, pa.Table]]:
    """Split rows by partition, each in their order, with its value texts."""
    if not schema.partitioning:
        yield (), table
        return
    if not table.num_rows:
        return
    values = [_partition_values(table, schema, field) for field in schema.partitioning]
    codes = _codes(column.indices for column, _ in values)
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rows = table if starts.size == 1 else table.combine_chunks().take(_indices(order))
    for start, end in pairwise([*starts.tolist(), table.num_rows]):
        first = int(order[start])
        key = tuple(texts[column.indices[first].as_py()] for column, texts in values)
        yield key, rows.slice(start, end - start)


def _partition_values(
    table: pa.Table, schema: Schema, field: PartitionField
) -> tuple[pa.DictionaryArray, list[str | None]]:
    """The partition values of rows, dictionary-encoded, and the value texts of the dictionary."""
    transform, type_ = parse_transform(field.transform), schema.column(field.source).type
    source = one_array(_column(table, schema, field.source))
    made = apply_transform(transform, type_, source).dictionary_encode(null_encoding="encode")
    result = result_type(transform, type_)
    texts = (from_scalar_text(value, result) for value in made.dictionary)
    return made, [None if text is None else str(text) for text in texts]


def _codes(columns: Iterable[pa.Array]) -> npt.NDArray[Any]:
    """Number rows so that rows with the same values in all columns have the same number.

    The columns are dictionary indices. Numbers count from 0 in the order in which they first occur, in
    16 bits if possible, which NumPy sorts by radix.
    """
    codes: pa.Array | None = None
    for column in columns:
        numbers = column.cast(pa.int64())
        if codes is not None:
            most = pc.max(numbers).as_py() + 1
            numbers = pc.add(pc.multiply(codes, scalar_of(most, pa.int64())), numbers)
        codes = numbers.dictionary_encode().indices.cast(pa.int64())
    assert codes is not None
    found = np.frombuffer(codes.buffers()[1], np.int64, len(codes), codes.offset * 8)
    return found.astype(np.int16) if found.max() < 2**15 else found


def _indices(order: npt.NDArray[np.int64]) -> pa.Array:
    """Indices as an Arrow array; ``pa.array`` would import pandas."""
    return pa.Array.from_buffers(pa.int64(), len(order), [None, pa.py_buffer(order)])


def in_order(table: pa.Table, schema: Schema) -> pa.Table:
    """Sort rows in the table's order; with a primary key, keep the last row of each key."""
    if schema.row_key:
        return _by_key(table, schema)
    if not schema.sort_by:
        return table
    keys = [_column(table, schema, s.source) for s in schema.sort_by]
    names = [f"k{i}" for i in range(len(keys))]
    # Null is the least value, in either direction. Arrow has one null placement for all keys, so each
    # key is preceded by one for its nulls.
    columns: list[pa.ChunkedArray] = []
    order: list[tuple[str, str]] = []
    for name, key, by in zip(names, keys, schema.sort_by, strict=True):
        direction = "descending" if by.descending else "ascending"
        columns += [pc.is_valid(key), key]
        order += [(f"{name}_valid", direction), (name, direction)]
    table_of_keys = pa.table(columns, names=[n for n, _ in order])
    return table.take(pc.sort_indices(table_of_keys, sort_keys=order))


def _by_key(table: pa.Table, schema: Schema) -> pa.Table:
    keys = key_columns(table, schema)
    order = sorted_order(keys)  # stable, so that the last row of a key stays last
    if schema.is_keyed:
        last = last_of_keys((column.take(order) for column in keys), table.num_rows)
        order = order.filter(last) if last.false_count else order
    return table.take(order)


def key_columns(table: pa.Table, schema: Schema) -> list[pa.Array]:
    """The columns of the row key, in types that kernels compare."""
    columns = (_column(table, schema, column_id) for column_id in schema.row_key)
    return [comparable(one_array(column)) for column in columns]
