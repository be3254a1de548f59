"""Streams by Spark: natively by the jar, and by Python alone. Most tests of streams need no JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from pairwise import most_at_night
from pyspark_versioned import follow
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

Row = tuple[Any, ...]


def rows(*ids: int, name: str = "n", kind: pa.DataType | None = None) -> pa.Table:
    values = pa.array([10 * one for one in ids], kind or pa.int32())
    return pa.table({"id": pa.array(ids, pa.int64()), name: values})


class Query:
    """A query that keeps what each batch brought; started again, it goes on from its checkpoint."""

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.batches: list[list[Row]] = []
        self.last: StreamingQuery

    def run(self, frame: DataFrame) -> list[list[Row]]:
        """Run until everything is read, and return the new batches."""
        before = len(self.batches)
        self.start(frame).awaitTermination()
        return self.batches[before:]

    def start(self, frame: DataFrame) -> StreamingQuery:
        self.last = self.writer(frame).option("checkpointLocation", str(self.checkpoint)).start()
        return self.last

    def writer(self, frame: DataFrame) -> DataStreamWriter:
        def keep(batch: DataFrame, number: int) -> None:
            self.batches.append(sorted(tuple(row) for row in batch.collect()))

        return frame.writeStream.foreachBatch(keep).trigger(availableNow=True)


@pytest.fixture
def query(tmp_path: Path) -> Query:
    return Query(tmp_path / "checkpoint")


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    return catalog.create_table(f"{ns}.t", "id BIGINT NOT NULL, n INT NOT NULL")


Reads = Callable[[Table], "DataFrame"]


@pytest.fixture(
    params=[
        "native",
        pytest.param("by Python for the jar", marks=pytest.mark.nightly),
        pytest.param("by Python alone", marks=pytest.mark.nightly),
    ]
)
def reads(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[Reads]:
    if request.param == "by Python alone":
        yield lambda table: sql_spark.readStream.format("versioned").load(table.location)
        return
    sql_spark.conf.set("spark.versioned.io", "native" if request.param == "native" else "python")
    yield lambda table: sql_spark.readStream.table(f"versioned.{table.name}")
    sql_spark.conf.set("spark.versioned.io", "native")


def test_alters_in_mid_stream_and_over_restarts(table: Table, query: Query, reads: Reads) -> None:
    table.append(rows(1))
    frame = reads(table)
    assert query.run(frame) == [[(1, 10)]]
    table.alter().rename_column("n", "m").add_column("z", "INT", default=7).commit()
    table.append(
        pa.table({"id": [2], "m": pa.array([20], pa.int32()), "z": pa.array([1], pa.int32())})
    )
    table.alter().change_type("m", "BIGINT").commit()
    table.append(rows(3, name="m", kind=pa.int64()))
    assert query.run(frame) == [[(2, 20), (3, 30)]], "the same DataFrame goes on in its schema"
    table.append(rows(4, name="m", kind=pa.int64()))
    assert query.run(reads(table)) == [[(4, 40, 7)]], "a new DataFrame has the new schema"
    assert query.run(frame) == [], "nothing new"


def test_a_column_dropped_and_added_again(
    table: Table, query: Query, sql_spark: SparkSession
) -> None:
    table.append(rows(1))
    frame = sql_spark.readStream.table(f"versioned.{table.name}")
    assert frame.schema["n"].nullable, "a stream outlives NOT NULL"
    assert query.run(frame.selectExpr("id", "n", "n IS NULL AS gone")) == [[(1, 10, False)]]
    table.alter().drop_column("n").add_column("n", "INT").commit()
    table.append(rows(2))
    assert query.run(frame.selectExpr("id", "n", "n IS NULL AS gone")) == [[(2, None, True)]]


def last_commit(checkpoint: Path) -> Path:
    return max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))


@pytest.mark.thorough
def test_a_batch_that_is_run_again_has_the_same_rows(
    table: Table, query: Query, sql_spark: SparkSession
) -> None:
    """Spark runs a batch again if it was killed before it noted that the batch was done."""
    frame = sql_spark.readStream.table(f"versioned.{table.name}")
    table.append(rows(1))
    query.run(frame)
    table.append(rows(2))
    assert query.run(frame) == [[(2, 20)]]
    last = last_commit(query.checkpoint)
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink()
    table.append(rows(3))
    table.alter().rename_column("n", "m").commit()
    assert query.run(frame) == [[(2, 20)], [(3, 30)]]


@pytest.mark.thorough
def test_the_first_batch_is_run_again_as_it_was(table: Table, query: Query, reads: Reads) -> None:
    """Spark has stored where it ends, and asks again where the stream starts."""
    table.append(rows(1))
    assert query.run(reads(table)) == [[(1, 10)]]
    (query.checkpoint / "commits" / "0").unlink()
    (query.checkpoint / "commits" / ".0.crc").unlink()
    table.append(rows(2))
    assert query.run(reads(table)) == [[(1, 10)], [(2, 20)]]


def test_segments_are_read_natively_and_admitted(
    table: Table, query: Query, sql_spark: SparkSession
) -> None:
    for number in range(3):
        table.append(rows(number))
    read = sql_spark.readStream.option("maxSegmentsPerTrigger", 2).option("startingVersion", 1)
    assert query.run(read.table(f"versioned.{table.name}")) == [[(0, 0), (1, 10)], [(2, 20)]]
    executed = query.last._jsq.streamingQuery().lastExecution().executedPlan().toString()
    assert "ColumnarToRow" in executed, "Python alone yields rows"
    progress = query.last.recentProgress[-1]["sources"][0]
    assert progress["metrics"]["versionsBehind"] == "0"
    assert progress["numInputRows"] == 1


@pytest.mark.thorough
def test_follow_goes_on_in_the_new_schema(
    table: Table, query: Query, sql_spark: SparkSession
) -> None:
    read = sql_spark.readStream.option("schemaMode", "stop")
    table.append(rows(1))
    query.run(read.table(f"versioned.{table.name}"))
    frame = read.table(f"versioned.{table.name}")
    table.append(rows(2))
    table.alter().add_column("z", "INT", default=7).commit()
    table.append(
        pa.table({"id": [3], "n": pa.array([30], pa.int32()), "z": pa.array([1], pa.int32())})
    )
    frames = iter([frame])

    def build() -> DataStreamWriter:
        return query.writer(next(frames, None) or read.table(f"versioned.{table.name}"))

    follow(build, query.checkpoint)
    assert query.batches == [[(1, 10)], [(2, 20)], [(3, 30, 1)]]


def test_errors_name_the_table_and_the_way_out(
    table: Table, query: Query, sql_spark: SparkSession
) -> None:
    frame = sql_spark.readStream.table(f"versioned.{table.name}")
    table.append(rows(1))
    query.run(frame)
    table.delete(filters=[("id", "=", 1)])
    with pytest.raises(StreamingQueryException) as caught:
        query.run(frame)
    assert "VERSIONED_NOT_SUPPORTED" in str(caught.value)
    assert f"{table.name}: version 2 (delete)" in str(caught.value)
    assert "onRewrite = 'skip'" in str(caught.value)
    with pytest.raises(AnalysisException, match="did you mean onRewrite"):
        query.run(sql_spark.readStream.option("onRewrit", "skip").table(f"versioned.{table.name}"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "io",
    ["native", *(pytest.param(one, marks=pytest.mark.nightly) for one in ("python", "by path"))],
)
def test_a_batch_that_is_written_again_is_there_once(
    table: Table, catalog: Catalog, sql_spark: SparkSession, query: Query, io: str
) -> None:
    """As Spark runs ``foreachBatch`` again for a batch of which it does not know that it was done."""
    target = catalog.create_table(f"{table.name}_copy", "id BIGINT, n INT")
    sql_spark.conf.set("spark.versioned.io", "native" if io == "by path" else io)

    def copy(frame: DataFrame, number: int) -> None:
        for _ in range(2):
            if io == "by path":
                writer = frame.write.format("versioned").mode("append")
                writer.options(application="copy", batch=number).save(target.location)
            else:
                writer = frame.writeTo(f"versioned.{target.name}")
                writer.option("application", "copy").option("batch", number).append()

    table.append(rows(1))
    frame = sql_spark.readStream.table(f"versioned.{table.name}").writeStream.foreachBatch(copy)
    frame = frame.trigger(availableNow=True).option("checkpointLocation", str(query.checkpoint))
    frame.start().awaitTermination()
    table.append(rows(2))
    frame.start().awaitTermination()
    sql_spark.conf.set("spark.versioned.io", "native")
    assert sorted(target.refresh().scan(columns=["id"]).to_arrow()["id"].to_pylist()) == [1, 2]
    assert target.state.version == 2
    with pytest.raises(AnalysisException, match="application and batch go together"):
        sql_spark.range(1).selectExpr("id", "1 n").write.format("versioned").mode("append").option(
            "application", "copy"
        ).save(target.location)


@pytest.mark.thorough
@pytest.mark.parametrize("io", most_at_night({"native"}, ["native", "python"]))
def test_a_consumer_keeps_what_a_query_has_not_read(
    table: Table, query: Query, sql_spark: SparkSession, io: str
) -> None:
    table.append(rows(1))
    reader = sql_spark.readStream.option("consumer", "billing")
    by_path = reader.format("versioned").load
    frame = by_path(table.location) if io == "python" else reader.table(f"versioned.{table.name}")
    assert query.run(frame) == [[(1, 10)]]
    found = sql_spark.sql(f"CALL versioned.system.consumers('{table.name}')").collect()
    assert [(one.name, one.version, one.rows_behind) for one in found] == [("billing", 1, 0)]
    for number in (2, 3):
        table.append(rows(number))
    expired = sql_spark.sql(
        f"CALL versioned.system.expire('{table.name}', older_than_hours => 0, force => true, "
        "dry_run => false)"
    ).collect()
    assert [(one.first_kept, one.consumers) for one in expired] == [(1, ["billing"])]
    assert query.run(frame) == [[(2, 20), (3, 30)]]
    (dropped,) = sql_spark.sql(
        f"CALL versioned.system.drop_consumer('{table.name}', 'billing')"
    ).collect()
    assert table.refresh().version == dropped.version
    assert table.state.consumers == {}
