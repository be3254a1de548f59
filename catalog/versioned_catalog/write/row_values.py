"""Constraints on written values: NOT NULL, the length of VARCHAR and CHAR, and the padding of CHAR."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.projection.arrays import (
    list_of,
    list_values,
    map_of,
    struct_child,
    struct_of,
)
from versioned_catalog.schema.ddl import render_type
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.types import Array, Char, Column, Map, Struct, Varchar, walk


def check_values(array: pa.Array, column: Column, path: ColumnPath, table: str) -> None:
    """Refuse nulls in NOT NULL columns, and text that is too long, nested columns included.

    Raises:
        InvalidRequestError: a value breaks a constraint.
    """
    if not column.nullable and array.null_count:
        raise InvalidRequestError(
            f"{table}: the column {render_path(path)} is NOT NULL and {array.null_count} "
            "of the rows hold null",
            condition="NULL_VALUE",
        )
    match column.type:
        case Varchar(length) | Char(length):
            _check_length(array, length, column, path, table)
        case Struct(fields):
            present = array.filter(array.is_valid()) if array.null_count else array
            for at, child in enumerate(fields):
                _check_child(struct_child(present, at), child, path, table)
        case Array(element):
            _, values, _ = list_values(array)
            _check_child(values, element, path, table)
        case Map(key, value):
            _, entries, _ = list_values(array)
            _check_child(struct_child(entries, 0), key, path, table)
            _check_child(struct_child(entries, 1), value, path, table)
        case _:
            return


def _check_child(array: pa.Array, column: Column, above: ColumnPath, table: str) -> None:
    check_values(array, column, (*above, column.name), table)


def _check_length(
    array: pa.Array, length: int, column: Column, path: ColumnPath, table: str
) -> None:
    longest = pc.max(pc.utf8_length(array)).as_py()
    if longest is not None and longest > length:
        raise InvalidRequestError(
            f"{table}: the column {render_path(path)} is {render_type(column.type)}, and a "
            f"value has {longest} characters; widen the column with "
            f"alter().change_type({render_path(path)!r}, 'varchar({longest})')",
            condition="VALUE_TOO_LONG",
        )


def padded(array: pa.Array, column: Column) -> pa.Array:
    """Pad every CHAR, nested ones included, to the length of its type."""
    if not any(isinstance(inner.type, Char) for inner, _ in walk((column,))):
        return array
    type_ = to_arrow_type(column.type)
    match column.type:
        case Struct(fields):
            fields_ = [padded(struct_child(array, at), f) for at, f in enumerate(fields)]
            return struct_of(array, fields_, type_)
        case Array(element):
            offsets, values, mask = list_values(array)
            return list_of(offsets, padded(values, element), mask, type_)
        case Map(key, value):
            offsets, entries, mask = list_values(array)
            keys, values = padded(struct_child(entries, 0), key), struct_child(entries, 1)
            return map_of(offsets, keys, padded(values, value), mask, type_)
        case Char(length):
            return pc.utf8_rpad(array, length, " ")
        case _:
            return array
