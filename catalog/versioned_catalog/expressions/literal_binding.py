"""Binding of literals: a Python value in terms of the values that a column can have.

A comparison with a value of another type (an INT column with 1.5, a DECIMAL with 0.1, a DATE with a
time of day) becomes one with values of the column's own type: ``x < 1.5`` becomes ``x <= 1``. That is
done once, when a filter is bound, so neither rows nor bounds are ever cast, and comparing them neither
overflows nor rounds.

The rules are those of Spark's ANSI mode: integers and decimals compare exactly, and as doubles if
either side is a float; text is parsed where the column holds dates or times. What Spark refuses (a
boolean with a number), or reads by the session's settings, is refused.
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

from versioned_catalog.expressions.filters import Literal
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import Stored
from versioned_catalog.types.leaves import DAY_TIME_UNITS, Family
from versioned_catalog.types.tokens import has_surrogate
from versioned_catalog.types.types import (
    Atom,
    Char,
    DataType,
    DayTimeInterval,
    Decimal,
    LeafType,
    NestedType,
    Time,
    family,
)
from versioned_catalog.values.calendar_text import parse_date, parse_time, parse_timestamp
from versioned_catalog.values.leaf_text import integer_range, to_float32
from versioned_catalog.values.temporal import to_count


@dataclass(frozen=True, slots=True)
class Equal:
    """A value that equals every value of the column from ``low`` to ``high``: mostly one value."""

    low: Literal
    high: Literal

    @property
    def is_one(self) -> bool:
        """Whether it equals one value of the column only."""
        return self.low is self.high or self.low == self.high  # NaN equals itself by identity only


@dataclass(frozen=True, slots=True)
class Above:
    """A value that equals none of the column: greater than ``literal``, less than the next one."""

    literal: Literal


@dataclass(frozen=True, slots=True)
class Below:
    """A value that equals none of the column: less than ``literal``, greater than the one before."""

    literal: Literal


BoundLiteral = Equal | Above | Below
"""A Python value in terms of the values that a column can have."""

_GREATEST_FLOAT = (2 - 2**-23) * 2.0**127


def plain(value: Any) -> Any:
    """The Python value of a Python, NumPy, pandas or Arrow value; null values are None.

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
        # as_py() imports pandas for nanoseconds; the cast refuses to lose any.
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


def bind_literal(type_: DataType, value: Any) -> BoundLiteral | None:
    """A value, from ``plain``, in terms of a column's values; None if the two can't be compared."""
    if isinstance(type_, NestedType):
        return None
    match type_.leaf.family:
        case Family.BOOLEAN:
            return _value(type_, value) if isinstance(value, bool) else None
        case Family.INTEGER | Family.DECIMAL:
            return _Grid.of(type_).bind_number(value) if _is_number(value) else None
        case Family.FLOAT:
            return _bind_float(type_, value)
        case Family.TEXT if not isinstance(value, str) or has_surrogate(value):
            return None
        case Family.TEXT if isinstance(type_, Char):
            return _bind_char(type_, value)
        case Family.TEXT:
            return _value(type_, value)
        case Family.BINARY:
            is_bytes = isinstance(value, bytes | bytearray | memoryview)
            return _value(type_, bytes(value)) if is_bytes else None
        case Family.TEMPORAL:
            count = _count(type_, value)
            return None if count is None else _Grid.of(type_).bind_exact(count)
        case Family.OPAQUE:
            return None


def bind_literals(type_: DataType, values: Sequence[Any]) -> list[BoundLiteral | None]:
    """``bind_literal`` for the values of a list, all of which Spark compares in one type."""
    is_exact = family(type_) in (Family.INTEGER, Family.DECIMAL)
    if is_exact and any(isinstance(value, float) for value in values):
        values = [_to_double(value) if _is_number(value) else value for value in values]
    return [bind_literal(type_, value) for value in values]


def _value(type_: DataType, value: Stored) -> Equal:
    literal = Literal(value, to_arrow_type(type_))
    return Equal(literal, literal)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool)


def _to_double(value: float | decimal.Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _bind_float(type_: DataType, value: Any) -> BoundLiteral | None:
    if not _is_number(value) or (isinstance(value, decimal.Decimal) and not value.is_finite()):
        return None
    double = _to_double(value)
    if type_ is Atom.DOUBLE or not math.isfinite(double):
        return _value(type_, double)
    arrow = to_arrow_type(type_)
    try:
        near = to_float32(double)
    except ValueError:
        greatest = Literal(math.copysign(_GREATEST_FLOAT, double), arrow)
        return Above(greatest) if double > 0 else Below(greatest)
    if near == double:
        return _value(type_, near)
    # No float lies between the double and the float nearest to it.
    return Above(Literal(near, arrow)) if near < double else Below(Literal(near, arrow))


def _bind_char(type_: Char, value: str) -> BoundLiteral:
    """Spark pads the shorter side with spaces; the column's values have ``length`` characters."""
    kept, rest = value[: type_.length].ljust(type_.length), value[type_.length :].rstrip(" ")
    found = _value(type_, kept)
    if not rest:
        return found
    padding = " " * len(rest)
    return Above(found.low) if rest > padding else Below(found.low)


def _count(type_: LeafType, value: Any) -> Fraction | None:
    """Days for a DATE, else microseconds; None if the value can't be compared."""
    if isinstance(value, str):
        read = _parse(type_, value)
        return None if read is None else Fraction(read)
    match type_, value:
        case (DayTimeInterval(), dt.timedelta()) | (Time(), dt.time(tzinfo=None)):
            return Fraction(to_count(value))
        case DayTimeInterval() | Time(), _:
            return None
        case _, dt.datetime() if value.utcoffset() is not None and type_ is not Atom.TIMESTAMP:
            return None
        case _, dt.datetime():
            return Fraction(to_count(value), DAY_TIME_UNITS["day"] if type_ is Atom.DATE else 1)
        case _, dt.date():
            return Fraction(to_count(value) * (1 if type_ is Atom.DATE else DAY_TIME_UNITS["day"]))
        case _:
            return None


def _parse(type_: LeafType, text: str) -> int | None:
    try:
        if type_ is Atom.DATE:
            # Like Spark's cast, which drops a time of day.
            return parse_date(re.split("[T ]", text.strip(), maxsplit=1)[0])
        if isinstance(type_, Time):
            return parse_time(text)
        if isinstance(type_, DayTimeInterval):
            return None
        micros, has_offset = parse_timestamp(text)
    except ValueError:
        return None
    return None if has_offset and type_ is Atom.TIMESTAMP_NTZ else micros


@dataclass(frozen=True, slots=True)
class _Grid:
    """Evenly spaced values of a type: ``k / 10**scale`` for every ``k`` from ``first`` to ``last``."""

    scale: int
    first: int
    last: int
    type: pa.DataType

    @staticmethod
    def of(type_: DataType) -> _Grid:
        """The values of an integer, decimal or temporal type."""
        arrow = to_arrow_type(type_)
        if isinstance(type_, Decimal):
            return _Grid(type_.scale, 1 - 10**type_.precision, 10**type_.precision - 1, arrow)
        return _Grid(0, *integer_range(type_), arrow)

    def bind_number(self, value: int | float | decimal.Decimal) -> BoundLiteral | None:
        """A number among the values of the grid; None for a decimal that is not finite."""
        if isinstance(value, float):
            return self._bind_double(value)
        if type(value) is int and not self.scale and self.first <= value <= self.last:
            found = self._literal(value)  # the common case, in long lists of keys
            return Equal(found, found)
        exact = _fraction(value)
        return None if exact is None else self.bind_exact(exact)

    def bind_exact(self, value: Fraction) -> BoundLiteral:
        """An exact value among the values of the grid."""
        scaled = value * 10**self.scale
        k = math.floor(scaled)
        if k > self.last:
            return Above(self._literal(self.last))
        if k < self.first:
            return Below(self._literal(self.first))
        found = self._literal(k)
        return Equal(found, found) if scaled == k else Above(found)

    def _bind_double(self, value: float) -> BoundLiteral:
        """A double equals all values that round to it, half to even."""
        if math.isnan(value) or value > 1e40:
            return Above(self._literal(self.last))
        if value < -1e40:
            return Below(self._literal(self.first))
        exact, unit = Fraction(value), 10**self.scale
        low = (exact + Fraction(math.nextafter(value, -math.inf))) / 2 * unit
        high = (exact + Fraction(math.nextafter(value, math.inf))) / 2 * unit
        is_even = not struct.unpack("<q", struct.pack("<d", value))[0] & 1
        first = math.ceil(low) if is_even else math.floor(low) + 1
        last = math.floor(high) if is_even else math.ceil(high) - 1
        if first > self.last:
            return Above(self._literal(self.last))
        if last < self.first:
            return Below(self._literal(self.first))
        if first > last:
            return Above(self._literal(last))
        return Equal(self._literal(max(first, self.first)), self._literal(min(last, self.last)))

    def _literal(self, k: int) -> Literal:
        if not pa.types.is_decimal(self.type):
            return Literal(k, self.type)
        digits = decimal.Decimal(k).as_tuple().digits
        # Built from its parts, since arithmetic rounds to 28 digits.
        return Literal(decimal.Decimal((int(k < 0), digits, -self.scale)), self.type)


def _fraction(value: int | decimal.Decimal) -> Fraction | None:
    if isinstance(value, int):
        return Fraction(value)
    if not value.is_finite():
        return None
    # 1E+999999 is not written out: beyond 38 digits all values compare alike.
    if value and value.adjusted() > 60:
        return Fraction(10**60) * (-1 if value < 0 else 1)
    if value and value.adjusted() < -60:
        return Fraction(-1 if value < 0 else 1, 10**60)
    return Fraction(value)
