"""Translation of Spark's predicates to filters."""

from __future__ import annotations

import pytest

from pyspark_versioned.sql.predicates import is_for_parquet, to_unbound
from pyspark_versioned.sql.protocol.common import (
    ColumnTerm,
    LiteralTerm,
    OtherTerm,
    PredicateTerm,
    Term,
    TypedValue,
)
from versioned_catalog.read.filters import Comparison, NullSafe, Op

COLUMN = ColumnTerm(("s", "x"))
FALSE = PredicateTerm("ALWAYS_FALSE", ())
TRUE = PredicateTerm("ALWAYS_TRUE", ())


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
def test_boolean_constants_translate_to_predicates(
    name: str, children: list[Term], expected: object
) -> None:
    assert to_unbound(PredicateTerm(name, children)) == expected


def literal(type_: object, value: str | None) -> Term:
    return LiteralTerm(TypedValue(type_, value))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("constant", "alike"),
    [
        (literal("double", "1.5"), True),
        (literal("double", "Infinity"), True),
        (literal("double", "0.0"), False),
        (literal("double", "-0.0"), False),
        (literal("double", "NaN"), False),
        (literal("float", "-0.0"), False),
        (literal("float", "NaN"), False),
        (literal("double", None), True),
        (literal("integer", "0"), True),
        (literal("string", "NaN"), True),
        (literal("decimal(3,1)", "0.0"), True),
        (OtherTerm(), False),
    ],
)
def test_constants_that_parquet_compares_as_spark_does(constant: Term, alike: bool) -> None:
    equals = PredicateTerm("=", (COLUMN, constant))
    assert is_for_parquet(equals) is alike
    assert is_for_parquet(PredicateTerm("OR", (TRUE, PredicateTerm("NOT", (equals,))))) is alike
