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

from versioned_catalog.export.pushdown import Pushdown, both, either
from versioned_catalog.expressions.filters import AllOf, AnyOf, Not, Op, TextKind, UnboundFilter
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.paths import ColumnPath

_OPS = {
    "Eq": Op.EQ,
    "NotEq": Op.NE,
    "Lt": Op.LT,
    "LtEq": Op.LE,
    "Gt": Op.GT,
    "GtEq": Op.GE,
}

_TURNED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}

_TEXT = {"StartsWith": TextKind.PREFIX, "EndsWith": TextKind.SUFFIX}

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


def translate(predicate: Any, pushdown: Pushdown) -> UnboundFilter | None:
    """A filter that selects every row for which the predicate is true; None if there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the form, which is not stable
        try:
            found = json.loads(predicate.meta.serialize(format="json"))
        except Exception:  # Polars' own errors, such as of a Python function in the predicate
            return None
    return _inclusive(found, pushdown)


def _inclusive(node: Any, pushdown: Pushdown) -> UnboundFilter | None:
    match node:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return both(_inclusive(left, pushdown), _inclusive(right, pushdown))
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            return either(_inclusive(left, pushdown), _inclusive(right, pushdown))
        case _:
            return _exact(node, pushdown)


def _exact(node: Any, pushdown: Pushdown) -> UnboundFilter | None:
    match node:
        case {"BinaryExpr": {"left": left, "op": str(op), "right": right}}:
            return _binary(left, op, right, pushdown)
        case {"Function": {"input": inputs, "function": {"Boolean": function}}}:
            return _boolean(function, inputs, pushdown)
        case {"Function": {"input": [column, text], "function": {"StringExpr": function}}}:
            return _text(function, column, text, pushdown)
        case _:
            return None


def _binary(left: Any, op: str, right: Any, pushdown: Pushdown) -> UnboundFilter | None:
    if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
        sides = _exact(left, pushdown), _exact(right, pushdown)
        if sides[0] is None or sides[1] is None:
            return None
        return AllOf((sides[0], sides[1])) if "And" in op else AnyOf((sides[0], sides[1]))
    if op not in _OPS:
        return None
    for column, literal, turned in ((left, right, False), (right, left, True)):
        path, scalar = _path(column), _scalar(literal, _path(column), pushdown)
        if path is not None and scalar is not None:
            return pushdown.compare(path, _TURNED[_OPS[op]] if turned else _OPS[op], scalar)
    return None


def _boolean(function: Any, inputs: Sequence[Any], pushdown: Pushdown) -> UnboundFilter | None:
    path = _path(inputs[0])
    match function, inputs:
        case "Not", [inner]:
            part = _exact(inner, pushdown)
            return None if part is None else Not(part)
        case "IsNull", [_] if path is not None:
            return pushdown.is_null(path)
        case "IsNotNull", [_] if path is not None:
            found = pushdown.is_null(path)
            return None if found is None else Not(found)
        case {"IsBetween": {"closed": str(closed)}}, [_, low, high] if path is not None:
            return _between(path, low, high, closed, pushdown)
        case (
            {"IsIn": {"nulls_equal": False}},
            [_, {"Literal": {"Scalar": {"List": stored}}}],
        ) if path is not None:
            return pushdown.one_of(path, _list_items(stored))
        case _:
            return None


def _between(
    path: ColumnPath, low: Any, high: Any, closed: str, pushdown: Pushdown
) -> UnboundFilter | None:
    ends = _scalar(low, path, pushdown), _scalar(high, path, pushdown)
    if ends[0] is None or ends[1] is None or closed not in ("Both", "Left", "Right", "None"):
        return None
    above = pushdown.compare(path, Op.GE if closed in ("Both", "Left") else Op.GT, ends[0])
    below = pushdown.compare(path, Op.LE if closed in ("Both", "Right") else Op.LT, ends[1])
    return None if above is None or below is None else AllOf((above, below))


def _text(function: Any, column: Any, text: Any, pushdown: Pushdown) -> UnboundFilter | None:
    path = _path(column)
    match function, text:
        case str(name), {"Literal": {"Scalar": {"String": str(held)}}} if path and name in _TEXT:
            return pushdown.text(path, _TEXT[name], held)
        case {"Contains": {"literal": True}}, {"Literal": {"Scalar": {"String": str(held)}}} if (
            path
        ):
            return pushdown.text(path, TextKind.CONTAINS, held)
        case _:
            return None


def _path(node: Any) -> ColumnPath | None:
    match node:
        case {"Column": str(name)}:
            return (name,)
        case {
            "Function": {"input": [inner], "function": {"StructExpr": {"FieldByName": str(name)}}}
        }:
            above = _path(inner)
            return None if above is None else (*above, name)
        case _:
            return None


def _scalar(node: Any, path: ColumnPath | None, pushdown: Pushdown) -> Any:
    """A literal as an Arrow scalar of its own type; None if it is none, or is null, NaN or infinite."""
    column = None if path is None else pushdown.find(path)
    match node:
        case {"Literal": {"Scalar": Mapping() as scalar}} if (
            column is not None and len(scalar) == 1
        ):
            ((name, value),) = scalar.items()
            return _typed(name, value, to_arrow_type(column.type))
        case _:
            return None


def _typed(name: str, value: Any, own: Any) -> Any:
    match name, value:
        case _, None:
            return None
        case str(), _ if name in _PLAIN:
            return pa.scalar(value, _PLAIN[name])
        case "Binary", [*octets]:
            return pa.scalar(bytes(octets), pa.binary())
        case "Datetime", [int(count), "Microseconds", zone]:
            tz = zone if zone is None else "UTC"
            return pa.scalar(count, pa.timestamp("us", tz))
        case "Duration", [int(count), "Microseconds"]:
            return pa.scalar(count, pa.duration("us"))
        case "Time", int(nanoseconds) if nanoseconds % 1000 == 0:
            return pa.scalar(nanoseconds // 1000, pa.time64("us"))
        case "Decimal", [int(unscaled), int(precision), int(scale)] if pa.types.is_decimal(own):
            return _decimal(unscaled, precision, scale, own)
        case _:
            return None


def _decimal(unscaled: int, _precision: int, scale: int, own: Any) -> Any:
    """A decimal of the scale of the column; its precision makes no difference."""
    if scale != own.scale:
        return None
    digits = tuple(map(int, str(abs(unscaled))))
    if len(digits) > own.precision:
        return None
    return pa.scalar(Decimal((unscaled < 0, digits, -scale)), own)


def _list_items(stored: Sequence[int]) -> list[Any]:
    """The items of a list, which Polars serializes as an Arrow stream with one column."""
    try:
        found = pa.ipc.open_stream(bytes(stored)).read_all()
    except (pa.ArrowException, ValueError):
        return []
    return list(found.column(0)) if found.num_columns == 1 else []
