"""Streams into tables by Spark: natively by the jar, and by Python alone. Most tests need no JVM."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException, StreamingQueryException

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

Row = tuple[Any, ...]
COLUMNS = "id BIGINT, s STRING"


class Source:
    """A folder of Parquet files, each of which is an epoch of a query that reads them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.files = spark, folder / "in", 0
        self.checkpoint = folder / "checkpoint"
        self.folder.mkdir(parents=True)

    def put(self, *ids: int, text: str = "s") -> None:
        rows = pa.table({"s": [f"{text}{one}" for one in ids], "id": pa.array(ids, pa.int64())})
        path = self.folder.parent / f"{self.files:03}.parquet"
        pq.write_table(rows, path)
        os.utime(path, (self.files, self.files))  # Spark takes the oldest first
        path.rename(self.folder / path.name)
        self.files += 1

    def rows(self) -> DataFrame:
        """The rows; their columns have another order than the table's."""
        stream = self.spark.readStream.schema("s STRING, id BIGINT")
        return stream.option("maxFilesPerTrigger", 1).parquet(str(self.folder))

    def writer(self, rows: DataFrame | None = None, mode: str = "append") -> DataStreamWriter:
        where = str(self.checkpoint)
        writer = (rows or self.rows()).writeStream.outputMode(mode)
        return writer.option("checkpointLocation", where).trigger(availableNow=True)


@pytest.fixture
def source(sql_spark: SparkSession, tmp_path: Path) -> Source:
    return Source(sql_spark, tmp_path)


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    return catalog.create_table(f"{ns}.t", COLUMNS)


class Sink:
    """How a query gets to a table."""

    def __init__(self, way: str) -> None:
        self.way = way

    def start(self, writer: DataStreamWriter, table: Table) -> StreamingQuery:
        if self.way in ("natively by path", "by Python alone"):
            # Spark starts a stream in the thread's session, which may be another one of the tests.
            writer = writer.option("io", "native" if self.way == "natively by path" else "python")
            return writer.format("versioned").start(table.location)
        return writer.toTable(f"versioned.{table.name}")

    def run(self, writer: DataStreamWriter, table: Table) -> None:
        self.start(writer, table).awaitTermination()


@pytest.fixture(
    params=[
        "natively",
        pytest.param("natively by path", marks=pytest.mark.nightly),
        pytest.param("by Python for the jar", marks=pytest.mark.nightly),
        pytest.param("by Python alone", marks=pytest.mark.nightly),
    ]
)
def sink(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[Sink]:
    sql_spark.conf.set("spark.versioned.io", "python" if "Python" in request.param else "native")
    yield Sink(request.param)
    sql_spark.conf.set("spark.versioned.io", "native")


def found(table: Table) -> list[Row]:
    rows = table.refresh().scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


@pytest.mark.thorough
def test_a_running_query_goes_through_alters_of_its_target(
    source: Source, table: Table, sink: Sink, catalog: Catalog, ns: str
) -> None:
    """Names are bound once, at the start; columns are matched by ID from then on."""
    source.put(1)
    writer = source.writer().trigger(processingTime="0 seconds")
    if sink.way == "by Python alone":
        writer = writer.option("schemaVersion", 0)  # Spark does not keep the schema of the start
    query = sink.start(writer, table)
    try:
        query.processAllAvailable()
        table.refresh().alter().rename_column("s", "text").commit()
        table.alter().add_column("n", "INT", default=7).rename_column("id", "s").commit()
        source.put(2)
        query.processAllAvailable()
        catalog.rename_table(f"{ns}.t", f"{ns}.u")
        table.refresh().alter().change_type("s", "DECIMAL(20, 0)").commit()
        source.put(3)
        query.processAllAvailable()
        table.refresh().alter().drop_column("text").commit()
        table.alter().add_column("text", "STRING").commit()
        source.put(4)
        query.processAllAvailable()
    finally:
        query.stop()
    assert found(table) == [(one, 7, None) for one in (1, 2, 3, 4)]


def forget_last_commit(checkpoint: Path) -> None:
    """As if the process had been killed right after the commit to the table."""
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink()


@pytest.mark.thorough
def test_an_epoch_that_comes_again_is_committed_once(
    source: Source, table: Table, sink: Sink
) -> None:
    source.put(1, 2)
    source.put(3)
    sink.run(source.writer(), table)
    version = table.refresh().version
    forget_last_commit(source.checkpoint)
    source.put(4)
    sink.run(source.writer(), table)
    assert found(table) == [(one, f"s{one}") for one in (1, 2, 3, 4)]
    assert table.version == version + 1
    assert [last.id for last in table.state.applications.values()] == [2]


@pytest.mark.thorough
def test_epochs_without_rows_commit_nothing(source: Source, table: Table, sink: Sink) -> None:
    for one in (1, 2, 3):
        source.put(one)
    sink.run(source.writer(source.rows().where("id = 2")), table)
    assert found(table) == [(2, "s2")]
    assert table.version == 1


@pytest.mark.thorough
def test_complete_mode_replaces_the_rows(
    source: Source, catalog: Catalog, ns: str, sink: Sink
) -> None:
    table = catalog.create_table(f"{ns}.counted", "rows BIGINT")
    source.put(1)
    source.put(2, 3)
    counted = source.rows().groupBy().count().withColumnRenamed("count", "rows")
    sink.run(source.writer(counted, "complete"), table)
    assert found(table) == [(3,)]
    assert table.version == 2


def test_a_stream_into_a_keyed_table_upserts(
    source: Source, catalog: Catalog, ns: str, sink: Sink
) -> None:
    table = catalog.create_table(f"{ns}.k", "id BIGINT NOT NULL, s STRING", primary_key=["id"])
    source.put(1, 2)
    source.put(2, 3, text="new")
    sink.run(source.writer(), table)
    assert found(table) == [(1, "s1"), (2, "new2"), (3, "new3")]


@pytest.mark.thorough
def test_a_stream_of_changes_replicates_a_table(
    source: Source, catalog: Catalog, ns: str, sink: Sink, sql_spark: SparkSession
) -> None:
    """One line replicates a table, whatever is done to it in between."""
    columns = "id BIGINT NOT NULL, s STRING"
    origin = catalog.create_table(f"{ns}.o", columns, primary_key=["id"])
    replica = catalog.create_table(f"{ns}.k", columns, primary_key=["id"])
    origin.upsert(pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    changes = sql_spark.readStream.changes(f"versioned.{origin.name}").repartition("id")

    def run() -> list[Row]:
        sink.run(source.writer(changes).option("changeColumn", "_change_type"), replica)
        return found(replica)

    assert run() == [(1, "a"), (2, "b"), (3, "c")]
    origin.delete([("id", "=", 2)])
    origin.upsert(pa.table({"id": [3, 4], "s": ["C", "d"]}))
    origin.alter().rename_column("s", "t").add_column("n", "INT", default=1).commit()
    origin.maintenance.compact()
    origin.upsert(pa.table({"id": [1], "t": ["A"], "n": pa.array([5], pa.int32())}))
    assert run() == [(1, "A"), (3, "C"), (4, "d")]


@pytest.mark.thorough
def test_update_mode_upserts_what_has_changed(source: Source, catalog: Catalog, ns: str) -> None:
    columns = "half BIGINT NOT NULL, rows BIGINT"
    table = catalog.create_table(f"{ns}.k", columns, primary_key=["half"])
    source.put(2, 3, 4)
    source.put(5)
    halves = source.rows().selectExpr("CAST(id / 2 AS BIGINT) AS half")
    counted = halves.groupBy("half").count()
    writer = source.writer(counted.withColumnRenamed("count", "rows"), "update")
    writer.toTable(f"versioned.{table.name}").awaitTermination()
    assert found(table) == [(1, 2), (2, 2)]


def test_update_mode_without_a_key_is_refused_at_the_start(source: Source, table: Table) -> None:
    source.put(1)
    for start in (
        lambda writer: writer.toTable(f"versioned.{table.name}"),
        lambda writer: writer.format("versioned").option("io", "native").start(table.location),
    ):
        with pytest.raises(PySparkException, match=r"has no primary key.*use outputMode append"):
            start(source.writer(mode="update"))
    assert found(table) == []


@pytest.mark.thorough
def test_streams_create_their_table(
    source: Source, sql_spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path
) -> None:
    source.put(1)
    source.put(2)
    source.writer().toTable(f"versioned.{ns}.new").awaitTermination()
    assert found(catalog.load_table(f"{ns}.new")) == [("s1", 1), ("s2", 2)]
    other = Source(sql_spark, tmp_path / "other")
    other.put(1)
    other.put(2)
    by_path = other.writer().format("versioned").option("partitionBy", "id")
    by_path.start(str(tmp_path / "made")).awaitTermination()
    made = Catalog.load_path(tmp_path / "made")
    assert found(made) == [("s1", 1), ("s2", 2)]
    assert made.partitioning == ["id"]


@pytest.mark.thorough
def test_a_stream_through_a_pin(source: Source, table: Table, sink: Sink) -> None:
    table.pin_schema("old")
    table.alter().rename_column("s", "t").add_column("n", "INT", default=7).commit()
    table.alter().drop_column("t").commit()
    source.put(1)
    sink.run(source.writer().option("schemaVersion", "old"), table)
    assert found(table) == [(1, 7)]
    assert found(table.seen_as("old")) == [(1, "s1")]


@pytest.mark.thorough
def test_rows_are_fitted_to_the_columns_of_now(
    source: Source, sql_spark: SparkSession, catalog: Catalog, ns: str, sink: Sink
) -> None:
    """Spark checks nothing of what a stream writes: order, types, nulls and lengths are checked here."""
    columns = (
        "d DECIMAL(20, 2) NOT NULL, p STRUCT<a: INT, b: BIGINT>, l ARRAY<BIGINT>, "
        "m MAP<STRING, BIGINT>, n INT NOT NULL DEFAULT 7"
    )
    table = catalog.create_table(f"{ns}.w", columns, partitioned_by=["n"])
    source.put(1)
    selected = source.rows().selectExpr(
        "array(1, null) AS L",
        "map('k', 2) AS m",
        "named_struct('b', 3, 'a', 4) AS p",
        "CAST(id AS INT) AS d",
    )
    sink.run(source.writer(selected), table)
    assert found(table) == [(1, {"a": 4, "b": 3}, [1, None], [("k", 2)], 7)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "columns, says",
    [
        ("id BIGINT", r"no column s"),
        ("id INT, s STRING", r"id is INT, and BIGINT does not widen"),
        ("id BIGINT, s STRING, n INT NOT NULL", r"\bn\b.*NOT NULL"),
        ("id BIGINT, s VARCHAR(1)", r"\bs is VARCHAR\(1\)"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    columns: str, says: str, source: Source, catalog: Catalog, ns: str
) -> None:
    table = catalog.create_table(f"{ns}.t", columns)
    source.put(1)
    with pytest.raises(StreamingQueryException, match=says):
        source.writer().toTable(f"versioned.{ns}.t").awaitTermination()
    assert table.refresh().version == 0


def break_next_commit(table: Table) -> Path:
    """Wait for the next segment, and put a broken entry where its commit will read the log."""
    folder = Path(table.location.removeprefix("file://"))
    data, entry = folder / "data", folder / f"_versioned/log/{table.refresh().version + 1:020}.json"
    before = set(os.listdir(data)) if data.exists() else set()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if data.exists() and set(os.listdir(data)) - before:
            entry.write_text("{}")
            return entry
    raise AssertionError("no segment was written")


@pytest.mark.thorough
def test_an_epoch_whose_commit_failed_comes_again(source: Source, table: Table, sink: Sink) -> None:
    source.put(1)
    sink.run(source.writer(), table)
    source.put(2)
    query = sink.start(source.writer(), table)
    entry = break_next_commit(table)
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()
    entry.unlink()
    source.put(3)
    sink.run(source.writer(), table)
    assert found(table) == [(1, "s1"), (2, "s2"), (3, "s3")]
    assert [last.id for last in table.state.applications.values()] == [2]


@pytest.mark.thorough
def test_names_that_mean_other_columns_stop_a_stream_by_python_alone(
    source: Source, table: Table
) -> None:
    source.put(1)
    writer = source.writer().trigger(processingTime="0 seconds").format("versioned")
    query = writer.option("io", "python").start(table.location)
    try:
        query.processAllAvailable()
        table.refresh().alter().drop_column("s").add_column("s", "STRING").commit()
        source.put(2)
        with pytest.raises(StreamingQueryException, match=r"dropped and added.*schemaVersion"):
            query.processAllAvailable()
    finally:
        query.stop()
    assert found(table) == [(1, None)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("is_dropped", "why"), [(False, "dropped or replaced"), (True, "there is no table at")]
)
def test_a_table_that_is_replaced_stops_a_stream(
    source: Source, table: Table, catalog: Catalog, ns: str, is_dropped: bool, why: str
) -> None:
    source.put(1)
    query = source.writer().trigger(processingTime="0 seconds").toTable(f"versioned.{ns}.t")
    try:
        query.processAllAvailable()
        if is_dropped:
            catalog.drop_table(f"{ns}.t")
            catalog.create_table(f"{ns}.t", COLUMNS)
        else:
            catalog.replace_table(f"{ns}.t", COLUMNS)
        source.put(2)
        with pytest.raises(StreamingQueryException, match=why):
            query.processAllAvailable()
    finally:
        query.stop()
    assert found(catalog.load_table(f"{ns}.t")) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [{"application": "a", "batch": "1"}, {"mergeSchema": "true"}, {"partialUpdate": "true"}],
)
def test_options_that_streams_do_not_have_are_refused(
    options: dict[str, str], source: Source, table: Table
) -> None:
    source.put(1)
    for start in (
        lambda writer: writer.toTable(f"versioned.{table.name}"),
        lambda writer: writer.format("versioned").start(table.location),
    ):
        with pytest.raises(PySparkException, match=f"{next(iter(options))}"):
            start(source.writer().options(**options)).awaitTermination()
