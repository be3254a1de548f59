"""PyArrow expressions with DuckDB's order of numbers, for what a scan can't filter by."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.export.arrow_nodes import Call, Field, Node, Value
from versioned_catalog.types.paths import ColumnPath


def rebuild(node: Node) -> Any:
    """The expression of a parsed one, in which NaN is the greatest number, and -0.0 is 0.0.

    Raises:
        ValueError: it has a function that DuckDB is not known to ask for.
    """
    match node:
        case Field(path):
            return pc.field(*path)
        case Value(scalar):
            return pc.scalar(scalar)
        case Call("and_kleene" | "or_kleene" as join, arguments):
            how = operator.and_ if join == "and_kleene" else operator.or_
            return functools.reduce(how, map(rebuild, arguments))
        case Call("invert", (inner,)):
            return ~rebuild(inner)
        case Call("is_null" | "is_valid" | "is_nan" as test, (Field(path),)):
            return getattr(pc.field(*path), test)()
        case Call("is_in", (Field(path),), options):
            if options["value_set"].values.null_count:
                raise ValueError("DuckDB asks for no null in a list")
            values = [_compare("equal", path, one) for one in options["value_set"].values]
            return functools.reduce(operator.or_, values)
        case Call(function, (Field(path), Value(literal))):
            return _compare(function, path, literal)
        case Call(function):
            raise ValueError(f"{function} is not known")


def _compare(function: str, path: ColumnPath, literal: Any) -> Any:
    field, value = pc.field(*path), pc.scalar(literal)
    if pa.types.is_floating(literal.type) and math.isnan(literal.as_py()):
        if function != "equal":
            raise ValueError("DuckDB asks for NaN by is_nan")
        return field.is_nan()
    match function:
        case "equal":
            return field == value
        case "not_equal":
            return field != value
        case "less":
            return field < value
        case "less_equal":
            return field <= value
        case "greater":  # in Arrow, NaN is neither less nor greater
            return ~(field <= value)
        case "greater_equal":
            return ~(field < value)
        case _:
            raise ValueError(f"{function} is not known")
