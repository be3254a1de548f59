"""Estimates of how many rows satisfy a filter, for the planners of joins. No result depends on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.analysis import AnalyzedColumn, analyzed_columns
from versioned_catalog.model.arrow import extreme_of
from versioned_catalog.read.bounds import SegmentBounds
from versioned_catalog.read.evaluators import ColumnBounds
from versioned_catalog.read.filters import (
    Always,
    And,
    BoundFilter,
    Compare,
    In,
    IsNull,
    Literal,
    Meets,
    NullSafeEqual,
    Op,
    Or,
    TextMatch,
)
from versioned_catalog.read.scan import Scan

EQUAL = 0.1
"""The share of rows with one value, or one pattern, of a column whose distinct values are unknown."""

RANGE = 1 / 3
"""The share of rows on one side of a value, of a column whose bounds are unknown."""

LEAST = 0.01
"""The least share that is reported. Values may be far more frequent than others, and a planner that has
broadcast a table can't take it back."""


def matching_rows(scan: Scan) -> int:
    """Estimate how many rows of a scan satisfy its filter; at least one, if it has rows."""
    rows: int = pc.sum(scan.of_kept(scan.state.segments.shown_counts)).as_py() or 0
    if scan.filter is None or not rows:
        return rows
    bounds = SegmentBounds(scan.state, scan.state.known, scan.places)
    analyzed = analyzed_columns(scan.state.properties)

    @cache
    def spread_of(column_id: int) -> Spread:
        known = bounds(column_id)
        return UNKNOWN if known is None else _spread(known, analyzed.get(column_id))

    return max(1, round(rows * max(LEAST, share(scan.filter, spread_of))))


@dataclass(frozen=True)
class Spread:
    """How the values of a column are spread over the segments of a scan.

    Args:
        nulls: the share of nulls; 0 if unknown.
        low, high: the bounds of the values as numbers; None if unknown.
        distinct: the number of distinct values, as analysed, or at most; None if unknown.
        step: the least distance of two values; 0 if they may be as near as you like.
    """

    nulls: float
    low: float | None
    high: float | None
    distinct: int | None
    step: int

    @property
    def equal(self) -> float:
        """The share of the values that are equal to one of them."""
        return EQUAL if self.distinct is None else 1 / max(1, self.distinct)

    def below(self, value: float | None, *, inclusive: bool) -> float | None:
        """The share of the values below a value, by linear interpolation; None if unknown."""
        if value is None or self.low is None or self.high is None or math.isnan(value):
            return None
        width = self.high - self.low + self.step
        if width == 0:
            return float(value > self.low or (inclusive and value == self.low))
        return _clamped((value - self.low + (self.step if inclusive else 0)) / width)

    def has(self, value: float | None) -> bool:
        """Whether a value may be between the bounds."""
        if value is None or self.low is None or self.high is None:
            return True
        return not (value < self.low or value > self.high)


UNKNOWN = Spread(0, None, None, None, 0)
"""Of a column of which nothing is known."""


def _spread(bounds: ColumnBounds, analyzed: AnalyzedColumn | None) -> Spread:
    rows = pc.sum(bounds.rows).as_py() or 0
    nulls = pc.sum(bounds.nulls).as_py() or 0
    missing = _clamped(nulls / rows) if rows else 0.0
    counted = None if analyzed is None else analyzed.among(max(1, rows - nulls))
    if pa.types.is_struct(bounds.type):  # boxes
        return Spread(missing, None, None, counted, 0)
    low, high = bounds.min.drop_null(), bounds.max.drop_null()
    if not len(low) or not len(high):
        return Spread(missing, None, None, counted, 0)
    least, greatest = extreme_of(low, False), extreme_of(high, True)
    first, last = _number(_stored(least)), _number(_stored(greatest))
    is_discrete = pa.types.is_integer(least.type) or least.type in (pa.date32(), pa.bool_())
    distinct = counted
    if least.equals(greatest):
        distinct = 1
    elif is_discrete and first is not None and last is not None:
        most = min(int(last - first) + 1, max(1, rows - nulls))
        distinct = most if counted is None else min(most, counted)
    return Spread(missing, first, last, distinct, int(is_discrete))


def _stored(scalar: pa.Scalar) -> object:
    """The value of a scalar; temporal values as the integers that literals of filters have."""
    if pa.types.is_date32(scalar.type):
        return scalar.cast(pa.int32()).as_py()
    if pa.types.is_temporal(scalar.type):
        return scalar.cast(pa.int64()).as_py()
    return scalar.as_py()


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, bool | int | float | Decimal) else None


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, share))


SpreadOf = Callable[[int], Spread]


def share(bound: BoundFilter, spread_of: SpreadOf) -> float:
    """The estimated share of the rows for which a filter is true.

    The parts of an AND are taken as independent, except those that bound one column; of those that
    are guessed, only the least counts. The parts of an OR are taken as exclusive.
    """
    match bound:
        case And(parts):
            return _share_of_all(parts, spread_of)
        case Or(parts):
            return _clamped(sum(share(part, spread_of) for part in parts))
        case Always(value):
            return float(value is True)
        case IsNull(column_id, negated):
            nulls = spread_of(column_id).nulls
            return 1 - nulls if negated else nulls
        case Compare(column_id, op, literal):
            spread = spread_of(column_id)
            return (1 - spread.nulls) * _compared(spread, op, literal)
        case NullSafeEqual(column_id, literal, negated):
            spread = spread_of(column_id)
            equal = (1 - spread.nulls) * _compared(spread, Op.EQ, literal)
            return 1 - equal if negated else equal
        case In(column_id, values, _, negated):
            spread = spread_of(column_id)
            among = _clamped(sum(_compared(spread, Op.EQ, value) for value in values))
            return (1 - spread.nulls) * (1 - among if negated else among)
        case TextMatch(column_id, negated=negated) | Meets(column_id, negated=negated):
            return (1 - spread_of(column_id).nulls) * (1 - EQUAL if negated else EQUAL)


def _compared(spread: Spread, op: Op, literal: Literal) -> float:
    """The share of the values that are not null."""
    value = _number(literal.value)
    equal = spread.equal if spread.has(value) else 0.0
    match op:
        case Op.EQ:
            return equal
        case Op.NE:
            return 1 - equal
        case Op.LT | Op.LE:
            below = spread.below(value, inclusive=op is Op.LE)
            return RANGE if below is None else below
        case Op.GT | Op.GE:
            below = spread.below(value, inclusive=op is Op.GT)
            return RANGE if below is None else 1 - below


_ABOVE, _BELOW = (Op.GT, Op.GE), (Op.LT, Op.LE)


def _share_of_all(parts: Sequence[BoundFilter], spread_of: SpreadOf) -> float:
    ranges: dict[int, tuple[float, float]] = {}
    compared = {
        part.column_id for part in parts if isinstance(part, Compare | In | TextMatch | Meets)
    }
    product, guessed = 1.0, 1.0
    for part in parts:
        match part:
            case Compare(column_id, op, literal) if op in _ABOVE + _BELOW:
                least, most = ranges.get(column_id, (0.0, 1.0))
                passed = _compared(spread_of(column_id), op, literal)
                ranges[column_id] = (
                    (max(least, 1 - passed), most) if op in _ABOVE else (least, min(most, passed))
                )
            case IsNull(column_id, negated=True) if column_id in compared:
                continue  # the other part is not true of a null either
            case _ if _is_guessed(part, spread_of):
                guessed = min(guessed, share(part, spread_of))
            case _:
                product *= share(part, spread_of)
    for column_id, (least, most) in ranges.items():
        among = (1 - spread_of(column_id).nulls) * _clamped(most - least)
        if spread_of(column_id).low is None:
            guessed = min(guessed, among)
        else:
            product *= among
    return product * guessed


def _is_guessed(bound: BoundFilter, spread_of: SpreadOf) -> bool:
    """Whether the share of the rows is not known from statistics."""
    match bound:
        case And(parts) | Or(parts):
            return any(_is_guessed(part, spread_of) for part in parts)
        case Compare(column_id) | NullSafeEqual(column_id) | In(column_id):
            return spread_of(column_id).distinct is None
        case TextMatch() | Meets():
            return True
        case IsNull() | Always():
            return False
