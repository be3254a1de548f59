"""Filters as PyArrow expressions, which is how DuckDB gives them to a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.export.arrow_nodes import Call, Field, Node, Value, parse
from versioned_catalog.export.arrow_rebuild import rebuild
from versioned_catalog.export.pushdown import Pushdown, both, either
from versioned_catalog.expressions.filters import AllOf, AnyOf, Not, Op, UnboundFilter

_OPS = {
    "equal": Op.EQ,
    "not_equal": Op.NE,
    "less": Op.LT,
    "less_equal": Op.LE,
    "greater": Op.GT,
    "greater_equal": Op.GE,
}

_TURNED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}


@dataclass(frozen=True)
class Translated:
    """What selects the rows of an expression: both a filter and what remains of the expression.

    Args:
        filter: a filter of a scan; None for all rows.
        rest: a PyArrow expression that the rows of the scan must match, too; None for none.
    """

    filter: UnboundFilter | None
    rest: Any = None


def translate(expression: Any, pushdown: Pushdown) -> Translated:
    """Translate a PyArrow expression, with the meaning that it has in DuckDB."""
    try:
        found = parse(expression)
    except (KeyError, ValueError, IndexError, StopIteration, RuntimeError, pa.ArrowException):
        return Translated(None, expression)
    whole = _exact(found, pushdown)
    if whole is not None:
        return Translated(whole)
    return Translated(_inclusive(found, pushdown), _rest(found, expression))


def _rest(node: Node, expression: Any) -> Any:
    try:
        return rebuild(node)
    except ValueError:
        return expression


def _exact(node: Node, pushdown: Pushdown) -> UnboundFilter | None:
    """A filter with the same value for every row; None if there is none."""
    match node:
        case Call("and_kleene" | "or_kleene" as join, arguments):
            parts = [_exact(argument, pushdown) for argument in arguments]
            known = tuple(part for part in parts if part is not None)
            if len(known) < len(parts):
                return None
            return AllOf(known) if join == "and_kleene" else AnyOf(known)
        case Call("invert", (inner,)):
            part = _exact(inner, pushdown)
            return None if part is None else Not(part)
        case Call():
            return _leaf(node, pushdown)
        case Field() | Value():
            return None


def _inclusive(node: Node, pushdown: Pushdown) -> UnboundFilter | None:
    """A filter that selects every row that an expression does; None if there is none."""
    match node:
        case Call("and_kleene", (left, right)):
            return both(_inclusive(left, pushdown), _inclusive(right, pushdown))
        case Call("or_kleene", (left, right)):
            return either(_inclusive(left, pushdown), _inclusive(right, pushdown))
        case _:
            return _exact(node, pushdown)


def _leaf(call: Call, pushdown: Pushdown) -> UnboundFilter | None:
    match call:
        case Call(function, (Field(path), Value(literal))) if function in _OPS:
            return pushdown.compare(path, _OPS[function], literal)
        case Call(function, (Value(literal), Field(path))) if function in _OPS:
            return pushdown.compare(path, _TURNED[_OPS[function]], literal)
        case Call("is_in", (Field(path),), options):
            return pushdown.one_of(path, list(options["value_set"].values))
        case Call("is_null", (Field(path),), options) if not options["nan_is_null"].as_py():
            return pushdown.is_null(path)
        case Call("is_valid", (Field(path),)):
            found = pushdown.is_null(path)
            return None if found is None else Not(found)
        case Call("is_nan", (Field(path),)):
            return pushdown.is_nan(path)
        case _:
            return None
