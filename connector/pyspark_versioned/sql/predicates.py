"""Filters that the jar sends, as filters of the catalog."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

from pyspark_versioned.sql.protocol.common import (
    ColumnTerm,
    LiteralTerm,
    OtherTerm,
    PredicateTerm,
    Term,
    TypedValue,
)
from pyspark_versioned.sql.values import parse_value
from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.dialects import UNKNOWN, Call, Dialect, Field, Node, Value, translate
from versioned_catalog.read.filter_binding import bind_filter, bind_if_known
from versioned_catalog.read.filters import AllOf, BoundFilter, StoredText, UnboundFilter
from versioned_catalog.read.scan_columns import resolve


def to_unbound(term: Term) -> UnboundFilter | None:
    """The filter that means the same as a predicate, or None if there is none."""
    return translate(_node(term), Dialect.SPARK_PREDICATE)


def translated(terms: Iterable[Term]) -> list[UnboundFilter]:
    """The filters that the catalog understands."""
    return [unbound for unbound in map(to_unbound, terms) if unbound is not None]


def comparable(terms: Iterable[Term], schema: Schema) -> list[UnboundFilter]:
    """The ``translated`` filters, without those that compare a column as only Spark can."""
    return [unbound for unbound in translated(terms) if _is_comparable(unbound, schema)]


def _is_comparable(unbound: UnboundFilter, schema: Schema) -> bool:
    try:
        bind_filter(unbound, partial(resolve, schema))
    except InvalidRequestError:
        return False
    except NotFoundError:  # whoever evaluates the filter knows other names
        return True
    return True


def all_of(filters: Iterable[UnboundFilter]) -> AllOf | None:
    """The filter of rows that satisfy all of some filters; None if there are none."""
    kept = tuple(filters)
    return AllOf(kept) if kept else None


def bound_filters(terms: Sequence[Term], schema: Schema) -> list[BoundFilter]:
    """The predicates that the catalog understands, on the columns of a schema; Spark applies all."""
    bound = (bind_if_known(unbound, partial(resolve, schema)) for unbound in translated(terms))
    return [f for f in bound if f is not None]


def _node(term: Term) -> Node:
    match term:
        case ColumnTerm(path):
            return Field(tuple(path))
        case LiteralTerm(literal):
            return Value(StoredText.of(parse_value(literal)))
        case PredicateTerm("ALWAYS_TRUE" | "ALWAYS_FALSE" as name):  # also of a BOOLEAN
            return Value(name == "ALWAYS_TRUE")
        case PredicateTerm(name, children):
            return Call(name, tuple(map(_node, children)))
        case OtherTerm():
            return UNKNOWN


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
