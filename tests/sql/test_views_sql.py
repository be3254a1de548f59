"""Views in Spark: the columns that they read, and statements that are refused.

Needs a JVM because Spark resolves the views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def m(sql_spark: SparkSession, ns: str) -> str:
    """A namespace with views of a table: ``hosts`` reads one of its columns, ``busy`` two."""
    m = f"versioned.{ns}"
    for statement in (
        "CREATE TABLE {m}.cpu (host STRING, usage INT)",
        "INSERT INTO {m}.cpu VALUES ('a', 95)",
        "CREATE TABLE {m}.other (host STRING, usage INT)",
        "CREATE VIEW {m}.hosts AS SELECT host FROM {m}.cpu",
        "CREATE VIEW {m}.busy AS SELECT host, usage FROM {m}.cpu",
        "CREATE VIEW {m}.over AS SELECT b.usage FROM {m}.hosts h JOIN {m}.busy b ON b.host = h.host",
    ):
        sql_spark.sql(statement.format(m=m))
    return m


BESIDE = "SELECT b.* FROM {m}.hosts h JOIN {m}.busy b ON b.host = h.host"
READS = [
    BESIDE,
    "SELECT b.* FROM {m}.cpu c JOIN {m}.busy b ON b.host = c.host",
    "SELECT host FROM {m}.cpu WHERE EXISTS (SELECT 1 FROM {m}.busy b WHERE b.usage = 7)",
    "SELECT * FROM {m}.over",
    "WITH a AS (SELECT * FROM {m}.cpu), b AS (SELECT * FROM {m}.busy) SELECT b.* FROM a, b",
    f"INSERT INTO {{m}}.other {BESIDE}",
    f"CREATE TABLE {{m}}.more AS {BESIDE}",
    f"CREATE VIEW {{m}}.more AS {BESIDE}",
    f"CACHE TABLE kept AS {BESIDE}",
    "MERGE INTO {m}.cpu c USING {m}.busy b ON b.host = c.host "
    "WHEN MATCHED THEN UPDATE SET usage = b.usage + 1",
    "UPDATE {m}.cpu SET load = 0 WHERE host IN (SELECT host FROM {m}.busy WHERE usage = 7)",
    "DELETE FROM {m}.cpu WHERE host IN (SELECT host FROM {m}.busy WHERE usage = 7)",
]


@pytest.mark.thorough
def test_views_of_a_table_that_a_statement_names_twice(
    sql_spark: SparkSession, m: str, catalog: Catalog
) -> None:
    """Spark loads such a table once, outside of the view or for a view that reads other columns."""
    for statement in (
        "ALTER TABLE {m}.cpu RENAME COLUMN usage TO load",
        "ALTER TABLE {m}.cpu ADD COLUMN usage INT DEFAULT 7",
    ):
        sql_spark.sql(statement.format(m=m))
    table = catalog.load_table(m.partition(".")[2] + ".cpu")
    before = table.version
    for read in READS:
        with pytest.raises(
            Exception, match=r"busy reads the column usage \(ID 2\) of .* is now another"
        ):
            sql_spark.sql(read.format(m=m)).collect()
    assert table.refresh().version == before
    assert catalog.list_tables(m.partition(".")[2]) == ["cpu", "other"]
    sql_spark.sql(f"CREATE OR REPLACE VIEW {m}.busy AS SELECT host, usage FROM {m}.cpu")
    assert [tuple(row) for row in sql_spark.sql(READS[0].format(m=m)).collect()] == [("a", 7)]


BOUND = [
    ("SELECT host, count(*) AS n FROM {m}.cpu GROUP BY ROLLUP (host)", ["host"]),
    ("SELECT host, sum(usage) AS n FROM {m}.cpu GROUP BY CUBE (host)", ["host", "usage"]),
    ("SELECT n FROM (SELECT host, count(*) AS n FROM {m}.cpu GROUP BY ROLLUP (host))", ["host"]),
]


def test_columns_read_by_rollups(sql_spark: SparkSession, m: str, catalog: Catalog) -> None:
    for query, columns in BOUND:
        sql_spark.sql(f"CREATE OR REPLACE VIEW {m}.bound AS {query.format(m=m)}")
        (read,) = catalog.load_view(m.partition(".")[2] + ".bound").reads
        assert [column.path[0] for column in read.columns] == columns, query


def test_writes_to_a_view_are_refused(sql_spark: SparkSession, m: str) -> None:
    """Writes with and without schema evolution are refused with the same error."""
    frame = sql_spark.sql("SELECT 'a' AS host, 1 AS usage")
    for options in ({}, {"mergeSchema": "true"}):
        with pytest.raises(Exception, match="busy is a view and holds no rows"):
            frame.writeTo(f"{m}.busy").options(**options).append()
