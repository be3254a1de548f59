"""Pitfalls of DELETE, UPDATE and MERGE in Spark, one a test.

Needs a JVM because Spark plans the statements and writes the rows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GROUP_FILTER = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"
ADAPTIVE = "spark.sql.adaptive.enabled"


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def make(catalog: Catalog, ns: str) -> Any:
    def table(ddl: str, **given: Any) -> Table:
        return catalog.create_table(f"{ns}.t", ddl, **given)

    return table


@pytest.fixture
def make_changed(make: Any, row_changes: str) -> Any:
    """``make`` for each way of changing rows."""

    def table(ddl: str, *, properties: dict[str, str] | None = None, **given: Any) -> Table:
        return make(ddl, properties={"row_changes": row_changes, **(properties or {})}, **given)

    return table


@pytest.fixture(
    params=[
        (True, True),
        pytest.param((False, False), marks=pytest.mark.nightly),
        pytest.param((True, False), marks=pytest.mark.nightly),
        pytest.param((False, True), marks=pytest.mark.nightly),
    ]
)
def planned(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[None]:
    """With and without runtime filters on segments, and with and without adaptive plans."""
    before = {key: sql_spark.conf.get(key) for key in (GROUP_FILTER, ADAPTIVE)}
    for key, on in zip(before, request.param, strict=True):
        sql_spark.conf.set(key, on)
    yield
    for key, value in before.items():
        sql_spark.conf.set(key, value or "true")


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def integers(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def operations(table: Table) -> list[tuple[str, int, int]]:
    commits = table.refresh().inspect.history().to_pylist()
    return [(one["operation"], one["segments_added"], one["segments_removed"]) for one in commits]


@pytest.mark.thorough
@pytest.mark.usefixtures("planned")
def test_an_update_of_segments_of_several_schema_versions(
    sql_spark: SparkSession, make_changed: Any, t: str, row_changes: str
) -> None:
    """Runtime filters skip some segments; the others are read by their own schema versions."""
    table = make_changed("a INT, b INT, s STRUCT<x: INT>")
    table.append(integers(a=[1, 2], b=[10, 20]))
    table.alter().rename_column("b", "c").add_column("b", "INT", default=7).commit()
    table.append(integers(a=[3, 4], b=[30, 40]))
    table.alter().change_type("a", "bigint").add_column("s.y", "INT", default=5).commit()
    table.append(integers(a=[5, 6], b=[50, 60]))
    # The condition selects no segments at planning time.
    sql_spark.sql(
        f"UPDATE {t} SET b = b + 1, s.x = 1 WHERE a * 2 IN (SELECT id FROM range(8, 12, 2))"
    )
    assert rows(sql_spark, f"SELECT a, c, b, s FROM {t}") == [
        (1, 10, 7, None),
        (2, 20, 7, None),
        (3, None, 30, None),
        (4, None, 41, (1, None)),
        (5, None, 51, (1, None)),
        (6, None, 60, None),
    ]
    (update,) = [one for one in operations(table) if one[0] == "update"]
    left_out = sql_spark.conf.get(GROUP_FILTER) == "true"
    assert update[2] == (0 if row_changes == "mark" else 2 if left_out else 3)


@pytest.mark.thorough
def test_a_merge_planned_before_an_alter(
    sql_spark: SparkSession, make_changed: Any, t: str, tmp_path: Path
) -> None:
    """ALTERs land during the join; the written rows keep the schema at planning time."""
    table = make_changed("a INT, b INT, gone INT")
    table.append(integers(a=[1, 2], b=[10, 20], gone=[5, 6]))
    started, go = tmp_path / "started", tmp_path / "go"

    @f.udf("int")
    def slow(value: int) -> int:
        started.touch()
        while not go.exists():
            time.sleep(0.05)
        return value

    source = sql_spark.range(2, 4).select(f.col("id").cast("int").alias("a"))
    source.select(slow("a").alias("a")).createOrReplaceTempView("slow_source")
    failed: list[Exception] = []

    def merge() -> None:
        try:
            sql_spark.sql(
                f"MERGE INTO {t} t USING slow_source s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 0 "
                "WHEN NOT MATCHED THEN INSERT (a, b, gone) VALUES (s.a, 1, 9)"
            )
        except Exception as error:
            failed.append(error)

    merging = threading.Thread(target=merge)
    merging.start()
    while not started.exists():
        assert merging.is_alive(), failed
    table.alter().rename_column("b", "c").drop_column("gone").commit()
    table.alter().add_column("b", "INT", default=9).add_column("gone", "INT").commit()
    go.touch()
    merging.join()
    assert not failed
    assert sql_spark.table(t).columns == ["a", "c", "b", "gone"]
    assert rows(sql_spark, f"SELECT * FROM {t}") == [
        (1, 10, 9, None),
        (2, 0, 9, None),
        (3, 1, 9, None),
    ]


@pytest.mark.parametrize("condition", ["b = 1", "b % 10 = 1"])
@pytest.mark.usefixtures("planned")
def test_a_delete_on_a_column_that_was_dropped_and_added_again(
    sql_spark: SparkSession, make_changed: Any, t: str, row_changes: str, condition: str
) -> None:
    """Neither statistics nor rows of the dropped column of the same name decide."""
    table = make_changed("a INT, b INT")
    table.append(integers(a=[1, 2], b=[1, 1]))
    table.alter().drop_column("b").add_column("b", "INT", default=999).commit()
    table.append(integers(a=[3], b=[1]))
    sql_spark.sql(f"DELETE FROM {t} WHERE {condition}")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, 999), (2, 999)]
    left_out = (
        condition == "b = 1" or row_changes == "mark" or sql_spark.conf.get(GROUP_FILTER) == "true"
    )
    assert operations(table)[-1] == (("delete", 0, 1) if left_out else ("delete", 1, 2))


@pytest.mark.thorough
@pytest.mark.usefixtures("planned")
def test_a_rewrite_keeps_rows_that_do_not_match(
    sql_spark: SparkSession, t: str, ns: str, catalog: Catalog, row_changes: str
) -> None:
    """A rewrite must not skip pages and row groups by the condition, or their rows would be lost."""
    sql_spark.sql(
        f"CREATE TABLE {t} (a BIGINT, b STRING) TBLPROPERTIES ('row_changes' = '{row_changes}')"
    )
    wide = sql_spark.range(0, 300_000, 1, 1).selectExpr("id AS a", "repeat('x', 20) AS b")
    wide.writeTo(t).append()
    sql_spark.sql(f"UPDATE {t} SET b = 'y' WHERE a = 299999")
    query = f"SELECT count(*), sum(a), count_if(b = 'y') FROM {t} WHERE a >= 0"
    assert rows(sql_spark, query) == [(300_000, 44999850000, 1)]
    sql_spark.sql(f"DELETE FROM {t} WHERE a = 150000")
    assert rows(sql_spark, query) == [(299_999, 44999700000, 1)]
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT 7L AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE"
    )
    assert rows(sql_spark, query) == [(299_998, 44999699993, 1)]
    assert catalog.load_table(f"{ns}.t").count() == 299_998


@pytest.mark.thorough
@pytest.mark.parametrize("io", ["native", "python"])
def test_a_segment_that_lacks_rows_is_not_rewritten(
    sql_spark: SparkSession, make: Any, t: str, warehouse: Path, ns: str, io: str
) -> None:
    """A rewrite of a segment that lacks rows would make the loss permanent."""
    table = make("a INT", properties={"row_changes": "copy"})
    table.append(integers(a=[1, 2, 3]))
    (path,) = table.inspect.segments()["path"].to_pylist()
    file = warehouse / ns / "t" / path
    whole = pq.ParquetFile(file)
    rest = whole.read().slice(0, 2)
    pq.write_table(rest.replace_schema_metadata(whole.schema_arrow.metadata), file)
    sql_spark.conf.set("spark.versioned.io", io)
    try:
        with pytest.raises(Exception, match="rows") as caught:
            sql_spark.sql(f"DELETE FROM {t} WHERE a % 2 = 0")
    finally:
        sql_spark.conf.set("spark.versioned.io", "native")
    assert ns in str(caught.value)
    assert table.refresh().version == 1


@pytest.mark.thorough
@pytest.mark.usefixtures("planned")
def test_a_merge_of_a_table_into_itself(sql_spark: SparkSession, make_changed: Any, t: str) -> None:
    table = make_changed("a INT, b INT")
    table.append(integers(a=[1, 2], b=[10, 20]))
    table.append(integers(a=[3], b=[30]))
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT a + 1 AS a, b FROM {t} WHERE b > 10) s ON t.a = s.a "
        "WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, 10), (2, 20), (3, 20), (4, 30)]
    sql_spark.sql(f"UPDATE {t} SET b = (SELECT max(b) FROM {t}) WHERE a IN (SELECT a - 1 FROM {t})")
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, 30), (2, 30), (3, 30), (4, 30)]


@pytest.mark.thorough
@pytest.mark.usefixtures("planned")
def test_rows_that_python_writes(sql_spark: SparkSession, make_changed: Any, t: str) -> None:
    """Spark's Parquet writer does not support our TIME, so Python writes the rows."""
    table = make_changed("a INT, at TIME")
    for value in (1, 2, 3):
        table.append(integers(a=[value, value * 10]))
    sql_spark.sql(f"UPDATE {t} SET at = TIME'10:00:00' WHERE a % 10 = 1")
    sql_spark.sql(f"DELETE FROM {t} WHERE a % 7 = 3")
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT 20 AS a UNION ALL SELECT 4) s ON t.a = s.a "
        "WHEN MATCHED THEN UPDATE SET a = 21 WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)"
    )
    found = rows(sql_spark, f"SELECT a, CAST(at AS STRING) FROM {t}")
    assert found == [(1, "10:00:00"), (2, None), (21, None), (30, None), (4, None)]


def test_a_delete_of_whole_segments_reads_no_segment(
    sql_spark: SparkSession, make: Any, t: str, warehouse: Path, ns: str
) -> None:
    table = make("a INT, day DATE", partitioned_by=["day"])
    sql_spark.sql(f"INSERT INTO {t} VALUES (1, DATE'2026-01-01'), (2, DATE'2026-01-02'), (3, NULL)")
    for path in table.refresh().inspect.segments()["path"].to_pylist():
        (warehouse / ns / "t" / path).write_bytes(b"not read")
    sql_spark.sql(f"DELETE FROM {t} WHERE day = DATE'2026-01-01'")
    sql_spark.sql(f"DELETE FROM {t} WHERE day IS NULL OR a = 77")
    assert operations(table)[-2:] == [("delete", 0, 1), ("delete", 0, 1)]
    assert sql_spark.table(t).count() == 1


@pytest.mark.parametrize(
    ("how", "write", "scan"),
    [
        ("auto", "WriteDelta", "VersionedScan"),
        ("mark", "WriteDelta", "VersionedScan"),
        ("copy", "ReplaceData", "RewrittenScan"),
    ],
)
def test_an_update_is_planned_natively(
    sql_spark: SparkSession, make: Any, t: str, how: str, write: str, scan: str
) -> None:
    table = make("a INT, b INT", properties={"row_changes": how})
    table.append(integers(a=[1, 2]))
    plan = sql_spark.sql(f"EXPLAIN UPDATE {t} SET b = 1 WHERE a = 1").collect()[0][0]
    assert write in plan
    assert scan in plan
    assert "native={0=1}" in plan
    assert "VersionedWrite" in plan
    assert "python={" not in plan


@pytest.mark.thorough
def test_the_schema_evolves_only_with_the_rows(
    sql_spark: SparkSession, make_changed: Any, t: str
) -> None:
    """Spark evolves the schema during analysis, even for EXPLAIN or a statement that fails later."""
    table = make_changed("a INT, b STRING")
    table.append(integers(a=[1]))
    merge = (
        f"MERGE WITH SCHEMA EVOLUTION INTO {t} t "
        "USING (SELECT {a} AS a, 5 AS c UNION ALL SELECT 2, 6) s ON t.a = s.a "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    sql_spark.sql("EXPLAIN " + merge.format(a="1"))
    sql_spark.sql("EXPLAIN EXTENDED " + merge.format(a="1")).collect()
    failing = merge.format(a="CAST(1 / (1 - id) AS INT)").replace(" AS c", " AS c FROM range(2)")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        sql_spark.sql(failing)
    assert table.refresh().version == 1
    sql_spark.sql(merge.format(a="1"))
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, None, 5), (2, None, 6)]
    assert operations(table)[-1] == ("merge", 1, 1), "one commit adds the column and the rows"


@pytest.mark.thorough
def test_schema_evolution_conflicts_with_an_alter(
    sql_spark: SparkSession, make: Any, t: str, tmp_path: Path
) -> None:
    """The schema version of the new segments was taken by another commit."""
    table = make("a INT")
    table.append(integers(a=[1]))
    frame: DataFrame = sql_spark.sql(f"SELECT 2 AS a, 3 AS c FROM {t}")

    @f.udf("int")
    def altering(value: int) -> int:
        Catalog.load_path(str(location)).alter().add_column("d", "INT").commit()
        return value

    location = table.location
    frame.select(altering("a").alias("a"), "c").createOrReplaceTempView("evolving_source")
    with pytest.raises(Exception, match="the schema changed") as caught:
        sql_spark.sql(
            f"INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT * FROM evolving_source"
        )
    assert t in str(caught.value)
    assert rows(sql_spark, f"SELECT * FROM {t}") == [(1, None)]


WRITE_SKEW = {
    "subquery": "UPDATE {t} SET b = 0 WHERE a = 1 AND (SELECT sum(b) FROM {t}) > 1",
    "itself": "MERGE INTO {t} t USING (SELECT count(b) AS n FROM {t}) s ON t.a = 1 AND s.n = 2 "
    "WHEN MATCHED THEN UPDATE SET b = 0",
    "insert": "INSERT INTO {t} SELECT max(a) + 1, 0 FROM {t}",
    "only inserts": "MERGE INTO {t} t USING (SELECT 3 AS a) s ON t.a = s.a "
    "WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)",
    "other rows": "UPDATE {t} SET b = 5 WHERE a = 1",
}


@pytest.mark.thorough
@pytest.mark.parametrize("isolation", ["serializable", "snapshot"])
@pytest.mark.parametrize("name", WRITE_SKEW)
def test_a_statement_that_reads_its_own_table_conflicts_with_new_rows(
    sql_spark: SparkSession, make_changed: Any, t: str, tmp_path: Path, name: str, isolation: str
) -> None:
    """Another commit adds a row after the statement has read, and before it commits."""
    table = make_changed("a INT, b INT", properties={"isolation": isolation})
    table.append(integers(a=[1], b=[1]))
    table.append(integers(a=[2], b=[1]))
    location = table.location

    @f.udf("int", useArrow=False)
    def landing(value: int) -> int:
        other = Catalog.load_path(location)
        if other.version == 2:
            other.append(pa.table({"a": pa.array([3], pa.int32()), "b": pa.array([1], pa.int32())}))
        return value

    sql_spark.udf.register("landing", landing)
    statement = WRITE_SKEW[name].format(t=t)
    statement = statement.replace("b = 0", "b = landing(0)").replace("b = 5", "b = landing(5)")
    statement = statement.replace("max(a) + 1, 0", "landing(max(a) + 1), 0")
    statement = statement.replace(
        "SELECT 3 AS a", "SELECT landing(CAST(3 + id AS INT)) AS a FROM range(1)"
    )
    if isolation == "snapshot" or name == "other rows":
        sql_spark.sql(statement)
        assert table.refresh().version == 4
        return
    with pytest.raises(Exception, match="run it again"):
        sql_spark.sql(statement)
    assert table.refresh().version == 3


def test_a_table_hides_the_metadata_table_of_its_name(
    sql_spark: SparkSession, make: Any, t: str, catalog: Catalog, ns: str
) -> None:
    make("a INT")
    assert rows(sql_spark, f"SELECT operation FROM {t}.history") == [("create",)]
    catalog.create_namespace(f"{ns}.t")
    catalog.create_table(f"{ns}.t.history", "mine INT")
    assert sql_spark.table(f"{t}.history").columns == ["mine"]
