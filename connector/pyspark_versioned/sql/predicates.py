"""Predicates of Spark's, as the jar writes them down, as filters of ours."""

from __future__ import annotations

from typing import Any

from pyspark_versioned.sql.values import parse_literal
from versioned_catalog.expressions.filters import (
    AllOf,
    AnyOf,
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

Json = dict[str, Any]

_COMPARISONS = {"=": Op.EQ, "<>": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
_TEXTS = {
    "STARTS_WITH": TextKind.PREFIX,
    "ENDS_WITH": TextKind.SUFFIX,
    "CONTAINS": TextKind.CONTAINS,
}


class Unknown(Exception):
    """There is no filter of ours that means the same; Spark applies the predicate itself."""


def to_unbound(predicate: Json) -> UnboundFilter | None:
    """The filter that means the same, or None where there is none.

    Args:
        predicate: ``{"name": "=", "children": [...]}``; a child is a predicate, ``{"column": [...]}``,
            ``{"literal": ...}``, or something else that is not told.
    """
    try:
        return _filter(predicate)
    except Unknown:
        return None


def _filter(predicate: Json) -> UnboundFilter:
    name, given = predicate.get("name"), predicate.get("children", [])
    match name, given:
        case "AND", [left, right]:
            return AllOf((_filter(left), _filter(right)))
        case "OR", [left, right]:
            return AnyOf((_filter(left), _filter(right)))
        case "NOT", [child]:
            return Not(_filter(child))
        case "ALWAYS_TRUE", []:
            return AllOf(())
        case "ALWAYS_FALSE", []:
            return AnyOf(())
        case "IS_NULL", [{"column": path}]:
            return NullTest(tuple(path))
        case "IS_NOT_NULL", [{"column": path}]:
            return Not(NullTest(tuple(path)))
        case "IN", [{"column": path}, *values]:
            return OneOf(tuple(path), tuple(map(_value, values)))
        case "<=>", [{"column": path}, value] | [value, {"column": path}]:
            return NullSafe(tuple(path), _value(value))
        case _, [{"column": path}, value] if name in _COMPARISONS:
            return Comparison(tuple(path), _COMPARISONS[name], _value(value))
        case _, [value, {"column": path}] if name in _COMPARISONS:
            return Comparison(tuple(path), _MIRRORED[_COMPARISONS[name]], _value(value))
        case _, [{"column": path}, value] if name in _TEXTS:
            return TextTest(tuple(path), _TEXTS[name], _value(value))
        case _:
            raise Unknown


def _value(child: Json) -> Any:
    match child:
        case {"literal": literal}:
            return parse_literal(literal)
        case {"name": "ALWAYS_TRUE" | "ALWAYS_FALSE" as name}:  # Spark's word for a BOOLEAN
            return name == "ALWAYS_TRUE"
        case _:
            raise Unknown
