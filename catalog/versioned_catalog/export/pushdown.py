"""Translate comparisons of other engines to filters, where both mean the same.

An engine's comparison is taken only if its literal is of the same kind as the column. Then no cast can
make a difference, and the three semantics agree: DuckDB and Polars also order NaN as equal to itself and
greatest, take -0.0 for 0.0, and compare text by its bytes. Everything else is left to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import VersionedError
from versioned_catalog.expressions.filter_binding import bind_filter
from versioned_catalog.expressions.filters import (
    AllOf,
    AnyOf,
    Comparison,
    NullTest,
    OneOf,
    Op,
    TextKind,
    TextTest,
    UnboundFilter,
)
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.leaves import DAY_TIME_UNITS
from versioned_catalog.types.paths import ColumnPath
from versioned_catalog.types.types import Char, Column, Struct, is_text


class Pushdown:
    """The filters that can be pushed down to rows of some columns; a method returns None for others."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)

    def find(self, path: ColumnPath) -> Column | None:
        """The column at a path through structs, by its exact name."""
        inside, found = self._columns, None
        for name in path:
            found = next((column for column in inside if column.name == name), None)
            if found is None:
                return None
            inside = found.type.fields if isinstance(found.type, Struct) else ()
        return found

    def compare(self, path: ColumnPath, op: Op, literal: pa.Scalar) -> UnboundFilter | None:
        """A comparison of a column with a literal."""
        if not self._is_value(path, literal):
            return None
        return self._bindable(Comparison(path, op, literal))

    def one_of(self, path: ColumnPath, literals: Sequence[pa.Scalar]) -> UnboundFilter | None:
        """Membership of a column in a list without nulls: engines differ on null in it."""
        if not literals or not all(self._is_value(path, literal) for literal in literals):
            return None
        return self._bindable(OneOf(path, tuple(literals)))

    def is_null(self, path: ColumnPath) -> UnboundFilter | None:
        """Whether a column is null."""
        return self._bindable(NullTest(path))

    def text(self, path: ColumnPath, kind: TextKind, text: str) -> UnboundFilter | None:
        """Whether a text column holds another text."""
        found = self.find(path)
        if found is None or not is_text(found.type) or isinstance(found.type, Char):
            return None
        return self._bindable(TextTest(path, kind, text))

    def is_nan(self, path: ColumnPath) -> UnboundFilter | None:
        """Whether a floating-point column is NaN; null if it is null."""
        found = self.find(path)
        if found is None or not pa.types.is_floating(to_arrow_type(found.type)):
            return None
        return self._bindable(Comparison(path, Op.EQ, float("nan")))

    def _is_value(self, path: ColumnPath, literal: Any) -> bool:
        """Whether a literal is a value of the column at a path."""
        found = self.find(path)
        # CHAR compares with padding here, and without it elsewhere.
        if found is None or isinstance(found.type, Char | Struct) or not literal.is_valid:
            return False
        if pa.types.is_time(literal.type) and literal.value >= DAY_TIME_UNITS["day"]:
            return False  # 24:00:00 in DuckDB, 00:00:00 in Python
        return _same(to_arrow_type(found.type), literal.type)

    def _bindable(self, unbound: UnboundFilter) -> UnboundFilter | None:
        """The filter, unless its literal has no Python value, such as a year beyond 9999."""

        def column_at(path: ColumnPath) -> Column:
            found = self.find(path)
            if found is None:
                raise VersionedError("no such column")
            return found

        try:
            bind_filter(unbound, column_at)
        except VersionedError:
            return None
        return unbound


_KINDS = (
    (pa.types.is_integer,),
    (pa.types.is_floating,),
    (pa.types.is_decimal,),
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)
"""Types whose values compare without a loss: each as tests of which one must hold."""


def _same(own: Any, given: Any) -> bool:
    """Whether values of two Arrow types are compared exactly: any zone of a timestamp is an instant."""
    if pa.types.is_timestamp(own) and pa.types.is_timestamp(given):
        return own.unit == given.unit and (own.tz is None) == (given.tz is None)
    for tests in _KINDS:
        if any(test(own) for test in tests):
            return any(test(given) for test in tests)
    return bool(own.equals(given))


def both(left: UnboundFilter | None, right: UnboundFilter | None) -> UnboundFilter | None:
    """AND of two filters of which a side may not be known: it selects every row that both do."""
    if left is None or right is None:
        return left or right
    return AllOf((left, right))


def either(left: UnboundFilter | None, right: UnboundFilter | None) -> UnboundFilter | None:
    """OR of two filters; None if a side is not known, since its rows would be lost."""
    return None if left is None or right is None else AnyOf((left, right))
