"""Between our types and Arrow's, both ways."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
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
    Map,
    Struct,
    Time,
    Varchar,
)

_ATOMS: dict[Atom, pa.DataType] = {
    Atom.BOOLEAN: pa.bool_(),
    Atom.BYTE: pa.int8(),
    Atom.SHORT: pa.int16(),
    Atom.INT: pa.int32(),
    Atom.LONG: pa.int64(),
    Atom.FLOAT: pa.float32(),
    Atom.DOUBLE: pa.float64(),
    Atom.STRING: pa.string(),
    Atom.BINARY: pa.binary(),
    Atom.DATE: pa.date32(),
    Atom.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Atom.TIMESTAMP_NTZ: pa.timestamp("us"),
    # The names and the mark are those by which PySpark knows a variant in Arrow.
    Atom.VARIANT: pa.struct(
        [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
        ]
    ),
}


def _shape_type(kind: str, srid: int) -> pa.DataType:
    # As above: PySpark's own marks.
    meta = {b"srid": str(srid).encode(), kind.encode(): b"true"}
    return pa.struct(
        [
            pa.field("srid", pa.int32(), nullable=False),
            pa.field("wkb", pa.binary(), nullable=False, metadata=meta),
        ]
    )


def to_arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type that values of ``type_`` have in memory, logical names inside."""
    match type_:
        case Atom():
            return _ATOMS[type_]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Char() | Varchar():
            return pa.string()
        case Time():
            return pa.time64("us")
        case DayTimeInterval():
            return pa.duration("us")
        case Geometry(srid):
            return _shape_type("geometry", srid)
        case Geography(srid):
            return _shape_type("geography", srid)
        case Struct(fields):
            return pa.struct([to_arrow_field(f) for f in fields])
        case Array(element):
            return pa.list_(to_arrow_field(element))
        case Map(key, value):
            return pa.map_(to_arrow_field(key), to_arrow_field(value))


def to_arrow_field(column: Column) -> pa.Field:
    """The Arrow field of a column: name, type and nullability, nothing else."""
    return pa.field(column.name, to_arrow_type(column.type), column.nullable)


def to_arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema in which rows of these columns are shown."""
    return pa.schema([to_arrow_field(column) for column in columns])


def column_from_field(field: pa.Field) -> Column:
    """A column without ID from an Arrow field.

    Raises:
        InvalidRequestError: its type can't be stored.
    """
    try:
        type_ = from_arrow_type(field.type)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {field.name}: {error}") from None
    return Column(0, field.name, type_, field.nullable)


def from_arrow_type(arrow: pa.DataType) -> DataType:
    """Our type for an Arrow type; widths and units are made those that we store.

    Raises:
        InvalidRequestError: there is none.
    """
    simple = _simple(arrow)
    if simple is not None:
        return simple
    if pa.types.is_decimal(arrow):
        return _decimal(arrow)
    if pa.types.is_dictionary(arrow):
        return from_arrow_type(arrow.value_type)
    if pa.types.is_struct(arrow):
        return _struct(arrow)
    if pa.types.is_map(arrow):
        return Map(
            _inner("key", arrow.key_field, nullable=False),
            _inner("value", arrow.item_field, nullable=arrow.item_field.nullable),
        )
    if _is_list(arrow):
        return Array(_inner("element", arrow.value_field, nullable=arrow.value_field.nullable))
    raise InvalidRequestError(
        f"the Arrow type {arrow} can't be stored; cast it to a type that can, such as string"
    )


def _simple(arrow: pa.DataType) -> DataType | None:
    t = pa.types
    tests: list[tuple[Any, DataType]] = [
        (t.is_boolean, Atom.BOOLEAN),
        (t.is_int8, Atom.BYTE),
        (lambda a: t.is_int16(a) or t.is_uint8(a), Atom.SHORT),
        (lambda a: t.is_int32(a) or t.is_uint16(a), Atom.INT),
        (lambda a: t.is_int64(a) or t.is_uint32(a), Atom.LONG),
        (t.is_uint64, Decimal(20, 0)),
        (lambda a: t.is_float16(a) or t.is_float32(a), Atom.FLOAT),
        (t.is_float64, Atom.DOUBLE),
        (lambda a: t.is_string(a) or t.is_large_string(a) or t.is_string_view(a), Atom.STRING),
        (
            lambda a: (
                t.is_binary(a)
                or t.is_large_binary(a)
                or t.is_binary_view(a)
                or t.is_fixed_size_binary(a)
            ),
            Atom.BINARY,
        ),
        (t.is_date, Atom.DATE),
        (lambda a: t.is_timestamp(a) and a.tz is not None, Atom.TIMESTAMP),
        (t.is_timestamp, Atom.TIMESTAMP_NTZ),
        (t.is_time, Time(6)),
        (t.is_duration, DayTimeInterval()),
    ]
    return next((ours for test, ours in tests if test(arrow)), None)


def _decimal(arrow: Any) -> Decimal:
    if arrow.precision > 38 or arrow.scale < 0 or arrow.scale > arrow.precision:
        raise InvalidRequestError(f"{arrow} can't be stored; decimals have up to 38 digits")
    return Decimal(arrow.precision, arrow.scale)


def _struct(arrow: Any) -> DataType:
    fields = [arrow.field(i) for i in range(arrow.num_fields)]
    marks: dict[bytes, bytes] = {}
    for f in fields:
        marks.update(f.metadata or {})
    if b"variant" in marks:
        return Atom.VARIANT
    if b"geometry" in marks or b"geography" in marks:
        srid = int(marks.get(b"srid", b"0"))
        return Geometry(srid) if b"geometry" in marks else Geography(srid)
    if not fields:
        raise InvalidRequestError("a struct without fields can't be stored; leave the column out")
    return Struct(tuple(column_from_field(f) for f in fields))


def _is_list(arrow: pa.DataType) -> bool:
    # No list views: PyArrow 26 loses values when it casts them to lists.
    t = pa.types
    return bool(t.is_list(arrow) or t.is_large_list(arrow) or t.is_fixed_size_list(arrow))


def _inner(name: str, field: pa.Field, *, nullable: bool) -> Column:
    return Column(0, name, from_arrow_type(field.type), nullable)
