"""Literals of types whose values are evenly spaced: integers, decimals and temporal types."""

from __future__ import annotations

import decimal
import math
import struct
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from versioned_catalog.expressions.literals import Above, Below, BoundLiteral, Equal, Literal
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.types import DataType, Decimal
from versioned_catalog.values.leaf_text import integer_range


@dataclass(frozen=True, slots=True)
class Grid:
    """The values ``k / 10**scale`` for every integer ``k`` from ``first`` to ``last``."""

    scale: int
    first: int
    last: int
    type: pa.DataType

    @staticmethod
    def of(type_: DataType) -> Grid:
        """The values of an integer, decimal or temporal type."""
        arrow = to_arrow_type(type_)
        if isinstance(type_, Decimal):
            return Grid(type_.scale, 1 - 10**type_.precision, 10**type_.precision - 1, arrow)
        return Grid(0, *integer_range(type_), arrow)

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
