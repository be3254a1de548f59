"""Binding of filters: names become column IDs, values become literals of the columns' types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.expressions.filters import (
    NEGATION,
    AllOf,
    Always,
    And,
    AnyOf,
    BoundFilter,
    Compare,
    Comparison,
    In,
    IsNull,
    Not,
    NullSafe,
    NullSafeEqual,
    NullTest,
    OneOf,
    Op,
    Or,
    TextKind,
    TextMatch,
    TextTest,
    UnboundFilter,
)
from versioned_catalog.expressions.literal_binding import (
    Above,
    Below,
    BoundLiteral,
    Equal,
    bind_literal,
    bind_literals,
    plain,
)
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.tokens import clip, clip_repr
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import Column, is_nested, is_opaque, is_text

ColumnAt = Callable[[ColumnPath], Column]
"""Returns the column at a path."""


def bind_filter(unbound: UnboundFilter, column_at: ColumnAt) -> BoundFilter:
    """Bind the columns of a filter to IDs and its values to the types of the columns.

    Args:
        column_at: returns the column at a path, or raises if a filter can't use it.

    Raises:
        InvalidRequestError: a column can't be compared with the given value.
    """
    return _bind(unbound, column_at, negated=False)


def bind_if_known(unbound: UnboundFilter, column_at: ColumnAt) -> BoundFilter | None:
    """``bind_filter``; None if a column does not exist or can't be compared with the value."""
    try:
        return bind_filter(unbound, column_at)
    except (InvalidRequestError, NotFoundError):
        return None


def _bind(unbound: UnboundFilter, column_at: ColumnAt, *, negated: bool) -> BoundFilter:
    match unbound:
        case AllOf(parts) | AnyOf(parts):
            bound = tuple(_bind(part, column_at, negated=negated) for part in parts)
            if len(bound) == 1:
                return bound[0]
            return And(bound) if isinstance(unbound, AllOf) != negated else Or(bound)
        case Not(part):
            return _bind(part, column_at, negated=not negated)
        case NullTest(path):
            return IsNull(column_at(path).id, negated)
        case Comparison(path, op, value):
            return _bind_comparison(path, column_at(path), NEGATION[op] if negated else op, value)
        case NullSafe(path, value):
            return _bind_null_safe(path, column_at(path), value, negated=negated)
        case OneOf(path, values):
            return _bind_one_of(path, column_at(path), values, negated=negated)
        case TextTest(path, kind, text):
            return _bind_text(path, column_at(path), kind, text, negated=negated)


def _bind_comparison(path: ColumnPath, column: Column, op: Op, given: Any) -> BoundFilter:
    value = _value(path, column, given)
    if value is None:
        return Always(None)
    return _compare(column.id, op, _bind_value(path, column, value))


def _compare(column_id: int, op: Op, bound: BoundLiteral) -> BoundFilter:
    if op in (Op.EQ, Op.NE):
        return _equal(column_id, bound, negated=op is Op.NE)
    is_less = op in (Op.LT, Op.LE)
    match bound:
        case Equal(low, high):
            return Compare(column_id, op, low if op in (Op.LT, Op.GE) else high)
        case Above(literal):
            return Compare(column_id, Op.LE if is_less else Op.GT, literal)
        case Below(literal):
            return Compare(column_id, Op.LT if is_less else Op.GE, literal)


def _equal(column_id: int, bound: BoundLiteral, *, negated: bool) -> BoundFilter:
    match bound:
        case Equal(low, high) if bound.is_one:
            return Compare(column_id, Op.NE if negated else Op.EQ, low)
        case Equal(low, high):
            if negated:
                return Or((Compare(column_id, Op.LT, low), Compare(column_id, Op.GT, high)))
            return And((Compare(column_id, Op.GE, low), Compare(column_id, Op.LE, high)))
        case Above() | Below():
            return In(column_id, (), negated=negated)


def _bind_null_safe(path: ColumnPath, column: Column, given: Any, *, negated: bool) -> BoundFilter:
    value = None if given is None else _value(path, column, given)
    if value is None:
        return IsNull(column.id, negated)
    bound = _bind_value(path, column, value)
    match bound:
        case Equal(low) if bound.is_one:
            return NullSafeEqual(column.id, low, negated)
        case Equal():
            equal, null = _equal(column.id, bound, negated=negated), IsNull(column.id, not negated)
            return Or((IsNull(column.id), equal)) if negated else And((null, equal))
        case Above() | Below():
            return Always(negated)


def _bind_one_of(
    path: ColumnPath, column: Column, given: tuple[Any, ...], *, negated: bool
) -> BoundFilter:
    values = [_value(path, column, value) for value in given]
    if not values:
        return Always(negated)  # as Spark, even if the column is null
    known = [value for value in values if value is not None]
    found = [
        bound if bound is not None else _refuse(path, column, value)
        for bound, value in zip(bind_literals(column.type, known), known, strict=True)
    ]
    equal = [bound for bound in found if isinstance(bound, Equal)]  # others equal no value
    single = tuple(dict.fromkeys(bound.low for bound in equal if bound.is_one))
    listed = In(column.id, single, len(known) < len(values), negated)
    ranges = [_equal(column.id, bound, negated=negated) for bound in equal if not bound.is_one]
    if not ranges:
        return listed
    return And((listed, *ranges)) if negated else Or((listed, *ranges))


def _bind_text(
    path: ColumnPath, column: Column, kind: TextKind, text: str | None, *, negated: bool
) -> BoundFilter:
    if not is_text(column.type) or not isinstance(text, str | None):
        _refuse(path, column, text)
    return Always(None) if text is None else TextMatch(column.id, kind, text, negated)


def _value(path: ColumnPath, column: Column, given: Any) -> Any:
    if is_nested(column.type) or is_opaque(column.type):
        raise InvalidRequestError(
            f"the column {render_path(path)} of type {clip(render_type(column.type))} can't be "
            f"compared with a {type(given).__name__}; filter it by 'is null' or 'is not null', or "
            "filter a field inside it"
        )
    try:
        return plain(given)
    except (ValueError, OverflowError):
        _refuse(path, column, given)


def _bind_value(path: ColumnPath, column: Column, value: Any) -> BoundLiteral:
    bound = bind_literal(column.type, value)
    return bound if bound is not None else _refuse(path, column, value)


def _refuse(path: ColumnPath, column: Column, value: Any) -> Any:
    type_ = clip(render_type(column.type))
    raise InvalidRequestError(
        f"the column {render_path(path)} of type {type_} can't be compared with {clip_repr(value)} "
        f"of type {type(value).__name__}; give a value of the column's type"
    )
