"""Which filters mean the same in another engine as in a scan.

An engine's comparison is taken only if its literal is of the same kind as the column. Then no cast can
make a difference, and the three semantics agree: DuckDB and Polars also order NaN as equal to itself and
greatest, take -0.0 for 0.0, and compare text by its bytes. Everything else is left to the engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import NotFoundError
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import DAY_TIME_UNITS, Char, Column, Struct
from versioned_catalog.read.filter_binding import bind_if_known
from versioned_catalog.read.filters import Comparison, Not, NullTest, OneOf, TextTest, UnboundFilter


class Pushdown:
    """The filters that can be pushed down to rows of some columns."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)

    def find(self, path: ColumnPath) -> Column | None:
        """The column at a path through structs, by its exact name."""
        inside, match = self._columns, None
        for name in path:
            match = next((column for column in inside if column.name == name), None)
            if match is None:
                return None
            inside = match.type.fields if isinstance(match.type, Struct) else ()
        return match

    def accepts(self, leaf: UnboundFilter) -> bool:
        """Whether a filter of one column means the same in the engine.

        Engines differ on null in a list, and on an empty one.
        """
        match leaf:
            case Not(inner):
                return self.accepts(inner)
            case OneOf(path, values):
                is_same = bool(values) and all(self._is_value(path, value) for value in values)
            case Comparison(path, _, value) | TextTest(path, _, value):
                is_same = self._is_value(path, value)
            case _:
                is_same = isinstance(leaf, NullTest)
        # A literal may have no Python value, such as a year beyond 9999.
        return is_same and bind_if_known(leaf, self._get) is not None

    def _get(self, path: ColumnPath) -> Column:
        column = self.find(path)
        if column is None:
            raise NotFoundError(f"there is no column {render_path(path)}")
        return column

    def _is_value(self, path: ColumnPath, value: Any) -> bool:
        """Whether a literal is a value of the column at a path."""
        column, literal = self.find(path), to_scalar(value)
        # CHAR compares with padding here, and without it elsewhere.
        if column is None or isinstance(column.type, Char | Struct) or not literal.is_valid:
            return False
        if pa.types.is_time(literal.type) and literal.value >= DAY_TIME_UNITS["day"]:
            return False  # 24:00:00 in DuckDB, 00:00:00 in Python
        return _same(to_arrow_type(column.type), literal.type)


def to_scalar(value: Any) -> pa.Scalar:
    """A constant as an Arrow scalar."""
    return value if isinstance(value, pa.Scalar) else pa.scalar(value)


def is_nan(scalar: pa.Scalar) -> bool:
    """Whether a scalar is NaN."""
    return pa.types.is_floating(scalar.type) and math.isnan(scalar.as_py())


_KINDS = (
    (pa.types.is_integer,),
    (pa.types.is_floating,),
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)
"""Types whose values compare without a loss: each as tests of which one must hold."""


def _same(left: Any, right: Any) -> bool:
    """Whether values of two Arrow types are compared exactly: any zone of a timestamp is an instant."""
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right):
        return left.unit == right.unit and (left.tz is None) == (right.tz is None)
    if pa.types.is_decimal(left) and pa.types.is_decimal(right):
        return bool(left.scale == right.scale)
    for tests in _KINDS:
        if any(test(left) for test in tests):
            return any(test(right) for test in tests)
    return bool(left.equals(right))
