"""Avro files, read record by record by fastavro, in batches.

==============================================  ====================================================
BOOLEAN, INT, BIGINT, FLOAT, DOUBLE             ``boolean``, ``int``, ``long``, ``float``, ``double``
STRING                                          ``string``, ``enum``, ``uuid``
BINARY                                          ``bytes``, ``fixed``
DATE, TIME                                      ``date``, ``time-millis``, ``time-micros``
TIMESTAMP, TIMESTAMP_NTZ                        ``timestamp-*``, ``local-timestamp-*``
DECIMAL                                         ``decimal``
STRUCT, ARRAY, MAP                              ``record``, ``array``, ``map``
==============================================  ====================================================

A union is one of these types with null; or of ``int`` and ``long``, or ``float`` and ``double``, the
wider of them. Other unions, records that hold themselves, ``duration`` and ``big-decimal`` are refused.
Other logical types are unknown, which Avro says to ignore.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.interop import optional_import
from versioned_catalog.limits import TYPE_DEPTH
from versioned_catalog.model.widening import MOST_DIGITS
from versioned_catalog.storage.store import Store
from versioned_interop.imports.conforming import BATCH_ROWS, Conforming, Target, conformed
from versioned_interop.imports.file_schema import (
    FileColumn,
    FileSchema,
    Kind,
    LeafRules,
    schema_of_arrow,
)
from versioned_interop.imports.text_files import open_stream

_Path = tuple[str, ...]
_Convert = Callable[[Any], Any] | None
"""What makes Arrow's Python values of fastavro's; None if they are the same."""

_PRIMITIVE: Mapping[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: Mapping[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time64("us"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("us"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}
_WIDER = (("int", "long"), ("float", "double"))
_REFUSED = ("duration", "big-decimal")


@dataclass(frozen=True)
class _Type:
    """A type of Avro.

    Args:
        arrow: the type of Arrow.
        convert: of the values.
    """

    arrow: pa.DataType
    convert: _Convert = None


class _Types:
    """The types of the fields of a file, and the paths of those that no column type holds."""

    def __init__(self) -> None:
        self.reasons: dict[_Path, str] = {}
        self._named: dict[str, Any] = {}

    def of(self, schema: Any, path: _Path, within: tuple[str, ...] = ()) -> _Type:
        """The type of a schema; ``within`` has the names of the records around it."""
        try:
            if len(path) > TYPE_DEPTH:
                raise InvalidRequestError(f"it is nested more than {TYPE_DEPTH} deep")
            return self._of(schema, path, within)
        except InvalidRequestError as error:
            self.reasons[path] = str(error)
            return _Type(pa.null(), lambda value: None)

    def _of(self, schema: Any, path: _Path, within: tuple[str, ...]) -> _Type:
        if isinstance(schema, list):
            return self._of(_only_branch(schema), path, within)
        if isinstance(schema, str):
            if schema in _PRIMITIVE:
                return _Type(_PRIMITIVE[schema])
            if schema in within:
                raise InvalidRequestError(f"the record {schema} holds itself")
            return self._of(self._named[schema], path, within)
        kind, logical = schema["type"], schema.get("logicalType", "")
        if "name" in schema:
            self._named[schema["name"]] = schema
        if logical in _REFUSED:
            raise InvalidRequestError(f"it is of Avro's type {logical}, which no column type holds")
        match kind:
            case "record" | "error":
                return self._record(schema, path, (*within, schema["name"]))
            case "array":
                element = self.of(schema["items"], (*path, "element"), within)
                return _Type(pa.list_(element.arrow), _each(element.convert))
            case "map":
                value = self.of(schema["values"], (*path, "value"), within)
                return _Type(pa.map_(pa.string(), value.arrow), _entries(value.convert))
            case "enum":
                return _Type(pa.string())
            case "bytes" | "fixed":
                return _Type(_decimal(schema) if logical == "decimal" else pa.binary())
            case "string" if logical == "uuid":
                return _Type(pa.string(), _text)
            case str() if (kind, logical) in _LOGICAL:
                return _Type(_LOGICAL[kind, logical])
            case _:
                return self._of(kind, path, within)

    def _record(self, schema: Any, path: _Path, within: tuple[str, ...]) -> _Type:
        fields = {
            field["name"]: self.of(field["type"], (*path, field["name"]), within)
            for field in schema["fields"]
        }
        converts = {name: type_.convert for name, type_ in fields.items() if type_.convert}
        kind = pa.struct([pa.field(name, type_.arrow) for name, type_ in fields.items()])

        def convert(value: Any) -> Any:
            if value is None:
                return None
            return value | {name: change(value[name]) for name, change in converts.items()}

        return _Type(kind, convert if converts else None)


def _only_branch(union: Sequence[Any]) -> Any:
    """The type of a union, beside null."""
    branches = [branch for branch in union if branch != "null"]
    if len(branches) == 1:
        return branches[0]
    for narrow, wide in _WIDER:
        if branches and all(branch in (narrow, wide) for branch in branches):
            return wide
    if not branches:
        return "null"
    names = [
        branch if isinstance(branch, str) else branch.get("name", branch["type"])
        for branch in branches
    ]
    raise InvalidRequestError(f"it is a union of {', '.join(map(str, names))}")


def _decimal(schema: Any) -> pa.DataType:
    digits, scale = schema["precision"], schema.get("scale", 0)
    if digits > MOST_DIGITS:
        raise InvalidRequestError(f"it is a decimal of {digits} digits, and a DECIMAL has up to 38")
    return pa.decimal128(digits, scale)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _each(convert: _Convert) -> _Convert:
    if convert is None:
        return None
    return lambda values: None if values is None else [convert(value) for value in values]


def _entries(convert: _Convert) -> _Convert:
    def entries(value: Any) -> Any:
        if value is None or convert is None:
            return None if value is None else list(value.items())
        return [(key, convert(inner)) for key, inner in value.items()]

    return entries


@dataclass(frozen=True)
class AvroReader:
    """Reads Avro files."""

    rules: LeafRules

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        with _opened(store, path) as (_, record, reasons):
            return [self._columns(record, reasons)]

    def _columns(self, record: _Type, reasons: Mapping[_Path, str]) -> FileSchema:
        """The columns, with those that are refused."""

        def refused(column: FileColumn, path: _Path) -> FileColumn:
            if path in reasons:
                return FileColumn(column.name, Kind.REFUSED, reason=reasons[path])
            inner = tuple(refused(part, (*path, part.name)) for part in column.fields)
            reason = next((part.reason for part in inner if part.kind is Kind.REFUSED), "")
            if reason and column.kind in (Kind.ARRAY, Kind.MAP):
                return FileColumn(column.name, Kind.REFUSED, reason=reason)
            return replace(column, fields=inner)

        columns = schema_of_arrow(pa.schema(list(record.arrow)), self.rules)
        return tuple(refused(column, (column.name,)) for column in columns)

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        with _opened(store, path) as (records, record, reasons):
            conforming = Conforming.of(self._columns(record, reasons), target)
            needed = [match.file.name for match in conforming.matches]
            batches = _batches(records, record, needed)
            read = ((rows, conforming.needed_arrays(batch)) for rows, batch in batches)
            yield from conformed(conforming, read, constants, lambda row: f"row {row + 1}")


def _batches(
    records: Iterator[Any], record: _Type, needed: Sequence[str]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Some columns of the records, with the numbers of rows."""
    fields = [record.arrow.field(name) for name in needed]
    while rows := list(islice(records, BATCH_ROWS)):
        if record.convert is not None:
            rows = [record.convert(row) for row in rows]
        arrays = [pa.array([row[f.name] for row in rows], f.type) for f in fields]
        yield len(rows), pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


@contextmanager
def _opened(store: Store, path: str) -> Iterator[tuple[Iterator[Any], _Type, Mapping[_Path, str]]]:
    """The records of a file, their type, and what is refused.

    Raises:
        InvalidRequestError: it is no whole Avro file, or fastavro is not installed.
    """
    fastavro = optional_import("fastavro", "an import of Avro", "'pyspark-versioned[avro]'")
    damaged = (
        *(ValueError, EOFError, LookupError, ArithmeticError, TypeError, RecursionError),
        *(zlib.error, struct.error, pa.ArrowException),
        *(fastavro.schema.SchemaParseException, fastavro.schema.UnknownType),
    )
    with open_stream(store, path) as stream:
        try:
            reader = fastavro.reader(stream)
            types = _Types()
            schema = reader.writer_schema
            if not isinstance(schema, dict) or schema.get("type") != "record":
                raise InvalidRequestError("its rows are no records")
            record = types._of(schema, (), ())
            yield iter(reader), record, types.reasons
        except InvalidRequestError:
            raise
        except damaged as error:
            raise InvalidRequestError(f"it is no whole Avro file: {error}") from None
