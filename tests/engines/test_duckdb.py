"""DuckDB reads tables: every value, and filters that give the answers of DuckDB's own tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engines.evolved_tables import EVOLVED, NAN, TYPED, remove, same, spoil
from versioned_catalog import Catalog, Table

duckdb = pytest.importorskip("duckdb", reason="needs duckdb: pip install duckdb==1.5.5")


@pytest.fixture
def connection() -> Any:
    with duckdb.connect() as opened:
        opened.execute("SET timezone = 'America/New_York'")
        yield opened


def rows(relation: Any) -> list[dict[str, Any]]:
    return list(relation.to_arrow_table().to_pylist())


def test_an_evolved_table(evolved: Table, connection: Any) -> None:
    same(rows(evolved.to_duckdb(connection)), EVOLVED)
    same(rows(connection.sql("FROM evolved")), EVOLVED)  # by the PyCapsule
    then = evolved.snapshot(1).to_duckdb(connection)
    assert then.columns == ["id", "host", "n", "place", "gone"]
    assert then.filter("gone = 'y'").fetchall() == [(2, "b", None, None, "y")]


def test_the_default_connection(evolved: Table) -> None:
    relation = evolved.to_duckdb()
    assert relation.aggregate("count(*), max(n)").fetchall() == [(6, 2**40)]
    assert duckdb.sql("SELECT id FROM relation WHERE place.lon = 9").fetchall() == [(6,)]


def test_every_type_has_its_type_in_duckdb(typed: Table, connection: Any) -> None:
    relation = typed.to_duckdb(connection)
    shown = dict(zip(relation.columns, map(str, relation.types), strict=True))
    assert shown["t"] == "TIME"
    assert shown["du"] == "INTERVAL"
    assert shown["ts"] == "TIMESTAMP WITH TIME ZONE"
    assert shown["ntz"] == "TIMESTAMP"
    assert shown["dec"] == "DECIMAL(20,2)"
    assert shown["m"] == "MAP(VARCHAR, INTEGER)"
    for name in ("dec", "t", "d", "ntz", "bin", "l", "du", "c", "i64"):
        found = relation.project(f'"{name}"').fetchall()
        assert [value for (value,) in found] == TYPED[name], name


CONDITIONS = [
    *(f"{c} {op} {v}" for op in ("=", "<>", "<", "<=", ">", ">=") for c, v in [
        ("id", "3"), ("n", "10"), ("server", "'c'"), ("score", "0.0"), ("score", "1.0"),
        ("place.lat", "0.0"), ("id", "2.5"),
    ]),
    *(f"{c} {op} 'nan'::DOUBLE" for op in ("=", "<>", "<", ">", ">=") for c in ("score", "place.lat")),
    *("score IN (0.0, 3.0)", "score NOT IN (0.0, 3.0)", "place.lat IN (0.0, 2.0)", "id IN (1, 3, NULL)"),
    *("id NOT IN (1, 3, NULL)", "score IN (0.5, 'nan'::DOUBLE)", "server IN ('a', 'é')"),
    *("n IS NULL", "n IS NOT NULL", "place IS NULL", "place.lat IS NULL", "gone IS NULL AND id > 2"),
    *("NOT (score > 1)", "NOT (score > 1 OR n IS NULL)", "score > 1 OR id = 1", "server LIKE 'a%'"),
    *("server LIKE '%é%'", "starts_with(server, 'é')", "n BETWEEN 5 AND 10", "n + 1 = 11", "gone = 50"),
    *("server IS DISTINCT FROM 'a'", "id = 1 AND server = 'a' AND score = 0.5", "place.lon = 7"),
]  # fmt: skip


def wrong_answers(
    connection: Any, table: Table, own: pa.Table, column: str, conditions: list[str]
) -> list[Any]:
    """The conditions for which a table and DuckDB's own copy of its rows differ."""
    relation = table.to_duckdb(connection)
    connection.register("arrow_rows", own)
    connection.execute("CREATE TABLE own AS FROM arrow_rows")
    wrong = []
    for condition in conditions:
        query = f"SELECT {column} FROM {{}} WHERE {condition} ORDER BY ALL"
        expected = connection.sql(query.format("own")).fetchall()
        rows = connection.sql(query.format("relation")).fetchall()
        if rows != expected:
            wrong.append((condition, rows, expected))
    assert relation is not None
    return wrong


@pytest.mark.thorough
def test_filters_give_the_answers_of_duckdb(evolved: Table, connection: Any) -> None:
    own = pa.Table.from_pylist(EVOLVED, evolved.scan().schema)
    assert wrong_answers(connection, evolved, own, "id", CONDITIONS) == []


TYPED_CONDITIONS = [
    "i8 = 127",
    "i8 < -127",
    "i64 = 9007199254740993",
    "i64 = 9007199254740992.0",
    "f32 = 1.1::FLOAT",
    "f32 = 1.1",
    "f32 > 1.1::FLOAT",
    "f32 >= 'inf'::FLOAT",
    "dec = 1.5",
    "dec < -123456789012345678.98",
    "dec > 1.499",
    "bin = '\\x00\\xFF'::BLOB",
    "bin > ''::BLOB",
    "d = DATE '2024-02-29'",
    "d < '0001-01-02'",
    "ts = '2024-03-30 21:30:00'",
    "ts = TIMESTAMPTZ '2024-03-31 01:30:00+00'",
    "ts < '1970-01-01 00:00:00+00'",
    "ts < 'infinity'",
    "ntz = '2024-03-31 02:30:00'",
    "ntz > '-infinity'",
    "t = '23:59:59.999999'",
    "t < '24:00:00'",
    "c = 'a  ' AND f64 > 1",
    "f64 >= 1 AND t < '24:00:00' AND i64 > 0",
    "f64 IN (0.0, 3.0) AND t < '24:00:00'",
    "f64 IN (0.0, 'nan'::DOUBLE) AND t < '24:00:00'",
    "f64 <> 1 AND t < '24:00:00'",
    "f64 = 'nan'::DOUBLE AND c = 'a  '",
    "f64 IS NOT NULL AND c <> 'x'",
    "c IN ('a  ', 'abc')",
    "du > INTERVAL 1 DAY",
    "du = INTERVAL '1 day 1 microsecond'",
    "c = 'a'",
    "c = 'a  '",
    "c > 'a'",
    "v = 'a'",
    "v = 'a '",
    "b",
    "NOT b",
    "b = true",
    '"a.b"."c d" = 1',
    '"a.b" IS NULL',
    "f64 = 0",
    "f64 >= 0",
    "f64 < 0",
    "f64 <> 0",
    "s = ''",
    "s >= ''",
    "l IS NULL",
    "m IS NOT NULL",
]


def test_filters_of_each_type_give_the_answers_of_duckdb(typed: Table, connection: Any) -> None:
    own = pa.table(TYPED, schema=typed.scan().schema)
    assert wrong_answers(connection, typed, own, "i64", TYPED_CONDITIONS) == []


def test_columns_that_a_query_does_not_name_are_not_read(evolved: Table, connection: Any) -> None:
    spoil(evolved, "n")
    relation = evolved.to_duckdb(connection)
    with pytest.raises(Exception, match="can't be read"):
        relation.project("n").fetchall()
    found = relation.filter("id > 4").project("server").fetchall()
    assert found == [("e",), ("é",)]


def test_segments_without_matching_rows_are_not_read(evolved: Table, connection: Any) -> None:
    remove(evolved, {0, 2})
    relation = evolved.to_duckdb(connection)
    with pytest.raises(Exception, match="missing"):
        relation.fetchall()
    assert relation.filter("id = 3 AND n > 7").project("server").fetchall() == [("c",)]
    keys = connection.sql("SELECT 3 AS k")  # a join pushes down its keys when the query runs
    assert connection.sql("SELECT server FROM relation JOIN keys ON id = k").fetchall() == [("c",)]
    assert keys is not None


def test_a_limit_of_the_scan_comes_before_the_filter(evolved: Table, connection: Any) -> None:
    relation = evolved.scan(limit=2).to_duckdb(connection)
    assert relation.filter("id > 1").project("id").fetchall() == [(2,)]
    assert relation.filter("id > 2").fetchall() == []
    limited = evolved.scan(limit=4).to_duckdb(connection)
    assert limited.filter("score > 1").project("id").fetchall() == [(3,)]  # NaN


def test_a_filter_on_a_pinned_schema_sees_what_it_shows(tmp_path: Path, connection: Any) -> None:
    table = Catalog.create_path(tmp_path / "t", "id INT, n INT")
    table.append(pa.table({"id": pa.array([1], pa.int32()), "n": pa.array([5], pa.int32())}))
    table.pin_schema("job")
    table.alter().change_type("n", "BIGINT").rename_column("id", "key").commit()
    table.append(pa.table({"key": pa.array([2, 3], pa.int32()), "n": [2**40, 6]}))
    seen = table.seen_as("job", overflow="null").to_duckdb(connection)
    assert seen.fetchall() == [(1, 5), (2, None), (3, 6)]
    assert seen.filter("n > 5").fetchall() == [(3, 6)]
    assert seen.filter("n IS NULL").fetchall() == [(2, None)]


def test_duckdb_asks_wrongly_for_values_up_to_nan(evolved: Table, connection: Any) -> None:
    """A limit of docs/engines.md: DuckDB asks for all rows, and null is among them."""
    relation = evolved.to_duckdb(connection)
    found = relation.filter("score <= 'nan'::DOUBLE").project("id").fetchall()
    assert found == [(1,), (2,), (3,), (4,), (5,), (6,)]


def test_duckdb_asks_plain_arrow_data_wrongly(connection: Any) -> None:
    """Why a relation translates filters: if this fails, DuckDB has mended it."""
    plain = pa.table({"x": [NAN, 2.0, -0.0]})
    wrong = connection.sql("SELECT count(*) FROM plain WHERE x > 1").fetchall()
    own = connection.sql("SELECT count(*) FROM (FROM plain LIMIT 9) WHERE x > 1").fetchall()
    assert (wrong, own) == ([(1,)], [(2,)])
    assert plain is not None
