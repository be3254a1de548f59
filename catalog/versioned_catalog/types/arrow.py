"""Conversion between column types and Arrow types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.types import (
    Array,
    Atom,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Struct,
    Time,
)


def to_arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type that values of ``type_`` have in memory, with logical names inside."""
    match type_:
        case Atom():
            return type_.leaf.arrow
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Geometry(srid) | Geography(srid):
            return _shape_type(type_.leaf.name, srid)
        case Struct(fields):
            return pa.struct([to_arrow_field(f) for f in fields])
        case Array(element):
            return pa.list_(to_arrow_field(element))
        case Map(key, value):
            return pa.map_(to_arrow_field(key), to_arrow_field(value))
        case _:
            return type_.leaf.arrow


def _shape_type(name: str, srid: int) -> pa.DataType:
    # PySpark recognizes shapes in Arrow data by these names and this metadata.
    meta = {b"srid": str(srid).encode(), name.encode(): b"true"}
    return pa.struct(
        [
            pa.field("srid", pa.int32(), nullable=False),
            pa.field("wkb", pa.binary(), nullable=False, metadata=meta),
        ]
    )


def to_arrow_field(column: Column) -> pa.Field:
    """The Arrow field of a column: name, type and nullability, nothing else."""
    return pa.field(column.name, to_arrow_type(column.type), column.nullable)


def to_arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of rows of these columns."""
    return pa.schema([to_arrow_field(column) for column in columns])


def column_from_field(field: pa.Field) -> Column:
    """A column without ID from an Arrow field.

    Raises:
        InvalidRequestError: the type of the field can't be stored.
    """
    try:
        type_ = from_arrow_type(field.type)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {field.name}: {error}") from None
    return Column(0, field.name, type_, field.nullable)


def from_arrow_type(arrow: pa.DataType) -> DataType:
    """The column type for an Arrow type, of the stored width and unit.

    Raises:
        InvalidRequestError: no column type can store it.
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
    types: list[tuple[DataType, tuple[Callable[[pa.DataType], bool], ...]]] = [
        (Atom.BOOLEAN, (t.is_boolean,)),
        (Atom.BYTE, (t.is_int8,)),
        (Atom.SHORT, (t.is_int16, t.is_uint8)),
        (Atom.INT, (t.is_int32, t.is_uint16)),
        (Atom.LONG, (t.is_int64, t.is_uint32)),
        (Decimal(20, 0), (t.is_uint64,)),
        (Atom.FLOAT, (t.is_float16, t.is_float32)),
        (Atom.DOUBLE, (t.is_float64,)),
        (Atom.STRING, (t.is_string, t.is_large_string, t.is_string_view)),
        (Atom.BINARY, (t.is_binary, t.is_large_binary, t.is_binary_view, t.is_fixed_size_binary)),
        (Atom.DATE, (t.is_date,)),
        (Time(6), (t.is_time,)),
        (DayTimeInterval(), (t.is_duration,)),
    ]
    if t.is_timestamp(arrow):
        return Atom.TIMESTAMP_NTZ if arrow.tz is None else Atom.TIMESTAMP
    return next((type_ for type_, tests in types if any(test(arrow) for test in tests)), None)


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
