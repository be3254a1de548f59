"""Translate the filters of every dialect by one table of operators.

A dialect converts its expression tree to calls of operators under its own names. ``OPERATORS`` maps the
names to operators; names that it lacks have no translation.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.tokens import clip_repr
from versioned_catalog.model.type_text import ColumnPath, parse_path
from versioned_catalog.read.filters import (
    MIRRORED,
    AllOf,
    AnyOf,
    Comparison,
    Intersects,
    Not,
    NullSafe,
    NullTest,
    OneOf,
    Op,
    TextKind,
    TextTest,
    UnboundFilter,
)


class Form(enum.Enum):
    """Operators beside comparisons and those on text."""

    NULL_SAFE = "null-safe"
    IN = "in"
    NOT_IN = "not in"
    IS_NULL = "is null"
    IS_NOT_NULL = "is not null"
    IS_NAN = "is nan"
    INTERSECTS = "intersects"


class Logic(enum.Enum):
    """Operators on filters."""

    AND = "and"
    OR = "or"
    NOT = "not"


ColumnOperator = Op | TextKind | Form


class Dialect(enum.IntEnum):
    """The columns of ``OPERATORS``."""

    TEXT = 0
    ARROW = 1
    POLARS = 2
    SPARK_FILTER = 3
    SPARK_PREDICATE = 4


# fmt: off
OPERATORS: dict[ColumnOperator | Logic, str] = {
    #                   tuples, SQL | PyArrow       | Polars     | Spark's filters    | predicates
    Op.EQ:             "=, ==       | equal         | Eq         | EqualTo            | =",
    Op.NE:             "!=, <>      | not_equal     | NotEq      |                    | <>",
    Op.LT:             "<           | less          | Lt         | LessThan           | <",
    Op.LE:             "<=          | less_equal    | LtEq       | LessThanOrEqual    | <=",
    Op.GT:             ">           | greater       | Gt         | GreaterThan        | >",
    Op.GE:             ">=          | greater_equal | GtEq       | GreaterThanOrEqual | >=",
    Form.NULL_SAFE:    "<=>         |               |            | EqualNullSafe      | <=>",
    Form.IN:           "in          | is_in         | IsIn       | In                 | IN",
    Form.NOT_IN:       "not in      |               |            |                    |",
    Form.IS_NULL:      "is null     | is_null       | IsNull     | IsNull             | IS_NULL",
    Form.IS_NOT_NULL:  "is not null | is_valid      | IsNotNull  | IsNotNull          | IS_NOT_NULL",
    Form.IS_NAN:       "            | is_nan        |            |                    |",
    Form.INTERSECTS:   "intersects  |               |            |                    |",
    TextKind.PREFIX:   "            |               | StartsWith | StringStartsWith   | STARTS_WITH",
    TextKind.SUFFIX:   "            |               | EndsWith   | StringEndsWith     | ENDS_WITH",
    TextKind.CONTAINS: "            |               | Contains   | StringContains     | CONTAINS",
    Logic.AND:         "            | and_kleene    | And        |                    | AND",
    Logic.OR:          "            | or_kleene     | Or         |                    | OR",
    Logic.NOT:         "            | invert        | Not        | Not                | NOT",
}
# fmt: on
"""The names of each operator in each dialect."""


_BY_NAME = {
    dialect: {
        name.strip(): operator
        for operator, row in OPERATORS.items()
        for name in row.split("|")[dialect].split(",")
        if name.strip()
    }
    for dialect in Dialect
}

TEXT_OPERATORS = {
    name: operator
    for name, operator in _BY_NAME[Dialect.TEXT].items()
    if not isinstance(operator, Logic)
}
"""The operators of tuples and SQL text by their names; the grammar of SQL has AND, OR and NOT."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operator or function by the dialect's name."""

    name: str
    arguments: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A column or a field of a struct; as a condition, a BOOLEAN."""

    path: ColumnPath


@dataclass(frozen=True, slots=True)
class Value:
    """A constant, as a Python value or an Arrow scalar."""

    value: Any


Node = Call | Field | Value

UNKNOWN = Call("")
"""A node without a translation."""

Accepts = Callable[[UnboundFilter], bool]
"""Whether a filter without AND, OR and NOT means the same in the dialect."""


def translate(
    node: Node,
    dialect: Dialect,
    accepts: Accepts = lambda _: True,
    *,
    inclusive: bool = False,
) -> UnboundFilter | None:
    """The filter that has the same value for every row; None if there is none.

    Args:
        node: the filter in the dialect.
        accepts: a filter that it rejects has no translation.
        inclusive: return also a filter that selects more rows.
    """
    match node:
        case Value(bool(value)):
            return AllOf(()) if value else AnyOf(())
        case Field(path):
            leaf: UnboundFilter | None = Comparison(path, Op.EQ, True)
        case Call(name, arguments):
            operator = _BY_NAME[dialect].get(name)
            if isinstance(operator, Logic):
                some = inclusive and operator is not Logic.NOT
                parts = [translate(arg, dialect, accepts, inclusive=some) for arg in arguments]
                kept = tuple(part for part in parts if part is not None)
                is_enough = some and operator is Logic.AND and kept
                return _join(operator, kept) if is_enough or len(kept) == len(parts) else None
            leaf = None if operator is None else _leaf(operator, arguments)
        case Value():
            return None
    return leaf if leaf is not None and accepts(leaf) else None


def _join(operator: Logic, parts: tuple[UnboundFilter, ...]) -> UnboundFilter | None:
    match operator, parts:
        case Logic.AND, _:
            return AllOf(parts)
        case Logic.OR, _:
            return AnyOf(parts)
        case Logic.NOT, (part,):
            return Not(part)
        case _:
            return None


def _leaf(operator: ColumnOperator, arguments: tuple[Node, ...]) -> UnboundFilter | None:
    match operator, arguments:
        case Form.IS_NULL | Form.IS_NOT_NULL | Form.IS_NAN, (Field(path),):
            return column_filter(operator, path)
        case Form.IN, (Field(path), *values):
            listed = tuple(node.value for node in values if isinstance(node, Value))
            all_listed = len(listed) == len(values)
            return column_filter(operator, path, listed) if all_listed else None
        case Op() | TextKind() | Form.NULL_SAFE, (Field(path), Value(value)):
            return column_filter(operator, path, value)
        case Op(), (Value(value), Field(path)):
            return column_filter(MIRRORED[operator], path, value)
        case Form.NULL_SAFE, (Value(value), Field(path)):
            return column_filter(operator, path, value)
        case _:
            return None


def column_filter(operator: ColumnOperator, path: ColumnPath, value: Any = None) -> UnboundFilter:
    """The filter of a column by an operator; the value of IN and NOT IN is a tuple of values."""
    match operator:
        case Op():
            return Comparison(path, operator, value)
        case TextKind():
            return TextTest(path, operator, value)
        case Form.NULL_SAFE:
            return NullSafe(path, value)
        case Form.IN:
            return OneOf(path, value)
        case Form.NOT_IN:
            return Not(OneOf(path, value))
        case Form.IS_NULL:
            return NullTest(path)
        case Form.IS_NOT_NULL:
            return Not(NullTest(path))
        case Form.IS_NAN:
            return Comparison(path, Op.EQ, math.nan)
        case Form.INTERSECTS:
            return Intersects(path, value)


def parse_filters(filters: Any) -> UnboundFilter | None:
    """Parse the tuple syntax of ``pyarrow.parquet.read_table``.

    ``[("a", ">", 1), ("b", "in", ["x", "y"])]`` is an AND; a list of such lists is an OR of ANDs. The
    operators are ``= == != <> < <= > >= <=> in "not in"``, and ``is null`` and ``is not null``
    without a value: ``("a", "is null")``. ``("shape", "intersects", (xmin, ymin, xmax, ymax))`` is
    whether the box around a shape has a point in common with another box. Fields of structs are named
    by dotted paths; names that hold dots are put in backticks.

    Args:
        filters: the filter; None and an ``UnboundFilter`` are returned as they are.

    Raises:
        InvalidRequestError: it has another form.
    """
    if filters is None or isinstance(filters, UnboundFilter):
        return filters
    parts = _parts(filters, "filters")
    if all(_is_predicate(part) for part in parts):
        return AllOf(tuple(map(_predicate, parts)))
    return AnyOf(
        tuple(AllOf(tuple(map(_predicate, _parts(p, "a list in filters")))) for p in parts)
    )


def _parts(filters: Any, name: str) -> list[Any]:
    if not isinstance(filters, list | tuple) or not filters or _is_predicate(filters):
        raise InvalidRequestError(
            f"{name} must be a non-empty list of tuples like ('column', '>', 1), or a list of such "
            f"lists, not {clip_repr(filters)}"
        )
    return list(filters)


def _is_predicate(part: Any) -> bool:
    return isinstance(part, list | tuple) and bool(part) and isinstance(part[0], str)


def _predicate(part: Any) -> UnboundFilter:
    if not _is_predicate(part) or len(part) not in (2, 3) or not isinstance(part[1], str):
        raise InvalidRequestError(
            f"{clip_repr(part)} is not a filter; write tuples like ('column', '>', 1)"
        )
    path, name = parse_path(part[0]), " ".join(part[1].lower().split())
    operator = TEXT_OPERATORS.get(name)
    if operator in (Form.IS_NULL, Form.IS_NOT_NULL):
        return column_filter(operator, path)
    if len(part) == 2:
        raise InvalidRequestError(
            f"the filter {clip_repr(part)} has no value; write tuples like ('column', '>', 1)"
        )
    if operator is None:
        raise InvalidRequestError(
            f"{clip_repr(part[1])} is not an operator; there are {', '.join(TEXT_OPERATORS)}"
        )
    is_list = operator in (Form.IN, Form.NOT_IN)
    return column_filter(operator, path, _values(part[0], part[2]) if is_list else part[2])


def _values(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise InvalidRequestError(f"the filter on {name} needs a list of values")
    return tuple(values)
