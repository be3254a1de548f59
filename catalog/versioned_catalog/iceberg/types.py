"""Types of the table in Iceberg: which type they become, and which widenings Iceberg's readers follow.

docs/iceberg.md shows the same table.
"""

from __future__ import annotations

from typing import Any

from versioned_catalog.types.types import (
    Array,
    Atom,
    Char,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    LeafType,
    Map,
    NestedType,
    Struct,
    Time,
    Varchar,
)

Json = Any


def leaf_type(type_: LeafType) -> str | None:
    """Return the Iceberg type of a leaf type; None if there is none.

    >>> from versioned_catalog.types.types import Atom, Decimal
    >>> leaf_type(Atom.SHORT), leaf_type(Decimal(10, 2)), leaf_type(Atom.VARIANT)
    ('int', 'decimal(10, 2)', None)
    """
    match type_:
        case Atom.BOOLEAN:
            return "boolean"
        case Atom.BYTE | Atom.SHORT | Atom.INT:
            return "int"
        case Atom.LONG | DayTimeInterval():
            return "long"
        case Atom.FLOAT:
            return "float"
        case Atom.DOUBLE:
            return "double"
        case Atom.STRING | Char() | Varchar():
            return "string"
        case Atom.BINARY:
            return "binary"
        case Atom.DATE:
            return "date"
        case Atom.TIMESTAMP:
            return "timestamptz"
        case Atom.TIMESTAMP_NTZ:
            return "timestamp"
        case Decimal(precision, scale):
            return f"decimal({precision}, {scale})"
        case Time():
            return "time"
        case Atom.VARIANT | Geometry() | Geography():
            return None  # their layout in our files is not Iceberg's


def promotes(old: DataType, new: DataType) -> bool:
    """Whether every Iceberg reader shows values that were written as ``old`` right as ``new``.

    Both are leaf types, and ``new`` is a legal widening of ``old``. Iceberg also allows DATE to
    TIMESTAMP, which Spark's reader refuses.
    """
    if isinstance(old, NestedType) or isinstance(new, NestedType):
        return True
    before, after = leaf_type(old), leaf_type(new)
    if before == after or (before, after) in (("int", "long"), ("float", "double")):
        return True
    match old, new:
        case Decimal(scale=old_scale), Decimal(scale=new_scale):
            return old_scale == new_scale
    return False


def column_children(type_: NestedType) -> dict[str, Column]:
    """The columns inside a type, by the names that Iceberg's paths use."""
    match type_:
        case Struct(fields):
            return {field.name: field for field in fields}
        case Array(element):
            return {"element": element}
        case Map(key, value):
            return {"key": key, "value": value}
