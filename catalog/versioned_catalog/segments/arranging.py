"""Rows as segments want them: split by partition, sorted, one a row key."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.adapting.arrays import one_array
from versioned_catalog.merging.keys import comparable
from versioned_catalog.merging.ordering import last_of_keys, numbers, sorted_order
from versioned_catalog.schema.literals import from_scalar_text
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.transforms import apply, parse_transform, result_type
from versioned_catalog.schema.types import Column

Line = tuple[Column, ...]
"""A column, after those that it is inside."""


def _column(table: pa.Table, schema: Schema, column_id: int) -> pa.ChunkedArray:
    """A column by ID, through the structs that hold it."""
    line = (*schema.ancestors(column_id), schema.column(column_id))
    return column_at(table, schema.columns, line)


def column_at(table: pa.Table, columns: Sequence[Column], line: Line) -> pa.ChunkedArray:
    """A column of rows, through the structs that hold it.

    Args:
        table: the rows.
        columns: what they are of.
        line: which column.
    """
    found = table.column(next(i for i, c in enumerate(columns) if c.id == line[0].id))
    for parent, child in itertools.pairwise(line):
        found = pc.struct_field(found, parent.type.fields.index(child))  # type: ignore[union-attr]
    return found


def split(table: pa.Table, schema: Schema) -> Iterator[tuple[tuple[str | None, ...], pa.Table]]:
    """The rows of each partition, with its value texts."""
    if not schema.partitioning:
        yield (), table
        return
    keys: list[pa.ChunkedArray] = []
    for part in schema.partitioning:
        transform = parse_transform(part.transform)
        source = _column(table, schema, part.source)
        type_ = schema.column(part.source).type
        made = apply(transform, type_, source.combine_chunks())
        keys.append(_texts(made, result_type(transform, type_)))
    names = [f"k{i}" for i in range(len(keys))]
    rows = pa.table([*keys, numbers(table.num_rows)], names=[*names, "row"])
    grouped = rows.group_by(names, use_threads=False)
    groups = grouped.aggregate([("row", "list")])
    for group in range(groups.num_rows):
        key = tuple(groups[name][group].as_py() for name in names)
        yield key, table.take(groups["row_list"][group].values)


def _texts(values: pa.Array, type_: Any) -> pa.Array:
    """Partition values as value texts; the few distinct ones are rendered, not every row."""
    encoded = values.dictionary_encode()
    texts = [from_scalar_text(value, type_) for value in encoded.dictionary]
    return pa.array(texts, pa.string()).take(encoded.indices)


def in_order(table: pa.Table, schema: Schema) -> pa.Table:
    """The rows in the table's sort order; of a table with a primary key, the last one of each key."""
    if schema.row_key:
        return _by_key(table, schema)
    if not schema.sort_by:
        return table
    keys = [_column(table, schema, s.source) for s in schema.sort_by]
    names = [f"k{i}" for i in range(len(keys))]
    # Nulls first ascending and last descending is one rule: null is the smallest. Arrow has one
    # placement for all keys, so whether a value is null is a key of its own.
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
    order = sorted_order(keys)  # stable: of one key, the last one counts
    if schema.is_keyed:
        last = last_of_keys((column.take(order) for column in keys), table.num_rows)
        order = order.filter(last) if last.false_count else order
    return table.take(order)


def key_columns(table: pa.Table, schema: Schema) -> list[pa.Array]:
    """The columns of the row key, as kernels can compare them."""
    columns = (_column(table, schema, column_id) for column_id in schema.row_key)
    return [comparable(one_array(column)) for column in columns]
