"""How often statements that change tables ask Python, by the log of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sql.requests import recorded
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOAD, COMMIT = "load_to_write {t}", "commit_write {t}"
CREATE = ("load_namespace {ns}", "load_relation {new}")
STATEMENTS = {
    # Spark asks for the default collation of the namespace, and whether the name is free.
    "CREATE TABLE {new} (a INT)": (*CREATE, "create {new}"),
    "CREATE TABLE {new} AS SELECT 1 AS a": (*CREATE, "stage {new}", "commit_stage {new}"),
    "CREATE OR REPLACE TABLE {t} AS SELECT 1 AS a": (
        *("load_namespace {ns}", "load_relation {t}", "stage {t}", "commit_stage {t}"),
    ),
    "CREATE TABLE IF NOT EXISTS {t} (a INT)": ("load_namespace {ns}", "load_relation {t}"),
    "INSERT INTO {t} VALUES (2, 'y')": (LOAD, COMMIT),
    "INSERT INTO {t} (k, a) VALUES ('y', 2)": (LOAD, COMMIT),
    "INSERT INTO {t} BY NAME SELECT 'y' AS k, 2 AS a": (LOAD, COMMIT),
    "INSERT OVERWRITE {t} VALUES (2, 'y')": (LOAD, COMMIT),
    # the condition of an overwrite is checked before a row is written
    "INSERT INTO {t} REPLACE WHERE k = 'x' SELECT 2, 'x'": (LOAD, "plan_write {t}", COMMIT),
    "ALTER TABLE {t} ADD COLUMN c INT DEFAULT 7": ("load_relation {t}", "alter {t}"),
    "ALTER TABLE {t} RENAME COLUMN k TO l": ("load_relation {t}", "alter {t}"),
    "ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT": ("load_relation {t}", "alter {t}"),
    # Spark hands over a default as text, whose value depends on the type of the column
    "ALTER TABLE {t} ALTER COLUMN a SET DEFAULT 7": ("load_relation {t}", "load {t}", "alter {t}"),
    "ALTER TABLE {t} RENAME TO {ns}.new": ("load_relation {t}", "rename {t}"),
    "DROP TABLE {t}": ("load_relation {t}", "drop {t}"),
    "TRUNCATE TABLE {t}": ("load_relation {t}", "truncate {t}"),
    # Spark asks first whether it must read rows, which the statistics of segments decide
    "DELETE FROM {t} WHERE a = 1": (LOAD, "can_delete {t}", "delete {t}"),
    # Spark loads it again before it runs it, and asks for its partition values, as it does for a query
    "DELETE FROM {t}": (LOAD, "load_relation {t}", "plan_scan {t}", "delete {t}"),
    "DESCRIBE {t}": ("load_relation {t}",),
    "SHOW TABLES IN {catalog}": ("list_tables {ns}", "list_views {ns}"),
}


@pytest.fixture
def t(sql_spark: SparkSession, ns: str) -> str:
    """A partitioned table with a row."""
    name = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {name} (a INT, k STRING) PARTITIONED BY (k)")
    sql_spark.sql(f"INSERT INTO {name} VALUES (1, 'x')")
    return name


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_asks_no_question_twice(
    sql_spark: SparkSession, ns: str, t: str, statement: str
) -> None:
    text = statement.format(t=t, ns=ns, new=f"versioned.{ns}.new", catalog=f"versioned.{ns}")
    with recorded(sql_spark) as requests:
        sql_spark.sql(text).collect()
    expected = [one.format(t="t", ns=ns, new="new") for one in STATEMENTS[statement]]
    assert [" ".join(one) for one in requests] == expected


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {t} SET a = 2",
        "MERGE INTO {t} USING (SELECT 1 AS b)\
 ON a = b WHEN MATCHED THEN UPDATE SET a = 2",
    ],
)
def test_a_row_change_is_planned_when_its_table_is_loaded(
    sql_spark: SparkSession, t: str, statement: str
) -> None:
    with recorded(sql_spark) as requests:
        sql_spark.sql(statement.format(t=t))
    asked = [one.name for one in requests if one.name != "plan_scan"]
    assert asked == ["load_to_write", "commit_write"]


@pytest.mark.parametrize("how", ["mark", "copy"])
def test_a_delete_of_rows_is_asked_about_first(
    sql_spark: SparkSession, t: str, catalog: Catalog, ns: str, how: str
) -> None:
    """Marks need no plan of rows to write; copies are those that were planned with the table."""
    catalog.load_table(f"{ns}.t").alter().set_property("row_changes", how).commit()
    with recorded(sql_spark) as requests:
        sql_spark.sql(f"DELETE FROM {t} WHERE a % 2 = 1")
    sent = [one.name for one in requests if one.name != "plan_scan"]
    assert sent == ["load_to_write", "can_delete", "commit_write"]
    assert len(requests) - len(sent) == (1 if how == "mark" else 2)
    assert sql_spark.table(t).count() == 0


def test_a_delete_by_key_is_not_asked_about_first(sql_spark: SparkSession, ns: str) -> None:
    """Whatever its condition, it writes tombstones; Python's data source commits them."""
    name = f"versioned.{ns}.keyed"
    sql_spark.sql(f"CREATE TABLE {name} (k INT, v INT, PRIMARY KEY (k))")
    sql_spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    with recorded(sql_spark) as requests:
        sql_spark.sql(f"DELETE FROM {name} WHERE k = 1")
    sent = [one.name for one in requests if one.name != "plan_scan"]
    assert sent == ["load_to_write", "plan_delta"]
    assert [row.k for row in sql_spark.table(name).collect()] == [2]


def test_an_insert_by_a_data_frame_asks_twice(sql_spark: SparkSession, t: str) -> None:
    rows = sql_spark.sql("SELECT 2 AS a, 'y' AS k")
    for write in (rows.writeTo(t).append, lambda: rows.write.insertInto(t)):
        with recorded(sql_spark) as requests:
            write()
        assert [one.name for one in requests] == ["load_to_write", "commit_write"]


def test_each_statement_sees_the_newest_table(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    """Nothing that one statement was told is told to the next, on one data frame either."""
    table = catalog.load_table(f"{ns}.t")
    rows = sql_spark.sql("SELECT 2 AS a, 'y' AS k")
    rows.writeTo(t).append()
    table.alter().add_column("c", "INT", default=7).commit()
    rows.writeTo(t).append()
    table.alter().rename_column("k", "l").commit()
    sql_spark.sql(f"INSERT INTO {t} (a, l) VALUES (3, 'z')")
    with pytest.raises(Exception, match="k"):
        rows.writeTo(t).append()
    sql_spark.sql(f"INSERT INTO {t} VALUES (4, 'w', 8)")
    shown = [(1, "x", 7), (2, "y", 7), (2, "y", 7), (3, "z", 7), (4, "w", 8)]
    assert sorted(tuple(row) for row in sql_spark.table(t).collect()) == shown
    table.refresh().append(
        pa.table({"a": pa.array([5], pa.int32()), "l": ["v"], "c": pa.array([9], pa.int32())})
    )
    assert sorted(tuple(row) for row in sql_spark.table(t).collect()) == [*shown, (5, "v", 9)]
    sql_spark.sql(f"DROP TABLE {t}")
    sql_spark.sql(f"CREATE TABLE {t} (b INT)")
    assert sql_spark.table(t).columns == ["b"]


def test_a_plan_of_all_columns_is_not_taken_for_another_write(
    sql_spark: SparkSession, ns: str, t: str
) -> None:
    """Lengths that Spark does not check, and options, make it another write, which is planned."""
    name = f"versioned.{ns}.v"
    sql_spark.sql(f"CREATE TABLE {name} (v VARCHAR(3))")
    sql_spark.conf.set("spark.sql.legacy.charVarcharAsString", True)
    try:
        with pytest.raises(Exception, match="VARCHAR"), recorded(sql_spark) as requests:
            sql_spark.sql(f"INSERT INTO {name} VALUES ('longer')")
    finally:
        sql_spark.conf.unset("spark.sql.legacy.charVarcharAsString")
    assert "plan_write" in [one.name for one in requests]
    rows = sql_spark.sql("SELECT 2 AS a, 'y' AS k")
    with recorded(sql_spark) as requests:
        rows.writeTo(t).option("distributionMode", "none").append()
    assert "plan_write" in [one.name for one in requests]
