"""Row changes in SQL that depend on Spark's optimizer, caches and name resolution.

Needs a JVM because Spark's optimizer and caches are tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.nightly)])
def io(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[str]:
    sql_spark.conf.set("spark.versioned.io", request.param)
    yield request.param
    sql_spark.conf.set("spark.versioned.io", "native")


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


@pytest.mark.thorough
@pytest.mark.usefixtures("io")
@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT 1)",  # Spark folds it before it builds a scan
        "NOT EXISTS (SELECT 1 FROM nothing WHERE nothing.id = {t}.id)",  # folded during planning
        "NOT EXISTS (SELECT 1 FROM less WHERE less.id = {t}.id)",  # known while it runs
        "EXISTS (SELECT 1 FROM {t})",
    ],
)
def test_a_condition_that_all_rows_meet(
    sql_spark: SparkSession, t: str, condition: str, row_changes: str
) -> None:
    sql_spark.sql("CREATE OR REPLACE TEMP VIEW nothing AS SELECT 1 AS id WHERE false")
    sql_spark.sql(
        "CREATE OR REPLACE TEMP VIEW less AS SELECT id % 7 AS id FROM range(100) GROUP BY 1 "
        "HAVING count(*) > 1000"
    )
    sql_spark.sql(
        f"CREATE TABLE {t} (id INT, p INT) PARTITIONED BY (p) "
        f"TBLPROPERTIES ('row_changes' = '{row_changes}')"
    )
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 1), (2, 2), (3, 1)")
    sql_spark.sql(f"UPDATE {t} SET id = 9 WHERE {condition.format(t=t)}")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(9, 1), (9, 1), (9, 2)]
    sql_spark.sql(f"DELETE FROM {t} WHERE {condition.format(t=t)}")
    assert rows(sql_spark, f"SELECT * FROM {t}") == []


def test_a_cached_table_that_is_rolled_back(sql_spark: SparkSession, t: str, ns: str) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (a INT)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (1)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (2)")
    sql_spark.sql(f"CACHE TABLE {t}")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1,), (2,)]
    sql_spark.sql(f"DELETE FROM {t} WHERE a = 1")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(2,)]
    sql_spark.sql(f"CALL versioned.system.rollback_to_version('{ns}.t', 1)")
    try:
        assert rows(sql_spark, f"SELECT * FROM {t}") == [(1,)]
    finally:
        sql_spark.sql(f"UNCACHE TABLE {t}")


def test_a_temporary_view_hides_a_table(
    sql_spark: SparkSession, t: str, ns: str, catalog: Catalog
) -> None:
    """A name resolves to a temporary view first, also WITH SCHEMA EVOLUTION; views can't be written."""
    sql_spark.sql(f"CREATE TABLE {t} (a INT)")
    sql_spark.sql("CREATE TEMP VIEW t AS SELECT 1 AS a")
    sql_spark.sql(f"USE versioned.{ns}")
    try:
        with pytest.raises(Exception, match=r"EXPECT_TABLE_NOT_VIEW|UNSUPPORTED_INSERT"):
            sql_spark.sql("INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT 2 AS a, 3 AS b")
        with pytest.raises(Exception, match="MERGE"):
            sql_spark.sql(
                "MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 2 AS a, 3 AS b) s ON false "
                "WHEN NOT MATCHED THEN INSERT *"
            )
    finally:
        sql_spark.sql("DROP VIEW t")
        sql_spark.sql("USE spark_catalog.default")
    assert catalog.load_table(f"{ns}.t").version == 0


def test_a_metadata_table_can_not_be_dropped(sql_spark: SparkSession, t: str) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (a INT)")
    with pytest.raises(
        Exception, match=r"\.t\.history is a metadata table of .*\.t and can\'t be dropped alone"
    ):
        sql_spark.sql(f"DROP TABLE {t}.history")
    assert rows(sql_spark, f"SELECT version FROM {t}.history") == [(0,)]


def test_an_overwrite_that_metadata_can_not_decide_writes_nothing(
    sql_spark: SparkSession, t: str, io: str, warehouse: Path, ns: str
) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (a INT)")
    with pytest.raises(Exception, match="can't be decided from metadata") as caught:
        sql_spark.sql(f"INSERT INTO {t} REPLACE WHERE a % 2 = 1 SELECT 1")
    assert "Traceback" not in str(caught.value)
    assert not list((warehouse / ns / "t").glob("data/*"))


def test_an_overwrite_by_a_boolean(sql_spark: SparkSession, t: str) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (a INT, b BOOLEAN)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, true), (2, false), (3, NULL)")
    sql_spark.sql(f"INSERT INTO {t} REPLACE WHERE b <= false SELECT 4, false")
    assert rows(sql_spark, f"SELECT a FROM {t} ORDER BY a") == [(1,), (3,), (4,)]


@pytest.mark.usefixtures("io")
def test_rows_chosen_by_metadata_columns(sql_spark: SparkSession, t: str, row_changes: str) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (a INT) TBLPROPERTIES ('row_changes' = '{row_changes}')")
    sql_spark.sql(f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1), (2), (3)")
    with pytest.raises(Exception, match="use a subquery: WHERE id"):
        sql_spark.sql(f"UPDATE {t} SET a = 0 WHERE _row_position = 1")
    sql_spark.sql(f"UPDATE {t} SET a = 0 WHERE a IN (SELECT a FROM {t} WHERE _row_position = 1)")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(0,), (1,), (3,)]


@pytest.mark.thorough
@pytest.mark.usefixtures("io")
def test_a_column_with_the_name_of_a_metadata_column(
    sql_spark: SparkSession, t: str, ns: str, catalog: Catalog, row_changes: str
) -> None:
    """Rewrites need the segment of each row, whose metadata column has the name of a data column."""
    properties = {"row_changes": row_changes}
    catalog.create_table(f"{ns}.t", "a INT, _segment STRING", properties=properties)
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 'x'), (2, 'y')")
    sql_spark.sql(f"UPDATE {t} SET a = a + 10 WHERE a % 2 = 0")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, "x"), (12, "y")]
    sql_spark.sql(f"DELETE FROM {t} WHERE a % 2 = 1")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(12, "y")]
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT 12 AS a) s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = 3"
    )
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(3, "y")]


@pytest.mark.usefixtures("io")
@pytest.mark.thorough
def test_row_changes_by_frames(sql_spark: SparkSession, t: str, row_changes: str) -> None:
    from pyspark.sql import functions as f

    sql_spark.sql(
        f"CREATE TABLE {t} (a INT, b STRING) PARTITIONED BY (b) "
        f"TBLPROPERTIES ('row_changes' = '{row_changes}')"
    )
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, 'x'), (2, 'x'), (3, 'y')")
    sql_spark.sql(f"ALTER TABLE {t} ADD COLUMN c INT DEFAULT 7")
    source = sql_spark.createDataFrame([(2, "x", 20), (4, "z", 40)], "a INT, b STRING, c INT")
    matched = f.expr(f"{t}.a = source.a")
    source.alias("source").mergeInto(
        t, matched
    ).whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert rows(sql_spark, f"SELECT * FROM {t}") == [
        (1, "x", 7),
        (2, "x", 20),
        (3, "y", 7),
        (4, "z", 40),
    ]
    new = sql_spark.createDataFrame([(5, "x", 50)], "a INT, b STRING, c INT")
    new.writeTo(t).overwrite(f.col("a") >= 3)
    assert rows(sql_spark, f"SELECT a FROM {t}") == [(1,), (2,), (5,)]
    new.writeTo(t).overwritePartitions()
    assert rows(sql_spark, f"SELECT a FROM {t}") == [(5,)]


@pytest.mark.parametrize("where", ["", "WHERE true", "WHERE 1 = 1"])
def test_delete_all_rows_of_a_table_with_a_char(
    sql_spark: SparkSession, t: str, where: str
) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (a INT, s STRUCT<c: CHAR(3)>, c CHAR(3))")
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, named_struct('c', 'x'), 'y')")
    sql_spark.sql(f"DELETE FROM {t} {where}")
    assert rows(sql_spark, f"SELECT * FROM {t}") == []


@pytest.mark.thorough
def test_rows_chosen_by_a_char(sql_spark: SparkSession, t: str, row_changes: str) -> None:
    sql_spark.sql(
        f"CREATE TABLE {t} (a INT, s STRUCT<c: CHAR(3)>, c CHAR(3)) "
        f"TBLPROPERTIES ('row_changes' = '{row_changes}')"
    )
    for value in (1, 2, 3):
        sql_spark.sql(
            f"INSERT INTO {t} VALUES ({value}, named_struct('c', 'x{value}'), 'y{value}')"
        )
    sql_spark.sql(f"DELETE FROM {t} WHERE length(c) = 3 AND a % 2 = 1 AND c < 'y2'")
    sql_spark.sql(f"UPDATE {t} SET a = 20 WHERE s.c IN ('x2 ') AND length(c) = 3")
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT 'y3 ' AS c) s ON t.c = s.c WHEN MATCHED THEN UPDATE SET a = 30"
    )
    assert rows(sql_spark, f"SELECT a, c FROM {t}") == [(20, "y2 "), (30, "y3 ")]
