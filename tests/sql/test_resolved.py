"""Spark reads resolved segments of a table with a primary key natively, without a merge in Python.

Needs a JVM because Spark's Parquet reader reads the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import is_native, is_python, plan_of, pruned
from sql.test_metrics_sql import shown
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[tuple[Any, ...]]


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    """Three runs of a: 0 to 99, the even numbers from 50 to 148, and tombstones of 0, 10, ..., 90."""
    ddl = "a INT, b BIGINT NOT NULL, c STRING"
    created = catalog.create_table(f"{ns}.t", ddl, primary_key=["a"])
    created.upsert(run(range(100), 1, "old"))
    created.upsert(run(range(50, 150, 2), 2, "new"))
    created.delete_keys(pa.table({"a": pa.array(range(0, 100, 10), pa.int32())}))
    return created


def run(keys: range, b: int, c: str) -> pa.Table:
    a = pa.array(keys, pa.int32())
    return pa.table({"a": a, "b": pa.array([b * k for k in keys], pa.int64()), "c": [c] * len(a)})


EXPECTED: Rows = [
    *((a, a, "old") for a in range(50) if a % 10),
    *((a, 2 * a, "new") if a % 2 == 0 else (a, a, "old") for a in range(50, 100) if a % 10),
    *((a, 2 * a, "new") for a in range(100, 150, 2)),
]


def rows(spark: SparkSession, query: str) -> Rows:
    return [tuple(row) for row in spark.sql(query).collect()]


def resolve(spark: SparkSession, ns: str) -> None:
    call = f"CALL versioned.system.compact(table => '{ns}.t', strategy => 'resolve')"
    ((*figures, version),) = rows(spark, call)
    assert figures == [0, 0, 0, 0, 0]
    assert version > 0


def merged_groups(spark: SparkSession, t: str) -> int:
    metrics = shown(spark, spark.table(t).collect)
    return int(metrics["number of groups of segments merged"])


def test_resolved_segments_are_read_natively(
    sql_spark: SparkSession, table: Table, t: str, ns: str
) -> None:
    assert merged_groups(sql_spark, t) == 1
    resolve(sql_spark, ns)
    assert merged_groups(sql_spark, t) == 0
    segments = table.refresh().state.segments
    assert (segments.count, segments.marked_rows) == (3, 30 + 5 + 10)
    everything = sql_spark.sql(f"SELECT * FROM {t} ORDER BY a")
    assert is_native(everything)
    assert [tuple(row) for row in everything.collect()] == EXPECTED
    for key, expected in [(60, []), (62, [(62, 124, "new")]), (63, [(63, 63, "old")])]:
        lookup = sql_spark.sql(f"SELECT * FROM {t} WHERE a = {key}")
        assert is_native(lookup)
        assert [tuple(row) for row in lookup.collect()] == expected
    # Bounds of columns outside the key skip segments, too.
    high = sql_spark.sql(f"SELECT a FROM {t} WHERE b > 290")
    assert is_native(high)
    assert pruned(high) == (2, 3)
    assert [tuple(row) for row in high.collect()] == [(146,), (148,)]
    counted = sql_spark.sql(f"SELECT count(*) FROM {t}")
    assert "LocalTableScan" in plan_of(counted)
    assert [tuple(row) for row in counted.collect()] == [(len(EXPECTED),)]
    assert len(rows(sql_spark, f"SELECT a FROM {t} LIMIT 7")) == 7
    in_python = sql_spark.sql(f"SELECT * FROM {t} WITH ('io' = 'python') ORDER BY a")
    assert is_python(in_python)
    assert [tuple(row) for row in in_python.collect()] == EXPECTED
    # An upsert of one key is merged with what overlaps, until that is resolved as well.
    sql_spark.sql(f"INSERT INTO {t} VALUES (63, 0, 'newest')")
    sql_spark.sql(f"DELETE FROM {t} WHERE a = 62")
    changed = [(a, 0, "newest") if a == 63 else (a, b, c) for a, b, c in EXPECTED if a != 62]
    assert merged_groups(sql_spark, t) == 1
    assert rows(sql_spark, f"SELECT * FROM {t} ORDER BY a") == changed
    resolve(sql_spark, ns)
    again = sql_spark.sql(f"SELECT * FROM {t} ORDER BY a")
    assert is_native(again)
    assert [tuple(row) for row in again.collect()] == changed
    of_then = rows(sql_spark, f"SELECT * FROM {t} VERSION AS OF 4 ORDER BY a")
    assert of_then == EXPECTED
