"""Changes as streams in Spark, and streams that apply them. Most tests of streams need no JVM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pyspark_versioned import follow
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]
SHOWN = ("_change_type", "_commit_version")


class Query:
    """A query that keeps the changes of each batch, without their times."""

    def __init__(self, checkpoint: Path) -> None:
        self.checkpoint = checkpoint
        self.batches: list[list[Row]] = []

    def run(self, frame: DataFrame) -> list[list[Row]]:
        """Run until everything is read, and return the new batches."""
        before = len(self.batches)

        def keep(batch: DataFrame, number: int) -> None:
            rows = batch.drop("_commit_timestamp").collect()
            self.batches.append(sorted((tuple(row) for row in rows), key=repr))

        writer = frame.writeStream.foreachBatch(keep).trigger(availableNow=True)
        writer.option("checkpointLocation", str(self.checkpoint)).start().awaitTermination()
        return self.batches[before:]


@pytest.fixture
def query(tmp_path: Path) -> Query:
    return Query(tmp_path / "checkpoint")


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    columns = "id BIGINT NOT NULL, n INT NOT NULL"
    return catalog.create_table(f"{ns}.t", columns, primary_key=["id"])


def rows(*ids: int, name: str = "n", factor: int = 10) -> pa.Table:
    values = pa.array([factor * one for one in ids], pa.int32())
    return pa.table({"id": pa.array(ids, pa.int64()), name: values})


Reads = Callable[..., "DataFrame"]


@pytest.fixture(params=["by the jar", pytest.param("by Python alone", marks=pytest.mark.nightly)])
def reads(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Reads:
    def read(table: Table, **options: object) -> DataFrame:
        reader = sql_spark.readStream.options(**options)
        if request.param == "by the jar":
            return reader.changes(f"versioned.{table.name}")
        return reader.format("versioned").option("readChanges", "true").load(table.location)

    return read


@pytest.mark.thorough
def test_a_stream_of_changes_goes_through_every_alter(
    reads: Reads, table: Table, query: Query
) -> None:
    table.append(rows(1, 2))
    frame = reads(table, computeUpdates="true")
    assert query.run(frame) == [[(1, 10, "insert", 1), (2, 20, "insert", 1)]]
    table.alter().rename_column("n", "m").add_column("x", "INT", default=7).commit()
    table.append(rows(2, 3, name="m", factor=11))
    table.maintenance.compact()
    table.alter().drop_column("m").commit()
    table.alter().add_column("n", "INT", default=5).commit()
    table.delete([("id", "=", 1)])
    assert query.run(frame) == [
        [
            (1, 10, "delete", table.version),
            (2, 20, "update_preimage", 3),
            (2, 22, "update_postimage", 3),
            (3, 33, "insert", 3),
        ]
    ]
    table.append(pa.table({"id": [4]}))
    assert query.run(reads(table)) == [[(4, 7, 5, "insert", table.version)]], "the new schema"
    assert not any(query.run(reads(table)))


@pytest.mark.thorough
def test_where_it_starts_and_how_much_a_batch_reads(
    reads: Reads, table: Table, tmp_path: Path
) -> None:
    for one in range(1, 4):
        table.append(rows(one))
    table.set_tag("then", 2)

    def of(name: str, **options: object) -> list[list[Row]]:
        found = Query(tmp_path / name).run(reads(table, **options))
        return [batch for batch in found if batch]

    first, second, third = [[(one, 10 * one, "insert", one)] for one in range(1, 4)]
    assert of("a", startingVersion=1, maxSegmentsPerTrigger=1) == [first, second, third]
    assert of("b", startingVersion="then") == [[*second, *third]]
    assert of("c", startingVersion="latest") == []
    assert of("d", startingTimestamp="2000-01-01") == [[*first, *second, *third]]
    assert of("e", startingVersion=5) == [], "the next version; the tag is version 4"


@pytest.mark.thorough
def test_schema_mode_stop_with_follow(reads: Reads, table: Table, tmp_path: Path) -> None:
    table.append(rows(1))
    found: list[list[str]] = []

    def build() -> Any:
        def keep(batch: DataFrame, number: int) -> None:
            if batch.count():
                found.append(batch.columns)

        frame = reads(table, schemaMode="stop", startingVersion=1)
        return frame.writeStream.foreachBatch(keep).trigger(availableNow=True)

    table.alter().add_column("x", "INT").commit()
    table.delete([("id", "=", 1)])
    follow(build, tmp_path / "checkpoint")
    assert found[-1] == ["id", "n", "x", *SHOWN, "_commit_timestamp"]
    table.alter().rename_column("x", "y").commit()
    table.append(rows(2))
    follow(build, tmp_path / "checkpoint")
    assert found[-1] == ["id", "n", "y", *SHOWN, "_commit_timestamp"]


@pytest.mark.thorough
def test_what_is_refused(reads: Reads, table: Table, query: Query) -> None:
    def refused(expected: str, **options: object) -> None:
        with pytest.raises(Exception, match=expected) as caught:
            query.run(reads(table, **options))
        assert "INTERNAL_ERROR" not in str(caught.value)

    refused("net changes of a stream", deduplicationMode="netChanges")
    refused(
        "they have no onRewrite|onRewrite is not supported in streams of changes", onRewrite="skip"
    )
    refused("startingVersion can be 1 at most", startingVersion=7)


@pytest.mark.thorough
def test_sql_and_a_pinned_schema(sql_spark: SparkSession, table: Table, tmp_path: Path) -> None:
    name = f"versioned.{table.name}"
    table.append(rows(1))
    table.pin_schema("job")
    table.alter().rename_column("n", "m").add_column("x", "INT").commit()
    table.append(rows(2, name="m"))
    frame = sql_spark.sql(f"SELECT id, m, _change_type FROM STREAM {name} CHANGES FROM VERSION 1")
    found: list[Row] = []

    def keep(batch: DataFrame, number: int) -> None:
        found.extend(tuple(row) for row in batch.collect())

    writer = frame.writeStream.foreachBatch(keep).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "a")).start().awaitTermination()
    assert sorted(found) == [(1, 10, "insert"), (2, 20, "insert")]
    pinned = sql_spark.readStream.option("schemaVersion", "job").changes(name)
    assert pinned.columns == ["id", "n", *SHOWN, "_commit_timestamp"]
    batches = Query(tmp_path / "b").run(pinned)
    assert [row[:2] for row in batches[0]] == [(1, 10), (2, 20)]
    changed = (
        sql_spark.read.option("schemaVersion", "job").option("startingVersion", "1").changes(name)
    )
    assert sorted(tuple(row)[:2] for row in changed.collect()) == [(1, 10), (2, 20)]


@pytest.mark.thorough
def test_changes_of_chars(sql_spark: SparkSession, catalog: Catalog, ns: str, query: Query) -> None:
    table = catalog.create_table(f"{ns}.c", "a CHAR(3), b VARCHAR(5), s STRUCT<c: CHAR(2)>")
    table.append(pa.table({"a": ["x"], "b": ["y"], "s": [{"c": "z"}]}))
    frame = sql_spark.readStream.changes(f"versioned.{table.name}")
    assert query.run(frame) == [[("x  ", "y", ("z ",), "insert", 1)]]
    batch = sql_spark.read.option("startingVersion", "1").changes(f"versioned.{table.name}")
    assert [tuple(row)[:3] for row in batch.where("a = 'x'").collect()] == [("x  ", "y", ("z ",))]


@pytest.mark.thorough
def test_a_batch_needs_a_first_version(sql_spark: SparkSession, table: Table) -> None:
    table.append(rows(1))
    with pytest.raises(Exception, match="changes need a first version"):
        sql_spark.read.changes(f"versioned.{table.name}").collect()
    reader = sql_spark.read.format("versioned").option("readChanges", "true")
    with pytest.raises(Exception, match="changes need a first version; add the option startingV"):
        reader.load(table.location).collect()
    found = reader.option("startingVersion", "1").load(table.location)
    assert [tuple(row)[:4] for row in found.collect()] == [(1, 10, "insert", 1)]


@pytest.mark.thorough
def test_each_batch_is_applied_to_a_replica(
    sql_spark: SparkSession, catalog: Catalog, ns: str, table: Table, tmp_path: Path
) -> None:
    """Of several changes of a key in a batch, the last one counts, however Spark distributes them."""
    replica = catalog.create_table(f"{ns}.r", "id BIGINT, n INT", primary_key=["id"])
    for one in range(5):
        table.append(rows(*range(one, 40), factor=one))
    table.delete([("id", "<", 20)])
    table.append(rows(3, 60))

    def apply(batch: DataFrame, number: int) -> None:
        writer = batch.writeTo(f"versioned.{replica.name}").option("changeColumn", "_change_type")
        writer.option("application", "copy").option("batch", number).append()

    frame = sql_spark.readStream.option("startingVersion", 1).changes(f"versioned.{table.name}")
    frame = frame.repartition(2)  # rows of a key are apart now
    writer = frame.writeStream.foreachBatch(apply).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination()
    wanted = table.scan().to_arrow().sort_by("id").to_pylist()
    assert replica.refresh().scan().to_arrow().sort_by("id").to_pylist() == wanted
    assert replica.version == 1


@pytest.mark.thorough
def test_changes_that_can_not_be_applied(
    sql_spark: SparkSession, catalog: Catalog, ns: str, table: Table
) -> None:
    plain = catalog.create_table(f"{ns}.p", "id BIGINT, n INT")
    changes = sql_spark.createDataFrame(
        [(1, n, "insert", n) for n in range(20)],
        "id BIGINT, n INT, _change_type STRING, _commit_version BIGINT",
    )

    def write(to: Table, frame: DataFrame = changes) -> None:
        frame.writeTo(f"versioned.{to.name}").option("changeColumn", "_change_type").append()

    with pytest.raises(Exception, match="p has no primary key"):
        write(plain)
    with pytest.raises(Exception, match="t has no column x"):
        write(table, changes.withColumnRenamed("n", "x"))
    with pytest.raises(Exception, match="need the column _commit_version"):
        write(table, changes.drop("_commit_version"))
    by_path = (
        changes.repartition(2).write.format("versioned").option("changeColumn", "_change_type")
    )
    with pytest.raises(Exception, match=r"the same row key.*changes\.repartition\('id'\)"):
        by_path.mode("append").save(table.location)
    write(table, changes.repartition(2))
    assert table.refresh().scan().to_arrow().to_pylist() == [{"id": 1, "n": 19}]
