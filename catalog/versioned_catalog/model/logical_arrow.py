"""The Arrow types of logical types, and conversions from and to arrays of their base types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.keys import LOGICAL_TYPE
from versioned_catalog.model.logical import (
    Bitmask,
    CalendarInterval,
    Enumeration,
    Fixed,
    Float16,
    IpAddress,
    Json,
    LogicalType,
    NdArray,
    Numeric,
    Oid,
    Range,
    Unsigned,
    Uuid,
    render_logical,
)
from versioned_catalog.model.tokens import clip_repr
from versioned_catalog.model.type_text import ColumnPath, render_path

_DASHES = (8, 13, 18, 23)
_INTERVAL = pa.month_day_nano_interval()
_INTERVAL_BASE = pa.struct(
    [("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())]
)
_NANOSECONDS = 1000
_UNSIGNED = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


def logical_arrow_type(logical: LogicalType, base: pa.DataType) -> pa.DataType:
    """The Arrow type of a logical type; the base's if Arrow has no type for it."""
    match logical:
        case Uuid():
            return pa.uuid()
        case Json():
            return pa.json_()
        case Unsigned(bits):
            return _UNSIGNED[bits]
        case Oid():
            return pa.uint32()
        case Float16():
            return pa.float16()
        case Fixed(size):
            return pa.binary(size)
        case Bitmask():
            return pa.binary(logical.size)
        case IpAddress():
            return pa.binary(16)
        case Enumeration():
            return pa.dictionary(pa.int32(), pa.string(), ordered=True)
        case CalendarInterval():
            return _INTERVAL
        case Numeric() | Range() | NdArray():
            return base


def to_logical(values: pa.Array, logical: LogicalType) -> pa.Array:
    """Values of a base type in the Arrow type of their logical type.

    Raises:
        InvalidRequestError: Arrow's type does not hold a value.
    """
    wanted = logical_arrow_type(logical, values.type)
    match logical:
        case Uuid():
            return pa.ExtensionArray.from_storage(wanted, _uuid_bytes(values))
        case Json():
            return pa.ExtensionArray.from_storage(wanted, values)
        case Enumeration(labels):
            indices = pc.subtract(values.cast(pa.int32()), pa.scalar(1, pa.int32()))
            known = pa.array(labels, pa.string())
            return pa.DictionaryArray.from_arrays(indices, known, ordered=True)
        case CalendarInterval():
            return pa.array(map(_month_day_nano, values.to_pylist()), wanted)
        case _:
            return values.cast(wanted)


def from_logical(values: pa.Array, logical: LogicalType, base: pa.DataType) -> pa.Array:
    """Values in the Arrow type of a logical type as values of a base type.

    Values in other types are returned as they are.

    Raises:
        InvalidRequestError: a value is none of the logical type.
    """
    match logical:
        case Uuid() if isinstance(values.type, pa.UuidType):
            stored = values.storage.cast(pa.binary())
            return stored if pa.types.is_binary(base) else _uuid_texts(stored)
        case Json() if isinstance(values.type, pa.JsonType):
            return values.storage.cast(pa.string())
        case Enumeration() if _is_text(values.type):
            return _ordinals(values, logical, base)
        case CalendarInterval() if values.type == _INTERVAL:
            return pa.array(map(_interval, values.to_pylist()), base)
        case _:
            return values


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _uuid_bytes(values: pa.Array) -> pa.Array:
    kind = pa.binary(16)
    if not pa.types.is_string(values.type):
        return values.cast(kind)
    plain = [
        None if text is None else bytes.fromhex(text.replace("-", "")) for text in _texts(values)
    ]
    return pa.array(plain, kind)


def _texts(values: pa.Array) -> list[str | None]:
    texts: list[str | None] = values.to_pylist()
    return texts


def _uuid_texts(values: pa.Array) -> pa.Array:
    """Texts of 36 characters, made of 16 bytes each."""
    digits = np.frombuffer(
        b"".join(pc.fill_null(values, bytes(16)).to_pylist()).hex().encode(), "S1"
    )
    at = [place for place in range(36) if place not in _DASHES]
    texts = np.full((len(values), 36), b"-", "S1")
    texts[:, at] = digits.reshape(-1, 32)
    made = pa.array(texts.view("S36").reshape(-1), pa.binary()).cast(pa.string())
    return pc.if_else(values.is_valid(), made, pa.scalar(None, pa.string()))


def _ordinals(values: pa.Array, logical: Enumeration, base: pa.DataType) -> pa.Array:
    texts = values.cast(pa.string())
    labels = [label for label in logical.labels if label is not None]
    places = [at for at, label in enumerate(logical.labels, start=1) if label is not None]
    found = pc.index_in(texts, value_set=pa.array(labels, pa.string()))
    unknown = pc.indices_nonzero(pc.and_(texts.is_valid(), found.is_null()))
    if len(unknown):
        label = texts[unknown[0].as_py()].as_py()
        raise InvalidRequestError(
            f"{clip_repr(label)} is no label of {render_logical(logical)}; write one of its labels, or "
            "add the label at its end (alter().set_logical)",
            condition="INVALID_VALUE",
        )
    return pa.array(places, base).take(found)


def _month_day_nano(value: dict[str, int] | None) -> Any:
    if value is None:
        return None
    nanoseconds = value["microseconds"] * _NANOSECONDS
    if not -(2**63) <= nanoseconds < 2**63:
        raise InvalidRequestError(
            f"Arrow's intervals hold nanoseconds of 64 bits, which {value['microseconds']} microseconds "
            "exceed; read the base type (logical_types=False)",
            condition="INVALID_VALUE",
        )
    return pa.MonthDayNano((value["months"], value["days"], nanoseconds))


def _interval(value: Any) -> dict[str, int] | None:
    if value is None:
        return None
    months, days, nanoseconds = value
    if nanoseconds % _NANOSECONDS:
        raise InvalidRequestError(
            f"an INTERVAL holds microseconds, and a value has {nanoseconds} nanoseconds; round the "
            "values",
            condition="INVALID_VALUE",
        )
    return {"months": months, "days": days, "microseconds": nanoseconds // _NANOSECONDS}


def declared_logical(arrow: pa.Schema) -> tuple[pa.Schema, dict[str, str]]:
    """The base types of a declared schema, and the properties of the logical types of its columns.

    UUIDs, JSON and intervals of months, days and nanoseconds are such types in Arrow.
    """
    properties: dict[str, str] = {}
    fields = [_declared(field, (field.name,), properties) for field in arrow]
    return pa.schema(fields, arrow.metadata), properties


def _declared(field: pa.Field, path: ColumnPath, properties: dict[str, str]) -> pa.Field:
    """The field in its base type; logical types are added to the properties."""
    kind: Any = field.type
    if pa.types.is_struct(kind):
        inner = [_declared(each, (*path, each.name), properties) for each in kind]
        return field.with_type(pa.struct(inner))
    if pa.types.is_map(kind):
        key = _declared(kind.key_field, (*path, "key"), properties)
        return field.with_type(
            pa.map_(key, _declared(kind.item_field, (*path, "value"), properties))
        )
    if pa.types.is_list(kind):
        element = _declared(kind.value_field, (*path, "element"), properties)
        return field.with_type(pa.list_(element))
    text, base = _own(kind)
    if text:
        properties[f"{LOGICAL_TYPE}{render_path(path)}"] = text
    return field.with_type(base)


def _own(kind: pa.DataType) -> tuple[str | None, pa.DataType]:
    if isinstance(kind, pa.UuidType):
        return "UUID", pa.string()
    if isinstance(kind, pa.JsonType):
        return "JSON", pa.string()
    return ("INTERVAL", _INTERVAL_BASE) if kind == _INTERVAL else (None, kind)
