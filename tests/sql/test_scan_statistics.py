"""Statistics that a scan reports to Spark's optimizer, and its runtime filters.

Needs a JVM because Spark's optimizer uses the statistics.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import is_native, plan_of, pruned
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def longs(*values: int) -> pa.Array:
    return pa.array(values, pa.int64())


def stats_of(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().optimizedPlan().stats()  # type: ignore[operator]


def test_the_reported_size_is_at_least_an_eighth_of_the_rows_in_memory(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """A million equal numbers are small in Parquet, but take eight megabytes to broadcast."""
    table = catalog.create_table(f"{ns}.t", "a LONG, b LONG, s STRING")
    ones = pa.repeat(pa.scalar(1, pa.int64()), 1_000_000)
    table.append(pa.table({"a": ones, "b": ones, "s": ones.cast(pa.string())}))
    frame = sql_spark.table(f"versioned.{ns}.t")
    assert table.state.segments.core["bytes"].to_pylist()[0] < 1_000_000
    assert int(str(stats_of(frame.select("a")).sizeInBytes())) == 8_000_000 // 8
    assert int(str(stats_of(frame).sizeInBytes())) == 36_000_000 // 8


def test_the_reported_size_is_the_share_of_the_files(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """As Spark takes it of files: the share of the columns by the widths of their types."""
    table = catalog.create_table(f"{ns}.t", "a LONG, b LONG, s STRING")
    drawn = random.Random(1)
    table.append(
        pa.table(
            {
                "a": longs(*(drawn.getrandbits(62) for _ in range(10_000))),
                "b": longs(*(drawn.getrandbits(62) for _ in range(10_000))),
                "s": [f"{drawn.getrandbits(32):x}" for _ in range(10_000)],
            }
        )
    )
    (size,) = table.state.segments.core["bytes"].to_pylist()
    assert 10_000 * 36 // 8 < size < 10_000 * 36
    frame = sql_spark.table(f"versioned.{ns}.t")
    assert int(str(stats_of(frame).sizeInBytes())) == size
    assert int(str(stats_of(frame.select("a")).sizeInBytes())) == size * 8 // 36
    table.append(pa.table({"a": longs(1), "b": longs(1), "s": ["x"]}))  # a footer for one row
    assert int(str(stats_of(frame.where("a = 1")).sizeInBytes())) < size // 10


def test_runtime_filters_are_on_layout_columns_only(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Spark plans a runtime filter only on columns by which segments can be skipped."""
    table = catalog.create_table(f"{ns}.t", "a LONG, k LONG", primary_key=["k"])
    for n in range(4):
        table.append(pa.table({"a": longs(n, n), "k": longs(10 * n, 10 * n + 5)}))
    small = catalog.create_table(f"{ns}.small", "x LONG, word STRING")
    small.append(pa.table({"x": longs(10, 99), "word": ["yes", "no"]}))

    def joined(column: str) -> DataFrame:
        return sql_spark.sql(
            f"SELECT a, k FROM versioned.{ns}.t t JOIN versioned.{ns}.small s ON t.{column} = s.x "
            "WHERE s.word = 'yes'"
        )

    by_key, by_other = joined("k"), joined("a")
    assert "dynamicpruning" in plan_of(by_key)
    assert "dynamicpruning" not in plan_of(by_other)
    assert [tuple(row) for row in by_key.collect()] == [(1, 10)]
    assert pruned(by_key) == (3, 4)


@pytest.mark.thorough
def test_a_long_list_skips_segments_by_its_range(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """With 3,000 values of a join or an IN, segments outside of their range are still skipped."""
    table = catalog.create_table(f"{ns}.t", "k LONG", properties={"sort_by": "k"})
    for n in range(4):
        table.append(pa.table({"k": longs(*range(10_000 * n, 10_000 * n + 10))}))
    wanted = [10_000 + n for n in range(5)] + [11_000 + n for n in range(2_995)]
    frame = sql_spark.table(f"versioned.{ns}.t")
    found = frame.where(frame.k.isin([None, *wanted]))
    assert is_native(found)
    assert pruned(found) == (3, 4)
    assert sorted(row.k for row in found.collect()) == wanted[:5]
    sql_spark.createDataFrame(
        [(k, "yes") for k in wanted], "x LONG, word STRING"
    ).write.saveAsTable(f"spark_catalog.default.{ns}_wanted")
    joined = sql_spark.sql(
        f"SELECT /*+ BROADCAST(w) */ k FROM versioned.{ns}.t "
        f"JOIN spark_catalog.default.{ns}_wanted w ON k = x WHERE word = 'yes'"
    )
    assert "dynamicpruning" in plan_of(joined)
    assert sorted(row.k for row in joined.collect()) == wanted[:5]
    assert pruned(joined) == (3, 4)


def test_column_statistics_for_the_cost_based_optimizer(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    table = catalog.create_table(f"{ns}.t", "a LONG, n TIMESTAMP_NTZ, s STRING")
    table.append(
        pa.table(
            {
                "a": longs(1, 2, 4, 4),
                "n": pa.array([0, 1, None, 2], pa.timestamp("us")),
                "s": ["x", None, None, "y"],
            }
        )
    )
    # Spark estimates by the settings of the active session, which is the last one that made a frame.
    sql_spark.createDataFrame([(1,)], "x LONG")
    sql_spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        frame = sql_spark.table(f"versioned.{ns}.t")
        stats = stats_of(frame)
        rows, shown = stats.rowCount().get(), str(stats.attributeStats())
        assert frame.where("a = 4 AND n > '1970-01-01' AND s = 'y'").count() == 1
    finally:
        sql_spark.conf.unset("spark.sql.cbo.enabled")
    assert rows == 4
    assert "ColumnStat(Some(4),Some(1),Some(4),Some(0)" in shown
    assert (
        shown.count("ColumnStat") == 1
    )  # Spark's estimates fail on types that they do not support


def test_equal_scans_are_read_once(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    """The operands of an OR may be in any order: Spark keeps the order of the query."""
    table = catalog.create_table(f"{ns}.t", "a LONG, b LONG")
    table.append(pa.table({"a": longs(1, 2, 3), "b": longs(1, 2, 1)}))
    once = f"SELECT a, count(*) AS n FROM versioned.{ns}.t WHERE {{}} GROUP BY a"
    one, other = (once.format(f"b = {x} OR b = {y}") for x, y in ((1, 2), (2, 1)))
    frame = sql_spark.sql(f"SELECT x.a FROM ({one}) x JOIN ({other}) y ON x.a = y.a AND x.n = y.n")
    assert sorted(row.a for row in frame.collect()) == [1, 2, 3]
    assert "ReusedExchange" in plan_of(frame)


def test_the_reported_rows_are_those_that_filters_leave(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Else a table that is filtered to few rows would look too large to broadcast."""
    table = catalog.create_table(f"{ns}.t", "a LONG, s STRING")
    table.append(pa.table({"a": longs(*range(1000)), "s": ["x", "y"] * 500}))
    frame = sql_spark.table(f"versioned.{ns}.t")
    every, few = (
        int(str(stats_of(each).sizeInBytes()))
        for each in (frame, frame.where("a < 100 AND s = 'x'"))
    )
    assert 1000 * 28 // 8 <= every <= 1000 * 28
    assert few == every // 100


@pytest.mark.thorough
def test_subqueries_with_equal_filters_share_a_scan(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """As in query 9 of TPC-DS: the subqueries read other columns of the same rows."""
    table = catalog.create_table(f"{ns}.t", "a LONG, b LONG, c LONG")
    table.append(pa.table({"a": longs(1, 2, 3, 9), "b": longs(5, 6, 7, 8), "c": longs(1, 1, 4, 4)}))
    rows = f"FROM versioned.{ns}.t WHERE a BETWEEN 1 AND 3"
    frame = sql_spark.sql(
        f"SELECT (SELECT count(*) {rows}), (SELECT avg(b) {rows}), (SELECT avg(c) {rows})"
    )
    assert [tuple(row) for row in frame.collect()] == [(3, 6.0, 2.0)]
    final, _, _ = plan_of(frame).partition("== Initial Plan ==")
    assert final.count("BatchScan") == 1
    assert final.count("ReusedSubquery") == 2
