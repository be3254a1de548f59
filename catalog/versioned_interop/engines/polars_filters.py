"""Filters as Polars expressions.

Polars serializes an expression to JSON, in a form that is not stable: what is not understood is not
translated. Polars filters the rows again, so a translation must select every row that the expression
does, and may select more.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from versioned_catalog.read.dialects import UNKNOWN, Call, Dialect, Field, Node, Value, translate
from versioned_catalog.read.filters import UnboundFilter
from versioned_interop.engines.pushdown import Pushdown

_PLAIN = {
    "Int8": pa.int8(),
    "Int16": pa.int16(),
    "Int32": pa.int32(),
    "Int64": pa.int64(),
    "Float32": pa.float32(),
    "Float64": pa.float64(),
    "String": pa.string(),
    "Boolean": pa.bool_(),
    "Date": pa.date32(),
}
"""The Arrow types of scalars that are one JSON value, by Polars' name."""


_ENDS = {
    "Both": ("GtEq", "LtEq"),
    "Left": ("GtEq", "Lt"),
    "Right": ("Gt", "LtEq"),
    "None": ("Gt", "Lt"),
}
"""The comparisons of ``is_between`` with its ends, by which of them are included."""


def translate_polars(predicate: Any, pushdown: Pushdown) -> UnboundFilter | None:
    """A filter that selects every row for which the predicate is true; None if there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the form, which is not stable
        try:
            parsed = json.loads(predicate.meta.serialize(format="json"))
        except Exception:  # Polars' own errors, such as of a Python function in the predicate
            return None
    return translate(_node(parsed), Dialect.POLARS, pushdown.accepts, inclusive=True)


def _node(node: Any) -> Node:
    match node:
        case {"Column": str(name)}:
            return Field((name,))
        case {"Literal": {"Scalar": Mapping() as scalar}} if len(scalar) == 1:
            value = _scalar(*next(iter(scalar.items())))
            return UNKNOWN if value is None else Value(value)
        case {"BinaryExpr": {"left": left, "op": str(op), "right": right}}:
            return Call(op.removeprefix("Logical"), (_node(left), _node(right)))
        case {"Function": {"input": [*inputs], "function": {"Boolean": function}}}:
            return _boolean(function, inputs)
        case {
            "Function": {"input": [inner], "function": {"StructExpr": {"FieldByName": str(name)}}}
        }:
            above = _node(inner)
            return Field((*above.path, name)) if isinstance(above, Field) else UNKNOWN
        case {"Function": {"input": [column, text], "function": {"StringExpr": function}}}:
            return _text(function, column, text)
        case _:
            return UNKNOWN


def _boolean(function: Any, inputs: Sequence[Any]) -> Node:
    match function, inputs:
        case {"IsBetween": {"closed": str(closed)}}, [column, low, high] if closed in _ENDS:
            above, below = _ENDS[closed]
            path = _node(column)
            return Call("And", (Call(above, (path, _node(low))), Call(below, (path, _node(high)))))
        case (
            {"IsIn": {"nulls_equal": False}},
            [column, {"Literal": {"Scalar": {"List": stored}}}],
        ):
            return Call("IsIn", (_node(column), *map(Value, _list_items(stored))))
        case str(name), _:
            return Call(name, tuple(map(_node, inputs)))
        case _:
            return UNKNOWN


def _text(function: Any, column: Any, text: Any) -> Node:
    match function, text:
        case (
            "StartsWith" | "EndsWith" | {"Contains": {"literal": True}},
            {"Literal": {"Scalar": {"String": str(constant)}}},
        ):
            name = function if isinstance(function, str) else "Contains"
            return Call(name, (_node(column), Value(constant)))
        case _:
            return UNKNOWN


def _scalar(name: str, value: Any) -> pa.Scalar | None:
    """A literal as a scalar of its own type; None for null, NaN, infinity and other types."""
    match name, value:
        case _, None:
            return None
        case _, _ if name in _PLAIN:
            return pa.scalar(value, _PLAIN[name])
        case "Binary", [*octets]:
            return pa.scalar(bytes(octets), pa.binary())
        case "Datetime", [int(count), "Microseconds", zone]:
            return pa.scalar(count, pa.timestamp("us", zone if zone is None else "UTC"))
        case "Duration", [int(count), "Microseconds"]:
            return pa.scalar(count, pa.duration("us"))
        case "Time", int(nanoseconds) if nanoseconds % 1000 == 0:
            return pa.scalar(nanoseconds // 1000, pa.time64("us"))
        case "Decimal", [int(unscaled), _, int(scale)]:
            digits = tuple(map(int, str(abs(unscaled))))
            return pa.scalar(Decimal((unscaled < 0, digits, -scale)), pa.decimal256(76, scale))
        case _:
            return None


def _list_items(stored: Sequence[int]) -> list[Any]:
    """The items of a list, which Polars serializes as an Arrow stream with one column."""
    try:
        table = pa.ipc.open_stream(bytes(stored)).read_all()
    except (pa.ArrowException, ValueError):
        return []
    return list(table.column(0)) if table.num_columns == 1 else []
