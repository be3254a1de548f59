"""Filters as values: unbound filters name columns, bound filters hold column IDs.

A bound filter compares only with literals of the column's type (see ``binding``), and it
has no NOT: its leaves are negated instead. NOT (a < b) is a >= b in three-valued logic, too.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.model.arrow import Stored, array_of
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.shapes import Box
from versioned_catalog.model.tokens import sql_string
from versioned_catalog.model.type_text import ColumnPath
from versioned_catalog.model.types import Geography, Geometry


class Op(enum.Enum):
    """Comparisons. NaN equals NaN and is the greatest, -0.0 equals 0.0, text compares by its bytes."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class TextKind(enum.Enum):
    """How a text filter matches: at the start, at the end, or anywhere."""

    PREFIX = "prefix"
    SUFFIX = "suffix"
    CONTAINS = "contains"


NEGATION = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}
"""The negation of each comparison, for values that are not null."""

MIRRORED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
"""The comparison that means the same if its sides are swapped."""


# Unbound filters: columns by path, Python values.


class StoredText(str):
    """A text that is compared with the texts of a CHAR as they are stored, with no spaces added.

    Spark adds them itself where it compares a CHAR, and does not where the CHAR is nested.
    """

    @staticmethod
    def of(value: Any) -> Any:
        """A constant of Spark's filters: texts as ``StoredText``, others as they are."""
        return StoredText(value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Comparison:
    """``path op value``; null if either is."""

    path: ColumnPath
    op: Op
    value: Any


@dataclass(frozen=True, slots=True)
class NullSafe:
    """``path <=> value``: equal, or both null; never null."""

    path: ColumnPath
    value: Any


@dataclass(frozen=True, slots=True)
class OneOf:
    """``path IN (values)``; with a null among the values it is true or null."""

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
class Intersects:
    """Whether the box of a shape has a point in common with another box; false if it has none."""

    path: ColumnPath
    box: Any


@dataclass(frozen=True, slots=True)
class AllOf:
    """AND; true without parts."""

    parts: tuple[UnboundFilter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """OR; false without parts."""

    parts: tuple[UnboundFilter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """NOT; null if its part is."""

    part: UnboundFilter


UnboundFilter = (
    Comparison | NullSafe | OneOf | NullTest | TextTest | Intersects | AllOf | AnyOf | Not
)


# Bound filters: columns by ID, literals of the columns' types.


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
class Compare:
    """A column compared with a literal; null if the column is."""

    column_id: int
    op: Op
    value: Literal


@dataclass(frozen=True, slots=True)
class NullSafeEqual:
    """Whether a column has this value; false (negated: true) if it is null."""

    column_id: int
    value: Literal
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In:
    """Whether a column has one of these values; null if it is null.

    Without values it is false (negated: true) unless the column is null. With ``has_null``, it is null
    instead of false (negated: true).
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
    """Whether a text starts with, ends with or contains another; null if the column is."""

    column_id: int
    kind: TextKind
    text: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Meets:
    """Whether the box of a shape has a point in common with another box; null if the column is.

    It is false for a shape without points. A shape whose box is not known is an error.

    Args:
        type: the column's type.
        name: the column, for the error.
    """

    column_id: int
    box: Box
    type: Geometry | Geography
    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """AND; true without parts."""

    parts: tuple[BoundFilter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """OR; false without parts."""

    parts: tuple[BoundFilter, ...]


@dataclass(frozen=True, slots=True)
class Always:
    """The same value for every row; None is null, which selects no row."""

    value: bool | None


Leaf = Compare | NullSafeEqual | In | IsNull | TextMatch | Meets
"""A bound filter of one column."""

BoundFilter = Leaf | And | Or | Always


def columns_of(bound: BoundFilter) -> frozenset[int]:
    """The IDs of the columns that a filter refers to."""
    match bound:
        case And(parts) | Or(parts):
            return frozenset().union(*map(columns_of, parts))
        case Always():
            return frozenset()
        case Compare() | NullSafeEqual() | In() | IsNull() | TextMatch() | Meets():
            return frozenset((bound.column_id,))


def filter_on(bound: BoundFilter, columns: Container[int]) -> BoundFilter | None:
    """Project a filter to some columns; it selects at least the same rows. None if nothing is left."""
    match bound:
        case And(parts) | Or(parts):
            projected = [filter_on(part, columns) for part in parts]
            kept = tuple(part for part in projected if part is not None)
            if isinstance(bound, And):
                return And(kept) if kept else None
            return None if None in projected else Or(kept)
        case Always():
            return bound
        case Compare() | NullSafeEqual() | In() | IsNull() | TextMatch() | Meets():
            return bound if bound.column_id in columns else None


_SHOWN = 10
"""The number of values of an IN that are shown."""


def render_filter(bound: BoundFilter, schema: Schema) -> str:
    """The SQL of a filter; a column that is not in the schema, such as a metadata column, is ``#ID``."""
    match bound:
        case Compare(column_id, op, value):
            return f"{_name(column_id, schema)} {op.value} {_text(value)}"
        case NullSafeEqual(column_id, value, negated):
            return _not(f"{_name(column_id, schema)} <=> {_text(value)}", negated=negated)
        case In(column_id, values, has_null, negated):
            shown = [*map(_text, values[:_SHOWN])]
            shown += [f"and {len(values) - _SHOWN} more"] if len(values) > _SHOWN else []
            shown += ["NULL"] if has_null else []
            return (
                f"{_name(column_id, schema)} {'NOT IN' if negated else 'IN'} ({', '.join(shown)})"
            )
        case IsNull(column_id, negated):
            return f"{_name(column_id, schema)} IS {'NOT NULL' if negated else 'NULL'}"
        case TextMatch(column_id, kind, text, negated):
            call = f"{kind.value}({_name(column_id, schema)}, {sql_string(text)})"
            return _not(call, negated=negated)
        case Meets(column_id, box):
            call = f"intersects({_name(column_id, schema)}, {', '.join(map(str, box))})"
            return _not(call, negated=bound.negated)
        case And(parts):
            return " AND ".join(_inner(part, schema) for part in parts) or "TRUE"
        case Or(parts):
            return " OR ".join(_inner(part, schema) for part in parts) or "FALSE"
        case Always(value):
            return "NULL" if value is None else str(value).upper()


def _inner(bound: BoundFilter, schema: Schema) -> str:
    text = render_filter(bound, schema)
    return f"({text})" if isinstance(bound, And | Or) else text


def _not(text: str, *, negated: bool) -> str:
    return f"NOT {text}" if negated else text


def _name(column_id: int, schema: Schema) -> str:
    return schema.path_text(column_id) if column_id in schema.ids else f"#{column_id}"


def _text(literal: Literal) -> str:
    value = literal.scalar.as_py()
    return sql_string(value) if isinstance(value, str) else str(value)
