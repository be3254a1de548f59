"""Streams into tables by Spark: natively by the jar, and by Python alone. Most tests need no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

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
        self.folder.mkdir()

    def put(self, *ids: int, text: str = "s") -> None:
        rows = pa.table({"s": [f"{text}{one}" for one in ids], "id": pa.array(ids, pa.int64())})
        pq.write_table(rows, self.folder / f"{self.files:03}.parquet")
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
        if self.way == "by Python alone":
            return writer.format("versioned").start(table.location)
        return writer.toTable(f"versioned.{table.name}")

    def run(self, writer: DataStreamWriter, table: Table) -> None:
        self.start(writer, table).awaitTermination()


@pytest.fixture(
    params=[
        "native",
        pytest.param("by Python for the jar", marks=pytest.mark.thorough),
        "by Python alone",
    ]
)
def sink(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[Sink]:
    sql_spark.conf.set("spark.versioned.io", "native" if request.param == "native" else "python")
    yield Sink(request.param)
    sql_spark.conf.set("spark.versioned.io", "native")


def found(table: Table) -> list[Row]:
    rows = table.refresh().scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def test_a_running_query_goes_through_alters_of_its_target(
    source: Source, table: Table, sink: Sink, catalog: Catalog, ns: str
) -> None:
    """Names are bound once, at the start; columns are matched by ID from then on."""
    source.put(1)
    writer = source.writer().trigger(processingTime="0 seconds")
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
    assert list(table._handle.state.applications.values()) == [2]
