"""Branches by SQL, DataFrames, options and streams.

Needs a JVM because Spark resolves the names and options of branches.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sql.plans import is_native
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.thorough


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def table(sql_spark: SparkSession, catalog: Catalog, ns: str, t: str) -> Table:
    """100 rows, and the branch ``b``."""
    sql_spark.sql(f"CREATE TABLE {t} (id BIGINT, s STRING, n INT)")
    sql_spark.sql(f"INSERT INTO {t} SELECT id, 'x', CAST(id AS INT) FROM range(0, 100, 1, 1)")
    sql_spark.sql(f"ALTER TABLE {t} CREATE BRANCH b")
    return catalog.load_table(f"{ns}.t")


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


def count(spark: SparkSession, t: str) -> int:
    return int(rows(spark, f"SELECT count(*) FROM {t}")[0][0])


@pytest.mark.parametrize("io", ["native", "python"])
def test_every_statement_works_on_a_branch(
    sql_spark: SparkSession, table: Table, t: str, io: str
) -> None:
    spark, b = sql_spark.newSession(), f"{t}.branch_b"
    spark.conf.set("spark.versioned.io", io)
    before = rows(spark, f"SELECT * FROM {t} ORDER BY id")
    for statement in (
        f"ALTER TABLE {b} ADD COLUMN c STRING DEFAULT 'cc'",
        f"ALTER TABLE {b} RENAME COLUMN s TO text",
        f"ALTER TABLE {b} ALTER COLUMN n TYPE BIGINT",
        f"INSERT INTO {b} VALUES (1000, 'new', 5000000000, 'c1')",
        f"INSERT INTO {b} (id) VALUES (1001)",
        f"UPDATE {b} SET text = 'upd' WHERE id = 5",
        f"DELETE FROM {b} WHERE id IN (6, 7)",
        f"MERGE INTO {b} t USING (SELECT id + 90 AS id, 'm' AS text FROM {t} WHERE id < 20) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET text = s.text "
        "WHEN NOT MATCHED THEN INSERT (id, text) VALUES (s.id, s.text)",
        f"INSERT INTO {b} REPLACE WHERE id = 1001 VALUES (1001, 'replaced', 1, 'c')",
    ):
        spark.sql(statement)
    assert rows(spark, f"SELECT * FROM {t} ORDER BY id") == before
    expected = {
        **{id_: ("x", id_, "cc") for id_ in range(90) if id_ not in (5, 6, 7)},
        **{id_: ("m", id_, "cc") for id_ in range(90, 100)},
        **dict.fromkeys(range(100, 110), ("m", None, "cc")),
        **{5: ("upd", 5, "cc"), 1000: ("new", 5_000_000_000, "c1"), 1001: ("replaced", 1, "c")},
    }
    query = f"SELECT id, text, n, c FROM {b}"
    assert {row[0]: row[1:] for row in rows(spark, query)} == expected
    assert rows(spark, f"SELECT max(n), count(*) FROM {b} WHERE id >= 1000") == [(5_000_000_000, 2)]
    if io == "native":
        assert is_native(spark.sql(query))
    rows(spark, f"CALL versioned.system.fast_forward('{t}', 'main', 'b')")
    assert {row[0]: row[1:] for row in rows(spark, f"SELECT id, text, n, c FROM {t}")} == expected
    assert table.refresh().maintenance.verify(deep=True).findings == ()
    spark.sql(f"TRUNCATE TABLE {b}")
    assert (count(spark, b), count(spark, t)) == (0, len(expected))
    changes = f"SELECT count(*), min(_commit_version) FROM {t} CHANGES FROM VERSION 3 TO VERSION 3"
    assert rows(spark, f"{changes} WHERE _change_type = 'insert'")[0][1] == 3


def test_versions_of_a_branch_and_of_the_table_are_told_apart(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    """Both have a version 3, and the same statement runs on both, again and again."""
    sql_spark.sql(f"INSERT INTO {t}.branch_b VALUES (500, 'branch', 0)")
    sql_spark.sql(f"INSERT INTO {t} VALUES (500, 'main', 0)")
    for _ in range(3):
        for name, s in ((t, "main"), (f"{t}.branch_b", "branch")):
            assert rows(sql_spark, f"SELECT s FROM {name} WHERE id = 500") == [(s,)]
    cached = sql_spark.table(t).cache()
    assert cached.count() == 101
    assert rows(sql_spark, f"SELECT s FROM {t}.branch_b WHERE id = 500") == [("branch",)]
    cached.unpersist()
    both = f"SELECT a.s, b.s FROM {t} a JOIN {t}.branch_b b ON a.id = b.id WHERE a.id = 500"
    assert rows(sql_spark, both) == [("main", "branch")]
    sql_spark.sql(f"INSERT INTO {t}.branch_b SELECT id + 1, s, n FROM {t} WHERE id = 500")
    assert rows(sql_spark, f"SELECT s FROM {t}.branch_b WHERE id = 501") == [("main",)]
    assert rows(sql_spark, f"SELECT s FROM {t}.branch_b VERSION AS OF 3 WHERE id > 499") == [
        ("branch",)
    ]
    sql_spark.sql(f"ALTER TABLE {t} CREATE OR REPLACE BRANCH b")
    assert rows(sql_spark, f"SELECT s FROM {t}.branch_b WHERE id > 499") == [("main",)]


def test_a_job_that_audits_what_it_writes(sql_spark: SparkSession, table: Table, t: str) -> None:
    spark = sql_spark.newSession()
    spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    for passes in (False, True):
        spark.conf.set("spark.wap.branch", "job")
        assert count(spark, t) == 100
        spark.sql(f"ALTER TABLE {t} ADD COLUMN checked BOOLEAN")
        spark.sql(f"INSERT INTO {t} VALUES (100, 'y', 1, true)")
        spark.sql(f"DELETE FROM {t} WHERE id = 0")
        spark.createDataFrame([(101, "z", 2, True)], "id long, s string, n int, checked boolean")
        assert count(spark, t) == 100
        assert count(spark, f"{t}.branch_main") == count(sql_spark, t) == 100
        assert rows(spark, f"SELECT max(id), min(id) FROM {t}") == [(100, 1)]
        spark.conf.unset("spark.wap.branch")
        assert rows(spark, f"SELECT max(id), min(id) FROM {t}") == [(99, 0)]
        if passes:
            rows(spark, f"CALL versioned.system.fast_forward('{t}', 'main', 'job')")
        spark.sql(f"ALTER TABLE {t} DROP BRANCH job")
    assert rows(spark, f"SELECT max(id), min(id) FROM {t}") == [(100, 1)]
    assert "checked" in spark.table(t).columns


def test_what_can_not_be_staged_is_refused(
    sql_spark: SparkSession, table: Table, t: str, tmp_path: Path
) -> None:
    spark = sql_spark.newSession()
    spark.conf.set("spark.wap.branch", "job")
    spark.sql(f"INSERT INTO {t} VALUES (100, 'y', 1)")  # the table takes no part in it
    assert count(sql_spark, t) == 101
    spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    frame = spark.range(7).selectExpr("id", "'s' AS s", "1 AS n")
    for io in ("native", "python"):
        write = frame.write.format("versioned").option("io", io).mode("append")
        with pytest.raises(Exception, match=r"spark\.wap\.branch is set.*visible at once"):
            write.save(table.location)
    for statement in ("WRITE ORDERED BY id", "ADD PARTITION FIELD n"):
        with pytest.raises(Exception, match=r"spark\.wap\.branch is set.*visible at once"):
            spark.sql(f"ALTER TABLE {t} {statement}")
    spark.sql(f"OPTIMIZE {t}")
    spark.conf.set("spark.wap.id", "1")
    with pytest.raises(Exception, match=r"spark\.wap\.id and spark\.wap\.branch are both set"):
        spark.sql(f"INSERT INTO {t} VALUES (100, 'y', 1)")
    spark.conf.unset("spark.wap.branch")
    assert count(spark, t) == 101
    with pytest.raises(Exception, match=r"spark\.wap\.id is set.*visible at once"):
        frame.write.format("versioned").mode("append").save(table.location)
    for statement in (
        f"TRUNCATE TABLE {t}",
        f"CALL versioned.system.rollback_to_version('{t}', 0)",
    ):
        with pytest.raises(Exception, match=r"spark\.wap\.id is set.*visible at once"):
            spark.sql(statement)
    assert count(spark, t) == 101


def test_options_name_a_branch(
    sql_spark: SparkSession, table: Table, t: str, tmp_path: Path
) -> None:
    spark, b = sql_spark, f"{t}.branch_b"
    frame = spark.createDataFrame([(900, "o", 1)], "id long, s string, n int")
    frame.writeTo(b).append()
    frame.writeTo(t).option("branch", "b").append()
    frame.write.option("branch", "b").insertInto(t)
    frame.write.format("versioned").option("branch", "b").mode("append").save(table.location)
    assert (count(spark, t), count(spark, b)) == (100, 104)
    by_path = spark.read.format("versioned").option("branch", "b")
    assert by_path.load(table.location).count() == 104
    assert spark.read.option("branch", "b").table(t).count() == 104
    assert spark.read.option("branch", "main").table(t).count() == 100
    assert spark.read.format("versioned").load(table.location).count() == 100
    for read in (
        lambda: spark.read.option("branch", "no").table(t),
        lambda: spark.read.format("versioned").option("branch", "no").load(table.location),
        lambda: (
            frame.write.format("versioned")
            .option("branch", "no")
            .mode("append")
            .save(table.location)
        ),
    ):
        with pytest.raises(Exception, match="no branch 'no'"):
            read()
    first = spark.read.format("versioned").option("branch", "b").option("versionAsOf", 1)
    assert first.load(table.location).count() == 100
    new = frame.write.option("branch", "b")
    for create in (
        lambda: new.saveAsTable(f"{t}_new"),
        lambda: frame.writeTo(f"{t}_new").option("branch", "b").createOrReplace(),
        lambda: new.format("versioned").save(str(tmp_path / "new")),
        lambda: (
            new.format("versioned")
            .option("overwriteSchema", "true")
            .mode("overwrite")
            .save(table.location)
        ),
    ):
        with pytest.raises(Exception, match="option branch"):
            create()
    spark.sql(f"CREATE NAMESPACE {t}")
    assert count(spark, b) == 104
    frame.write.format("versioned").option("branch", "b").mode("overwrite").save(table.location)
    assert (count(spark, t), count(spark, b)) == (100, 1)


def test_a_stream_into_a_branch(
    sql_spark: SparkSession, table: Table, t: str, tmp_path: Path
) -> None:
    spark = sql_spark
    source = f"{t}_source"
    spark.sql(f"CREATE TABLE {source} (id BIGINT, s STRING, n INT)")
    for number in range(2):
        spark.sql(f"INSERT INTO {source} VALUES ({700 + number}, 's', 1)")
        query = (
            spark.readStream.table(source)
            .writeStream.option("checkpointLocation", str(tmp_path / "c"))
            .trigger(availableNow=True)
            .toTable(f"{t}.branch_b")
        )
        query.awaitTermination()
    assert (count(spark, t), count(spark, f"{t}.branch_b")) == (100, 102)
    rows(spark, f"CALL versioned.system.merge_branch('{t}', 'b')")
    assert count(spark, t) == 102
    with pytest.raises(Exception, match="is a branch, which can't be read as a stream"):
        spark.readStream.table(f"{t}.branch_b").writeStream.format("noop").trigger(
            availableNow=True
        ).start().awaitTermination()


def test_what_names_a_branch_wrongly_is_refused(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    spark, b = sql_spark, f"{t}.branch_b"
    for statement, message in (
        (f"SELECT * FROM {t}.branch_no", "no branch 'no'"),
        (f"INSERT INTO {t}.branch_no VALUES (1, 's', 1)", "no branch 'no'"),
        (f"ALTER TABLE {t}.branch_no ADD COLUMN c INT", "no branch 'no'"),
        (f"DROP TABLE {b}", "DROP BRANCH"),
        (f"ALTER TABLE {t} CREATE BRANCH b", "has a branch 'b' already"),
        (f"ALTER TABLE {t} REPLACE BRANCH no AS OF VERSION 1", "write CREATE BRANCH"),
        (f"ALTER TABLE {t} CREATE TAG b", "has a branch 'b'"),
        (f"ALTER TABLE {b} CREATE TAG c", "which takes no tags"),
        (f"ALTER TABLE {t} DROP BRANCH no", "no branch 'no'"),
        (f"CALL versioned.system.fast_forward('{t}', 'b', 'main')", "only main can be moved"),
        (f"CALL versioned.system.compact(table => '{b}')", "no maintenance of its own"),
        (f"CREATE OR REPLACE TABLE {t} (id INT)", "the branch 'b' would be lost"),
        (f"CREATE OR REPLACE TABLE {b} (id INT)", ""),
        (f"CREATE VIEW {t}_view AS SELECT id FROM {b}", "is a branch, and a view reads tables"),
        (f"ALTER TABLE {b} RENAME TO versioned.x", ""),
    ):
        with pytest.raises(Exception, match=message):
            spark.sql(statement).collect()
    assert (count(spark, t), count(spark, b)) == (100, 100)
    spark.sql(f"ALTER TABLE {t} DROP BRANCH IF EXISTS no")
    spark.sql(f"ALTER TABLE {t} CREATE BRANCH IF NOT EXISTS b")
    assert rows(spark, f"SELECT name, type FROM {t}.refs") == [("main", "BRANCH"), ("b", "BRANCH")]
    assert spark.sql(f"SHOW CREATE TABLE {b}").first()[0].startswith("CREATE TABLE")


@pytest.mark.parametrize("kind", ["VersionedCatalog", "VersionedRelationCatalog"])
def test_every_statement_begins_a_staged_branch(
    sql_spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    spark = sql_spark.newSession()
    catalog = f"staged_{kind.lower()}"
    spark.conf.set(f"spark.sql.catalog.{catalog}", f"versioned.spark.{kind}")
    spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", str(tmp_path))
    t = f"{catalog}.n.t"
    spark.sql(f"CREATE NAMESPACE {catalog}.n")
    spark.sql(f"CREATE TABLE {t} (id BIGINT) TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.sql(f"INSERT INTO {t} SELECT id FROM range(10)")
    for number, statement in enumerate(
        (
            f"INSERT INTO {t} VALUES (100)",
            f"INSERT OVERWRITE {t} VALUES (100)",
            f"DELETE FROM {t} WHERE id < 5",
            f"DELETE FROM {t}",
            f"UPDATE {t} SET id = id + 1 WHERE id = 3",
            f"MERGE INTO {t} USING (SELECT 3L AS id) s ON {t.split('.')[2]}.id = s.id "
            "WHEN MATCHED THEN DELETE",
            f"ALTER TABLE {t} ADD COLUMN c INT",
        )
    ):
        spark.conf.set("spark.wap.branch", f"w{number}")
        spark.sql(statement)
        assert rows(spark, f"SELECT count(*), max(id) FROM {t}.branch_main") == [(10, 9)], statement
        assert f"w{number}" in [row[0] for row in rows(spark, f"SELECT name FROM {t}.refs")]


def test_dropping_a_branch_that_is_not_there_as_a_table(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    catalog.create_table(f"{ns}.d", "id INT")
    t = f"versioned.{ns}.d"
    for name in ("branch_none", "tag_none"):
        sql_spark.sql(f"DROP TABLE IF EXISTS {t}.{name}")
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            sql_spark.sql(f"DROP TABLE {t}.{name}")
        with pytest.raises(Exception, match="'none'"):
            sql_spark.sql(f"SELECT * FROM {t}.{name}")
    sql_spark.sql(f"ALTER TABLE {t} CREATE BRANCH b")
    with pytest.raises(Exception, match="is a branch; write ALTER TABLE"):
        sql_spark.sql(f"DROP TABLE IF EXISTS {t}.branch_b")
