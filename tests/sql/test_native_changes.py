"""Changes that Spark's own Parquet reader reads, and those that tasks in Python compute."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.plans import plan_of
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCAN = re.compile(r"segments: \{native=(\d+), python=(\d+)\}, tasks in Python: (\d+)")


def ways(frame: DataFrame) -> tuple[int, int, int]:
    """The number of segments that Spark reads, of those that Python reads, and of tasks in Python."""
    found = _SCAN.search(plan_of(frame))
    assert found, plan_of(frame)
    return int(found[1]), int(found[2]), int(found[3])


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


class Reads:
    """The changes of a table by both ways of reading, which must agree."""

    def __init__(self, spark: SparkSession, table: Table) -> None:
        self._spark, self._name = spark, f"versioned.{table.name}"

    def of(self, what: str, **options: str) -> tuple[list[tuple[Any, ...]], tuple[int, int, int]]:
        """What a statement shows from version 1 on, and how it is read natively."""
        (native, how), (python, in_python) = (
            self._by(io, what, options) for io in ("native", "python")
        )
        assert native == python, what
        assert in_python[:2] == (0, 0)
        return native, how

    def _by(self, io: str, what: str, options: dict[str, str]) -> tuple[Any, tuple[int, int, int]]:
        given = ", ".join(f"{key} = '{value}'" for key, value in {**options, "io": io}.items())
        columns, _, where = what.partition(" WHERE ")
        frame = self._spark.sql(
            f"SELECT {columns} FROM {self._name} CHANGES FROM VERSION 1 WITH ({given})"
            + (f" WHERE {where}" if where else "")
        )
        return rows(frame), ways(frame)


def altered(catalog: Catalog, ns: str) -> Table:
    """1, 2: appends; 3 to 6: ALTERs; 7: an append; 8: a segment is removed; 9: a row is marked."""
    table = catalog.create_table(
        f"{ns}.t", "id BIGINT NOT NULL, n INT, note STRING", properties={"row_changes": "mark"}
    )
    for first in (1, 3):
        ids = [first, first + 1]
        table.append(pa.table({"id": ids, "n": pa.array(ids, pa.int32()), "note": ["a", "b"]}))
    table.alter().rename_column("n", "m").commit()
    table.alter().drop_column("note").commit()
    table.alter().add_column("note", "STRING", default="x").commit()
    table.alter().change_type("m", "BIGINT").commit()
    table.append(pa.table({"id": [5, 6], "m": [2**40, None], "note": ["c", None]}))
    table.delete([("id", "<=", 2)])
    table.delete([("id", "=", 5)])
    assert table.version == 9
    return table


ALTERED = [
    *((1, 1, "x", "insert", 1), (2, 2, "x", "insert", 1)),
    *((3, 3, "x", "insert", 2), (4, 4, "x", "insert", 2)),
    *((5, 2**40, "c", "insert", 7), (6, None, None, "insert", 7)),
    *((1, 1, "x", "delete", 8), (2, 2, "x", "delete", 8)),
    (5, 2**40, "c", "delete", 9),
]


def test_appended_and_removed_segments_are_read_natively(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    reads = Reads(sql_spark, altered(catalog, ns))
    columns = "id, m, note, _change_type, _commit_version"

    def of(where: str) -> tuple[list[tuple[Any, ...]], tuple[int, int, int]]:
        return reads.of(f"{columns} WHERE {where}")

    assert of("true") == (sorted(ALTERED, key=repr), (4, 0, 1)), "Python reads the marked row"
    for where, how, places in [
        ("_commit_version = 7", (1, 0, 0), (4, 5)),
        ("_commit_version BETWEEN 2 AND 8", (3, 0, 0), (2, 3, 4, 5, 6, 7)),
        ("_commit_version < 8 AND _change_type = 'insert' AND m >= 3", (2, 0, 0), (2, 3, 4)),
        ("_change_type = 'delete'", (1, 0, 1), (6, 7, 8)),
        ("_change_type LIKE 'update%'", (0, 0, 0), ()),
    ]:
        expected = sorted((ALTERED[place] for place in places), key=repr)
        assert of(where) == (expected, how), where


@pytest.mark.thorough
def test_what_else_a_statement_may_show(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    table = altered(catalog, ns)
    reads, name = Reads(sql_spark, table), f"versioned.{table.name}"
    assert reads.of("count(*)") == ([(len(ALTERED),)], (4, 0, 1))
    versions = {(row[4],) for row in ALTERED}
    assert reads.of("DISTINCT _commit_version")[0] == sorted(versions, key=repr)
    times = {table.at(version).time.replace(tzinfo=None) for (version,) in versions}
    shown, _ = reads.of("DISTINCT CAST(_commit_timestamp AS TIMESTAMP_NTZ)")
    assert {time for (time,) in shown} == times
    # Rows of one commit that both removed and added segments are compared.
    table.update({"m": 0}, [("id", "=", 3)])
    frame = sql_spark.sql(f"SELECT id, m, _change_type FROM {name} CHANGES FROM VERSION 10")
    assert rows(frame) == [(3, 0, "insert"), (3, 3, "delete")]
    assert ways(frame) == (0, 0, 1)
    every = sql_spark.sql(
        f"SELECT id, m, _change_type FROM {name} CHANGES FROM VERSION 10 "
        "WITH (deduplicationMode = 'none')"
    )
    assert rows(every) == [(3, 0, "insert"), (3, 3, "delete")]
    assert ways(every)[0] == 1, "the added segment is read as it is"
    # Marks that are there when a segment is removed stay marked.
    table.delete([("id", ">=", 5)])
    removed = sql_spark.sql(f"SELECT id, _change_type FROM {name} CHANGES FROM VERSION 11")
    assert rows(removed) == [(6, "delete")]
    assert ways(removed) == (1, 0, 0)


@pytest.mark.thorough
def test_keyed_rows_and_pins(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.k", "id BIGINT, n BIGINT", primary_key=["id"])
    for first in (1, 10, 20):
        table.append(pa.table({"id": [first, first + 1], "n": [first, first]}))
    table.pin_schema("job")
    table.alter().rename_column("n", "m").add_column("x", "INT", default=7).commit()
    table.append(pa.table({"id": [10], "m": [5], "x": pa.array([1], pa.int32())}))
    reads = Reads(sql_spark, table)
    columns = "id, m, x, _change_type, _commit_version"
    first, last = [(1, 1, 7, "insert", 1), (2, 1, 7, "insert", 1)], [(21, 20, 7, "insert", 3)]
    found, how = reads.of(columns, computeUpdates="true")
    assert found == sorted(
        [
            *first,
            *((10, 10, 7, "insert", 2), (11, 10, 7, "insert", 2), (20, 20, 7, "insert", 3), *last),
            *((10, 10, 7, "update_preimage", 6), (10, 5, 1, "update_postimage", 6)),
        ],
        key=repr,
    )
    assert how == (2, 0, 1), "two of the runs overlap, so they are merged"
    pinned, how = reads.of("id, n, _change_type WHERE id < 5", schemaVersion="job")
    assert pinned == [(1, 1, "insert"), (2, 1, "insert")]
    assert how == (1, 0, 0)


@pytest.mark.thorough
def test_a_stream_reads_appended_segments_natively(
    sql_spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path
) -> None:
    table, found, plans = altered(catalog, ns), list[Any](), list[str]()
    frame = sql_spark.readStream.option("startingVersion", 1).option("maxSegmentsPerTrigger", 1)

    def keep(batch: DataFrame, number: int) -> None:
        found.extend(batch.drop("_commit_timestamp").collect())

    writer = frame.changes(f"versioned.{table.name}").writeStream.foreachBatch(keep)
    writer = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    assert sorted(map(tuple, found), key=repr) == sorted(ALTERED, key=repr)
    table.append(pa.table({"id": [7], "m": [7], "note": ["d"]}))
    again = writer.start()
    again.awaitTermination()
    plans.append(str(again._jsq.explainInternal(False)))  # type: ignore[attr-defined]
    assert "ColumnarToRow" in plans[0], "Python alone yields rows"
    assert tuple(found[-1]) == (7, 7, "d", "insert", 10)
