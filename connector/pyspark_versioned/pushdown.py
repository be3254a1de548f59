"""Filters that Spark pushes down, as filters of the catalog."""

from __future__ import annotations

from pyspark.sql import datasource as spark

from versioned_catalog.expressions.filters import (
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


def to_unbound(pushed: spark.Filter) -> UnboundFilter | None:
    """The filter that means the same, or None if there is none; Spark applies that filter itself."""
    match pushed:
        case spark.EqualTo(path, value):
            return Comparison(path, Op.EQ, value)
        case spark.EqualNullSafe(path, value):
            return NullSafe(path, value)
        case spark.GreaterThan(path, value):
            return Comparison(path, Op.GT, value)
        case spark.GreaterThanOrEqual(path, value):
            return Comparison(path, Op.GE, value)
        case spark.LessThan(path, value):
            return Comparison(path, Op.LT, value)
        case spark.LessThanOrEqual(path, value):
            return Comparison(path, Op.LE, value)
        case spark.In(path, values):
            return OneOf(path, tuple(values))
        case spark.IsNull(path):
            return NullTest(path)
        case spark.IsNotNull(path):
            return Not(NullTest(path))
        case spark.StringStartsWith(path, text):
            return TextTest(path, TextKind.PREFIX, text)
        case spark.StringEndsWith(path, text):
            return TextTest(path, TextKind.SUFFIX, text)
        case spark.StringContains(path, text):
            return TextTest(path, TextKind.CONTAINS, text)
        case spark.Not(child):
            inner = to_unbound(child)
            return None if inner is None else Not(inner)
        case _:
            return None
