"""Conversion of the values of external files to the table's types (FORMAT.md, section 6.2).

Spark 2, and later versions in LEGACY mode, write values of the hybrid Julian and Gregorian calendar and
record that in the footer. They are converted on read, as Spark does.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.model.arrow import scalar_of, to_arrow_type
from versioned_catalog.model.calendars import (
    FIRST_GREGORIAN_DAY,
    FIRST_SAFE_MICROS,
    gregorian_dates,
    gregorian_timestamps,
)
from versioned_catalog.model.id_map import IdMap
from versioned_catalog.model.parquet_forms import JULIAN, SHREDDED, Form
from versioned_catalog.model.types import Array, Atom, Column, DataType, Struct, children
from versioned_catalog.read import arrays
from versioned_catalog.read.projection import physical
from versioned_catalog.read.shredding import whole_variants
from versioned_catalog.storage.footer import Footer

_VERSION = b"org.apache.spark.version"
_ZONE = b"org.apache.spark.timeZone"
_LEGACY_DATETIME = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96 = b"org.apache.spark.legacyINT96"

_UTC = ("UTC", "GMT", "Z", "UCT", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Zulu", "Universal", "Greenwich")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?")


@dataclass(frozen=True)
class Calendar:
    """The calendar of a file, by its footer.

    Args:
        datetimes: whether DATE and TIMESTAMP, as INT32 and INT64, are of the hybrid calendar.
        int96: whether INT96 is of the hybrid calendar.
        offset: the offset of the writer's time zone from UTC, in microseconds; None if it is not fixed.
        zone: the time zone in errors.
    """

    datetimes: bool = False
    int96: bool = False
    offset: int | None = None
    zone: str = ""

    @property
    def is_hybrid(self) -> bool:
        """Whether any values are of the hybrid calendar."""
        return self.datetimes or self.int96


GREGORIAN = Calendar()


def calendar_of(parquet: pq.ParquetFile) -> Calendar:
    """The calendar of a file by Spark's rules: Gregorian unless the footer names a Spark version."""
    metadata: Mapping[bytes, bytes] = parquet.metadata.metadata or {}
    version = metadata.get(_VERSION)
    if version is None:
        return GREGORIAN
    # Versions are compared as texts, as Spark does.
    datetimes = version < b"3.0.0" or _LEGACY_DATETIME in metadata
    int96 = version < b"3.1.0" or _LEGACY_INT96 in metadata
    zone = metadata.get(_ZONE)
    if zone is None:
        return Calendar(datetimes, int96, None, "a time zone that it does not name")
    name = zone.decode("utf-8", "replace")
    return Calendar(datetimes, int96, _fixed_offset(name), f"the time zone {name}")


def _fixed_offset(zone: str) -> int | None:
    if zone in _UTC:
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return None
    sign, hours, minutes, seconds = match.groups(default="0")
    total = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return (-total if sign == "-" else total) * 1_000_000


Julian = Mapping[int, Form | str]
"""By leaf index: the form of a leaf with values that the calendars disagree on, or the problem."""


def julian_leaves(parquet: pq.ParquetFile, footer: Footer) -> Julian:
    """The leaves with dates before 1582-10-16 or timestamps before 1901 of the hybrid calendar.

    Where the footer does not state the least value, the column is read.
    """
    calendar = calendar_of(parquet)
    if not calendar.is_hybrid:
        return {}
    return dict(_julian_leaves(parquet, footer, calendar))


def _julian_leaves(
    parquet: pq.ParquetFile, footer: Footer, calendar: Calendar
) -> Iterator[tuple[int, Form | str]]:
    schema: Any = parquet.metadata.schema
    for at in range(len(schema)):
        form, unit = _hybrid_form(schema.column(at), calendar)
        if form is None or not _is_old(parquet, footer, at, form, unit):
            continue
        if unit and calendar.offset is None:
            yield (
                at,
                "it holds timestamps before 1901 of the Julian calendar, as Spark 2 or the LEGACY mode "
                f"wrote them in {calendar.zone}, which can't be translated; rewrite the file with Spark",
            )
        else:
            yield at, form


def _hybrid_form(leaf: Any, calendar: Calendar) -> tuple[Form | None, int]:
    """The form of a leaf of the hybrid calendar, and its microseconds a unit; 0 for days."""
    if leaf.physical_type == "INT96" and calendar.int96:
        return Form.JULIAN_INT96, 1
    if not calendar.datetimes:
        return None, 0
    if leaf.logical_type.type == "DATE":
        return Form.JULIAN, 0
    text = str(leaf.logical_type)
    if leaf.logical_type.type == "TIMESTAMP" and "isAdjustedToUTC=true" in text:
        if "timeUnit=microseconds" in text:
            return Form.JULIAN, 1
        if "timeUnit=milliseconds" in text:
            return Form.JULIAN_MILLIS, 1000
    return None, 0


def _is_old(parquet: Any, footer: Footer, at: int, form: Form, unit: int) -> bool:
    """Whether a leaf has a value from before the calendars agree."""
    end = -(-FIRST_SAFE_MICROS // unit) if unit else FIRST_GREGORIAN_DAY + 1
    if form is not Form.JULIAN_INT96:
        ends = stated_ends(footer, at, "<q" if unit else "<i")
        if ends is not None:
            return ends[0] < end
    options = {
        "row_groups": list(range(len(footer.rows))),
        "column_indices": [at],
        "use_threads": False,
    }
    for batch in parquet.reader.iter_batches(65_536, **options):
        for leaf in leaves_of(batch.column(0)):
            numbers = leaf.view(pa.int64() if unit else pa.int32())
            if pc.any(pc.less(numbers, end)).as_py():
                return True
    return False


def stated_ends(footer: Footer, at: int, layout: str) -> tuple[int, int] | None:
    """The least and the greatest value of a leaf by the footer; None unless all row groups state them.

    Args:
        layout: the ``struct`` format of a value.
    """
    (path,) = footer.leaves_at([at])
    chunks, least, greatest = footer.chunks(path), 2**63 - 1, -(2**63)
    if chunks is None:
        return None
    for chunk, rows in zip(chunks, footer.rows, strict=True):
        if chunk.min is None or chunk.max is None:
            if chunk.nulls != rows:
                return None
            continue
        if len(chunk.min) != struct.calcsize(layout) or len(chunk.max) != len(chunk.min):
            return None
        least = min(least, *struct.unpack(layout, chunk.min))
        greatest = max(greatest, *struct.unpack(layout, chunk.max))
    return least, greatest


def leaves_of(array: Any) -> Iterator[Any]:
    """The arrays of leaves of a nested array, without dictionaries and extension types."""
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType):
        yield from leaves_of(array.storage)
    elif pa.types.is_dictionary(type_):
        yield from leaves_of(array.dictionary)
    elif pa.types.is_struct(type_):
        for at in range(type_.num_fields):
            yield from leaves_of(array.field(at))
    elif pa.types.is_map(type_):
        yield from leaves_of(array.keys)
        yield from leaves_of(array.items)
    elif hasattr(type_, "value_field"):
        yield from leaves_of(array.values)
    else:
        yield array


_UUID_DASHES = (8, 12, 16, 20)
"""Where the dashes stand among the 32 digits of a UUID."""


def own_array(
    array: pa.Array, column: Column, id_map: IdMap, calendar: Calendar = GREGORIAN
) -> pa.Array:
    """Convert the array read of a column to the type of a column of ``file_columns``.

    Fields of structs are taken by name, in the column's order.

    Args:
        calendar: the calendar of the file.

    Raises:
        CorruptTableError: a value does not fit the type.
        ArrowException: the array does not have the form that the map records.
    """
    target = to_arrow_type(physical(column).type)
    array = _stored(array)
    if column.type is Atom.VARIANT and id_map.columns[column.id].form in SHREDDED:
        return whole_variants(array, column.name)
    if array.type.equals(target) and not calendar.is_hybrid:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    inner = children(column.type)
    if not inner:
        return _own_leaf(array, column, id_map.columns[column.id].form, calendar)
    places = list(range(len(inner)))
    if isinstance(column.type, Struct):
        names = [field.name for field in array.type]
        places = [names.index(field.physical_name) for field in inner]
    if isinstance(column.type, Array) and not pa.types.is_list(array.type):
        array = array.cast(pa.list_(array.type.value_field))
    return arrays.rebuilt(
        array,
        target,
        lambda parts: [
            own_array(parts[place], child, id_map, calendar)
            for place, child in zip(places, inner, strict=True)
        ],
    )


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
            # Local timestamps become the instants of the same numbers.
            numbers = array.cast(pa.timestamp("us")).view(pa.int64())
            return numbers.view(pa.timestamp("us", tz="UTC")).cast(target)
        case Form.NANOS_CUT:
            return _cut(array).cast(target)
        case Form.UUID:
            return _uuid_text(array)
        case _:
            return array if array.type.equals(target) else array.cast(target)


def _gregorian(array: pa.Array, calendar: Calendar) -> pa.Array:
    """Convert dates and timestamps of the hybrid calendar to the Gregorian calendar."""
    if pa.types.is_date(array.type):
        return gregorian_dates(array)
    if calendar.offset is None:
        raise pa.ArrowInvalid(f"it is a timestamp of the Julian calendar in {calendar.zone}")
    return gregorian_timestamps(array.cast(pa.timestamp("us", array.type.tz)), calendar.offset)


def _checked(array: pa.Array, column: Column, form: Form | None, calendar: Calendar) -> pa.Array:
    """Refuse values of the hybrid calendar that the map records as Gregorian."""
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
    texts = pa.Array.from_buffers(pa.string(), len(array), buffers)
    return pc.if_else(array.is_valid(), texts, pa.nulls(1, pa.string())[0])
