"""Schema changes that a write with ``merge_schema`` makes, and the types that fit without any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.changes import AddColumn, ChangeType
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.types import types
from versioned_catalog.types.arrow import from_arrow_type
from versioned_catalog.types.paths import ColumnPath
from versioned_catalog.types.widening import common_type, widens


def fits(source: types.DataType, target: types.DataType) -> bool:
    """Whether a type can be written to a column: by widening; text lengths are checked by value."""
    if types.is_text(source) and types.is_text(target):
        return True
    match source, target:
        case (types.DayTimeInterval(), types.DayTimeInterval()) | (types.Time(), types.Time()):
            return True
        case _:
            return widens(source, target)


def merging_changes(arrow: pa.Schema, schema: Schema) -> list[AddColumn | ChangeType]:
    """Return the schema changes after which rows of another schema fit.

    These add missing columns and nested fields, and widen types, to one that holds the values of both
    where neither holds those of the other. If there is none, the write is left to refuse the rows. A
    column of nulls without a type changes nothing; see ``untyped_columns``.
    """
    typed = (field for field in arrow if not pa.types.is_null(field.type))
    fields = [types.Column(0, f.name, _type_of(f), nullable=True) for f in typed]
    return list(_merging(tuple(fields), schema.columns, ()))


def untyped_columns(arrow: pa.Schema, schema: Schema) -> tuple[str, ...]:
    """The columns of nothing but nulls, without a type, that a schema lacks.

    They are added once a write has values of them, which also say the type.
    """
    known = {name_key(column.name) for column in schema.columns}
    nulls = (field.name for field in arrow if pa.types.is_null(field.type))
    return tuple(name for name in nulls if name_key(name) not in known)


def without_columns(
    arrow: pa.Schema, batches: Iterable[pa.RecordBatch], names: tuple[str, ...]
) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Rows without some columns that are all null."""
    kept = [
        at
        for at, one in enumerate(arrow)
        if one.name not in names or not pa.types.is_null(one.type)
    ]
    return pa.schema([arrow.field(at) for at in kept]), (batch.select(kept) for batch in batches)


def _type_of(field: pa.Field) -> types.DataType:
    try:
        return from_arrow_type(field.type)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {field.name}: {error}") from None


def _merging(
    given: tuple[types.Column, ...], columns: tuple[types.Column, ...], above: ColumnPath
) -> Iterator[AddColumn | ChangeType]:
    by_name = {name_key(column.name): column for column in columns}
    for field in given:
        column = by_name.get(name_key(field.name))
        if column is None:
            yield AddColumn((*above, field.name), field.type, nullable=True)
        elif types.is_nested(column.type) and type(column.type) is type(field.type):
            yield from _merging(
                types.children(field.type), types.children(column.type), (*above, column.name)
            )
        elif not fits(field.type, column.type):
            common = common_type((field.type, column.type))
            if common is not None:
                yield ChangeType((*above, column.name), common)
