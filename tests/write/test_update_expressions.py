"""``table.update({"n": expr("n + 1")})``: SQL over the row, with Spark's ANSI semantics."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table, expr

DDL = (
    "id INT, small TINYINT, n INT, big BIGINT, x DOUBLE, f FLOAT, price DECIMAL(10,2), s STRING, "
    "t STRING, p STRUCT<a: INT, b: STRING>, l ARRAY<INT>"
)
ROW = {
    "id": 1,
    "small": 7,
    "n": 10,
    "big": 2**40,
    "x": 1.5,
    "f": 0.5,
    "price": Decimal("9.99"),
    "s": "a",
    "t": None,
    "p": {"a": 4, "b": "in"},
    "l": [1],
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    created = Catalog.create_path(tmp_path, DDL)
    created.append(pa.Table.from_pylist([ROW], created.scan().schema))
    return created


def value(table: Table, column: str) -> Any:
    return table.scan().to_arrow().to_pylist()[0][column]


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ("n", "n + 1", 11),
        ("n", "n - 2 * 3", 4),
        ("n", "(n - 2) * 3", 24),
        ("n", "-n", -10),
        ("n", "- (n + 1)", -11),
        ("n", "n % 3", 1),
        ("n", "-n % 3", -1),
        ("n", "n + small", 17),
        ("n", "big - big + 3", 3),
        ("n", "p.a + 1", 5),
        ("n", "coalesce(NULL, n)", 10),
        ("n", "NULL", None),
        ("n", "n + NULL", None),
        ("big", "n", 10),
        ("big", "big + 1", 2**40 + 1),
        ("big", "3000000000", 3_000_000_000),
        ("x", "n / 4", 2.5),
        ("x", "x * 2 + n", 13.0),
        ("x", "big", float(2**40)),
        ("x", "1e2", 100.0),
        ("x", "price * 1D", 9.99),
        ("f", "f + 1", 1.5),
        ("price", "price * 1.1", Decimal("10.99")),  # 10.989, rounded half up
        ("price", "price + 1", Decimal("10.99")),
        ("price", "-price", Decimal("-9.99")),
        ("price", "0.005 * 1", Decimal("0.01")),
        ("s", "s || '-' || 'b'", "a-b"),
        ("s", "s || t", None),
        ("s", "coalesce(t, s, 'c')", "a"),
        ("s", "coalesce(t, 'c') || s", "ca"),
        ("s", "p.b", "in"),
        ("s", "'n + 1'", "n + 1"),
        ("s", "`s` || s", "aa"),
        ("p.a", "p.a + n", {"a": 14, "b": "in"}),
        ("n", "-2147483648", -(2**31)),
        ("big", "9223372036854775807", 2**63 - 1),
        ("x", "f + big", 2**40 + 0.5),  # a FLOAT and an integer are a DOUBLE
        ("x", "-0.000005", -5e-06),  # the nearest DOUBLE to the decimal literal
        ("f", "0.05", 0.05000000074505806),
        ("price", "9.999", Decimal("10.00")),  # one digit more than before
    ],
)
def test_expressions_compute_as_in_spark(
    table: Table, column: str, text: str, expected: Any
) -> None:
    table.update({column: expr(text)})
    assert value(table, column.partition(".")[0]) == expected


def test_a_string_is_a_value_and_no_expression(table: Table) -> None:
    table.update({"s": "n + 1"})
    assert value(table, "s") == "n + 1"


def test_all_expressions_read_the_values_from_before_the_update(table: Table) -> None:
    table.update({"n": expr("id"), "id": expr("n"), "s": expr("s || s")}, [("id", "=", 1)])
    assert [value(table, column) for column in ("n", "id", "s")] == [1, 10, "aa"]


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        ("small", "small * 100", "700"),  # an INT by its literal, which does not fit
        ("n", "2147483647 + n", "overflow"),
        ("n", "-(-2147483648L) * n * big * big", "overflow"),
        ("n", "n % 0", "divide by zero"),
        ("x", "n / 0", "divide by zero"),
        ("x", "x / 0", "divide by zero"),
        ("n", "big", "1099511627776"),
        ("n", "x", "DOUBLE does not widen"),
        ("n", "s + 1", "takes numbers"),
        ("s", "s || n", "takes text"),
        ("s", "n", "INT does not widen"),
        ("price", "price * 100000000", "precision"),
        ("price", "price / 2", "decimals cannot be divided"),
        ("big", "- -2147483648", "overflow"),  # it is an INT
        ("price", "n + 9223372036854775807", "overflow"),  # it is a BIGINT
        ("x", "1e400", "a number was expected"),
        ("x", f"0.{'1' * 39}", "a number was expected"),
        # Spark rounds, to hold them in 38 digits:
        ("price", "coalesce(price, 0.00000000000000000000000000000000000001)", "no DECIMAL holds"),
        ("price", "big * 12345678.1234567890", "precision"),
        ("s", "coalesce(t, n)", "values of one type"),
    ],
)
def test_overflows_and_invalid_casts_are_refused(
    table: Table, column: str, text: str, reason: str
) -> None:
    before = table.scan().to_arrow()
    with pytest.raises(InvalidRequestError, match=reason):
        table.update({column: expr(text)})
    assert table.refresh().scan().to_arrow() == before


def test_expressions_run_on_matching_rows_only(table: Table) -> None:
    table.append(pa.Table.from_pylist([{**ROW, "id": 0}], table.scan().schema))
    table.update({"x": expr("n / id")}, [("id", "=", 1)])
    assert sorted(table.scan(columns=["x"]).to_arrow()["x"].to_pylist()) == [1.5, 10.0]


@pytest.mark.parametrize(
    ("column", "text"),
    [("ts", "coalesce(ts, d)"), ("s", "coalesce(s, b)"), ("d", "coalesce(d, ts)")],
)
def test_values_of_several_types_are_not_mixed(tmp_path: Path, column: str, text: str) -> None:
    """Midnight depends on the session's time zone in Spark, and bytes are not text."""
    table = Catalog.create_path(tmp_path / "t", "id INT, d DATE, ts TIMESTAMP, s STRING, b BINARY")
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    with pytest.raises(InvalidRequestError, match="values of one type"):
        table.update({column: expr(text)})


def test_null_divided_by_zero_is_null(table: Table) -> None:
    table.update({"n": None})
    table.update({"x": expr("n / 0")})
    assert value(table, "x") is None


@pytest.mark.parametrize(
    "text", ["n +", "", "(n", "n n", "sqrt(n)", "n ||", "n | 1", "1.2.3", "select 1", "n; drop"]
)
def test_invalid_expressions_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="expression"):
        expr(text)


def test_an_unknown_column_is_refused(table: Table) -> None:
    with pytest.raises(NotFoundError, match=r"no column host; .* write text in quotes"):
        table.update({"s": expr("host")})
    with pytest.raises(InvalidRequestError, match="many values in one row"):
        table.update({"n": expr("l.element + 1")})


def test_update_by_expression_of_a_keyed_table(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path, "k INT, n INT", primary_key=["k"])
    table.upsert(pa.table({"k": pa.array([1, 2], pa.int32()), "n": pa.array([5, 6], pa.int32())}))
    table.update({"n": expr("n * k")}, [("k", "=", 2)])
    assert table.scan().to_arrow().to_pylist() == [{"k": 1, "n": 5}, {"k": 2, "n": 12}]
