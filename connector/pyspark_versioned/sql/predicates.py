"""Filters that the jar sends, as filters of the catalog."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyspark_versioned.sql.protocol.common import (
    ColumnTerm,
    LiteralTerm,
    OtherTerm,
    PredicateTerm,
    Term,
    TypedValue,
)
from pyspark_versioned.sql.values import parse_value
from versioned_catalog import InvalidRequestError, NotFoundError
from versioned_catalog.expressions.filter_binding import bind_filter
from versioned_catalog.expressions.filters import (
    AllOf,
    AnyOf,
    BoundFilter,
    Comparison,
    Not,
    NullSafe,
    NullTest,
    OneOf,
    Op,
    TextKind,
    TextTest,
    UnboundFilter,
)
from versioned_catalog.scan.columns import resolve
from versioned_catalog.schema.schema import Schema

_COMPARISONS = {"=": Op.EQ, "<>": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
_TEXTS = {
    "STARTS_WITH": TextKind.PREFIX,
    "ENDS_WITH": TextKind.SUFFIX,
    "CONTAINS": TextKind.CONTAINS,
}


class _NoFilter(Exception):
    """The catalog has no filter that means the same; Spark applies the predicate itself."""


def to_unbound(term: Term) -> UnboundFilter | None:
    """The filter that means the same as a predicate, or None if there is none."""
    try:
        return _filter(term)
    except _NoFilter:
        return None


def bound_filters(terms: Sequence[Term], schema: Schema) -> list[BoundFilter]:
    """The predicates that the catalog understands, on the columns of a schema; Spark applies all."""
    found: list[BoundFilter] = []
    for unbound in map(to_unbound, terms):
        try:
            if unbound is not None:
                found.append(bind_filter(unbound, lambda path: resolve(schema, path)))
        except (InvalidRequestError, NotFoundError):
            continue
    return found


def _filter(term: Term) -> UnboundFilter:
    match term:
        case PredicateTerm("AND", (left, right)):
            return AllOf((_filter(left), _filter(right)))
        case PredicateTerm("OR", (left, right)):
            return AnyOf((_filter(left), _filter(right)))
        case PredicateTerm("NOT", (child,)):
            return Not(_filter(child))
        case PredicateTerm("ALWAYS_TRUE", ()):
            return AllOf(())
        case PredicateTerm("ALWAYS_FALSE", ()):
            return AnyOf(())
        case PredicateTerm("IS_NULL", (ColumnTerm(path),)):
            return NullTest(tuple(path))
        case PredicateTerm("IS_NOT_NULL", (ColumnTerm(path),)):
            return Not(NullTest(tuple(path)))
        case PredicateTerm("IN", (ColumnTerm(path), *values)):
            return OneOf(tuple(path), tuple(map(_value, values)))
        case PredicateTerm("<=>", (ColumnTerm(path), value) | (value, ColumnTerm(path))):
            return NullSafe(tuple(path), _value(value))
        case PredicateTerm(name, (ColumnTerm(path), value)) if name in _COMPARISONS:
            return Comparison(tuple(path), _COMPARISONS[name], _value(value))
        case PredicateTerm(name, (value, ColumnTerm(path))) if name in _COMPARISONS:
            return Comparison(tuple(path), _MIRRORED[_COMPARISONS[name]], _value(value))
        case PredicateTerm(name, (ColumnTerm(path), value)) if name in _TEXTS:
            return TextTest(tuple(path), _TEXTS[name], _value(value))
        case _:
            raise _NoFilter


def _value(term: Term) -> Any:
    match term:
        case LiteralTerm(literal):
            return parse_value(literal)
        case PredicateTerm("ALWAYS_TRUE" | "ALWAYS_FALSE" as name):  # how Spark writes a BOOLEAN
            return name == "ALWAYS_TRUE"
        case _:
            raise _NoFilter


def columns_of(term: Term) -> set[tuple[str, ...]]:
    """The paths of the columns in a filter."""
    match term:
        case ColumnTerm(path):
            return {tuple(path)}
        case PredicateTerm(_, children):
            return {path for child in children for path in columns_of(child)}
        case LiteralTerm() | OtherTerm():
            return set()


def is_for_parquet(term: Term) -> bool:
    """Whether Parquet compares the constants of a filter as Spark does.

    Parquet orders -0.0 before 0.0, which are equal in Spark, and orders no NaN, which is the greatest
    value in Spark.
    """
    match term:
        case LiteralTerm(TypedValue("float" | "double", str(text))):
            return float(text) != 0.0 and not math.isnan(float(text))
        case PredicateTerm(_, children):
            return all(map(is_for_parquet, children))
        case ColumnTerm() | LiteralTerm():
            return True
        case OtherTerm():
            return False
