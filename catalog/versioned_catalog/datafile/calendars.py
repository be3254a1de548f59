"""The calendar of the dates and timestamps of a file of somebody else (FORMAT.md, section 6.2).

Spark 2, and Spark 3 and later in the LEGACY mode, wrote values of the hybrid Julian and Gregorian
calendar, and say so in the footer. Spark translates them when it reads such a file, and so do we.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.storage.footer import Footer
from versioned_catalog.types.forms import Form
from versioned_catalog.values.julian import FIRST_GREGORIAN_DAY, FIRST_SAFE_MICROS

_VERSION = b"org.apache.spark.version"
_ZONE = b"org.apache.spark.timeZone"
_LEGACY_DATETIME = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96 = b"org.apache.spark.legacyINT96"

_UTC = ("UTC", "GMT", "Z", "UCT", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Zulu", "Universal", "Greenwich")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?")


@dataclass(frozen=True)
class Calendar:
    """What a footer says of the calendar.

    Args:
        datetimes: whether DATE and TIMESTAMP, as INT32 and INT64, are of the hybrid calendar.
        int96: whether INT96 is.
        offset: of the writer's time zone from UTC, in microseconds; None if it has no fixed one.
        zone: its name in errors.
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
    """The calendar of a file, by Spark's rules: one that names no version of Spark is Gregorian."""
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
"""The leaves of a file, by index, with values that the calendars differ in: their forms, or why they
can't be read."""


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
    """Whether a leaf has a value before the calendars became one."""
    end = -(-FIRST_SAFE_MICROS // unit) if unit else FIRST_GREGORIAN_DAY + 1
    if form is not Form.JULIAN_INT96:
        ends = stated_ends(footer, at, "<q" if unit else "<i")
        if ends is not None:
            return ends[0] < end
    how = {
        "row_groups": list(range(len(footer.rows))),
        "column_indices": [at],
        "use_threads": False,
    }
    for batch in parquet.reader.iter_batches(65_536, **how):
        for leaf in leaves_of(batch.column(0)):
            numbers = leaf.view(pa.int64() if unit else pa.int32())
            if pc.any(pc.less(numbers, end)).as_py():
                return True
    return False


def stated_ends(footer: Footer, at: int, layout: str) -> tuple[int, int] | None:
    """The least and the greatest value of a leaf by the footer; None if it does not say for all groups.

    Args:
        layout: of a value, as ``struct`` has it.
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
    held = array.type
    if isinstance(held, pa.BaseExtensionType):
        yield from leaves_of(array.storage)
    elif pa.types.is_dictionary(held):
        yield from leaves_of(array.dictionary)
    elif pa.types.is_struct(held):
        for at in range(held.num_fields):
            yield from leaves_of(array.field(at))
    elif pa.types.is_map(held):
        yield from leaves_of(array.keys)
        yield from leaves_of(array.items)
    elif hasattr(held, "value_field"):
        yield from leaves_of(array.values)
    else:
        yield array
