"""Which segments hold nothing but rows that a filter lets pass, all of them at once."""

from __future__ import annotations

import functools
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.expressions.filters import (
    NEGATION,
    Always,
    And,
    Bound,
    Compare,
    In,
    IsNull,
    NullSafeEqual,
    Or,
    TextMatch,
)
from versioned_catalog.pruning.inclusive import BoundsOf, may_match
from versioned_catalog.types.arrow_values import repeat


def all_match(bound: Bound, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    """Which units are known to hold only rows for which a filter is true, not false or null.

    Args:
        bound: the filter.
        bounds_of: what is known of a column, by ID; None where it is nothing.
        count: how many units there are.

    Returns:
        One boolean a unit, none of them null. Of units without rows it may be either.
    """
    match bound:
        case And(parts) | Or(parts):
            # One part of an OR must do for all rows: which parts share them is not known.
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
            is_there = _none(IsNull(bound.column_id), bounds_of, count)
            return pc.and_(is_there, _none(_negated(bound), bounds_of, count))


def _none(bound: Bound, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    return pc.invert(may_match(bound, bounds_of, count))


def _negated(leaf: Compare | In | TextMatch) -> Bound:
    """What is true of the values, nulls apart, for which a leaf is not."""
    match leaf:
        case Compare(column_id, op, value):
            return Compare(column_id, NEGATION[op], value)
        case In(column_id, values, _, negated):
            return In(column_id, values, negated=not negated)
        case TextMatch():
            return replace(leaf, negated=not leaf.negated)
