"""Predicates as Spark writes them, as filters."""

from __future__ import annotations

import pytest

from pyspark_versioned.sql.predicates import to_unbound
from versioned_catalog.expressions.filters import Comparison, NullSafe, Op

COLUMN = {"column": ["s", "x"]}
FALSE = {"name": "ALWAYS_FALSE", "children": []}
TRUE = {"name": "ALWAYS_TRUE", "children": []}


@pytest.mark.parametrize(
    ("name", "children", "expected"),
    [
        ("<=", [COLUMN, FALSE], Comparison(("s", "x"), Op.LE, False)),
        (">", [FALSE, COLUMN], Comparison(("s", "x"), Op.LT, False)),
        ("=", [COLUMN, TRUE], Comparison(("s", "x"), Op.EQ, True)),
        ("<=>", [COLUMN, TRUE], NullSafe(("s", "x"), True)),
        ("<=", [FALSE, TRUE], None),
    ],
)
def test_constants_of_booleans_are_predicates_to_spark(
    name: str, children: list[object], expected: object
) -> None:
    assert to_unbound({"name": name, "children": children}) == expected
