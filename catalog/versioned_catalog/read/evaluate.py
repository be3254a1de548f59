"""Evaluation of filters on rows, in three-valued logic and with Spark's semantics."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import FALSE, NULL, TRUE, array_of, repeat
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

ColumnOf = Callable[[int], Any]
"""Returns a column's values by ID: an Array or ChunkedArray of the column's Arrow type."""


def keep_mask(bound: BoundFilter, column_of: ColumnOf, rows: int) -> pa.BooleanArray:
    """Which rows a filter selects: those for which it is true, not false or null."""
    return pc.fill_null(evaluate(bound, column_of, rows), FALSE)


def evaluate(bound: BoundFilter, column_of: ColumnOf, rows: int) -> pa.BooleanArray:
    """A filter's value for each row: true, false or null.

    ``column_of`` returns values by column ID, of the types that the filter was bound to.
    """
    match bound:
        case And(parts) | Or(parts):
            join = pc.and_kleene if isinstance(bound, And) else pc.or_kleene
            if not parts:
                return repeat(isinstance(bound, And), rows)
            return functools.reduce(join, (evaluate(part, column_of, rows) for part in parts))
        case Always(value):
            return repeat(value, rows)
        case Compare() | NullSafeEqual() | In() | IsNull() | TextMatch():
            return one_array(_leaf(bound, column_of(bound.column_id)))


def _leaf(bound: Compare | NullSafeEqual | In | IsNull | TextMatch, values: Any) -> Any:
    match bound:
        case Compare(_, op, literal):
            return _compare(values, op, literal)
        case NullSafeEqual(_, literal, negated):
            return _negate(pc.fill_null(_compare(values, Op.EQ, literal), FALSE), negated)
        case In(_, literals, has_null, negated):
            mask = _among(values, literals)
            if has_null:
                mask = pc.if_else(mask, TRUE, NULL)
            return _negate(mask, negated)
        case IsNull(_, negated):
            return pc.is_valid(values) if negated else pc.is_null(values)
        case TextMatch(_, kind, text, negated):
            return _negate(_match(values, kind, text), negated)


def _negate(mask: Any, negated: bool) -> Any:
    return pc.invert(mask) if negated else mask


def _compare(values: Any, op: Op, literal: Literal) -> Any:
    """Compare the values of a column with a literal of its type; null where a value is null."""
    return compare_with_nan(values, op) if literal.is_nan else compare(values, op, literal.scalar)


def compare(values: Any, op: Op, scalar: Any) -> Any:
    """Compare values with a scalar that is not NaN; both may be PyArrow expressions."""
    match op:
        case Op.EQ:
            return pc.equal(values, scalar)
        case Op.NE:
            return pc.not_equal(values, scalar)
        case Op.LT:
            return pc.less(values, scalar)
        case Op.LE:
            return pc.less_equal(values, scalar)
        # In Arrow, NaN is neither less nor greater. As "not less", it is the greatest.
        case Op.GT:
            return pc.invert(pc.less_equal(values, scalar))
        case Op.GE:
            return pc.invert(pc.less(values, scalar))


def compare_with_nan(values: Any, op: Op) -> Any:
    """Compare values with NaN; they may be a PyArrow expression."""
    nan = pc.is_nan(values)
    match op:
        case Op.EQ | Op.GE:
            return nan
        case Op.NE | Op.LT:
            return pc.invert(nan)
        case Op.LE:
            return pc.or_(nan, pc.invert(nan))
        case Op.GT:
            return pc.and_(nan, pc.invert(nan))


def _among(values: Any, literals: tuple[Literal, ...]) -> Any:
    mask = pc.is_in(values, value_set=array_of(_hashable(literals), values.type))
    if any(literal.is_nan for literal in literals):
        mask = pc.or_(mask, pc.fill_null(pc.is_nan(values), FALSE))
    if values.null_count == 0:
        return mask
    return pc.if_else(pc.is_valid(values), mask, NULL)


def _hashable(literals: tuple[Literal, ...]) -> list[Any]:
    """The values for ``is_in``, without NaN, and with both zeros, which it distinguishes."""
    values = [literal.value for literal in literals if not literal.is_nan]
    if any(isinstance(value, float) and value == 0 for value in values):
        values += [0.0, -0.0]
    return values


def _match(values: Any, kind: TextKind, text: str) -> Any:
    match kind:
        case TextKind.PREFIX:
            return pc.starts_with(values, pattern=text)
        case TextKind.SUFFIX:
            return pc.ends_with(values, pattern=text)
        case TextKind.CONTAINS:
            return pc.match_substring(values, pattern=text)
