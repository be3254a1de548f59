"""Filters given as SQL text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.read.filters import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    NullSafe,
    NullTest,
    OneOf,
    Op,
)
from versioned_catalog.read.where import parse_where

A, B = ("a",), ("b", "x y")
DAY = dt.date(2026, 1, 31)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("a = 1", Comparison(A, Op.EQ, 1)),
        ("a>=-1.5", Comparison(A, Op.GE, Decimal("-1.5"))),
        ("b.`x y` <> 'it''s'", Comparison(B, Op.NE, "it's")),
        ("a <=> NULL", NullSafe(A, None)),
        ("a is not null", Not(NullTest(A))),
        ("a in (1, 2) or not a between 3 and 4", None),
        ("(a = TRUE AND (a != FALSE))", None),
        ("a < DATE '2026-01-31'", Comparison(A, Op.LT, DAY)),
        ("a > TIMESTAMP '2026-01-31 01:00:00'", None),
        ("a = 1 AND a = 2 OR a = 3", None),
    ],
)
def test_conditions_parse_to_filters(text: str, means: Any) -> None:
    one, two, three = (Comparison(A, Op.EQ, n) for n in (1, 2, 3))
    more = {
        "a in (1, 2) or not a between 3 and 4": AnyOf(
            (
                OneOf(A, (1, 2)),
                Not(AllOf((Comparison(A, Op.GE, 3), Comparison(A, Op.LE, 4)))),
            )
        ),
        "(a = TRUE AND (a != FALSE))": AllOf(
            (Comparison(A, Op.EQ, True), Comparison(A, Op.NE, False))
        ),
        "a > TIMESTAMP '2026-01-31 01:00:00'": Comparison(
            A, Op.GT, dt.datetime(2026, 1, 31, 1, tzinfo=dt.UTC)
        ),
        "a = 1 AND a = 2 OR a = 3": AnyOf((AllOf((one, two)), three)),
    }
    assert parse_where(text) == (means or more[text])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("(a) > 0", "a > 0"),
        ("((a) > 0)", "a > 0"),
        ("((a)) IS NOT NULL", "a IS NOT NULL"),
        ("((a) > 0 AND b = 1)", "a > 0 AND b = 1"),
        ("((a > 0) AND (b) = 1)", "a > 0 AND b = 1"),
        ("NOT (a > 0 AND (b) < 3)", "NOT (a > 0 AND b < 3)"),
        ("(NOT (a) > 0) OR (b) IN ((1), 2)", "(NOT a > 0) OR b IN (1, 2)"),
        ("((a) = 1 OR a = 2) AND b = 3", "(a = 1 OR a = 2) AND b = 3"),
        ("(((a) = 1) AND b = 3 OR a = 2)", "(a = 1 AND b = 3) OR a = 2"),
        ("(a) NOT BETWEEN (1) AND ((3))", "a NOT BETWEEN 1 AND 3"),
        ("a <=> (NULL)", "a <=> NULL"),
        ("(a) = (DATE '2026-01-31')", "a = DATE '2026-01-31'"),
    ],
)
def test_columns_and_constants_may_be_in_parentheses(text: str, plain: str) -> None:
    assert parse_where(text) == parse_where(plain)


@pytest.mark.parametrize(
    "text",
    ["", "a", "a =", "a = b", "a = 1 and", "(a = 1", "a = 1)", "a in ()", "a ! 1", "a = DATE 'x'",
     "1 = a", "a like 'x'", "a = 1; drop table t", "a is 1", "(a)", "((a))", "(a) AND b = 1",
     "(a = 1 AND b)", "(a = 1 AND (b))", "((a) = 1", "(a) = 1)", "NOT (a)", "a = (1", "a = ()",
     "(a b) = 1", "(a = 1) = 1", "a = " + "(" * 90 + "1" + ")" * 90, "(" * 60 + "a" + ")" * 60 + " = 1",
     "(" * 60 + "a = 1" + ")" * 60],
)  # fmt: skip
def test_invalid_conditions_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse_where(text)
