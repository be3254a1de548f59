"""PyArrow expressions, taken apart.

PyArrow can't take an expression apart, but it pickles one as an Arrow batch: the calls, fields and
literals are in the metadata of its schema, in order, and the values of the literals in its columns. The
form is not documented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.export.metadata_pairs import metadata_pairs
from versioned_catalog.types.paths import ColumnPath


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
