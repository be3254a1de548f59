"""Literals of a column's own Arrow type."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.types.arrow_values import Stored, array_of


@dataclass(frozen=True, slots=True)
class Literal:
    """A stored value and the Arrow type of its column; temporal values are integers."""

    value: Stored
    type: pa.DataType

    @property
    def scalar(self) -> pa.Scalar:
        """The value as an Arrow scalar."""
        return array_of([self.value], self.type)[0]

    @property
    def is_nan(self) -> bool:
        """Whether it is NaN."""
        return isinstance(self.value, float) and math.isnan(self.value)


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
