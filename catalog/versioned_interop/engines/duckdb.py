"""Rows as a DuckDB relation that pushes columns and filters into the scan.

PyArrow can't take an expression apart, but it pickles one as an Arrow batch: the calls, fields and
literals are in the metadata of its schema, in order, and the values of the literals in its columns. The
form is not documented.

DuckDB pushes columns and filters down into ``pyarrow.dataset.Dataset`` and its subclasses: it calls the
``scanner`` method of the class, then ``to_reader`` of what it returns (LanceDB's datasets work like
this). It does not filter these rows again. Of an object with a PyCapsule it reads every column.

DuckDB's own filters on PyArrow data are evaluated by PyArrow, and lose rows: ``x > 1`` those in which x
is NaN, which is the greatest number in DuckDB, and ``x IN (0.0, 1.0)`` those in which it is -0.0. The
filters of a scan have DuckDB's semantics, so translated ones give DuckDB's own answers.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from versioned_catalog.model.type_text import ColumnPath
from versioned_catalog.read.arrow_stream import Readable, record_batches
from versioned_catalog.read.dialects import UNKNOWN, Call, Dialect, Field, Node, Value, translate
from versioned_catalog.read.evaluators import compare, compare_with_nan
from versioned_catalog.read.filters import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    NullTest,
    OneOf,
    Op,
    UnboundFilter,
)
from versioned_interop.engines.pushdown import Pushdown, is_nan, to_scalar


@dataclass(frozen=True)
class Translated:
    """A filter and the rest of an expression, which together select its rows.

    Args:
        filter: a filter of a scan; None for all rows.
        rest: a PyArrow expression that the rows of the scan must match, too; None for none.
    """

    filter: UnboundFilter | None
    rest: Any = None


def translate_arrow(expression: Any, pushdown: Pushdown) -> Translated:
    """Translate a PyArrow expression, with the meaning that it has in DuckDB."""
    try:
        node = _parse(expression)
    except (KeyError, ValueError, IndexError, StopIteration, RuntimeError, pa.ArrowException):
        return Translated(None, expression)
    exact = translate(node, Dialect.ARROW, pushdown.accepts)
    if exact is not None:
        return Translated(exact)
    whole = translate(node, Dialect.ARROW, _has_no_null)
    rest = expression if whole is None else _render(whole)
    return Translated(translate(node, Dialect.ARROW, pushdown.accepts, inclusive=True), rest)


def _has_no_null(leaf: UnboundFilter) -> bool:
    match leaf:
        case OneOf(_, values):
            return bool(values) and all(value.is_valid for value in values)
        case Comparison(_, _, value):
            return bool(to_scalar(value).is_valid)
        case _:
            return True


def _render(unbound: UnboundFilter) -> Any:
    """The expression of a filter, in which NaN is the greatest number, and -0.0 is 0.0."""
    match unbound:
        case AllOf(parts) | AnyOf(parts):
            join = operator.and_ if isinstance(unbound, AllOf) else operator.or_
            empty = pc.scalar(isinstance(unbound, AllOf))
            return functools.reduce(join, map(_render, parts)) if parts else empty
        case Not(part):
            return ~_render(part)
        case NullTest(path):
            return pc.field(*path).is_null()
        case OneOf(path, values):
            return functools.reduce(operator.or_, (_compare(path, Op.EQ, v) for v in values))
        case Comparison(path, op, value):
            return _compare(path, op, value)
        case _:
            raise ValueError(f"{unbound} is not known in PyArrow expressions")


def _compare(path: ColumnPath, op: Op, value: Any) -> Any:
    field, scalar = pc.field(*path), to_scalar(value)
    return compare_with_nan(field, op) if is_nan(scalar) else compare(field, op, pc.scalar(scalar))


def _parse(expression: Any) -> Node:
    """Parse the pickled form of an expression.

    Raises:
        KeyError, ValueError, IndexError, StopIteration, ArrowException: the form is not the known one.
    """
    _, (pickled,) = expression.__reduce__()
    batch = pa.ipc.open_file(pickled).get_batch(0)
    words = iter(_metadata_pairs(batch.schema))
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
            return _call(function, arguments, options)
        case key, _:
            raise ValueError(f"{key} is not a part of an expression")


def _call(function: str, arguments: list[Node], options: Any) -> Call:
    """A call of a compute function; ``options`` is a struct scalar, or None."""
    if function == "is_in":
        arguments = [*arguments, *map(Value, options["value_set"].values)]
    elif function == "is_null" and options["nan_is_null"].as_py():
        return UNKNOWN
    return Call(function, tuple(arguments))


def _name(word: tuple[str, str]) -> str:
    key, name = word
    if key != "field_ref":
        raise ValueError(f"a nested field has a {key}")
    return name


class _ArrowSchema(ctypes.Structure):
    """The first members of ``struct ArrowSchema`` of Arrow's C data interface."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
    )


_POINTER_OF = ctypes.pythonapi.PyCapsule_GetPointer
_POINTER_OF.restype = ctypes.c_void_p
_POINTER_OF.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _metadata_pairs(schema: pa.Schema) -> list[tuple[str, str]]:
    """The metadata of a schema in order, with repeated keys, which PyArrow's dictionary loses."""
    capsule = schema.__arrow_c_schema__()  # owns the memory that is read here
    arrow_schema = _ArrowSchema.from_address(_POINTER_OF(capsule, b"arrow_schema"))
    if not arrow_schema.metadata:
        return []
    memory = _Memory(arrow_schema.metadata)
    return [(memory.text(), memory.text()) for _ in range(memory.number())]


class _Memory:
    """Reads numbers and texts one after the other."""

    def __init__(self, address: int) -> None:
        self._address = address

    def number(self) -> int:
        """A 32-bit integer."""
        return int.from_bytes(self._take(4), sys.byteorder, signed=True)

    def text(self) -> str:
        """A text after its length."""
        return self._take(self.number()).decode()

    def _take(self, size: int) -> bytes:
        copied = ctypes.string_at(self._address, size)
        self._address += size
        return copied


@dataclass(frozen=True)
class _Scanner:
    rows: Readable
    columns: list[str]
    filter: Any = None

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream; what was not translated is evaluated by PyArrow."""
        reader = record_batches(self.rows)
        if self.filter is None:
            return reader
        return pyarrow.dataset.Scanner.from_batches(
            reader, columns=self.columns, filter=self.filter
        ).to_reader()


class ScanDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]  # PyArrow has no types
    """The rows of a scan, read again by each query with its columns and filters."""

    def __init__(self, rows: Readable) -> None:
        self._rows = rows
        self._pushdown = Pushdown(rows.columns)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self._rows.schema

    def scanner(
        self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any
    ) -> _Scanner:
        """Restrict the rows to columns and to those that match an expression."""
        names = self.schema.names if columns is None else list(columns)
        if filter is None:
            return _Scanner(self._rows.restricted(names), names)
        if self._rows.limit is not None:  # the limit comes before the filter
            return _Scanner(self._rows, names, translate_arrow(filter, Pushdown(())).rest)
        translated = translate_arrow(filter, self._pushdown)
        if translated.rest is None:
            return _Scanner(self._rows.restricted(names, translated.filter), names)
        return _Scanner(self._rows.restricted(None, translated.filter), names, translated.rest)
