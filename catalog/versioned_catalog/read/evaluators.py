"""Inclusive and strict evaluation of filters on metadata.

A *unit* is a segment or a row group. All units are evaluated at once, as arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import TRUE, ZERO, array_of, repeat
from versioned_catalog.read import filters
from versioned_catalog.read.arrays import one_array
from versioned_catalog.read.filters import (
    Always,
    And,
    BoundFilter,
    Compare,
    In,
    IsNull,
    Literal,
    NullSafeEqual,
    Op,
    Or,
    TextKind,
    TextMatch,
)


@dataclass(frozen=True)
class ColumnBounds:
    """Counts and bounds of one column, as arrays with one element per unit; null is unknown.

    Args:
        rows: the number of rows, int64.
        nulls: the number of nulls, int64, those of null parents included.
        nans: the number of NaNs, int64; None if it is unknown in all units. Not used for types that
            are not floating-point.
        min: a lower bound of the values that are neither null nor NaN, of the column's type. It need
            not occur as a value.
        max: an upper bound; likewise.
    """

    rows: Any
    nulls: Any
    nans: Any | None
    min: Any
    max: Any


BoundsOf = Callable[[int], ColumnBounds | None]
Leaf = Compare | NullSafeEqual | In | IsNull | TextMatch

MOST_RANGES = 32
"""Longer lists of values are grouped into this many ranges of adjacent values."""


def may_match(bound: BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    """Which units must be read, never null; in the rest, no row matches the filter.

    ``bounds_of`` returns the bounds of a column by ID, or None if nothing is known.
    """
    match bound:
        case And(parts) | Or(parts):
            join = pc.and_ if isinstance(bound, And) else pc.or_
            if not parts:
                return repeat(isinstance(bound, And), count)
            return functools.reduce(join, (may_match(part, bounds_of, count) for part in parts))
        case Always(value):
            return repeat(value is True, count)
        case Compare() | NullSafeEqual() | In() | IsNull() | TextMatch():
            bounds = bounds_of(bound.column_id)
            if bounds is None:
                return repeat(True, count)
            return one_array(_unless_unknown(_leaf(bound, _sane(bounds))))


def _unless_unknown(mask: Any) -> Any:
    """Replace null, which means unknown, by true: the unit must be read."""
    return pc.fill_null(mask, TRUE)


def _sane(bounds: ColumnBounds) -> ColumnBounds:
    """Make bounds unknown that are NaN, as some Parquet writers leave them."""
    if not pa.types.is_floating(bounds.min.type):
        return bounds
    nothing = pa.nulls(1, bounds.min.type)[0]
    low = pc.if_else(pc.is_nan(bounds.min), nothing, bounds.min)
    high = pc.if_else(pc.is_nan(bounds.max), nothing, bounds.max)
    return ColumnBounds(bounds.rows, bounds.nulls, bounds.nans, low, high)


def _leaf(bound: Leaf, bounds: ColumnBounds) -> Any:
    match bound:
        case IsNull(_, negated):
            return _has_values(bounds) if negated else _has_nulls(bounds)
        case NullSafeEqual(_, literal, True):
            return pc.or_(
                _has_nulls(bounds), _where_values(bounds, _compare(bounds, Op.NE, literal))
            )
        case NullSafeEqual(_, literal, False):
            return _where_values(bounds, _compare(bounds, Op.EQ, literal))
        case Compare(_, op, literal):
            return _where_values(bounds, _compare(bounds, op, literal))
        case In():
            return _where_values(bounds, _among(bound, bounds))
        case TextMatch(_, TextKind.PREFIX, text, negated):
            return _where_values(bounds, _starts(bounds, text, negated=negated))
        case TextMatch():
            return _has_values(bounds)


def _has_nulls(bounds: ColumnBounds) -> Any:
    return _unless_unknown(pc.greater(bounds.nulls, ZERO))


def _has_values(bounds: ColumnBounds) -> Any:
    return _unless_unknown(pc.less(bounds.nulls, bounds.rows))


def _where_values(bounds: ColumnBounds, mask: Any) -> Any:
    return pc.and_(_has_values(bounds), _unless_unknown(mask))


def _greatest(bounds: ColumnBounds) -> Any:
    """``max``, unknown where there may be a NaN, which is greater."""
    if not pa.types.is_floating(bounds.max.type):
        return bounds.max
    nothing = pa.nulls(1, bounds.max.type)[0]
    if bounds.nans is None:
        return pa.nulls(len(bounds.max), bounds.max.type)
    # A null condition gives null, which is right here.
    return pc.if_else(pc.equal(bounds.nans, ZERO), bounds.max, nothing)


def _compare(bounds: ColumnBounds, op: Op, literal: Literal) -> Any:
    if literal.is_nan:
        return _compare_with_nan(bounds, op)
    scalar, low, high = literal.scalar, bounds.min, _greatest(bounds)
    match op:
        case Op.LT:
            return pc.less(low, scalar)
        case Op.LE:
            return pc.less_equal(low, scalar)
        case Op.GT:
            return pc.greater(high, scalar)
        case Op.GE:
            return pc.greater_equal(high, scalar)
        case Op.EQ:
            return _overlaps(low, high, scalar, scalar)
        case Op.NE:
            # Equal bounds leave room for one value, even if the bounds need not occur.
            only = pc.and_kleene(pc.equal(low, scalar), pc.equal(high, scalar))
            return pc.invert(only)


def _compare_with_nan(bounds: ColumnBounds, op: Op) -> Any:
    match op:
        case Op.EQ | Op.GE:
            return _same(bounds, True) if bounds.nans is None else pc.greater(bounds.nans, ZERO)
        case Op.GT | Op.LT | Op.LE | Op.NE:
            return _same(bounds, op is not Op.GT)


def _overlaps(low: Any, high: Any, first: Any, last: Any) -> Any:
    """Whether a value from ``first`` to ``last`` may occur; null if unknown."""
    return pc.and_kleene(pc.less_equal(low, last), pc.greater_equal(high, first))


def _among(bound: In, bounds: ColumnBounds) -> Any:
    nothing = _same(bounds, False)
    if bound.negated:
        return nothing if bound.has_null else _not_among(bound.values, bounds)
    numbers = [literal for literal in bound.values if not literal.is_nan]
    high = _greatest(bounds)
    masks = [_overlaps(bounds.min, high, first, last) for first, last in _ranges(numbers)]
    if len(numbers) < len(bound.values):
        masks.append(_compare_with_nan(bounds, Op.EQ))
    return functools.reduce(pc.or_, map(_unless_unknown, masks), nothing)


def _same(bounds: ColumnBounds, value: bool) -> Any:
    return repeat(value, len(bounds.rows))


def _ranges(literals: list[Literal]) -> list[tuple[pa.Scalar, pa.Scalar]]:
    """At most ``MOST_RANGES`` ranges, in order, that together hold all the values."""
    if not literals:
        return []
    ordered = _sorted(literals)
    step = -(-len(ordered) // MOST_RANGES)
    starts = range(0, len(ordered), step)
    return [(ordered[i], ordered[min(i + step, len(ordered)) - 1]) for i in starts]


def _sorted(literals: list[Literal]) -> Any:
    values = array_of([literal.value for literal in literals], literals[0].type)
    # Arrow can't sort intervals, so they are sorted as integers.
    keys = values.cast(pa.int64()) if pa.types.is_duration(values.type) else values
    return values.take(pc.sort_indices(keys))


def _not_among(literals: tuple[Literal, ...], bounds: ColumnBounds) -> Any:
    """Whether a value outside the list may occur: not if the only value is in it."""
    if not literals:
        return _same(bounds, True)
    listed = pc.is_in(bounds.min, value_set=array_of([v.value for v in literals], bounds.min.type))
    only = pc.and_kleene(listed, pc.equal(bounds.min, _greatest(bounds)))
    return pc.invert(only)


def _starts(bounds: ColumnBounds, text: str, *, negated: bool) -> Any:
    low_starts = pc.starts_with(bounds.min, pattern=text)
    if negated:
        # Every text between two texts with the same prefix has that prefix.
        return pc.invert(pc.and_kleene(low_starts, pc.starts_with(bounds.max, pattern=text)))
    scalar = array_of([text], bounds.min.type)[0]
    not_after = pc.or_kleene(pc.less_equal(bounds.min, scalar), low_starts)
    return pc.and_kleene(not_after, pc.greater_equal(bounds.max, scalar))


def all_match(bound: filters.BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    """Return for each unit (segment, row group) whether its bounds prove the filter true for all rows.

    ``bounds_of`` returns the bounds of a column by ID, or None if nothing is known. The result holds no
    nulls; for a unit without rows it may be true or false.
    """
    match bound:
        case filters.And(parts) | filters.Or(parts):
            # A single part of an OR must be true of all rows of a unit, since parts are evaluated apart.
            join = pc.and_ if isinstance(bound, filters.And) else pc.or_
            if not parts:
                return repeat(isinstance(bound, filters.And), count)
            return functools.reduce(join, (all_match(part, bounds_of, count) for part in parts))
        case filters.Always(value):
            return repeat(value is True, count)
        case filters.IsNull() | filters.NullSafeEqual():  # never null
            return _none(replace(bound, negated=not bound.negated), bounds_of, count)
        case filters.In(has_null=True, negated=True):  # never true
            return repeat(False, count)
        case filters.Compare() | filters.In() | filters.TextMatch():
            no_nulls = _none(filters.IsNull(bound.column_id), bounds_of, count)
            return pc.and_(no_nulls, _none(_negated(bound), bounds_of, count))


def _none(bound: filters.BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    return pc.invert(may_match(bound, bounds_of, count))


def _negated(leaf: filters.Compare | filters.In | filters.TextMatch) -> filters.BoundFilter:
    """The negation of a leaf, for values that are not null."""
    match leaf:
        case filters.Compare(column_id, op, value):
            return filters.Compare(column_id, filters.NEGATION[op], value)
        case filters.In(column_id, values, _, negated):
            return filters.In(column_id, values, negated=not negated)
        case filters.TextMatch():
            return replace(leaf, negated=not leaf.negated)
