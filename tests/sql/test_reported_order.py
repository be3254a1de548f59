"""Spark does not sort rows that a scan reports as sorted, and its answers are those of plain rows.

Needs a JVM because Spark plans and carries out the queries.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import is_native, plan_of
from sql.test_native_merges import KINDS
from versioned_catalog import Catalog, Table
from versioned_catalog.write import segment_writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNMAINTAINED = {"auto_maintain": "off"}
MERGED = "spark.sql.sources.v2.bucketing.preserveOrderingOnCoalesce.enabled"
SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.files.openCostInBytes": "100000",
    MERGED: "false",
}


@pytest.fixture
def spark_of_order(sql_spark: SparkSession) -> Iterator[SparkSession]:
    """A session that broadcasts nothing, and has a task for each partition of a small table."""
    before = {key: sql_spark.conf.get(key) for key in SETTINGS}
    for key, value in SETTINGS.items():
        sql_spark.conf.set(key, value)
    yield sql_spark
    for key, old in before.items():
        sql_spark.conf.set(key, old or "")


@pytest.fixture
def many_splits(spark_of_order: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Several row groups and splits of each segment."""
    monkeypatch.setattr(segment_writer, "KEYED_ROW_GROUP_ROWS", 4)
    names = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    before = {name: spark_of_order.conf.get(name) for name in names}
    for name in names:
        spark_of_order.conf.set(name, "2000")
    yield
    for name, old in before.items():
        spark_of_order.conf.set(name, old or "")


def create(catalog: Catalog, name: str, key: Sequence[str] = ("k",), **more: Any) -> Table:
    return catalog.create_table(
        name, "k INT, v INT, s STRING", primary_key=key, properties=UNMAINTAINED, **more
    )


def append(table: Table, keys: Sequence[int], add: int = 0) -> None:
    rows = [pa.array(keys, pa.int32()), pa.array([k + add for k in keys], pa.int32())]
    table.append(pa.table([*rows, [f"s{k % 3}" for k in keys]], names=["k", "v", "s"]))


def sorts(frame: DataFrame) -> list[str]:
    """What Spark sorts by, in each of its sorts."""
    return re.findall(r"\bSort \[(.*?)\], ", plan_of(frame))


def shuffles(frame: DataFrame) -> int:
    return plan_of(frame).count("Exchange hashpartitioning")


def reported(frame: DataFrame) -> list[str]:
    """The columns by which the scan of a query is sorted, as it reports."""
    leaf = frame._jdf.queryExecution().executedPlan().collectLeaves().head()  # type: ignore[operator]
    orders = leaf.outputOrdering()
    found = [orders.apply(at).toString() for at in range(orders.size())]
    assert all(text.endswith(" ASC NULLS FIRST") for text in found)
    return [text.split("#")[0] for text in found]


def partitions(frame: DataFrame) -> list[list[Any]]:
    """The rows of each task, in their order."""
    tasks = frame.rdd.mapPartitions(lambda rows: [list(map(tuple, rows))]).collect()
    return [task for task in tasks if task]


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=repr)


def test_tables_in_equal_buckets_join_and_have_windows_without_a_sort(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    for name in ("a", "b"):
        table = create(catalog, f"{ns}.{name}", partitioned_by=["bucket(3, k)"])
        append(table, range(20, 40))
        append(table, range(20))
    joined = spark_of_order.sql(
        f"SELECT a.k, b.v FROM versioned.{ns}.a JOIN versioned.{ns}.b ON a.k = b.k"
    )
    assert (sorts(joined), shuffles(joined)) == ([], 0)
    assert "SortMergeJoin" in plan_of(joined)
    assert rows_of(joined) == sorted([(k, k) for k in range(40)], key=repr)


@pytest.mark.thorough
def test_which_plans_need_no_sort(spark_of_order: SparkSession, catalog: Catalog, ns: str) -> None:
    """Within a bucket; and without buckets only what Spark does before a shuffle, or without one."""
    for name, buckets in (("p", ["bucket(3, k)"]), ("t", [])):
        table = create(catalog, f"{ns}.{name}", partitioned_by=buckets)
        append(table, range(20, 40))
        append(table, range(20))
    bucketed, plain = f"versioned.{ns}.p", f"versioned.{ns}.t"
    window = "SELECT k, rank() OVER (PARTITION BY k ORDER BY {1}) AS r FROM {0}"
    grouped = "SELECT k, max(s) AS s FROM {0} GROUP BY k"
    cases = [
        ("SELECT k, s FROM {0} WHERE v > 3 SORT BY k", bucketed, 0),
        ("SELECT k, count(*) OVER (PARTITION BY k) AS n FROM {0}", bucketed, 0),
        (window.format("{0}", "k"), plain, 1),
        (window.format("{0}", "v"), bucketed, 1),
        (grouped, bucketed, 0),
        (grouped, plain, 1),  # after the shuffle, and none before it
        ("SELECT k FROM {0} SORT BY k", plain, 0),
        ("SELECT k FROM {0} SORT BY k DESC", plain, 1),
        ("SELECT k FROM {0} SORT BY k NULLS LAST", plain, 1),
        ("SELECT k FROM {0} SORT BY v", plain, 1),
        ("SELECT 39 - k AS k FROM {0} SORT BY k", plain, 1),
        ("SELECT k FROM {0} ORDER BY k", plain, 1),
    ]
    for query, name, count in cases:
        found = spark_of_order.sql(query.format(name))
        assert len(sorts(found)) == count, (query, plan_of(found))
        if not count:
            assert {row.k for row in found.collect()} >= set(range(4, 40)), query
    first = spark_of_order.sql(f"SELECT k FROM {plain} WHERE v % 2 = 1 ORDER BY k LIMIT 3")
    assert [row.k for row in first.collect()] == [1, 3, 5]


@pytest.mark.thorough
def test_a_window_by_a_device_over_its_times(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    name = f"versioned.{ns}.t"
    table = catalog.create_table(
        *(f"{ns}.t", "at TIMESTAMP_NTZ, device STRING, v INT"),
        primary_key=["device"],
        time_index="at",
        partitioned_by=["bucket(16, device)"],
        properties=UNMAINTAINED,
    )
    for day in (2, 1):
        for device in "xyz":
            times = [dt.datetime(2026, 1, day, hour) for hour in range(3)]
            values = pa.array([day * 10 + hour for hour in range(3)], pa.int32())
            table.append(pa.table({"at": times, "device": [device] * 3, "v": values}))
    frame = spark_of_order.sql(
        f"SELECT device, v, lag(v) OVER (PARTITION BY device ORDER BY at) AS before FROM {name}"
    )
    assert (sorts(frame), shuffles(frame)) == ([], 0)
    values = [10, 11, 12, 20, 21, 22]
    expected = [(d, v, b) for d in "xyz" for v, b in zip(values, [None, *values], strict=False)]
    assert rows_of(frame) == sorted(expected, key=repr)
    # In days, devices are in several partitions of Spark, which have an order each.
    by_day = spark_of_order.table(name).where("v > 15").select("device", "at")
    assert reported(by_day) == ["device", "at"]


@pytest.mark.thorough
def test_partition_columns_are_sorted_by_themselves(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    """All rows of a task have one value, also in tables without a primary key."""
    for name in ("a", "b"):
        table = create(catalog, f"{ns}.{name}", key=(), partitioned_by=["s"])
        append(table, [0, 3, 1, 4])
        append(table, [6, 1])
    joined = spark_of_order.sql(
        f"SELECT a.k, b.k FROM versioned.{ns}.a JOIN versioned.{ns}.b ON a.s = b.s"
    )
    assert (sorts(joined), shuffles(joined)) == ([], 0)
    assert len(joined.collect()) == 3 * 3 + 3 * 3
    more = spark_of_order.sql(
        f"SELECT a.k, b.k FROM versioned.{ns}.a JOIN versioned.{ns}.b ON a.s = b.s AND a.k = b.k"
    )
    assert len(sorts(more)) == 2
    assert len(more.collect()) == 3 + 4 + 1
    assert reported(spark_of_order.table(f"versioned.{ns}.a").select("k")) == []


@pytest.mark.thorough
@pytest.mark.usefixtures("many_splits")
def test_splits_of_one_bucket_are_sorted_again_or_merged(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Spark concatenates tasks of a bucket for a join, unless it is set to merge them."""
    for name in ("a", "b"):
        table = create(catalog, f"{ns}.{name}", partitioned_by=["bucket(3, k)"])
        for first in (200, 0, 100):
            append(table, range(first, first + 100))
        table.refresh().delete([("k", "=", 150)])
        table.refresh().maintenance.compact()
    query = f"SELECT a.k, b.v FROM versioned.{ns}.a JOIN versioned.{ns}.b ON a.k = b.k"
    expected = sorted([(k, k) for k in range(300) if k != 150], key=repr)
    for merged, count in (("false", 2), ("true", 0)):
        for vectorized in ("true", "false"):
            spark_of_order.conf.set(MERGED, merged)
            spark_of_order.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
            try:
                joined = spark_of_order.sql(query)
                assert "GroupPartitions" in plan_of(joined)
                assert len(sorts(joined)) == count, plan_of(joined)
                assert rows_of(joined) == expected
            finally:
                spark_of_order.conf.set("spark.sql.parquet.enableVectorizedReader", "true")


@pytest.mark.thorough
def test_subqueries_that_read_a_key_share_a_scan(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Spark does not merge scans that report an order, so a table that is read twice reports none."""
    name = f"versioned.{ns}.t"
    append(create(catalog, f"{ns}.t"), range(20))
    query = "(SELECT sum(k + v) FROM {0}), (SELECT sum(length(s) + k) FROM {0})"
    frame = spark_of_order.sql(f"SELECT {query.format(name)}")
    assert [tuple(row) for row in frame.collect()] == [(380, 230)]
    assert "ReusedSubquery" in plan_of(frame), plan_of(frame)


@pytest.mark.thorough
@pytest.mark.usefixtures("many_splits")
def test_tasks_read_several_splits_of_several_segments_in_order(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Segments of two schemas, which are read in two ways, alternate by their keys."""
    table = create(catalog, f"{ns}.t")
    for at, first in enumerate((300, 100, 200, 0)):
        if at == 2:
            table.refresh().alter().change_type("k", "LONG").commit()
        keys = range(first, first + 100)
        texts = [Random(k).randbytes(500).hex() for k in keys]  # so that footers are a small part
        k, v = pa.array(keys, pa.int32() if at < 2 else pa.int64()), pa.array(keys, pa.int32())
        table.append(pa.table({"k": k, "v": v, "s": texts}))
    # The beginning of each segment has a task; the ends, which are shorter, have three.
    size = max(table.refresh().state.segments.core["bytes"].to_pylist())
    spark_of_order.conf.set("spark.sql.files.maxPartitionBytes", str(size * 3 // 5))
    spark_of_order.conf.set("spark.sql.files.openCostInBytes", "1")
    frame = spark_of_order.table(f"versioned.{ns}.t").select("k")
    assert is_native(frame)
    assert reported(frame) == ["k"]
    tasks = partitions(frame)
    assert len(tasks) > 1
    assert any(len(task) < 70 for task in tasks), [(len(t), t[0], t[-1]) for t in tasks]
    assert any(task[-1][0] - task[0][0] > 90 for task in tasks)
    assert all(task == sorted(task) for task in tasks)
    assert sorted(row for task in tasks for row in task) == [(k,) for k in range(400)]


@pytest.mark.thorough
def test_merged_runs_and_segments_in_python_are_sorted_by_spark(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    table = create(catalog, f"{ns}.t")
    append(table, range(20))
    name = f"versioned.{ns}.t"
    by_python = spark_of_order.read.option("io", "python").table(name).select("k")
    assert reported(by_python) == []
    append(table, range(10, 30))
    merged = spark_of_order.table(name).select("k")
    assert reported(merged) == []
    assert len(sorts(merged.sortWithinPartitions("k"))) == 1
    table.refresh().maintenance.compact(strategy="resolve")
    resolved = spark_of_order.table(name).select("k")
    assert reported(resolved) == []
    past = spark_of_order.read.option("versionAsOf", "1").table(name).select("k")
    assert reported(past) == ["k"]
    table.refresh().maintenance.compact(strategy="full")
    assert reported(spark_of_order.table(name).select("k")) == ["k"]
    assert reported(spark_of_order.table(name).select("v")) == []
    assert sorted(merged.collect()) == [(k,) for k in range(30)]


@pytest.mark.thorough
def test_partitions_that_share_tasks_have_no_order(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Small partitions are not reported, so a task reads several, and their keys overlap."""
    table = create(catalog, f"{ns}.t", ("k", "v"), partitioned_by=["v"])
    keys = pa.array(range(60), pa.int32())
    parts = pa.array([k % 6 for k in range(60)], pa.int32())
    table.append(pa.table({"k": keys, "v": parts, "s": ["x"] * 60}))
    frame = spark_of_order.table(f"versioned.{ns}.t").select("k", "v")
    assert reported(frame) == []
    assert len(sorts(frame.sortWithinPartitions("k"))) == 1
    assert reported(frame.where("v < 3")) == ["k", "v"]


@pytest.mark.thorough
def test_runtime_filters_keep_the_order(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    for name in ("a", "b"):
        table = create(catalog, f"{ns}.{name}", ("k", "s"), partitioned_by=["s"])
        for first in (70, 0):
            append(table, range(first, first + 70))
    words = catalog.create_table(f"{ns}.words", "word STRING, n INT")
    words.append(pa.table({"word": ["s0", "s1"], "n": pa.array([1, 3], pa.int32())}))
    frame = spark_of_order.sql(
        f"SELECT /*+ BROADCAST(w) */ a.k, b.v FROM versioned.{ns}.a JOIN versioned.{ns}.b "
        f"ON a.k = b.k AND a.s = b.s JOIN versioned.{ns}.words w ON a.s = w.word WHERE w.n > 2"
    )
    assert "dynamicpruning" in plan_of(frame)
    assert (sorts(frame), shuffles(frame)) == ([], 0)
    assert rows_of(frame) == sorted([(k, k) for k in range(140) if k % 3 == 1], key=repr)


@pytest.mark.nightly
def test_changes_by_key_read_sorted_rows(
    spark_of_order: SparkSession, catalog: Catalog, ns: str
) -> None:
    """DELETE, UPDATE and MERGE of tables in equal buckets."""
    for name in ("t", "u"):
        table = create(catalog, f"{ns}.{name}", partitioned_by=["bucket(3, k)"])
        append(table, range(20, 40))
        append(table, range(20), add=100)
    t, u = f"versioned.{ns}.t", f"versioned.{ns}.u"
    merge = f"MERGE INTO {t} t USING {u} u ON t.k = u.k AND u.k > 30 WHEN MATCHED THEN UPDATE SET v = -1"
    spark_of_order.sql(merge)
    spark_of_order.sql(f"DELETE FROM {t} WHERE k IN (SELECT k FROM {u} WHERE v > 110)")
    expected = {
        k: -1 if k > 30 else k + 100 * (k < 20) for k in range(40) if k not in range(11, 20)
    }
    assert dict(spark_of_order.table(t).select("k", "v").collect()) == expected


@pytest.mark.nightly
@pytest.mark.parametrize("row_changes", ["copy", "mark"])
def test_a_merge_of_tables_that_are_partitioned_by_a_column(
    spark_of_order: SparkSession, catalog: Catalog, ns: str, row_changes: str
) -> None:
    """The scan reports the order of the partition column; runtime filters leave out values."""
    properties = {"row_changes": row_changes, "distribution_mode": "none"}
    for name in ("t", "u"):
        table = catalog.create_table(
            f"{ns}.{name}", "k INT, v INT, s STRING", partitioned_by=["s"], properties=properties
        )
        append(table, range(20, 40))
        append(table, range(20), add=100)
    t, u = f"versioned.{ns}.t", f"versioned.{ns}.u"
    merge = (
        f"MERGE INTO {t} t USING (SELECT * FROM {u} WHERE k % 4 = 1) u ON t.s = u.s AND t.k = u.k "
        "WHEN MATCHED AND t.k > 30 THEN DELETE WHEN MATCHED THEN UPDATE SET v = -1"
    )
    spark_of_order.sql(merge)
    kept = [k for k in range(40) if k <= 30 or k % 4 != 1]
    expected = {k: -1 if k % 4 == 1 else k + 100 * (k < 20) for k in kept}
    rows = spark_of_order.table(t).select("k", "v").collect()
    assert len(rows) == len(expected)
    assert dict(rows) == expected


SEEDS = [pytest.param(n, marks=pytest.mark.nightly if n >= 1 else ()) for n in range(40)]


class Blocks:
    """Random writes of a table in blocks of keys that seldom overlap, and its rows by key."""

    def __init__(self, random: Random, table: Table, rows: dict[int, int]) -> None:
        self._random, self._table, self.rows = random, table, rows
        self.names = {"k": "k", "v": "v"}
        self.wide = False
        self.pin: str | None = None

    def step(self) -> None:
        step = self._random.choice(
            [self.block, self.block, self.block, self.few, self.delete, self.alter, self.compact]
        )
        step()
        self._table.refresh()

    def block(self) -> None:
        first = self._random.randrange(30) * 10
        self._put([first + n for n in range(10) if self._random.random() < 0.9] or [first])

    def few(self) -> None:
        self._put([self._random.randrange(300)])

    def _put(self, keys: list[int]) -> None:
        values = [self._random.randrange(1000) for _ in keys]
        type_ = pa.int64() if self.wide else pa.int32()
        columns = {"k": pa.array(keys, type_), "v": pa.array(values, pa.int32())}
        self._table.append(pa.table({self.names[name]: column for name, column in columns.items()}))
        self.rows.update(zip(keys, values, strict=True))

    def delete(self) -> None:
        first = self._random.randrange(300)
        key = self.names["k"]
        self._table.delete([(key, ">=", first), (key, "<", first + 5)])
        for k in range(first, first + 5):
            self.rows.pop(k, None)

    def alter(self) -> None:
        if self._random.random() < 0.5 and not self.wide:
            self._table.alter().change_type(self.names["k"], "LONG").commit()
            self.wide = True
            return
        k, v = self.names["k"], self.names["v"]
        changes = self._table.alter().rename_column(k, "x").rename_column(v, k)
        changes.rename_column("x", v).commit()
        self.names = {"k": v, "v": k}

    def compact(self) -> None:
        strategy = self._random.choice([None, "full", "resolve"])
        self._table.maintenance.compact(**({} if strategy is None else {"strategy": strategy}))


@pytest.mark.thorough
@pytest.mark.usefixtures("many_splits")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_histories_of_sorted_tables(
    spark_of_order: SparkSession, catalog: Catalog, ns: str, seed: int
) -> None:
    """Joins, windows, groups and first rows are those of a model, and tasks are sorted as reported."""
    seed = int(os.environ.get("VERSIONED_SEED", seed))
    random = Random(7300 + seed)
    spark = spark_of_order
    histories = []
    for name in ("a", "b"):
        partitioned_by = random.choice([[], ["bucket(3, k)"], ["bucket(3, k)"]])
        table = catalog.create_table(
            f"{ns}.{name}",
            "k INT, v INT",
            primary_key=["k"],
            partitioned_by=partitioned_by,
            properties=UNMAINTAINED,
        )
        histories.append(Blocks(random, table, {}))
    spark.conf.set(MERGED, random.choice(["true", "false"]))
    spark.conf.set("spark.sql.files.maxPartitionBytes", random.choice(["1500", "4000", "9000"]))
    try:
        for history in histories:
            for _ in range(random.randint(3, 9)):
                history.step()
        _check(spark, ns, random, histories)
    except AssertionError as error:
        raise AssertionError(f"VERSIONED_SEED={seed}: {error}") from error


def _check(spark: SparkSession, ns: str, random: Random, histories: Sequence[Blocks]) -> None:
    for name, history in zip("ab", histories, strict=True):
        shown = spark.table(f"versioned.{ns}.{name}")
        names = history.names
        if random.random() < 0.4:
            shown = spark.read.option("schemaVersion", "0").table(f"versioned.{ns}.{name}")
            names = {"k": "k", "v": "v"}
        shown = shown.selectExpr(f"{names['k']} AS k", f"{names['v']} AS v")
        shown.createOrReplaceTempView(name)
        scanned = shown.select("k")
        if reported(scanned):
            assert all(task == sorted(task) for task in partitions(scanned))
    a, b = (history.rows for history in histories)
    query = spark.sql("SELECT a.k, a.v, b.v FROM a JOIN b ON a.k = b.k")
    assert rows_of(query) == sorted([(k, a[k], b[k]) for k in {*a} & {*b}], key=repr)
    query = spark.sql("SELECT a.k, b.v FROM a LEFT JOIN b ON a.k = b.k WHERE a.v % 3 < 2")
    assert rows_of(query) == sorted([(k, b.get(k)) for k in a if a[k] % 3 < 2], key=repr)
    query = spark.sql("SELECT k, max(CAST(v AS STRING)) FROM a GROUP BY k")
    assert rows_of(query) == sorted([(k, str(v)) for k, v in a.items()], key=repr)
    query = spark.sql("SELECT k, count(*) OVER (PARTITION BY k ORDER BY k) FROM b")
    assert rows_of(query) == sorted([(k, 1) for k in b], key=repr)
    query = spark.sql("SELECT k FROM b WHERE v % 2 = 0 ORDER BY k LIMIT 5")
    assert [row.k for row in query.collect()] == sorted(k for k, v in b.items() if v % 2 == 0)[:5]


@pytest.mark.nightly
@pytest.mark.usefixtures("many_splits")
@pytest.mark.parametrize("seed", range(60))
def test_spark_compares_keys_of_all_types_as_segments_sort_them(
    spark_of_order: SparkSession, catalog: Catalog, ns: str, seed: int
) -> None:
    """Each row of a task, in the order that is reported, is not less than the one before it."""
    random = Random(8100 + seed)
    kinds = {f"k{at}": kind for at, kind in enumerate(random.sample(KINDS, random.randint(1, 3)))}
    ddl = ", ".join(f"{name} {kind.ddl}" for name, kind in kinds.items())
    table = catalog.create_table(
        f"{ns}.t", f"v BIGINT, {ddl}", primary_key=list(kinds), properties=UNMAINTAINED
    )
    for first in random.sample(range(8), random.randint(2, 5)):
        numbers = [[first, *(random.randrange(8) for _ in kinds)] for _ in range(12)]
        columns = {
            name: pa.array([kind.value(row[at]) for row in numbers], kind.arrow)
            for at, (name, kind) in enumerate(kinds.items())
        }
        table.append(pa.table({"v": pa.array(range(12), pa.int64()), **columns}))
    frame = spark_of_order.table(f"versioned.{ns}.t")
    names = reported(frame)
    first = kinds["k0"].ddl
    if first != "BOOLEAN":  # of whose segments some overlap
        assert bool(names) != first.startswith(("CHAR", "TIME(", "INTERVAL"))
    if not names:
        return
    numbered = frame.selectExpr(
        "spark_partition_id() AS task", "monotonically_increasing_id() AS at", *names
    )
    copied = spark_of_order.createDataFrame(numbered.toArrow())
    key = f"struct({', '.join(names)})"
    pairs = copied.selectExpr(
        f"{key} AS key", f"lag({key}) OVER (PARTITION BY task ORDER BY at) AS before"
    )
    assert pairs.where("key < before").count() == 0
    assert pairs.count() == len(table.refresh().scan().to_arrow())
