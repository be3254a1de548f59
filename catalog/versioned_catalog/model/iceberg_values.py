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

from versioned_catalog.model.types import Constant, DataType, Decimal, LeafType, NestedType

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
    match type_.leaf.iceberg:
        case "boolean":
            return text == "true"
        case "int" | "long":
            return int(text)
        case "float" | "double":
            if not math.isfinite(number := float(text)):
                raise ValueError(f"JSON has no {text}")
            return number
        case "decimal" | "string":
            return text
        case "binary":
            return base64.b64decode(text).hex().upper()
        case "date":
            return _after_epoch(timedelta(days=int(text))).date().isoformat()
        case "timestamp" | "timestamptz" as name:
            zone = "+00:00" if name == "timestamptz" else ""
            at = _after_epoch(timedelta(microseconds=int(text)))
            return at.isoformat(timespec="microseconds") + zone
        case "time":
            at = _EPOCH + timedelta(microseconds=int(text))
            return at.time().isoformat(timespec="microseconds")
        case None:
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
    match type_.leaf.iceberg:
        case "boolean":
            return b"\x01" if text == "true" else b"\x00"
        case "int" | "date":
            return struct.pack("<i", int(text))
        case "long" | "timestamp" | "timestamptz" | "time":
            return struct.pack("<q", int(text))
        case "float" | "double" as name:
            number = float(text) or (0.0 if upper else -0.0)
            return struct.pack("<f" if name == "float" else "<d", number)
        case "decimal":
            return shortest(unscaled(text, type_))
        case "string":
            return text.encode()
        case "binary":
            return base64.b64decode(text)
        case None:
            raise AssertionError("columns of these types have no bounds")


def partition_value(text: str, type_: LeafType) -> Any:
    """Return a partition value as Avro takes it; see ``avro_type``."""
    match type_.leaf.iceberg:
        case "boolean":
            return text == "true"
        case "decimal":
            size = fixed_size(_decimal(type_).precision)
            return unscaled(text, type_).to_bytes(size, "big", signed=True)
        case "string":
            return text
        case "binary":
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
    match type_.leaf.iceberg:
        case "boolean" | "int" | "long" | "string" as name:
            return name
        case "binary":
            return "bytes"
        case "date":
            return {"type": "int", "logicalType": "date"}
        case "timestamp" | "timestamptz" as name:
            utc = name == "timestamptz"
            return {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": utc}
        case "time":
            return {"type": "long", "logicalType": "time-micros"}
        case "decimal":
            exact = _decimal(type_)
            return {
                "type": "fixed",
                "name": f"decimal_{field_id}",
                "size": fixed_size(exact.precision),
                "logicalType": "decimal",
                "precision": exact.precision,
                "scale": exact.scale,
            }
        case "float" | "double" | None:
            raise AssertionError("no table is partitioned by columns of these types")


def _decimal(type_: LeafType) -> Decimal:
    assert isinstance(type_, Decimal)
    return type_


def unscaled(text: str, type_: LeafType) -> int:
    """Return the unscaled value of a decimal's text, exactly.

    >>> unscaled("-12.50", Decimal(4, 2))
    -1250
    """
    return int(decimal.Decimal(text).scaleb(_decimal(type_).scale, decimal.Context(prec=80)))


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
