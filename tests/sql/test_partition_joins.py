"""Joins of tables that are partitioned alike, without a shuffle.

Needs a JVM because Spark plans the joins.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import is_native, plan_of
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ON = "spark.sql.sources.v2.bucketing.enabled"
BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
ALL_KEYS = "spark.sql.requireAllClusterKeysForCoPartition"


@pytest.fixture
def no_broadcast(sql_spark: SparkSession) -> Iterator[SparkSession]:
    """A session that joins small tables as it does large ones, and by some keys of a join only."""
    sql_spark.conf.set(BROADCAST, "-1")
    sql_spark.conf.set(ALL_KEYS, "false")
    yield sql_spark
    for key in (BROADCAST, ALL_KEYS, ON):
        sql_spark.conf.unset(key)


class Joined:
    """A query with Spark's setting on and off: whether it shuffles, and its rows."""

    def __init__(self, spark: SparkSession, query: str) -> None:
        self.shuffles, rows = {}, {}
        for on in (True, False):
            spark.conf.set(ON, str(on).lower())
            frame = spark.sql(query)
            rows[on] = sorted(map(str, frame.collect()))
            self.shuffles[on] = "Exchange" in plan_of(frame)
        assert rows[True] == rows[False]
        self.rows = rows[True]


COLUMNS = "k LONG, d DATE, ts TIMESTAMP_NTZ, s STRING, v LONG"


def create(catalog: Catalog, name: str, partitioned_by: list[str], add: int) -> Table:
    """Rows of keys 0 to 29 in two segments a partition, and one row of nulls."""
    table = catalog.create_table(name, COLUMNS, partitioned_by=partitioned_by)
    append(table, [*range(0, 20)], add)
    append(table, [*range(10, 30), None], add)
    return table


def append(table: Table, keys: list[int | None], add: int) -> None:
    days = [None if k is None else dt.date(2026, 1, 1 + k // 10) for k in keys]
    table.append(
        pa.table(
            {
                "k": pa.array(keys, pa.int64()),
                "d": pa.array(days, pa.date32()),
                "ts": pa.array(days, pa.date32()).cast(pa.timestamp("us")),
                "s": pa.array([None if k is None else f"s{k // 10}" for k in keys], pa.string()),
                "v": pa.array([None if k is None else k + add for k in keys], pa.int64()),
            }
        )
    )


def query(ns: str, on: str, kind: str = "JOIN") -> str:
    return f"SELECT a.k, a.v, b.v FROM versioned.{ns}.a {kind} versioned.{ns}.b ON {on}"


def test_tables_in_equal_buckets_join_without_a_shuffle(
    no_broadcast: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Keys 10 to 19 are in both segments of a bucket; a mark hides one row of them."""
    a = create(catalog, f"{ns}.a", ["bucket(3, k)"], add=0)
    create(catalog, f"{ns}.b", ["bucket(3, k)"], add=100)
    a.delete([("k", "=", 12)])
    append(a, [12], add=0)
    assert a.state.segments.has_marks
    assert is_native(no_broadcast.table(f"versioned.{ns}.a"))
    joined = Joined(no_broadcast, query(ns, "a.k = b.k", "LEFT JOIN"))
    assert joined.shuffles == {True: False, False: True}
    assert len(joined.rows) == 10 + 9 * 4 + 2 + 10 + 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("partitioned_by", "on"),
    [
        pytest.param(["d"], "a.d = b.d AND a.k = b.k", marks=pytest.mark.nightly),
        pytest.param(["s"], "a.s = b.s AND a.k = b.k", marks=pytest.mark.nightly),
        (["days(ts)"], "a.ts = b.ts AND a.k = b.k"),
        (["years(d)", "bucket(2, k)"], "a.d = b.d AND a.k = b.k"),
    ],
)
def test_other_partitionings(
    no_broadcast: SparkSession, catalog: Catalog, ns: str, partitioned_by: list[str], on: str
) -> None:
    create(catalog, f"{ns}.a", partitioned_by, add=0)
    create(catalog, f"{ns}.b", partitioned_by, add=100)
    joined = Joined(no_broadcast, query(ns, on))
    assert joined.shuffles == {True: False, False: True}
    assert len(joined.rows) == 10 + 10 * 4 + 10


@pytest.mark.thorough
def test_segments_of_an_earlier_partitioning_are_shuffled(
    no_broadcast: SparkSession, catalog: Catalog, ns: str
) -> None:
    a = create(catalog, f"{ns}.a", ["bucket(2, k)"], add=0)
    create(catalog, f"{ns}.b", ["bucket(3, k)"], add=100)
    a.alter().set_partitioning(["bucket(3, k)"]).commit()
    append(a, [40], add=0)
    joined = Joined(no_broadcast, query(ns, "a.k = b.k"))
    assert joined.shuffles == {True: True, False: True}
    assert len(joined.rows) == 10 + 10 * 4 + 10


@pytest.mark.thorough
def test_partition_values_of_a_column_that_was_widened(
    no_broadcast: SparkSession, catalog: Catalog, ns: str
) -> None:
    a = catalog.create_table(f"{ns}.a", "k INT, v LONG", partitioned_by=["k"])
    a.append(pa.table({"k": pa.array([1, 2], pa.int32()), "v": pa.array([1, 2], pa.int64())}))
    a.alter().change_type("k", "LONG").commit()
    a.append(pa.table({"k": pa.array([2, 3], pa.int64()), "v": pa.array([20, 30], pa.int64())}))
    b = catalog.create_table(f"{ns}.b", "k LONG, v LONG", partitioned_by=["k"])
    b.append(pa.table({"k": pa.array([1, 2, 3], pa.int64()), "v": pa.array([5, 6, 7], pa.int64())}))
    joined = Joined(no_broadcast, query(ns, "a.k = b.k"))
    assert joined.shuffles == {True: False, False: True}
    assert joined.rows == [
        "Row(k=1, v=1, v=5)",
        "Row(k=2, v=2, v=6)",
        "Row(k=2, v=20, v=6)",
        "Row(k=3, v=30, v=7)",
    ]


@pytest.mark.thorough
def test_runtime_filters_leave_out_partitions_of_a_join(
    no_broadcast: SparkSession, catalog: Catalog, ns: str
) -> None:
    create(catalog, f"{ns}.a", ["d"], add=0)
    create(catalog, f"{ns}.b", ["d"], add=100)
    days = catalog.create_table(f"{ns}.days", "x DATE, word STRING")
    days.append(pa.table({"x": [dt.date(2026, 1, 1), dt.date(2026, 1, 2)], "word": ["yes", "no"]}))
    joined = (
        f"SELECT /*+ BROADCAST(w) */ a.k, a.v, b.v FROM versioned.{ns}.a JOIN versioned.{ns}.b "
        f"ON a.d = b.d AND a.k = b.k JOIN versioned.{ns}.days w ON a.d = w.x WHERE word = 'yes'"
    )
    no_broadcast.conf.set(ON, "true")
    plan = plan_of(no_broadcast.sql(joined))
    assert "dynamicpruning" in plan
    assert "hashpartitioning" not in plan
    assert len(Joined(no_broadcast, joined).rows) == 10


@pytest.mark.thorough
def test_a_merge_of_a_table_that_is_partitioned_alike(
    no_broadcast: SparkSession, catalog: Catalog, ns: str
) -> None:
    properties = "TBLPROPERTIES ('distribution_mode' = 'none')"
    merge = (
        f"MERGE INTO versioned.{ns}.t USING versioned.{ns}.b ON t.k = b.k "
        "WHEN MATCHED THEN UPDATE SET v = b.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (b.k, b.v)"
    )
    b = catalog.create_table(f"{ns}.b", COLUMNS, partitioned_by=["bucket(2, k)"])
    append(b, [5, 25], add=100)
    results = []
    for on, shuffles in (("true", 0), ("false", 2)):
        no_broadcast.conf.set(ON, on)
        no_broadcast.sql(
            f"CREATE OR REPLACE TABLE versioned.{ns}.t (k LONG, v LONG) "
            f"PARTITIONED BY (bucket(2, k)) {properties}"
        )
        no_broadcast.sql(f"INSERT INTO versioned.{ns}.t SELECT id, id FROM range(10)")
        (explained,) = no_broadcast.sql(f"EXPLAIN {merge}").collect()
        assert explained.plan.count("Exchange hashpartitioning") == shuffles
        no_broadcast.sql(merge)
        results.append(sorted(map(tuple, no_broadcast.table(f"versioned.{ns}.t").collect())))
    assert results[0] == results[1]
    assert results[0] == sorted([*((k, k) for k in range(10) if k != 5), (5, 105), (25, 125)])


@pytest.mark.thorough
def test_many_small_partitions_are_packed_together(
    no_broadcast: SparkSession, catalog: Catalog, ns: str
) -> None:
    create(catalog, f"{ns}.a", ["k"], add=0)
    tasks: dict[str, Any] = {}
    for on in ("true", "false"):
        no_broadcast.conf.set(ON, on)
        execution: Any = no_broadcast.table(f"versioned.{ns}.a")._jdf.queryExecution()  # type: ignore[operator]
        tasks[on] = execution.toRdd().getNumPartitions()
    assert tasks["true"] == tasks["false"] < 31
