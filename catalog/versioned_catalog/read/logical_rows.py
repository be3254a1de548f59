"""Rows in the Arrow types of logical types, and back in base types, also inside nested columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.logical import LogicalType
from versioned_catalog.model.logical_arrow import from_logical, to_logical
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import Array, Column, Map, Struct, children, walk
from versioned_catalog.read.arrays import rebuilt

LogicalTypes = Mapping[int, LogicalType]
"""Logical types by column ID."""


def with_logical_types(
    rows: pa.Table, columns: Sequence[Column], logical: LogicalTypes
) -> pa.Table:
    """Rows with the Arrow types of logical types.

    Args:
        columns: the columns of the rows, in order.

    Raises:
        InvalidRequestError: Arrow's type for a logical type does not hold a value.
    """
    for at, column in enumerate(columns):
        if not _has_logical(column, logical):
            continue
        field = rows.schema.field(at)
        type_ = _to_logical(pa.nulls(0, field.type), column, logical).type
        chunks = [_to_logical(chunk, column, logical) for chunk in rows.column(at).chunks]
        rows = rows.set_column(at, field.with_type(type_), pa.chunked_array(chunks, type_))
    return rows


def _has_logical(column: Column, logical: LogicalTypes) -> bool:
    return any(inner.id in logical for inner, _ in walk((column,)))


def _to_logical(array: pa.Array, column: Column, logical: LogicalTypes) -> pa.Array:
    if column.id in logical:
        return to_logical(array, logical[column.id])
    if not _has_logical(column, logical):
        return array

    def changed(parts: list[pa.Array]) -> list[pa.Array]:
        inner = zip(parts, children(column.type), strict=True)
        return [_to_logical(part, child, logical) for part, child in inner]

    return rebuilt(_without_hidden_values(array), None, changed)


def _without_hidden_values(array: pa.Array) -> pa.Array:
    """A nested array whose children hold no values below nulls, which need not be of a logical type."""
    if not array.null_count:
        return array
    if pa.types.is_struct(array.type):
        mask = array.is_null()
        return pa.StructArray.from_arrays(array.flatten(), fields=list(array.type), mask=mask)
    return array.take(pa.array(range(len(array)), pa.int64()))


def in_base_types(
    arrow: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    column_at: Callable[[str], Column | None],
    logical: LogicalTypes,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Rows whose columns may be in Arrow types of logical types, in base types.

    Args:
        column_at: the column with a name in any case, or None.
    """
    columns = {
        at: column
        for at, field in enumerate(arrow)
        if (column := column_at(field.name)) is not None
        and _from_logical(pa.nulls(0, field.type), column, logical).type != field.type
    }
    if not columns:
        return arrow, iter(batches)
    fields = [
        field.with_type(_from_logical(pa.nulls(0, field.type), columns[at], logical).type)
        if at in columns
        else field
        for at, field in enumerate(arrow)
    ]
    stored = pa.schema(fields)

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [
                _from_logical(array, columns[at], logical) if at in columns else array
                for at, array in enumerate(batch.columns)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=stored)

    return stored, converted()


def _from_logical(array: pa.Array, column: Column, logical: LogicalTypes) -> pa.Array:
    if column.id in logical:
        return from_logical(array, logical[column.id], to_arrow_type(column.type))
    if not _has_logical(column, logical):
        return array
    inner = _children_of(array.type, column)
    if not inner:
        return array

    def changed(parts: list[pa.Array]) -> list[pa.Array]:
        pairs = zip(parts, inner, strict=True)
        return [part if c is None else _from_logical(part, c, logical) for part, c in pairs]

    return rebuilt(_without_hidden_values(array), None, changed)


def _children_of(type_: pa.DataType, column: Column) -> Sequence[Column | None]:
    """The columns of the children of a type of Arrow; none if it is no type of the column's form."""
    match column.type:
        case Struct(fields) if pa.types.is_struct(type_):
            by_name = {name_key(field.name): field for field in fields}
            return [by_name.get(name_key(field.name)) for field in type_]
        case Array() if pa.types.is_list(type_):
            return children(column.type)
        case Map() if pa.types.is_map(type_):
            return children(column.type)
        case _:
            return ()
