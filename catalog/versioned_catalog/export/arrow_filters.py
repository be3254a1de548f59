"""Filters as PyArrow expressions, which is how DuckDB gives them to a dataset.

PyArrow can't take an expression apart, but it pickles one as an Arrow batch: the calls, fields and
literals are in the metadata of its schema, in order, and the values of the literals in its columns. The
form is not documented; what is not understood is not translated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.export.metadata_pairs import metadata_pairs
from versioned_catalog.export.pushdown import Pushdown, both, either
from versioned_catalog.expressions.filters import AllOf, AnyOf, Not, Op, UnboundFilter
from versioned_catalog.types.paths import ColumnPath

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
class Call:
    """A call of a compute function; ``options`` is a struct scalar, or None."""

    function: str
    arguments: tuple[Node, ...]
    options: Any = None


@dataclass(frozen=True)
class Field:
    """A reference to a column or a field of a struct."""

    path: ColumnPath


@dataclass(frozen=True)
class Value:
    """A literal."""

    scalar: Any


Node = Call | Field | Value


@dataclass(frozen=True)
class Translated:
    """A filter that selects every row that an expression does.

    Args:
        filter: the filter; None if nothing of the expression was understood.
        exact: whether it selects no other row.
    """

    filter: UnboundFilter | None
    exact: bool


def translate(expression: Any, pushdown: Pushdown) -> Translated:
    """Translate a PyArrow expression, with the meaning that DuckDB gives it."""
    try:
        found = parse(expression)
    except (KeyError, ValueError, IndexError, StopIteration, RuntimeError, pa.ArrowException):
        return Translated(None, False)
    whole = _exact(found, pushdown)
    return (
        Translated(_inclusive(found, pushdown), False) if whole is None else Translated(whole, True)
    )


def parse(expression: Any) -> Node:
    """Parse the pickled form of an expression.

    Raises:
        KeyError, ValueError, IndexError, StopIteration, ArrowException: the form is not the known one.
    """
    _, (pickled,) = expression.__reduce__()
    batch = pa.ipc.open_file(pickled).get_batch(0)
    words = iter(metadata_pairs(batch.schema))
    return _node(next(words), words, batch)


def _node(word: tuple[str, str], words: Iterator[tuple[str, str]], batch: pa.RecordBatch) -> Node:
    match word:
        case "field_ref", name:
            return Field((name,))
        case "nested_field_ref", count:
            return Field(tuple(_name(next(words)) for _ in range(int(count))))
        case "literal", at:
            return Value(batch.column(int(at))[0])
        case "call", function:
            arguments, options = list[Node](), None
            while (inner := next(words)) != ("end", function):
                if inner[0] == "options":
                    options = batch.column(int(inner[1]))[0]
                else:
                    arguments.append(_node(inner, words, batch))
            return Call(function, tuple(arguments), options)
        case key, _:
            raise ValueError(f"{key} is not a part of an expression")


def _name(word: tuple[str, str]) -> str:
    key, name = word
    if key != "field_ref":
        raise ValueError(f"a nested field has a {key}")
    return name


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
