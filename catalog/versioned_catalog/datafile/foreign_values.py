"""Values of files that somebody else wrote, in our types (FORMAT.md, section 6.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.calendars import GREGORIAN, Calendar
from versioned_catalog.errors import CorruptTableError
from versioned_catalog.projection import arrays
from versioned_catalog.projection.resolver import physical
from versioned_catalog.schema.id_map import IdMap
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import scalar_of
from versioned_catalog.types.forms import JULIAN, Form
from versioned_catalog.types.types import Array, Atom, Column, DataType, Map, Struct
from versioned_catalog.values.julian import (
    FIRST_GREGORIAN_DAY,
    FIRST_SAFE_MICROS,
    gregorian_dates,
    gregorian_timestamps,
)

_UUID_DASHES = (8, 12, 16, 20)
"""Where the dashes stand among the 32 digits of a UUID."""


def own_array(
    array: pa.Array, column: Column, id_map: IdMap, calendar: Calendar = GREGORIAN
) -> pa.Array:
    """What was read of a column, in the type of a column of ``file_columns``.

    Fields of structs are taken by name, in the column's order.

    Args:
        calendar: of the file.

    Raises:
        CorruptTableError: a value does not fit the type.
        ArrowException: the array is not of the form that the map says.
    """
    target = to_arrow_type(physical(column).type)
    array = _stored(array)
    if array.type.equals(target) and not calendar.is_hybrid:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    match column.type:
        case Struct(fields):
            names = [field.name for field in array.type]
            read = [arrays.struct_child(array, names.index(f.physical_name)) for f in fields]
            inner = [own_array(a, f, id_map, calendar) for a, f in zip(read, fields, strict=True)]
            return arrays.struct_of(array, inner, target)
        case Array(element):
            offsets, values, mask = arrays.list_values(_plain_list(array))
            return arrays.list_of(
                offsets, own_array(values, element, id_map, calendar), mask, target
            )
        case Map(key, value):
            offsets, entries, mask = arrays.list_values(array)
            keys, items = (arrays.struct_child(entries, at) for at in (0, 1))
            own_keys = own_array(keys, key, id_map, calendar)
            own_items = own_array(items, value, id_map, calendar)
            return arrays.map_of(offsets, own_keys, own_items, mask, target)
        case _:
            return _own_leaf(array, column, id_map.columns[column.id].form, calendar)


def _plain_list(array: pa.Array) -> pa.Array:
    if pa.types.is_list(array.type):
        return array
    return array.cast(pa.list_(array.type.value_field))


def _stored(array: Any) -> Any:
    """The values of a dictionary or an extension type."""
    if pa.types.is_dictionary(array.type):
        return _stored(array.dictionary_decode())
    return _stored(array.storage) if isinstance(array.type, pa.BaseExtensionType) else array


def _own_leaf(array: pa.Array, column: Column, form: Form | None, calendar: Calendar) -> pa.Array:
    target = to_arrow_type(column.type)
    try:
        if form in JULIAN:
            return _gregorian(array, calendar)
        return _checked(_cast(array, column.type, form, target), column, form, calendar)
    except pa.ArrowInvalid as error:
        raise CorruptTableError(
            f"the column {column.name} holds a value that does not fit {target}: {error}"
        ) from error


def _cast(array: pa.Array, type_: DataType, form: Form | None, target: pa.DataType) -> pa.Array:
    match form:
        case Form.INT96 | Form.LOCAL:
            return _in_utc(array.cast(pa.timestamp("us"))).cast(target)
        case Form.NANOS_CUT:
            return _cut(array).cast(target)
        case Form.UUID:
            return _uuid_text(array)
        case _:
            return array if array.type.equals(target) else array.cast(target)


def _gregorian(array: pa.Array, calendar: Calendar) -> pa.Array:
    """Dates and timestamps of the hybrid calendar in the Gregorian one."""
    if pa.types.is_date(array.type):
        return gregorian_dates(array)
    if calendar.offset is None:
        raise pa.ArrowInvalid(f"it is a timestamp of the Julian calendar in {calendar.zone}")
    return gregorian_timestamps(array.cast(pa.timestamp("us", array.type.tz)), calendar.offset)


def _checked(array: pa.Array, column: Column, form: Form | None, calendar: Calendar) -> pa.Array:
    """The array, unless it has values of the hybrid calendar that the map takes for Gregorian ones."""
    is_hybrid = calendar.int96 if form is Form.INT96 else calendar.datetimes
    if not is_hybrid or form not in (None, Form.MILLIS, Form.INT96):
        return array
    match column.type:
        case Atom.DATE:
            first = scalar_of(FIRST_GREGORIAN_DAY, pa.int32())
        case Atom.TIMESTAMP:
            first = scalar_of(FIRST_SAFE_MICROS, pa.int64())
        case _:
            return array
    if pc.any(pc.less(array.view(first.type), first)).as_py():
        raise CorruptTableError(
            f"the column {column.name} holds values of the Julian calendar, as Spark 2 or the LEGACY "
            "mode wrote them, and was imported without regard to it; remove the file from the table "
            "(Table.remove_external) and import it with again='all'"
        )
    return array


def _cut(array: pa.Array) -> pa.Array:
    """Times and intervals of nanoseconds without digits below a microsecond, rounded down."""
    if not pa.types.is_duration(array.type):
        return pc.floor_temporal(array, unit="microsecond")
    numbers = array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    mask = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(numbers // 1000 * 1000, pa.int64(), mask=mask).view(array.type)


def _in_utc(array: pa.Array) -> pa.Array:
    """Local timestamps as instants: the same numbers."""
    return array.view(pa.int64()).view(pa.timestamp("us", tz="UTC"))


def _uuid_text(array: pa.Array) -> pa.Array:
    """UUIDs of 16 bytes as text of 36 characters."""
    nothing = pa.scalar(bytes(16), array.type)
    whole = pc.fill_null(array, nothing)
    blobs = whole.cast(pa.binary(16))
    start = blobs.offset * 16
    raw = np.frombuffer(blobs.buffers()[1], np.uint8)[start : start + len(array) * 16]
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    text = digits[np.stack([raw >> 4, raw & 15], axis=1).reshape(len(array), 32)]
    text = np.insert(text, _UUID_DASHES, ord("-"), axis=1)
    ends = np.arange(0, 36 * (len(array) + 1), 36, dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(text))]
    found = pa.Array.from_buffers(pa.string(), len(array), buffers)
    return pc.if_else(array.is_valid(), found, pa.nulls(1, pa.string())[0])
