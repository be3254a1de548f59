"""ALTER COLUMN ... TYPE to a narrower type: checked at the commit, and read exactly on each path."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from versioned_catalog import Catalog

BIG = 2**40
DAY = dt.datetime(2026, 1, 31)

OLD = (
    "id INT, n BIGINT, d DOUBLE, p DECIMAL(12,2), s STRING, t TIMESTAMP_NTZ, "
    "x STRUCT<a: BIGINT, l: ARRAY<BIGINT>>"
)
NARROW = {
    "n": "INT", "d": "FLOAT", "p": "DECIMAL(5,2)", "s": "VARCHAR(3)", "t": "DATE", "x.a": "SMALLINT",
}  # fmt: skip


def _rows(result: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in result.collect())


@pytest.fixture
def table(sql_spark: SparkSession, ns: str) -> str:
    name = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {name} ({OLD})")
    sql_spark.sql(
        f"INSERT INTO {name} VALUES "
        "(1, 5, 0.5, 1.25, 'ab', TIMESTAMP_NTZ '2026-01-31', named_struct('a', 1L, 'l', array(7L))), "
        f"(2, {BIG}, 0.1, 1234.5, 'abcdef', TIMESTAMP_NTZ '2026-01-31 12:00:00', "
        "named_struct('a', 70000L, 'l', NULL)), (3, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    return name


def test_a_narrowing_is_refused_while_a_value_does_not_fit(
    sql_spark: SparkSession, table: str
) -> None:
    for column, type_ in NARROW.items():
        with pytest.raises(Exception, match=f"{column} can't be narrowed from .* 1 of its values"):
            sql_spark.sql(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {type_}")
    with pytest.raises(Exception, match="can't change from INT to STRING"):
        sql_spark.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE STRING")
    with pytest.raises(Exception, match="NOT_SUPPORTED_CHANGE_COLUMN"):
        sql_spark.sql(f"ALTER TABLE {table} ALTER COLUMN s TYPE CHAR(6)")


@pytest.mark.nightly
def test_each_path_reads_narrowed_columns(
    sql_spark: SparkSession, catalog: Catalog, ns: str, table: str
) -> None:
    sql_spark.sql(
        f"DELETE FROM {table} WHERE id = 2"
    )  # its values are marked, and still in the file
    for column, type_ in NARROW.items():
        sql_spark.sql(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {type_}")
    sql_spark.sql(
        f"INSERT INTO {table} VALUES (4, 6, 0.25, 2.5, 'xyz', DATE '2026-02-01', "
        "named_struct('a', 2S, 'l', array(8L)))"
    )
    handle = catalog.load_table(f"{ns}.t")
    first = (1, 5, 0.5, Decimal("1.25"), "ab", DAY.date(), (1, [7]))
    last = (4, 6, 0.25, Decimal("2.50"), "xyz", dt.date(2026, 2, 1), (2, [8]))
    null = (3, *[None] * 6)
    types = {"n": "int", "d": "float", "p": "decimal(5,2)", "t": "date"}
    filters = {
        "n > 4": [first, last], "n < 6": [first], f"n < {BIG}": [first, last], f"n = {BIG}": [],
        "d = 0.5": [first], "p = 1.25": [first], "p < 1000": [first, last], "s = 'ab'": [first],
        "s > 'ab'": [last], "t = DATE '2026-01-31'": [first], "t > DATE '2026-01-31'": [last],
        "x.a = 1": [first], "n IS NULL": [null], "n + 1 = 6": [first],
    }  # fmt: skip
    for io in ("native", "python"):
        frame = sql_spark.read.option("io", io).format("versioned").load(handle.location)
        frame.createOrReplaceTempView("seen")
        assert {name: type_ for name, type_ in frame.dtypes if name in types} == types
        for condition, rows in filters.items():
            assert _rows(sql_spark.sql(f"SELECT * FROM seen WHERE {condition}")) == rows, condition
        assert _rows(
            sql_spark.sql("SELECT min(n), max(n), count(n), max(p), max(t) FROM seen")
        ) == [(5, 6, 2, Decimal("2.50"), dt.date(2026, 2, 1))]
        assert _rows(sql_spark.sql("SELECT id FROM seen ORDER BY n DESC LIMIT 1")) == [(4,)]
    assert handle.scan(["n"]).to_arrow()["n"].to_pylist() == [5, None, 6]
    sql_spark.sql(f"UPDATE {table} SET n = n + 1 WHERE n = 5")
    assert _rows(sql_spark.sql(f"SELECT n FROM {table} WHERE id < 3")) == [(6,)]
    with pytest.raises(Exception, match=r"(?i)overflow|out of range|CAST_OVERFLOW|cannot be cast"):
        sql_spark.sql(f"INSERT INTO {table} (id, n) VALUES (5, {BIG})")
    past = sql_spark.sql(f"SELECT n FROM {table} VERSION AS OF 1")
    assert past.dtypes == [("n", "bigint")]
    assert (BIG,) in past.collect()
