"""Strict evaluation: which segments are known to hold only rows that a filter selects."""

from __future__ import annotations

import functools
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.expressions import filters
from versioned_catalog.pruning.inclusive import BoundsOf, may_match
from versioned_catalog.types.arrow_values import repeat


def all_match(bound: filters.BoundFilter, bounds_of: BoundsOf, count: int) -> pa.BooleanArray:
    """Return for each unit (segment, row group) whether its bounds prove the filter true for all rows.

    ``bounds_of`` returns the bounds of a column by ID, or None if nothing is known. The result holds no
    nulls; for a unit without rows it may be true or false.
    """
    match bound:
        case filters.And(parts) | filters.Or(parts):
            # One part of an OR must be true of all rows of a unit: two parts may not cover it together.
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
