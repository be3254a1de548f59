"""Value texts (FORMAT.md, section 4.2) as Iceberg stores single values: in JSON, as bytes, in Avro.

Iceberg's forms are in its specification, appendix D.
"""

from __future__ import annotations

import base64
import decimal
import json
import math
import struct
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from versioned_catalog.model.types import (
    Atom,
    Char,
    Constant,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    LeafType,
    NestedType,
    Time,
    Varchar,
)

_EPOCH = datetime(1970, 1, 1)


def default_json(constant: Constant, type_: DataType) -> Any:
    """Return a scalar default in Iceberg's JSON form.

    Raises:
        ValueError: Iceberg's readers have no default of this type or value; the message says why.
    """
    if isinstance(type_, NestedType):
        raise ValueError("it is not a single value")
    return _json(json.loads(constant.json), type_)


def _json(text: str, type_: LeafType) -> Any:
    match type_:
        case Atom.BOOLEAN:
            return text == "true"
        case Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG | DayTimeInterval():
            return int(text)
        case Atom.FLOAT | Atom.DOUBLE:
            if not math.isfinite(number := float(text)):
                raise ValueError(f"JSON has no {text}")
            return number
        case Decimal() | Atom.STRING | Char() | Varchar():
            return text
        case Atom.BINARY:
            return base64.b64decode(text).hex().upper()
        case Atom.DATE:
            return _after_epoch(timedelta(days=int(text))).date().isoformat()
        case Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ:
            zone = "+00:00" if type_ is Atom.TIMESTAMP else ""
            at = _after_epoch(timedelta(microseconds=int(text)))
            return at.isoformat(timespec="microseconds") + zone
        case Time():
            at = _EPOCH + timedelta(microseconds=int(text))
            return at.time().isoformat(timespec="microseconds")
        case Atom.VARIANT | Geometry() | Geography():
            raise ValueError("its type has no defaults")


def _after_epoch(span: timedelta) -> datetime:
    try:
        return _EPOCH + span
    except OverflowError:
        raise ValueError("it is not in the years 1 to 9999") from None


def timestamp_ms(time: datetime) -> int:
    """Return a time as Iceberg stores it: milliseconds since 1970, rounded down."""
    return (time - _EPOCH.replace(tzinfo=UTC)) // timedelta(milliseconds=1)


def bound(text: str, type_: LeafType, *, upper: bool) -> bytes:
    """Return a bound as bytes. A zero is -0.0 below and 0.0 above, which Iceberg distinguishes."""
    match type_:
        case Atom.BOOLEAN:
            return b"\x01" if text == "true" else b"\x00"
        case Atom.BYTE | Atom.SHORT | Atom.INT | Atom.DATE:
            return struct.pack("<i", int(text))
        case Atom.LONG | Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ | Time() | DayTimeInterval():
            return struct.pack("<q", int(text))
        case Atom.FLOAT | Atom.DOUBLE:
            number = float(text) or (0.0 if upper else -0.0)
            return struct.pack("<f" if type_ is Atom.FLOAT else "<d", number)
        case Decimal():
            return shortest(unscaled(text, type_))
        case Atom.STRING | Char() | Varchar():
            return text.encode()
        case Atom.BINARY:
            return base64.b64decode(text)
        case Atom.VARIANT | Geometry() | Geography():
            raise AssertionError("columns of these types have no bounds")


def partition_value(text: str, type_: LeafType) -> Any:
    """Return a partition value as Avro takes it; see ``avro_type``."""
    match type_:
        case Atom.BOOLEAN:
            return text == "true"
        case Decimal(precision):
            return unscaled(text, type_).to_bytes(fixed_size(precision), "big", signed=True)
        case Atom.STRING | Char() | Varchar():
            return text
        case Atom.BINARY:
            return base64.b64decode(text)
        case _:
            return int(text)


def read_partition_value(value: Any, type_: LeafType) -> Any:
    """Convert a partition value that fastavro read, such as a date or decimal, to its Avro form."""
    match value:
        case datetime():
            return (value.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
        case date():
            return (value - _EPOCH.date()).days
        case time():
            since = datetime.combine(_EPOCH, value) - _EPOCH
            return since // timedelta(microseconds=1)
        case decimal.Decimal():
            return partition_value(str(value), type_)
        case _:
            return value


def avro_type(type_: LeafType, field_id: int) -> Any:
    """Return the Avro type of a partition field."""
    match type_:
        case Atom.BOOLEAN:
            return "boolean"
        case Atom.BYTE | Atom.SHORT | Atom.INT:
            return "int"
        case Atom.LONG | DayTimeInterval():
            return "long"
        case Atom.DATE:
            return {"type": "int", "logicalType": "date"}
        case Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ:
            utc = type_ is Atom.TIMESTAMP
            return {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": utc}
        case Time():
            return {"type": "long", "logicalType": "time-micros"}
        case Decimal(precision, scale):
            return {
                "type": "fixed",
                "name": f"decimal_{field_id}",
                "size": fixed_size(precision),
                "logicalType": "decimal",
                "precision": precision,
                "scale": scale,
            }
        case Atom.STRING | Char() | Varchar():
            return "string"
        case Atom.BINARY:
            return "bytes"
        case Atom.FLOAT | Atom.DOUBLE | Atom.VARIANT | Geometry() | Geography():
            raise AssertionError("no table is partitioned by columns of these types")


def unscaled(text: str, type_: Decimal) -> int:
    """Return the unscaled value of a decimal's text, exactly.

    >>> unscaled("-12.50", Decimal(4, 2))
    -1250
    """
    return int(decimal.Decimal(text).scaleb(type_.scale, decimal.Context(prec=80)))


def shortest(number: int) -> bytes:
    """Return the shortest big-endian two's complement."""
    bits = (number if number >= 0 else -number - 1).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def fixed_size(precision: int) -> int:
    """Return the number of bytes that hold every unscaled value of ``precision`` digits.

    >>> fixed_size(9), fixed_size(10), fixed_size(38)
    (4, 5, 16)
    """
    return int(10**precision - 1).bit_length() // 8 + 1
