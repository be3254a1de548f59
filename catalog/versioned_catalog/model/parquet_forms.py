"""Forms: how Parquet files from other writers store values (FORMAT.md, section 6.2).

A file is read in two steps: ``seen_as`` says, from what the file declares, which of our types its values
have and in which form they are stored; ``read.foreign_values`` turns the arrays that PyArrow reads
into that type.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.arrow import from_arrow_type
from versioned_catalog.model.types import (
    Array,
    Atom,
    DataType,
    DayTimeInterval,
    Decimal,
    Time,
    is_nested,
)


class Form(enum.Enum):
    """A stored form of values other than that of FORMAT.md, section 4.1."""

    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT16 = "float16"
    INT96 = "int96"
    MILLIS = "millis"
    NANOS = "nanos"
    NANOS_CUT = "nanos_cut"
    LOCAL = "local"
    FIXED = "fixed"
    TEXT = "text"
    UUID = "uuid"
    LIST = "list"
    NULL = "null"
    JULIAN = "julian"
    JULIAN_MILLIS = "julian_millis"
    JULIAN_INT96 = "julian_int96"
    SHREDDED = "shredded"
    SHREDDED_OTHER = "shredded_other"


_TYPES: dict[Form, tuple[DataType, ...]] = {
    Form.UINT8: (Atom.SHORT,),
    Form.UINT16: (Atom.INT,),
    Form.UINT32: (Atom.LONG,),
    Form.UINT64: (Decimal(20, 0),),
    Form.FLOAT16: (Atom.FLOAT,),
    Form.INT96: (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ),
    Form.MILLIS: (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ),
    Form.NANOS: (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ),
    Form.NANOS_CUT: (Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ),
    Form.LOCAL: (Atom.TIMESTAMP,),
    Form.FIXED: (Atom.BINARY,),
    Form.TEXT: (Atom.STRING,),
    Form.UUID: (Atom.STRING,),
    Form.JULIAN: (Atom.DATE, Atom.TIMESTAMP),
    Form.JULIAN_MILLIS: (Atom.TIMESTAMP,),
    Form.JULIAN_INT96: (Atom.TIMESTAMP,),
    Form.SHREDDED: (Atom.VARIANT,),
    Form.SHREDDED_OTHER: (Atom.VARIANT,),
}
JULIAN = (Form.JULIAN, Form.JULIAN_MILLIS, Form.JULIAN_INT96)
"""The forms whose values are of the hybrid Julian and Gregorian calendar."""
SHREDDED = (Form.SHREDDED, Form.SHREDDED_OTHER)
"""The forms of a VARIANT whose values are in columns of their own; Spark does not read the second."""
_OF_TIME = (Form.MILLIS, Form.NANOS, Form.NANOS_CUT)


def can_hold(form: Form, type_: DataType) -> bool:
    """Whether values of a type can be stored in a form."""
    if form is Form.LIST:
        return isinstance(type_, Array)
    if form is Form.NULL:
        return not is_nested(type_)
    return type_ in _TYPES[form] or (form in _OF_TIME and isinstance(type_, Time | DayTimeInterval))


@dataclass(frozen=True, slots=True)
class SeenAs:
    """The type of the values of a file's leaf, and their stored form.

    Args:
        type: one of our leaf types.
        form: None for the form of FORMAT.md, section 4.1.
    """

    type: DataType
    form: Form | None = None


_UNSIGNED: dict[pa.DataType, SeenAs] = {
    pa.uint8(): SeenAs(Atom.SHORT, Form.UINT8),
    pa.uint16(): SeenAs(Atom.INT, Form.UINT16),
    pa.uint32(): SeenAs(Atom.LONG, Form.UINT32),
    pa.uint64(): SeenAs(Decimal(20, 0), Form.UINT64),
    pa.float16(): SeenAs(Atom.FLOAT, Form.FLOAT16),
}


def seen_as(arrow: pa.DataType, physical: str) -> SeenAs:
    """The type and form of a leaf of a Parquet file.

    Binaries without annotation stay binaries; callers that know them to be text use ``Form.TEXT``.
    Nanoseconds are ``NANOS``, which refuses values that do not fit; callers may use ``NANOS_CUT``. The
    types of strings, times of day and intervals are those of the table, as far as it has such a column:
    ``Held.type`` is left out there. A leaf of Arrow's type null is ``Form.NULL`` of whatever type.

    Args:
        arrow: the type that PyArrow gives the leaf.
        physical: its physical type, as ``ColumnSchema.physical_type`` of PyArrow names it.

    Raises:
        InvalidRequestError: no column type can hold it.
    """
    if pa.types.is_dictionary(arrow):
        return seen_as(arrow.value_type, physical)
    if isinstance(arrow, pa.BaseExtensionType):
        if arrow.extension_name == "arrow.uuid":
            return SeenAs(Atom.STRING, Form.UUID)
        return seen_as(arrow.storage_type, physical)
    if arrow in _UNSIGNED:
        return _UNSIGNED[arrow]
    if pa.types.is_timestamp(arrow):
        return _timestamp(arrow, physical)
    if pa.types.is_time(arrow):
        form = {"us": None, "ns": Form.NANOS}.get(arrow.unit, Form.MILLIS)
        return SeenAs(Time(6) if arrow.unit in ("us", "ns") else Time(3), form)
    if pa.types.is_duration(arrow):
        form = {"us": None, "ns": Form.NANOS}.get(arrow.unit, Form.MILLIS)
        return SeenAs(DayTimeInterval(), form)
    if pa.types.is_fixed_size_binary(arrow):
        return SeenAs(Atom.BINARY, Form.FIXED)
    return SeenAs(_leaf(arrow))


def _timestamp(arrow: Any, physical: str) -> SeenAs:
    if physical == "INT96":
        return SeenAs(Atom.TIMESTAMP, Form.INT96)
    form = {"us": None, "ns": Form.NANOS}.get(arrow.unit, Form.MILLIS)
    return SeenAs(Atom.TIMESTAMP_NTZ if arrow.tz is None else Atom.TIMESTAMP, form)


def _leaf(arrow: pa.DataType) -> DataType:
    if pa.types.is_decimal(arrow) and arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision:
        return Decimal(arrow.precision, arrow.scale)
    if arrow == pa.date64():
        return Atom.DATE
    type_ = from_arrow_type(arrow)
    if pa.types.is_nested(arrow):
        raise InvalidRequestError(f"the Arrow type {arrow} is not a leaf of a file")
    return type_
