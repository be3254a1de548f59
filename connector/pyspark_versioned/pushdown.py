"""Filters that Spark pushes down, as filters of the catalog."""

from __future__ import annotations

from dataclasses import fields

from pyspark.sql import datasource as spark

from versioned_catalog.read.dialects import Call, Dialect, Field, Node, Value, translate
from versioned_catalog.read.filters import UnboundFilter


def to_unbound(pushed: spark.Filter) -> UnboundFilter | None:
    """The filter that means the same, or None if there is none; Spark applies that filter itself."""
    return translate(_node(pushed), Dialect.SPARK_FILTER)


def _node(pushed: spark.Filter) -> Node:
    """The call of a filter, whose class has the column, and the value if there is one, as fields."""
    match pushed, [getattr(pushed, field.name) for field in fields(pushed)]:
        case spark.Not(), [child]:
            arguments: list[Node] = [_node(child)]
        case spark.In(), [path, values]:
            arguments = [Field(path), *map(Value, values)]
        case _, [path, *values]:
            arguments = [Field(path), *map(Value, values)]
        case _:
            arguments = []
    return Call(type(pushed).__name__, tuple(arguments))
