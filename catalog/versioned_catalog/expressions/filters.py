"""Filters as values: as they are given, by name, and bound, by column ID.

A bound filter compares with values of the column's own type only (see ``places``) and has no NOT:
negation stands in its leaves. In three-valued logic that is the same: NOT (a < b) is a >= b.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.expressions.literal_binding import (
    After,
    Before,
    Exactly,
    Literal,
    Place,
    place,
    places,
    plain,
)
from versioned_catalog.types.paths import ColumnPath, parse_path, render_path
from versioned_catalog.types.tokens import clip
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import Column, is_nested, is_opaque, is_text
from versioned_catalog.values.value_text import shown


class Op(enum.Enum):
    """Comparisons; NaN equals NaN and is greatest, -0.0 equals 0.0, texts go by their bytes."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class TextKind(enum.Enum):
    """Where in a text another is looked for."""

    PREFIX = "prefix"
    SUFFIX = "suffix"
    CONTAINS = "contains"


NEGATION = {
    Op.EQ: Op.NE,
    Op.NE: Op.EQ,
    Op.LT: Op.GE,
    Op.GE: Op.LT,
    Op.GT: Op.LE,
    Op.LE: Op.GT,
}
"""What is true of two values exactly where the other is not."""


# Filters as they are given: columns by path, plain Python values.


@dataclass(frozen=True, slots=True)
class Comparison:
    """``path op value``; null where either is."""

    path: ColumnPath
    op: Op
    value: Any


@dataclass(frozen=True, slots=True)
class NullSafe:
    """``path <=> value``: equal, or both null."""

    path: ColumnPath
    value: Any


@dataclass(frozen=True, slots=True)
class OneOf:
    """``path IN (values)``; with a null among them true or null, never false."""

    path: ColumnPath
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class NullTest:
    """``path IS NULL``."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class TextTest:
    """Whether a text starts with, ends with or contains another."""

    path: ColumnPath
    kind: TextKind
    text: str | None


@dataclass(frozen=True, slots=True)
class AllOf:
    """AND; of nothing it is true."""

    parts: tuple[Unbound, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """OR; of nothing it is false."""

    parts: tuple[Unbound, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """NOT; of null it is null."""

    part: Unbound


Unbound = Comparison | NullSafe | OneOf | NullTest | TextTest | AllOf | AnyOf | Not


# Bound filters: columns by ID, literals of the columns' own types.


@dataclass(frozen=True, slots=True)
class Compare:
    """A column compared with a literal; null where the column is."""

    column_id: int
    op: Op
    value: Literal


@dataclass(frozen=True, slots=True)
class NullSafeEqual:
    """Whether a column has this value; false (negated: true) where it is null."""

    column_id: int
    value: Literal
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In:
    """Whether a column has one of these values; null where it is null.

    Without values it is false (negated: true) where the column is not null. With ``has_null`` what
    would be false (negated: true) is null.
    """

    column_id: int
    values: tuple[Literal, ...]
    has_null: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a column is null; never null."""

    column_id: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TextMatch:
    """Whether a text starts with, ends with or contains another; null where the column is."""

    column_id: int
    kind: TextKind
    text: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """All parts; true if there is none."""

    parts: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any part; false if there is none."""

    parts: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Always:
    """The same for every row; None is null, which never lets a row pass."""

    value: bool | None


Bound = Compare | NullSafeEqual | In | IsNull | TextMatch | And | Or | Always
Resolver = Callable[[ColumnPath], Column]


def columns_of(bound: Bound) -> frozenset[int]:
    """The IDs of the columns that a filter looks at."""
    match bound:
        case And(parts) | Or(parts):
            return frozenset().union(*map(columns_of, parts))
        case Always():
            return frozenset()
        case Compare() | NullSafeEqual() | In() | IsNull() | TextMatch():
            return frozenset((bound.column_id,))


def about(bound: Bound, columns: Container[int]) -> Bound | None:
    """What a filter says of some columns alone: every row that it lets pass fulfils that.

    Args:
        bound: the filter.
        columns: the IDs of the columns.

    Returns:
        A filter on these columns; None where it says nothing.
    """
    match bound:
        case And(parts):
            told = [found for part in parts if (found := about(part, columns)) is not None]
            return And(tuple(told)) if told else None
        case Or(parts):
            any_of = [about(part, columns) for part in parts]
            return None if None in any_of else Or(tuple(one for one in any_of if one is not None))
        case Always():
            return bound
        case Compare() | NullSafeEqual() | In() | IsNull() | TextMatch():
            return bound if bound.column_id in columns else None


def bind(unbound: Unbound, resolve: Resolver) -> Bound:
    """Bind names to IDs and values to the types of their columns.

    Args:
        unbound: the filter.
        resolve: the column at a path; raises where there is none, or none with one value a row.

    Raises:
        InvalidRequestError: a column can't be compared with the value given. What ``resolve``
            raises goes through.
    """
    return _bind(unbound, resolve, negated=False)


def _bind(unbound: Unbound, resolve: Resolver, *, negated: bool) -> Bound:
    match unbound:
        case AllOf(parts) | AnyOf(parts):
            bound = tuple(_bind(part, resolve, negated=negated) for part in parts)
            if len(bound) == 1:
                return bound[0]
            return And(bound) if isinstance(unbound, AllOf) != negated else Or(bound)
        case Not(part):
            return _bind(part, resolve, negated=not negated)
        case NullTest(path):
            return IsNull(resolve(path).id, negated)
        case Comparison(path, op, value):
            return _bind_comparison(path, resolve(path), NEGATION[op] if negated else op, value)
        case NullSafe(path, value):
            return _bind_null_safe(path, resolve(path), value, negated=negated)
        case OneOf(path, values):
            return _bind_one_of(path, resolve(path), values, negated=negated)
        case TextTest(path, kind, text):
            return _bind_text(path, resolve(path), kind, text, negated=negated)


def _bind_comparison(path: ColumnPath, column: Column, op: Op, given: Any) -> Bound:
    value = _value(path, column, given)
    if value is None:
        return Always(None)
    return _compare(column.id, op, _place(path, column, value))


def _compare(column_id: int, op: Op, at: Place) -> Bound:
    if op in (Op.EQ, Op.NE):
        return _equal(column_id, at, negated=op is Op.NE)
    before = op in (Op.LT, Op.LE)
    match at:
        case Exactly(low, high):
            return Compare(column_id, op, low if op in (Op.LT, Op.GE) else high)
        case After(literal):
            return Compare(column_id, Op.LE if before else Op.GT, literal)
        case Before(literal):
            return Compare(column_id, Op.LT if before else Op.GE, literal)


def _equal(column_id: int, at: Place, *, negated: bool) -> Bound:
    match at:
        case Exactly(low, high) if _is_one(at):
            return Compare(column_id, Op.NE if negated else Op.EQ, low)
        case Exactly(low, high):
            if negated:
                return Or((Compare(column_id, Op.LT, low), Compare(column_id, Op.GT, high)))
            return And((Compare(column_id, Op.GE, low), Compare(column_id, Op.LE, high)))
        case After() | Before():
            return In(column_id, (), negated=negated)


def _is_one(at: Exactly) -> bool:
    return at.low is at.high or at.low == at.high  # a NaN is itself only by identity


def _bind_null_safe(path: ColumnPath, column: Column, given: Any, *, negated: bool) -> Bound:
    if given is None:
        return IsNull(column.id, negated)
    value = _value(path, column, given)
    if value is None:
        return IsNull(column.id, negated)
    at = _place(path, column, value)
    match at:
        case Exactly(low) if _is_one(at):
            return NullSafeEqual(column.id, low, negated)
        case Exactly():
            equal, null = _equal(column.id, at, negated=negated), IsNull(column.id, not negated)
            return Or((IsNull(column.id), equal)) if negated else And((null, equal))
        case After() | Before():
            return Always(negated)


def _bind_one_of(
    path: ColumnPath, column: Column, given: tuple[Any, ...], *, negated: bool
) -> Bound:
    values = [_value(path, column, value) for value in given]
    if not values:
        return Always(negated)  # in Spark even where the column is null
    there = [value for value in values if value is not None]
    found = [
        at if at is not None else _refuse(path, column, value)
        for at, value in zip(places(column.type, there), there, strict=True)
    ]
    equal = [at for at in found if isinstance(at, Exactly)]  # no other place equals a value
    single = tuple(dict.fromkeys(at.low for at in equal if _is_one(at)))
    listed = In(column.id, single, len(there) < len(values), negated)
    ranges = [_equal(column.id, at, negated=negated) for at in equal if not _is_one(at)]
    if not ranges:
        return listed
    return And((listed, *ranges)) if negated else Or((listed, *ranges))


def _bind_text(
    path: ColumnPath, column: Column, kind: TextKind, text: str | None, *, negated: bool
) -> Bound:
    if not is_text(column.type) or not isinstance(text, str | None):
        _refuse(path, column, text)
    return Always(None) if text is None else TextMatch(column.id, kind, text, negated)


def _value(path: ColumnPath, column: Column, given: Any) -> Any:
    if is_nested(column.type) or is_opaque(column.type):
        raise InvalidRequestError(
            f"the column {render_path(path)} of type {clip(render_type(column.type))} has no order "
            f"to be compared with a {type(given).__name__}: filter it by 'is null' and 'is not "
            "null' only, or by a field inside it"
        )
    try:
        return plain(given)
    except (ValueError, OverflowError):
        _refuse(path, column, given)


def _place(path: ColumnPath, column: Column, value: Any) -> Place:
    at = place(column.type, value)
    return at if at is not None else _refuse(path, column, value)


def _refuse(path: ColumnPath, column: Column, value: Any) -> Any:
    type_ = clip(render_type(column.type))
    raise InvalidRequestError(
        f"the column {render_path(path)} of type {type_} can't be compared with {shown(value)} "
        f"of type {type(value).__name__}; give a value of its own kind"
    )


# The tuples of pyarrow.parquet.read_table.

_OPS = {op.value: op for op in Op} | {"==": Op.EQ, "<>": Op.NE}


def parse_filters(filters: Any) -> Unbound | None:
    """A filter from the tuple syntax of ``pyarrow.parquet.read_table``.

    ``[("a", ">", 1), ("b", "in", ["x", "y"])]`` is AND; a list of such lists is OR of them. The
    operators are ``= == != <> < <= > >= <=> in "not in"``, and ``is null`` and ``is not null``
    without value: ``("a", "is null")``. Columns inside structs are dotted; names that hold dots
    stand in backticks.

    Args:
        filters: the filter, or None; one that is an ``Unbound`` already is given back.

    Raises:
        InvalidRequestError: it does not have that form.
    """
    if filters is None or isinstance(filters, Unbound):
        return filters
    parts = _parts(filters, "filters")
    if all(_is_predicate(part) for part in parts):
        return AllOf(tuple(map(_predicate, parts)))
    return AnyOf(
        tuple(AllOf(tuple(map(_predicate, _parts(p, "a list in filters")))) for p in parts)
    )


def _parts(filters: Any, what: str) -> list[Any]:
    if not isinstance(filters, list | tuple) or not filters or _is_predicate(filters):
        raise InvalidRequestError(
            f"{what} must be a list, not empty, of tuples like ('column', '>', 1), or a list of "
            f"such lists, not {shown(filters)}"
        )
    return list(filters)


def _is_predicate(part: Any) -> bool:
    return isinstance(part, list | tuple) and bool(part) and isinstance(part[0], str)


def _predicate(part: Any) -> Unbound:
    if not _is_predicate(part) or len(part) not in (2, 3) or not isinstance(part[1], str):
        raise InvalidRequestError(
            f"{shown(part)} is no filter; write tuples like ('column', '>', 1)"
        )
    path, op = parse_path(part[0]), " ".join(part[1].lower().split())
    if op in ("is null", "is not null"):
        return NullTest(path) if op == "is null" else Not(NullTest(path))
    if len(part) == 2:
        raise InvalidRequestError(f"the filter {shown(part)} lacks a value")
    if op in ("in", "not in"):
        listed = OneOf(path, _values(part[0], part[2]))
        return listed if op == "in" else Not(listed)
    if op == "<=>":
        return NullSafe(path, part[2])
    if op not in _OPS:
        raise InvalidRequestError(
            f"{shown(part[1])} is no operator of a filter; there are {', '.join(_OPS)}, <=>, in, "
            "not in, is null, is not null"
        )
    return Comparison(path, _OPS[op], part[2])


def _values(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise InvalidRequestError(f"the filter on {name} needs a list of values")
    return tuple(values)
