"""Schema changes that a write with ``merge_schema`` makes, and the types that fit without any."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.changes import AddColumn, ChangeType
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.types import types
from versioned_catalog.types.arrow import from_arrow_type
from versioned_catalog.types.paths import ColumnPath
from versioned_catalog.types.widening import widens


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

    These add missing columns and nested fields, and widen types. A type that neither fits nor can be
    widened to is left for the write to refuse.
    """
    fields = [types.Column(0, f.name, _type_or_void(f), nullable=True) for f in arrow]
    return list(_merging(tuple(fields), schema.columns, ()))


def _type_or_void(field: pa.Field) -> types.DataType:
    if pa.types.is_null(field.type):
        return types.Atom.STRING
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
        elif not fits(field.type, column.type) and widens(column.type, field.type):
            yield ChangeType((*above, column.name), field.type)
