"""Where a Python value stands among the values of a column.

A comparison with a value of another type (an INT column with 1.5, a DECIMAL with 0.1, a DATE with a
time of day) is one with values of the column's own type: ``x < 1.5`` is ``x <= 1``. Filters are
turned into such once, when they are bound. So neither rows nor bounds are ever cast, and nothing
overflows or is rounded where they are compared.

The rules are those of Spark's ANSI mode: integers and decimals are compared exactly, and in double
as soon as either side is a float; texts are read as what the column holds where that is a date or a
time; what Spark refuses (a boolean with a number) or reads by the session's settings is refused.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import Stored, array_of
from versioned_catalog.types.types import (
    Array,
    Atom,
    Char,
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
from versioned_catalog.values.calendar_text import (
    MICROS,
    parse_date,
    parse_time,
    parse_timestamp,
)
from versioned_catalog.values.value_text import integer_range, to_float32


@dataclass(frozen=True, slots=True)
class Literal:
    """A value of a column's own Arrow type.

    Args:
        value: the value; dates in days, times, timestamps and intervals in microseconds, as ints.
        type: the Arrow type of the column.
    """

    value: Stored
    type: pa.DataType

    @property
    def scalar(self) -> pa.Scalar:
        """The same as an Arrow scalar."""
        return array_of([self.value], self.type)[0]

    @property
    def is_nan(self) -> bool:
        """Whether it is a float that is no number."""
        return isinstance(self.value, float) and math.isnan(self.value)


@dataclass(frozen=True, slots=True)
class Exactly:
    """Equal to every value of the column from ``low`` to ``high`` (mostly one)."""

    low: Literal
    high: Literal


@dataclass(frozen=True, slots=True)
class After:
    """Equal to none; directly after ``literal``, before all that are greater."""

    literal: Literal


@dataclass(frozen=True, slots=True)
class Before:
    """Equal to none; directly before ``literal``, after all that are less."""

    literal: Literal


Place = Exactly | After | Before


def plain(value: Any) -> Any:
    """A Python value from one of NumPy, pandas or Arrow too; their nulls are None.

    Raises:
        ValueError, OverflowError: Python has no such value (a year 10000, nanoseconds).
    """
    if isinstance(value, pa.Scalar):
        return _from_arrow(value)
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if getattr(value, "nanosecond", 0):
        raise ValueError("finer than a microsecond")
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return _from_numpy(value)
    return value


def _from_arrow(value: Any) -> Any:
    unit = getattr(value.type, "unit", None)
    if unit == "ns" and value.is_valid:
        # as_py() would import pandas for these; the cast refuses what is not whole.
        parts = {pa.types.is_timestamp: pa.timestamp("us", getattr(value.type, "tz", None))}
        parts |= {pa.types.is_duration: pa.duration("us"), pa.types.is_time: pa.time64("us")}
        value = value.cast(next(to for is_it, to in parts.items() if is_it(value.type)))
    return value.as_py()


def _from_numpy(value: Any) -> Any:
    kind = value.dtype.kind
    if kind in "mM":
        short = value.astype(f"{kind}8[us]")
        found = short.item()
        if found is not None and short != value:
            raise ValueError("finer than a microsecond, or out of range")
        return found
    return value.item()


def place(type_: DataType, value: Any) -> Place | None:
    """Where a value stands among those of a column.

    Args:
        type_: the column's type.
        value: a Python value, not None, as ``plain`` gives.

    Returns:
        Its place, or None where the two can't be compared.
    """
    match type_:
        case Atom.BOOLEAN:
            return _point(type_, value) if isinstance(value, bool) else None
        case Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG | Decimal():
            return _place_number(_grid(type_), value)
        case Atom.FLOAT | Atom.DOUBLE:
            return _place_float(type_, value)
        case Atom.STRING | Varchar():
            return _point(type_, value) if _is_text(value) else None
        case Char(length):
            return _place_char(type_, length, value) if _is_text(value) else None
        case Atom.BINARY:
            is_bytes = isinstance(value, bytes | bytearray | memoryview)
            return _point(type_, bytes(value)) if is_bytes else None
        case Atom.DATE | Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ | Time() | DayTimeInterval():
            ticks = _ticks(type_, value)
            return None if ticks is None else _place_exact(_grid(type_), ticks)
        case Atom.VARIANT | Geometry() | Geography() | Struct() | Array() | Map():
            return None


def places(type_: DataType, values: Sequence[Any]) -> list[Place | None]:
    """``place`` for the values of a list, which are all compared in one type, as Spark does."""
    in_double = isinstance(type_, Decimal) or type_ in _INTEGERS
    if in_double and any(isinstance(value, float) for value in values):
        values = [_to_double(value) if _is_number(value) else value for value in values]
    return [place(type_, value) for value in values]


def _point(type_: DataType, value: Stored) -> Exactly:
    literal = Literal(value, to_arrow_type(type_))
    return Exactly(literal, literal)


# Types whose values are evenly spaced: numbers, dates and times.


@dataclass(frozen=True, slots=True)
class _Grid:
    """The values ``k / 10**scale`` for ``k`` from ``first`` to ``last``."""

    scale: int
    first: int
    last: int
    type: pa.DataType

    def literal(self, k: int) -> Literal:
        if not pa.types.is_decimal(self.type):
            return Literal(k, self.type)
        digits = decimal.Decimal(k).as_tuple().digits
        # Made of its parts: arithmetic would round to 28 digits.
        return Literal(decimal.Decimal((int(k < 0), digits, -self.scale)), self.type)

    @property
    def after_all(self) -> After:
        return After(self.literal(self.last))

    @property
    def before_all(self) -> Before:
        return Before(self.literal(self.first))


_INTEGERS: tuple[DataType, ...] = (Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG)


def _grid(type_: DataType) -> _Grid:
    arrow = to_arrow_type(type_)
    if isinstance(type_, Decimal):
        return _Grid(type_.scale, 1 - 10**type_.precision, 10**type_.precision - 1, arrow)
    return _Grid(0, *integer_range(type_), arrow)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool)


def _place_number(grid: _Grid, value: Any) -> Place | None:
    if not _is_number(value):
        return None
    if isinstance(value, float):
        return _place_double(grid, value)
    if type(value) is int and not grid.scale and grid.first <= value <= grid.last:
        found = grid.literal(value)  # what most lists of keys are
        return Exactly(found, found)
    exact = _fraction(value)
    return None if exact is None else _place_exact(grid, exact)


def _fraction(value: int | decimal.Decimal) -> Fraction | None:
    if isinstance(value, int):
        return Fraction(value)
    if not value.is_finite():
        return None
    # 1E+999999 and 1E-999999 are not worth their digits: no column has more than 38.
    if value and value.adjusted() > 60:
        return Fraction(10**60) * (-1 if value < 0 else 1)
    if value and value.adjusted() < -60:
        return Fraction(-1 if value < 0 else 1, 10**60)
    return Fraction(value)


def _place_exact(grid: _Grid, value: Fraction) -> Place:
    scaled = value * 10**grid.scale
    k = math.floor(scaled)
    if k > grid.last:
        return grid.after_all
    if k < grid.first:
        return grid.before_all
    found = grid.literal(k)
    return Exactly(found, found) if scaled == k else After(found)


def _place_double(grid: _Grid, value: float) -> Place:
    """All values are equal that are ``value`` when rounded to a double, half to even."""
    if math.isnan(value) or value > 1e40:
        return grid.after_all
    if value < -1e40:
        return grid.before_all
    exact, unit = Fraction(value), 10**grid.scale
    low = (exact + Fraction(math.nextafter(value, -math.inf))) / 2 * unit
    high = (exact + Fraction(math.nextafter(value, math.inf))) / 2 * unit
    even = not struct.unpack("<q", struct.pack("<d", value))[0] & 1
    first = math.ceil(low) if even else math.floor(low) + 1
    last = math.floor(high) if even else math.ceil(high) - 1
    if first > grid.last:
        return grid.after_all
    if last < grid.first:
        return grid.before_all
    if first > last:
        return After(grid.literal(last))
    return Exactly(grid.literal(max(first, grid.first)), grid.literal(min(last, grid.last)))


# Floats.

_GREATEST_FLOAT = (2 - 2**-23) * 2.0**127


def _to_double(value: float | decimal.Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _place_float(type_: DataType, value: Any) -> Place | None:
    if not _is_number(value) or (isinstance(value, decimal.Decimal) and not value.is_finite()):
        return None
    double = _to_double(value)
    if type_ is Atom.DOUBLE or not math.isfinite(double):
        return _point(type_, double)
    arrow = to_arrow_type(type_)
    try:
        near = to_float32(double)
    except ValueError:
        greatest = Literal(math.copysign(_GREATEST_FLOAT, double), arrow)
        return After(greatest) if double > 0 else Before(greatest)
    if near == double:
        return _point(type_, near)
    # No float is between the double and the one nearest to it.
    return After(Literal(near, arrow)) if near < double else Before(Literal(near, arrow))


# Texts.


def _is_text(value: Any) -> bool:
    # Lone surrogates have no UTF-8.
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def _place_char(type_: DataType, length: int, value: str) -> Place:
    """Spark pads the shorter side; the values of the column are ``length`` characters."""
    kept, rest = value[:length].ljust(length), value[length:].rstrip(" ")
    found = _point(type_, kept)
    if not rest:
        return found
    padding = " " * len(rest)
    return After(found.low) if rest > padding else Before(found.low)


# Dates and times.

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def _ticks(type_: DataType, value: Any) -> Fraction | None:
    """Days of a date, else microseconds; None where the value can't be compared."""
    if isinstance(value, str):
        read = _read_ticks(type_, value)
        return None if read is None else Fraction(read)
    if isinstance(type_, DayTimeInterval):
        micros = value // _MICROSECOND if isinstance(value, dt.timedelta) else None
    elif isinstance(type_, Time):
        micros = _time_micros(value)
    else:
        micros = _micros(value, zoned=type_ is Atom.TIMESTAMP)
    if micros is None:
        return None
    return Fraction(micros, MICROS["day"]) if type_ is Atom.DATE else Fraction(micros)


def _read_ticks(type_: DataType, text: str) -> int | None:
    try:
        if type_ is Atom.DATE:
            # As Spark's cast, which drops a time of day.
            return parse_date(re.split("[T ]", text.strip(), maxsplit=1)[0])
        if isinstance(type_, Time):
            return parse_time(text)
        if isinstance(type_, DayTimeInterval):
            return None
        micros, zoned = parse_timestamp(text)
    except ValueError:
        return None
    return None if zoned and type_ is Atom.TIMESTAMP_NTZ else micros


def _micros(value: Any, *, zoned: bool) -> int | None:
    """Microseconds since 1970; what has no zone is in UTC, what has one must be let in."""
    if isinstance(value, dt.datetime):
        offset = value.utcoffset()
        if offset is not None and not zoned:
            return None
        return (value.replace(tzinfo=None) - _EPOCH - (offset or dt.timedelta())) // _MICROSECOND
    if isinstance(value, dt.date):
        return (value - _EPOCH.date()).days * MICROS["day"]
    return None


def _time_micros(value: Any) -> int | None:
    if not isinstance(value, dt.time) or value.tzinfo is not None:
        return None
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000 + value.microsecond
