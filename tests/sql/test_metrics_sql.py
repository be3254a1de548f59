"""What Spark's UI shows of scans and writes.

Needs a JVM because Spark adds up what the jar reports.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pyspark_versioned.sql.write_requests import committed
from sql.plans import is_native
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def shown(spark: SparkSession, run: Callable[[], object]) -> dict[str, str]:
    """The metrics of the last query that a function runs, which has one scan, as the UI shows them."""
    return {name: values[-1] for name, values in all_shown(spark, run).items()}


def all_shown(spark: SparkSession, run: Callable[[], object]) -> dict[str, list[str]]:
    """The same of several scans, sorted."""
    run()
    jvm: Any = spark._jvm
    spark._jsparkSession.sparkContext().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    as_java = jvm.scala.jdk.javaapi.CollectionConverters.asJava
    execution = as_java(store.executionsList())[-1]
    values = as_java(store.executionMetrics(execution.executionId()))
    metrics: dict[str, list[str]] = {}
    for metric in as_java(execution.metrics()):
        if metric.accumulatorId() in values:
            metrics.setdefault(metric.name(), []).append(values[metric.accumulatorId()])
    return {name: sorted(shown) for name, shown in metrics.items()}


@pytest.mark.thorough
def test_a_scan_and_a_delete(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    """Three segments of 10 rows; a DELETE marks 2 rows of the second, and a filter skips the first."""
    table = catalog.create_table(f"{ns}.t", "a LONG")
    for n in range(3):
        table.append(pa.table({"a": pa.array(range(10 * n, 10 * n + 10), pa.int64())}))
    name = f"versioned.{ns}.t"
    deletion = shown(sql_spark, lambda: sql_spark.sql(f"DELETE FROM {name} WHERE a IN (11, 12)"))
    assert deletion["number of rows marked as deleted"] == "2"
    assert deletion["number of segments written"] == "0"
    assert deletion["number of concurrent commits"] == "0"
    assert deletion["number of commit retries"] == "0"
    frame = sql_spark.table(name).where("a >= 10")
    assert is_native(frame)
    scan = shown(sql_spark, frame.collect)
    sizes = table.refresh().state.segments.core["bytes"].to_pylist()
    assert scan["number of segments read"] == "2"
    assert scan["number of segments skipped"] == "1"
    assert scan["number of segments read by Python"] == "0"
    assert scan["number of groups of segments merged"] == "0"
    assert scan["size of segments read"] == f"{sum(sizes[1:])}.0 B"
    assert scan["number of rows in segments read"] == "20"
    assert scan["number of rows skipped by marks"] == "2"
    assert scan["planning time"].endswith("ms")


@pytest.mark.thorough
def test_an_insert_and_a_copy(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", "a LONG", properties={"row_changes": "copy"})
    name = f"versioned.{ns}.t"
    insert = sql_spark.range(8, numPartitions=2).selectExpr("id AS a").writeTo(name)
    written = shown(sql_spark, insert.append)
    sizes = table.refresh().state.segments.core["bytes"].to_pylist()
    assert written["number of segments written"] == "2"
    assert written["number of rows written"] == "8"
    assert written["size of segments written"] == f"{sum(sizes)}.0 B"
    assert written["number of segments replaced"] == "0"
    copied = shown(sql_spark, lambda: sql_spark.sql(f"UPDATE {name} SET a = 9 WHERE a = 1"))
    assert copied["number of segments replaced"] == "1"
    assert copied["number of rows written"] == "4"


@pytest.mark.thorough
def test_commits_beside_a_statement(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    """The query of the INSERT commits to the table itself, twice."""
    table = catalog.create_table(f"{ns}.t", "a LONG")
    location, rows = table.location, pa.table({"a": pa.array([1], pa.int64())})

    def commits(number: int) -> int:
        return number + Catalog.load_path(location).append(rows)

    sql_spark.udf.register("commits", commits, "LONG")
    source = sql_spark.range(2, numPartitions=1).selectExpr("commits(id) AS a")
    written = shown(sql_spark, source.writeTo(f"versioned.{ns}.t").append)
    assert written["number of concurrent commits"] == "2"
    assert sorted(row.a for row in sql_spark.table(f"versioned.{ns}.t").collect()) == [1, 1, 1, 3]


@pytest.mark.thorough
def test_a_merge_of_segments(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    """Two segments have a key in common, the third has none."""
    table = catalog.create_table(f"{ns}.t", "k LONG, a LONG", primary_key=["k"])
    for keys in ([1, 2], [2, 3], [7, 8]):
        table.append(pa.table({"k": pa.array(keys, pa.int64()), "a": pa.array(keys, pa.int64())}))
    scan = shown(sql_spark, sql_spark.table(f"versioned.{ns}.t").collect)
    assert scan["number of groups of segments merged"] == "1"
    assert scan["number of segments read"] == "3"
    assert scan["number of rows in segments read"] == "6"


@pytest.mark.thorough
def test_runtime_filters_skip_segments(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", "k LONG", properties={"sort_by": "k"})
    for n in range(4):
        table.append(pa.table({"k": pa.array([10 * n, 10 * n + 5], pa.int64())}))
    small = catalog.create_table(f"{ns}.small", "x LONG, word STRING")
    small.append(pa.table({"x": pa.array([10, 99], pa.int64()), "word": ["yes", "no"]}))
    joined = sql_spark.sql(
        f"SELECT k FROM versioned.{ns}.t JOIN versioned.{ns}.small ON k = x WHERE word = 'yes'"
    )
    skipped = all_shown(sql_spark, joined.collect)["number of segments skipped"]
    assert set(skipped) == {"0", "3"}  # adaptive execution shows a scan more than once


def test_retries_of_a_commit_are_counted(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table("t", "a LONG")
    stale = Catalog(tmp_path).load_table("t")
    rows = pa.table({"a": pa.array([1], pa.int64())})
    assert committed(stale, lambda: stale.append(rows)).retries == 0
    table.refresh().append(rows)
    response = committed(stale, lambda: stale.append(rows))
    assert (response.version, response.retries) == (3, 1)
