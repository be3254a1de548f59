"""Polars reads tables: every value, and filters that give the answers of Polars' own frames."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from engines.evolved_tables import EVOLVED, NAN, TYPED, UTC, remove, same, spoil
from versioned_catalog import Table
from versioned_interop.engines.polars_filters import translate_polars as translate
from versioned_interop.engines.pushdown import Pushdown

pl = pytest.importorskip("polars", reason="needs polars: pip install polars")
c, lit = pl.col, pl.lit


def test_an_evolved_table(evolved: Table) -> None:
    same(evolved.to_polars().collect().to_dicts(), EVOLVED)
    same(pl.DataFrame(evolved).to_dicts(), EVOLVED)  # by the PyCapsule
    assert evolved.snapshot(1).to_polars().select("gone").collect()["gone"].to_list() == ["x", "y"]


def test_every_type_has_its_type_in_polars(typed: Table) -> None:
    schema = typed.to_polars().collect_schema()
    assert schema["t"] == pl.Time
    assert schema["du"] == pl.Duration("us")
    assert schema["ts"] == pl.Datetime("us", "UTC")
    assert schema["ntz"] == pl.Datetime("us")
    assert schema["dec"] == pl.Decimal(20, 2)
    found = typed.to_polars().collect()
    for name in ("dec", "t", "d", "ts", "ntz", "bin", "l", "du", "c", "i64", "a.b"):
        assert found[name].to_list() == TYPED[name], name


def conditions() -> list[Any]:
    ops = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
    pairs = [("id", 3), ("n", 10), ("server", "c"), ("score", 0.0), ("score", NAN), ("score", 1)]
    found = [getattr(c(name), op)(value) for name, value in pairs for op in ops]
    lat = c("place").struct.field("lat")
    found += [getattr(lat, op)(value) for value in (0.0, NAN) for op in ops]
    found += [~one for one in found]
    found += [lit(2) < c("id"), lit("b").le(c("server")), c("id") > 2.5]
    found += [c("score").is_in([0.0, 3.0]), ~c("score").is_in([0.0, NAN]), c("id").is_in([1, None])]
    found += [~c("server").is_in(["a", "é"]), c("n").is_in([10], nulls_equal=True)]
    found += [~c("n").is_in([10], nulls_equal=True), ~c("n").is_in([10, None]), c("id").is_in([])]
    found += [
        c("n").is_null(),
        ~c("n").is_null(),
        c("place").is_null(),
        lat.is_null(),
        lat.is_not_null(),
    ]
    found += [c("id").is_between(2, 4, closed=one) for one in ("both", "left", "right", "none")]
    found += [~c("score").is_between(0.0, 3.0), c("score").is_nan(), c("score").is_not_nan()]
    found += [c("server").str.starts_with("a"), c("server").str.ends_with("é")]
    found += [c("server").str.contains("b", literal=True), c("server").str.contains("^[ab]$")]
    found += [(c("id") > 1) & (c("n") + 1 == 6), (c("id") == 1) | (c("n") % 2 == 1)]
    found += [~((c("id") > 3) | (c("server") == "a")), (c("id") > 3) ^ c("n").is_null()]
    found += [c("n").eq_missing(None), c("n").ne_missing(5), c("server").eq_missing("c")]
    found += [c("n").is_first_distinct(), c("n") == c("n").max(), c("id").shift(1) > 2]
    found += [c("id") > c("id").mean(), c("score").is_duplicated(), c("id").is_in(c("n"))]
    found += [c("id") == c("n"), c("id").cast(pl.String) == "3", c("server").is_first_distinct()]
    return found


@pytest.mark.thorough
def test_filters_give_the_answers_of_polars(evolved: Table) -> None:
    own = pl.from_arrow(pa.Table.from_pylist(EVOLVED, evolved.scan().schema))
    wrong = []
    for condition in conditions():
        expected = own.filter(condition)["id"].to_list()
        for engine in ("in-memory", "streaming"):
            rows = evolved.to_polars().filter(condition).select("id").collect(engine=engine)
            if rows["id"].to_list() != expected:
                wrong.append((str(condition), engine, rows["id"].to_list(), expected))
    assert wrong == []


def typed_conditions() -> list[Any]:
    values = [
        ("i8", 127),
        ("i64", 2**53 + 1),
        ("i64", 2.0**53),
        ("f32", 1.1),
        ("f64", 0),
        ("s", "a"),
    ]
    values += [("dec", Decimal("1.50")), ("dec", Decimal("-123456789012345678.99")), ("dec", 1.5)]
    values += [
        ("bin", b"\x00\xff"),
        ("d", dt.date(2024, 2, 29)),
        ("c", "a"),
        ("c", "a  "),
        ("v", "a"),
    ]
    values += [("ts", dt.datetime(2024, 3, 31, 1, 30, tzinfo=UTC)), ("ts", dt.date(1970, 1, 1))]
    values += [("ntz", dt.datetime(2024, 3, 31, 2, 30)), ("t", dt.time(23, 59, 59, 999999))]
    values += [
        ("du", dt.timedelta(days=1, microseconds=1)),
        ("b", True),
        ("f32", lit(1.1, pl.Float32)),
    ]
    values += [
        ("f32", lit(1.1, pl.Float64)),
        ("dec", lit(Decimal("1.5"))),
        ("t", lit(1).cast(pl.Time)),
    ]
    values += [("ntz", lit(dt.datetime(2024, 3, 31, 2, 30), pl.Datetime("ns")))]
    ops = ("__eq__", "__ne__", "__lt__", "__ge__")
    found = [getattr(c(name), op)(value) for name, value in values for op in ops]
    found += [c("a.b").struct.field("c d") == 1, c("a.b").is_null(), c("b"), ~c("b")]
    found += [c("i64").is_in([2**53 + 1]), c("s").is_in(["", "x"]), c("f32").is_in([1.1])]
    found += [
        c("d").is_in([dt.date(1, 1, 1)]),
        c("ts").is_in([dt.datetime(2024, 3, 31, 1, 30, tzinfo=UTC)]),
    ]
    return found


def test_filters_of_each_type_give_the_answers_of_polars(typed: Table) -> None:
    own = pl.from_arrow(pa.table(TYPED, schema=typed.scan().schema))
    wrong = []
    for condition in typed_conditions():
        rows = typed.to_polars().filter(condition).select("i64").collect()["i64"].to_list()
        expected = own.filter(condition)["i64"].to_list()
        if rows != expected:
            wrong.append((str(condition), rows, expected))
    assert wrong == []


PUSHED = [
    c("id") == 3,
    (c("id") == 3) & (c("n") % 7 == 2**40 % 7),
    c("id").is_between(2, 4, closed="none"),
    c("id").is_in([3]),
    c("server") == "c",
    c("score").is_nan() & (c("id") == 4) | (c("id") == 3),
    c("place").struct.field("lat") == 0.0,
    c("server").str.starts_with("c"),
]


def test_segments_without_matching_rows_are_not_read(evolved: Table) -> None:
    remove(evolved, {0, 2})
    lazy = evolved.to_polars()
    with pytest.raises(Exception, match="missing"):
        lazy.collect()
    for condition in PUSHED:
        rows = lazy.filter(condition).select("id").collect()
        assert rows["id"].to_list() == [3], str(condition)


def test_columns_that_a_query_does_not_name_are_not_read(evolved: Table) -> None:
    spoil(evolved, "n")
    with pytest.raises(Exception, match="can't be read"):
        evolved.to_polars().select("n").collect()
    found = evolved.to_polars().filter(c("id") > 4).select("server").collect()
    assert found["server"].to_list() == ["e", "é"]


def test_the_first_rows_need_the_first_segment_only(evolved: Table) -> None:
    remove(evolved, {1, 2})
    assert evolved.to_polars().head(2).collect()["id"].to_list() == [1, 2]


def test_a_limit_comes_before_a_filter(evolved: Table) -> None:
    lazy = evolved.to_polars()
    assert lazy.head(2).filter(c("id") > 1).collect()["id"].to_list() == [2]
    assert lazy.filter(c("id") > 1).head(2).collect()["id"].to_list() == [2, 3]
    limited = evolved.scan(limit=2).to_polars()
    assert limited.filter(c("id") > 1).collect()["id"].to_list() == [2]


def test_a_predicate_that_is_not_understood_is_left_to_polars(evolved: Table) -> None:
    pushdown = Pushdown(evolved.scan().columns)
    for unknown in (c("n") + 1 == 6, c("id") > 2.5, c("n") > c("id")):
        assert translate(unknown, pushdown) is None
    assert translate(c("id").map_elements(lambda x: x > 1, pl.Boolean), pushdown) is None
