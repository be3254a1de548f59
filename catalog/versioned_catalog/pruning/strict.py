"""Strict evaluation: which segments are known to hold only rows that a filter selects."""

from __future__ import annotations

import functools
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.expressions.filters import (
    NEGATION,
    Always,
    And,
    BoundFilter,
    Compare,
    In,
    IsNull,
    NullSafeEqual,
    Or,
    TextMatch,
)
from versioned_catalog.pruning.inclusive import BoundsOf, may_match
from versioned_catalog.types.arrow_values import repeat


def all_match(bound: BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    """Which units are known to hold only rows for which a filter is true, not false or null.

    Args:
        bound: the filter.
        bounds_of: returns the bounds of a column by ID, or None if nothing is known.
        count: the number of units.

    Returns:
        One boolean per unit, never null. For a unit without rows it may be either.
    """
    match bound:
        case And(parts) | Or(parts):
            # One part of an OR must be true of all rows of a unit: two parts may not cover it together.
            join = pc.and_ if isinstance(bound, And) else pc.or_
            if not parts:
                return repeat(isinstance(bound, And), count)
            return functools.reduce(join, (all_match(part, bounds_of, count) for part in parts))
        case Always(value):
            return repeat(value is True, count)
        case IsNull() | NullSafeEqual():  # never null
            return _none(replace(bound, negated=not bound.negated), bounds_of, count)
        case In(has_null=True, negated=True):  # never true
            return repeat(False, count)
        case Compare() | In() | TextMatch():
            no_nulls = _none(IsNull(bound.column_id), bounds_of, count)
            return pc.and_(no_nulls, _none(_negated(bound), bounds_of, count))


def _none(bound: BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    return pc.invert(may_match(bound, bounds_of, count))


def _negated(leaf: Compare | In | TextMatch) -> BoundFilter:
    """The negation of a leaf, for values that are not null."""
    match leaf:
        case Compare(column_id, op, value):
            return Compare(column_id, NEGATION[op], value)
        case In(column_id, values, _, negated):
            return In(column_id, values, negated=not negated)
        case TextMatch():
            return replace(leaf, negated=not leaf.negated)
