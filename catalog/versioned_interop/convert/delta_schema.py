"""Schemas of Delta tables in the types of this library, from the JSON that they are stored as."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.sql_literals import constant_from_sql
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    Constant,
    DataType,
    Decimal,
    Map,
    Struct,
)
from versioned_interop.convert.source import SourceSchema

MAPPING_ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"

_ATOMS: dict[str, DataType] = {
    "boolean": Atom.BOOLEAN,
    "byte": Atom.BYTE,
    "short": Atom.SHORT,
    "integer": Atom.INT,
    "long": Atom.LONG,
    "float": Atom.FLOAT,
    "double": Atom.DOUBLE,
    "string": Atom.STRING,
    "binary": Atom.BINARY,
    "date": Atom.DATE,
    "timestamp": Atom.TIMESTAMP,
    "timestamp_ntz": Atom.TIMESTAMP_NTZ,
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_NOT_TAKEN = {
    "delta.generationExpression": "the generation expression",
    "delta.invariants": "the invariant",
    "delta.identity.start": "the identity",
}


@dataclass
class DeltaSchema:
    """A schema of Delta, as it is read.

    Args:
        schema: the columns and their keys.
        physical: the name of each column in files, by key.
        dropped: what is not taken over.
    """

    schema: SourceSchema
    physical: dict[str, str]
    dropped: list[str]

    def partitioning(self, names: Sequence[str]) -> dict[str, DataType]:
        """The types of partition columns, by key; the log names them as the schema does."""
        columns = {column.name: column for column in self.schema.columns}
        return {self.schema.keys[columns[name].id - 1]: columns[name].type for name in names}


def delta_schema(stored: Any, version: int, *, mapped: bool) -> DeltaSchema:
    """Read a schema.

    Args:
        stored: its JSON, parsed.
        version: the table version in which it appeared.
        mapped: whether the table has column mapping.

    Raises:
        InvalidRequestError: a type has no counterpart; the message names the column.
    """
    reader = _Reader(mapped)
    columns = reader.fields(stored["fields"], ())
    schema = SourceSchema(version, columns, tuple(reader.keys))
    return DeltaSchema(schema, reader.physical, reader.dropped)


@dataclass
class _Reader:
    """Numbers the columns in pre-order, and notes their keys."""

    mapped: bool
    keys: list[str] = field(default_factory=list)
    physical: dict[str, str] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)

    def fields(self, stored: list[Any], above: tuple[str, ...]) -> tuple[Column, ...]:
        return tuple(self._field(member, above) for member in stored)

    def _field(self, stored: Any, above: tuple[str, ...]) -> Column:
        name, metadata = stored["name"], stored.get("metadata") or {}
        path = (*above, name)
        key = str(metadata[MAPPING_ID]) if self.mapped else render_path(path)
        self.keys.append(key)
        self.physical[key] = metadata.get(PHYSICAL_NAME, name) if self.mapped else name
        own_id = len(self.keys)
        self.dropped += [
            f"{reason} of the column {render_path(path)}"
            for member, reason in _NOT_TAKEN.items()
            if member in metadata
        ]
        type_ = self._type(stored["type"], path, key)
        return Column(
            own_id,
            name,
            type_,
            nullable=bool(stored.get("nullable", True)),
            write_default=self._default(metadata.get("CURRENT_DEFAULT"), type_, path),
            comment=metadata.get("comment") or None,
        )

    def _default(self, text: Any, type_: DataType, path: tuple[str, ...]) -> Constant | None:
        if text is None:
            return None
        try:
            default = constant_from_sql(str(text), type_)
        except InvalidRequestError:
            default = None
        if not isinstance(default, Constant):
            self.dropped.append(f"the default {text} of the column {render_path(path)}")
            return None
        return default

    def _type(self, stored: Any, path: tuple[str, ...], key: str) -> DataType:
        if isinstance(stored, str):
            return _leaf(stored, path)
        match stored["type"]:
            case "struct":
                return Struct(self.fields(stored["fields"], path))
            case "array":
                nullable = bool(stored["containsNull"])
                return Array(self._inner("element", stored["elementType"], path, key, nullable))
            case "map":
                inner = self._inner("key", stored["keyType"], path, key, nullable=False)
                nullable = bool(stored["valueContainsNull"])
                return Map(inner, self._inner("value", stored["valueType"], path, key, nullable))
        return _leaf(str(stored["type"]), path)

    def _inner(
        self, name: str, stored: Any, path: tuple[str, ...], parent: str, nullable: bool
    ) -> Column:
        """An element, key or value, for which Delta has no ID."""
        key = f"{parent}.{name}"
        self.keys.append(key)
        self.physical[key] = name
        own_id = len(self.keys)
        return Column(own_id, name, self._type(stored, (*path, name), key), nullable=nullable)


def _leaf(text: str, path: tuple[str, ...]) -> DataType:
    decimal = _DECIMAL.fullmatch(text)
    if decimal is not None:
        return Decimal(int(decimal[1]), int(decimal[2]))
    atom = _ATOMS.get(text)
    if atom is None:
        raise InvalidRequestError(
            f"the column {render_path(path)} has Delta's type {text}, which is not taken over; drop the "
            "column in the source, or copy the rows without it",
            condition="NOT_SUPPORTED",
        )
    return atom
