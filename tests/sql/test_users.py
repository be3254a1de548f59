"""What users of Iceberg and Delta would try: it works as there, or the error says what to use.

Needs a JVM because the statements and writers are Spark's.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import AnalysisException

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def refused(act: Callable[[], Any], *fragments: str) -> None:
    with pytest.raises(Exception) as caught:
        act()
    for fragment in fragments:
        assert fragment in str(caught.value)


def two(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT 1 AS id, 'a' AS s")


# Tables by name


@pytest.mark.thorough
def test_save_as_table(sql_spark: SparkSession, t: str, catalog: Catalog, ns: str) -> None:
    """Without a format, Spark passes its default source, parquet."""
    frame = two(sql_spark)
    frame.write.partitionBy("s").saveAsTable(t)
    assert catalog.load_table(f"{ns}.t").partitioning == ["s"]
    frame.write.mode("append").saveAsTable(t)
    frame.write.mode("ignore").format("versioned").saveAsTable(t)
    assert rows(sql_spark.table(t)) == [(1, "a"), (1, "a")]
    refused(lambda: frame.write.saveAsTable(t), "already exists")
    frame.write.mode("overwrite").saveAsTable(t)
    assert rows(sql_spark.table(t)) == [(1, "a")]
    other = frame.selectExpr("id AS other", "s").write.mode("overwrite")
    other.option("overwriteSchema", True).saveAsTable(t)
    assert sql_spark.table(t).columns == ["other", "s"]
    assert catalog.load_table(f"{ns}.t").partitioning == ["s"]
    new = sql_spark.catalog.createTable(f"versioned.{ns}.new", schema=frame.schema)
    assert new.columns == ["id", "s"]
    for other in ("orc", "csv"):
        refused(
            lambda other=other: frame.write.format(other).saveAsTable(f"{t}2"), "USING versioned"
        )
    frame.write.clusterBy("id").saveAsTable(f"{t}3")
    assert catalog.load_table(f"{ns}.t3").properties == {"sort_by": "id"}
    refused(lambda: frame.write.bucketBy(2, "id").sortBy("s").saveAsTable(f"{t}2"), "'sort_by'")


WIDER = "SELECT 5000000000 AS ID, 'b' AS s, named_struct('x', 1, 'Y', 2) AS n, 7 AS extra"
SAVES: dict[str, Callable[[DataFrame, str], Any]] = {
    "writeTo": lambda frame, t: frame.writeTo(t).option("mergeSchema", "true").append(),
    "saveAsTable": lambda frame, t: (
        frame.write.mode("append").option("MERGESCHEMA", True).saveAsTable(t)
    ),
    "save": lambda frame, t: (
        frame.write.format("versioned")
        .mode("append")
        .option("mergeSchema", "true")
        .option("warehouse", frame.sparkSession.conf.get("spark.sql.catalog.versioned.warehouse"))
        .save(t.removeprefix("versioned."))
    ),
    "append": lambda frame, t: (
        Catalog(frame.sparkSession.conf.get("spark.sql.catalog.versioned.warehouse") or "")
        .load_table(t.removeprefix("versioned."))
        .append(frame.toArrow(), merge_schema=True)
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("api", SAVES)
def test_merge_schema(sql_spark: SparkSession, t: str, catalog: Catalog, ns: str, api: str) -> None:
    """New columns and nested fields are added in the commit of the rows; types only widen."""
    table = catalog.create_table(f"{ns}.t", "id INT, s STRING, n STRUCT<x: BIGINT>")
    table.append(pa.Table.from_pylist([{"id": 1, "s": "a", "n": {"x": 1}}], table.scan().schema))
    SAVES[api](sql_spark.sql(WIDER), t)
    table = table.refresh()
    assert table.version == 2
    assert [(c.id, c.name) for c in table.schema.columns][:3] == [(1, "id"), (2, "s"), (3, "n")]
    assert sql_spark.table(t).dtypes == [
        ("id", "bigint"),
        ("s", "string"),
        ("n", "struct<x:bigint,Y:int>"),
        ("extra", "int"),
    ]
    assert rows(sql_spark.table(t)) == [
        (1, "a", (1, None), None),
        (5_000_000_000, "b", (1, 2), 7),
    ]
    refused(lambda: SAVES[api](sql_spark.sql("SELECT 'x' AS id"), t), "id")
    assert table.refresh().version == 2


def test_merge_schema_is_off_by_default(sql_spark: SparkSession, t: str, ns: str) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (id INT)")
    frame = two(sql_spark)
    refused(lambda: frame.writeTo(t).append(), "VERSIONED_COLUMN_NOT_FOUND")
    refused(lambda: frame.writeTo(t).option("mergeSchema", "false").append(), "NOT_FOUND")
    refused(lambda: frame.writeTo(t).option("mergeSchema", "yes").append(), "true or false")


def test_create_table_like(sql_spark: SparkSession, t: str, catalog: Catalog, ns: str) -> None:
    if pyspark.__version__ < "4.3":
        pytest.skip("this Spark supports it in its own catalog only")
    sql_spark.sql(
        f"CREATE TABLE {t} (id INT NOT NULL DEFAULT 7, ts TIMESTAMP, PRIMARY KEY (id)) COMMENT 'mine' "
        "PARTITIONED BY (bucket(4, id)) "
        "TBLPROPERTIES ('isolation' = 'serializable', 'time_index' = 'ts')"
    )
    sql_spark.sql(f"CREATE TABLE {t}2 LIKE {t} TBLPROPERTIES ('isolation' = 'snapshot')")
    old, new = catalog.load_table(f"{ns}.t"), catalog.load_table(f"{ns}.t2")
    assert new.schema == old.schema
    assert new.comment == "mine"
    assert new.properties == {**old.properties, "isolation": "snapshot"}
    assert new.state.table_uuid != old.state.table_uuid
    sql_spark.sql(f"CREATE TABLE IF NOT EXISTS {t}2 LIKE {t}")
    refused(lambda: sql_spark.sql(f"CREATE TABLE {t}2 LIKE {t}"), "already exists")


def test_partition_fields(sql_spark: SparkSession, t: str, catalog: Catalog, ns: str) -> None:
    sql_spark.sql(f"CREATE TABLE {t} (id INT, ts TIMESTAMP, `a'b` STRING) PARTITIONED BY (id)")

    def partitioning() -> list[str]:
        return catalog.load_table(f"{ns}.t").partitioning

    sql_spark.sql(f"ALTER TABLE {t} ADD PARTITION FIELD bucket(16, id)")
    assert partitioning() == ["id", "bucket(16, id)"]
    sql_spark.sql("USE versioned")
    try:
        sql_spark.sql(f"alter table {ns}.t\n drop partition field id ;")
        sql_spark.sql(f"ALTER TABLE {ns}.t REPLACE PARTITION FIELD bucket(16, id) WITH days(ts)")
    finally:
        sql_spark.sql("USE spark_catalog")
    sql_spark.sql(f"ALTER TABLE {t} ADD PARTITION FIELD truncate(2, `a'b`)")
    assert partitioning() == ["days(ts)", "truncate(2, `a'b`)"]
    sql_spark.sql(f"CALL versioned.system.set_partitioning('{ns}.t', 'months(ts), bucket(4, id)')")
    assert partitioning() == ["months(ts)", "bucket(4, id)"]
    refused(lambda: sql_spark.sql(f"ALTER TABLE {t} DROP PARTITION FIELD id"), "months(ts)")
    refused(lambda: sql_spark.sql("ALTER TABLE nope.t DROP PARTITION FIELD id"), "SYNTAX_ERROR")
    with pytest.raises(AnalysisException, match="UNBOUND_SQL_PARAMETER"):
        sql_spark.sql(f"CREATE VIEW {t} AS SELECT :x")


def test_show_partitions(sql_spark: SparkSession, t: str) -> None:
    sql_spark.sql(
        f"CREATE TABLE {t} "
        "PARTITIONED BY (d, years(d), months(d), days(ts), hours(ts), bucket(4, id), b) AS "
        "SELECT DATE'2026-01-02' AS d, TIMESTAMP'2026-01-02 03:04:05' AS ts, 7 AS id, X'00FF' AS b"
    )
    assert rows(sql_spark.sql(f"SHOW PARTITIONS {t}")) == [
        (
            "d=2026-01-02/years(d)=2026/months(d)=2026-01/days(ts)=2026-01-02/hours(ts)=2026-01-02-03/"
            "bucket(4, id)=3/b=00FF",
        )
    ]
    assert len(rows(sql_spark.sql(f"SHOW PARTITIONS {t} PARTITION (d = DATE'2026-01-02')"))) == 1


def test_a_namespace_has_no_location(sql_spark: SparkSession, ns: str, tmp_path: Path) -> None:
    for statement in (
        f"CREATE NAMESPACE versioned.{ns}.far LOCATION '{tmp_path}'",
        f"ALTER NAMESPACE versioned.{ns} SET LOCATION '{tmp_path}'",
    ):
        refused(lambda sql=statement: sql_spark.sql(sql), "are in the catalog's warehouse")


def test_a_misspelled_property_is_refused(sql_spark: SparkSession, t: str) -> None:
    create = f"CREATE TABLE {t} (a INT) TBLPROPERTIES"
    refused(lambda: sql_spark.sql(f"{create} ('sortby' = 'a')"), "did you mean sort_by?")
    sql_spark.sql(f"{create} ('owner_team' = 'ops', 'myteam.ttl' = 'x')")
    refused(
        lambda: sql_spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('autoCompact' = 'true')"),
        "did you mean auto_compact?",
    )


# Tables by path


def load(spark: SparkSession, path: str, **options: Any) -> DataFrame:
    return spark.read.format("versioned").options(**options).load(path)


@pytest.mark.thorough
def test_each_save_mode_does_what_its_name_says(sql_spark: SparkSession, path: str) -> None:
    frame = two(sql_spark)
    frame.write.format("versioned").save(path)
    assert rows(load(sql_spark, path)) == [(1, "a")]
    refused(
        lambda: frame.write.format("versioned").save(path), "there is already a table at", "append"
    )
    frame.selectExpr("'other' AS x").write.format("versioned").mode("ignore").save(path)
    assert Catalog.load_path(path).version == 0
    frame.write.format("versioned").mode("append").save(path)
    assert rows(load(sql_spark, path)) == [(1, "a"), (1, "a")]
    frame.write.format("versioned").mode("overwrite").save(path)
    assert rows(load(sql_spark, path)) == [(1, "a")]
    frame.write.format("versioned").mode("ignore").save(f"{path}2")
    assert rows(load(sql_spark, f"{path}2")) == [(1, "a")]


@pytest.mark.thorough
def test_partition_by_must_name_the_partitioning_of_the_table(
    sql_spark: SparkSession, path: str
) -> None:
    frame = sql_spark.sql("SELECT 1 AS id, 'a' AS `b.c`, TIMESTAMP'2026-01-02 03:00:00' AS ts")
    frame.write.format("versioned").partitionBy("id", "b.c").save(path)
    assert Catalog.load_path(path).partitioning == ["id", "`b.c`"]
    again = frame.write.format("versioned").mode("append")
    again.partitionBy("ID", "b.c").save(path)
    refused(lambda: again.partitionBy("id").save(path), "is partitioned by id, `b.c`, not by id")
    spelled = frame.write.format("versioned").option("partitionBy", "days(ts), bucket(4, id)")
    spelled.save(f"{path}2")
    assert Catalog.load_path(f"{path}2").partitioning == ["days(ts)", "bucket(4, id)"]
    refused(lambda: frame.write.format("versioned").clusterBy("id").save(f"{path}3"), "sort_by")


@pytest.mark.thorough
def test_overwrite_schema(sql_spark: SparkSession, path: str) -> None:
    """The table gets new column IDs, as by CREATE OR REPLACE: no old value shows under an old name."""
    table = Catalog.create_path(
        path,
        "id INT, s STRING",
        partitioned_by=["s"],
        comment="mine",
        properties={"sort_by": "id"},
    )
    frame = two(sql_spark)
    frame.write.format("versioned").mode("append").save(path)
    changed = sql_spark.sql("SELECT 'x' AS id, 'b' AS s, 1.5D AS y")
    writer = changed.write.format("versioned").mode("overwrite")
    refused(lambda: writer.save(path), "y")
    writer.option("overwriteSchema", True).save(path)
    after = table.refresh()
    assert rows(load(sql_spark, path)) == [("x", "b", 1.5)]
    assert {c.id for c in after.schema.columns}.isdisjoint({1, 2})
    assert (after.partitioning, after.comment) == (["s"], "mine")
    assert after.properties == {"sort_by": "id"}
    assert rows(load(sql_spark, path, versionAsOf=1)) == [(1, "a")]
    fewer = sql_spark.sql("SELECT 1 AS id").write.format("versioned").mode("overwrite")
    refused(lambda: fewer.option("overwriteSchema", True).save(path), "give another partitionBy")
    fewer.option("overwriteSchema", True).partitionBy("id").save(path)
    assert table.refresh().partitioning == ["id"]
    refused(
        lambda: (
            frame.write.format("versioned")
            .mode("append")
            .option("overwriteSchema", True)
            .save(path)
        ),
        "goes with mode overwrite",
    )


# Time zones


@pytest.fixture
def tokyo(sql_spark: SparkSession) -> Iterator[dt.timedelta]:
    """The session's time zone, nine hours ahead of UTC."""
    sql_spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    yield dt.timedelta(hours=9)
    sql_spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.thorough
def test_times_without_a_zone_are_in_the_sessions_zone(
    sql_spark: SparkSession, t: str, catalog: Catalog, ns: str, tokyo: dt.timedelta, warehouse: Path
) -> None:
    table: Table = catalog.create_table(f"{ns}.t", "a INT")
    table.append(pa.table({"a": pa.array([1], pa.int32())}))
    at = table.state.time
    table.append(pa.table({"a": pa.array([2], pa.int32())}))
    local, instant = (at + tokyo).strftime("%Y-%m-%d %H:%M:%S.%f"), at.isoformat()
    for text in (local, instant):
        found = {
            "SQL": sql_spark.sql(f"SELECT * FROM {t} TIMESTAMP AS OF '{text}'"),
            "by name": sql_spark.read.option("timestampAsOf", text).table(t),
            "by path": load(sql_spark, table.location, timestampAsOf=text),
            "by path, in Python": load(sql_spark, table.location, timestampAsOf=text, io="python"),
            "by warehouse": load(
                sql_spark, f"{ns}.t", timestampAsOf=text, warehouse=str(warehouse)
            ),
        }
        assert {api: rows(frame) for api, frame in found.items()} == {api: [(1,)] for api in found}
    refused(lambda: load(sql_spark, table.location, timestampAsOf="soon"), "'soon'")
