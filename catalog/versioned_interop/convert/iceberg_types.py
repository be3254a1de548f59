"""Schemas, partition transforms and defaults of Iceberg in the types of this library.

Values keep their meaning and order. A UUID becomes its text, a fixed becomes a binary. Bucket numbers
are those of FORMAT.md, section 4.5, but for a UUID, which Iceberg hashes as bytes.
"""

from __future__ import annotations

import uuid
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.calendars import temporal
from versioned_catalog.model.sql_literals import constant
from versioned_catalog.model.transforms import Bucket, Truncate, parse_transform, render
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    Constant,
    DataType,
    Decimal,
    Family,
    LeafType,
    Map,
    NestedType,
    Struct,
    Time,
)
from versioned_interop.convert.source import SourcePartition, SourceSchema, library
from versioned_interop.publish.iceberg_specs import transform_of

_ATOMS: dict[str, DataType] = {
    "boolean": Atom.BOOLEAN,
    "int": Atom.INT,
    "long": Atom.LONG,
    "float": Atom.FLOAT,
    "double": Atom.DOUBLE,
    "date": Atom.DATE,
    "time": Time(6),
    "timestamp": Atom.TIMESTAMP_NTZ,
    "timestamptz": Atom.TIMESTAMP,
    "string": Atom.STRING,
    "uuid": Atom.STRING,
    "binary": Atom.BINARY,
}


def source_schema(schema: Any) -> SourceSchema:
    """A schema of PyIceberg.

    Raises:
        InvalidRequestError: a type has no counterpart; the message names the column.
    """
    reader = _Reader()
    columns = tuple(reader.field(nested, ()) for nested in schema.fields)
    return SourceSchema(schema.schema_id, columns, tuple(reader.keys))


class _Reader:
    """Numbers the columns in pre-order, and notes their keys."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def _next(self, field_id: int) -> int:
        self.keys.append(str(field_id))
        return len(self.keys)

    def field(self, field: Any, above: tuple[str, ...]) -> Column:
        path = (*above, field.name)
        own_id = self._next(field.field_id)
        type_ = self.type(field.field_type, path)
        return Column(
            own_id,
            field.name,
            type_,
            nullable=not field.required,
            read_default=_default(field.initial_default, type_, path),
            write_default=_default(field.write_default, type_, path),
            comment=field.doc or None,
        )

    def type(self, type_: Any, path: tuple[str, ...]) -> DataType:
        types = library("pyiceberg.types", "iceberg")
        match type_:
            case types.StructType():
                return Struct(tuple(self.field(nested, path) for nested in type_.fields))
            case types.ListType():
                return Array(self._inner("element", type_.element_field, path))
            case types.MapType():
                key = self._inner("key", type_.key_field, path)
                return Map(key, self._inner("value", type_.value_field, path))
            case types.DecimalType():
                return Decimal(type_.precision, type_.scale)
            case types.FixedType():
                return Atom.BINARY
        atom = _ATOMS.get(str(type_))
        if atom is None:
            raise InvalidRequestError(
                f"the column {'.'.join(path)} has Iceberg's type {type_}, which has no counterpart "
                "here; drop the column in the source, or copy the rows without it",
                condition="NOT_SUPPORTED",
            )
        return atom

    def _inner(self, name: str, field: Any, path: tuple[str, ...]) -> Column:
        own_id = self._next(field.field_id)
        inner = self.type(field.field_type, (*path, name))
        return Column(own_id, name, inner, nullable=not field.required and name != "key")


def _default(value: Any, type_: DataType, path: tuple[str, ...]) -> Constant | None:
    """The constant of a default.

    PyIceberg gives defaults as they stand in JSON, or parsed, or as numbers of days and microseconds.
    """
    if value is None:
        return None
    if isinstance(type_, NestedType):
        if value in ({}, []):
            return None
        raise InvalidRequestError(
            f"the default of the column {'.'.join(path)} is nested, which is not taken over; drop the "
            "default in the source",
            condition="NOT_SUPPORTED",
        )
    return constant(_plain(value, type_), type_)


def _plain(value: Any, type_: LeafType) -> Any:
    match value:
        case uuid.UUID():
            return str(value)
        case int() if type_.leaf.family is Family.TEMPORAL:
            return temporal(type_).to_python(value)
        case str() if type_ is Atom.BINARY:
            return bytes.fromhex(value)
    return value


def partition_fields(spec: Any, schema: Any) -> list[tuple[int, SourcePartition]]:
    """The fields of a partition spec that have the same values here, each with its place in the spec.

    Args:
        spec: a partition spec of PyIceberg.
        schema: the schema of PyIceberg that has its columns; fields of other columns are left out.
    """
    fields = []
    for place, field in enumerate(spec.fields):
        text = transform_text(str(field.transform))
        if text is None or not _has_same_values(text, _type_of(schema, field.source_id)):
            continue
        fields.append((place, SourcePartition(str(field.source_id), text)))
    return fields


def transform_text(text: str) -> str | None:
    """A transform of Iceberg in the words of FORMAT.md, section 4.5; None if there is none.

    >>> transform_text("bucket[16]"), transform_text("day"), transform_text("void")
    ('bucket(16)', 'days', None)
    """
    try:
        return render(parse_transform(transform_of(text)))
    except InvalidRequestError:
        return None


def _type_of(schema: Any, field_id: int) -> str | None:
    try:
        return str(schema.find_type(field_id))
    except ValueError:  # the column was dropped
        return None


def _has_same_values(text: str, type_: str | None) -> bool:
    transform = parse_transform(text)
    if type_ in (None, "float", "double"):
        return False
    return not (type_ == "uuid" and isinstance(transform, Bucket | Truncate))
