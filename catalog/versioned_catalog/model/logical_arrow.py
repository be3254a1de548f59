"""The Arrow types of logical types, and conversions from and to arrays of their base types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from versioned_catalog.model.type_text import quote

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


def with_logical_types(rows: pa.Table, logical: Mapping[str, LogicalType]) -> pa.Table:
    """Rows with some columns in the Arrow types of their logical types, by name."""
    for at, field in enumerate(rows.schema):
        if field.name in logical:
            type_ = logical[field.name]
            chunks = [to_logical(chunk, type_) for chunk in rows.column(at).chunks]
            array = pa.chunked_array(chunks, logical_arrow_type(type_, field.type))
            rows = rows.set_column(at, field.with_type(array.type), array)
    return rows


def in_base_types(
    arrow: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    logical: Callable[[str], tuple[LogicalType, pa.DataType] | None],
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Rows whose columns are in Arrow types of logical types, in base types.

    Args:
        logical: the logical type and the base type of a column by its name in any case, or None.
    """
    columns = [(at, found) for at, name in enumerate(arrow.names) if (found := logical(name))]
    changed = {
        at: found
        for at, found in columns
        if from_logical(pa.nulls(0, arrow.field(at).type), *found).type != arrow.field(at).type
    }
    if not changed:
        return arrow, iter(batches)
    fields = [
        field.with_type(changed[at][1]) if at in changed else field
        for at, field in enumerate(arrow)
    ]
    stored = pa.schema(fields)

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [
                from_logical(array, *changed[at]) if at in changed else array
                for at, array in enumerate(batch.columns)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=stored)

    return stored, converted()


def declared_logical(arrow: pa.Schema) -> tuple[pa.Schema, dict[str, str]]:
    """The base types of a declared schema, and the properties of the logical types of its columns.

    UUIDs, JSON and intervals of months, days and nanoseconds are such types in Arrow.
    """
    fields, properties = [], {}
    for field in arrow:
        text, base = _declared(field.type)
        if text:
            properties[f"{LOGICAL_TYPE}{quote(field.name)}"] = text
        fields.append(field.with_type(base))
    return pa.schema(fields, arrow.metadata), properties


def _declared(kind: pa.DataType) -> tuple[str | None, pa.DataType]:
    if isinstance(kind, pa.UuidType):
        return "UUID", pa.string()
    if isinstance(kind, pa.JsonType):
        return "JSON", pa.string()
    return ("INTERVAL", _INTERVAL_BASE) if kind == _INTERVAL else (None, kind)
