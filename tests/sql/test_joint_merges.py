"""Spark reads the keys and the rows of overlapping segments together where nothing could be skipped.

Needs a JVM because Spark's Parquet reader reads the rows, and the jar compares the keys.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sql.test_native_merges import History, by, parts_of, random_table, shown, upsert
from versioned_catalog import Catalog, Table
from versioned_catalog.write import segment_writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.thorough

BATCH = 4096
"""Rows of a batch of Spark's vectorized Parquet reader."""


def are_joint(frame: DataFrame) -> list[bool]:
    """For each part of a merge, whether its keys and rows are read together."""
    return [part.isJoint() for part in parts_of(frame)]


@pytest.fixture
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of a few rows: batches are no larger."""
    monkeypatch.setattr(segment_writer, "KEYED_ROW_GROUP_ROWS", 3)


class Upserts(History):
    """Histories without tombstones."""

    def delete(self) -> None:
        self.append()


@pytest.mark.usefixtures("small_row_groups")
@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=pytest.mark.nightly if n != 12 else ()) for n in range(60)]
)
def test_random_upserts_are_merged_as_a_model_merges_them(
    sql_spark: SparkSession, catalog: Catalog, ns: str, seed: int
) -> None:
    random = Random(5400 + seed)
    table, model = random_table(random, catalog, ns)
    history = Upserts(random, table, model)
    history.append()
    for _ in range(random.randint(3, 12)):
        history.step()
    history.append()
    history.append()
    frame = by(sql_spark, f"versioned.{ns}.t", "native")
    assert all(are_joint(frame))
    assert shown(frame, model) == model.shown()
    names = [*model.keys, *model.values]
    some = random.sample(names, random.randint(1, len(names)))
    rows = frame.select(*some).toArrow().to_pylist()
    places = [names.index(name) for name in some]
    expected = [tuple(row[at] for at in places) for row in model.shown()]
    assert sorted((tuple(row.values()) for row in rows), key=repr) == sorted(expected, key=repr)
    assert frame.groupBy().count().collect()[0][0] == len(model.rows)


@pytest.fixture
def overlapping(catalog: Catalog, ns: str) -> Table:
    """A compacted segment of rows of two versions, and two runs over it."""
    table = catalog.create_table(f"{ns}.t", "k BIGINT, v INT, w STRING", primary_key=["k"])
    upsert(table, range(0, 3 * BATCH, 2), 1)
    upsert(table, range(0, 3 * BATCH, 3), 2)
    table.maintenance.compact(strategy="full")
    upsert(table, range(BATCH - 1, 5 * BATCH, BATCH - 1), 3)
    upsert(table, range(0, 4 * BATCH, 5), 4)
    return table


EXPECTED = (
    dict.fromkeys(range(0, 3 * BATCH, 2), 1)
    | dict.fromkeys(range(0, 3 * BATCH, 3), 2)
    | dict.fromkeys(range(BATCH - 1, 5 * BATCH, BATCH - 1), 3)
    | dict.fromkeys(range(0, 4 * BATCH, 5), 4)
)


def test_rows_of_compacted_segments_are_ordered_by_their_own_sequences(
    sql_spark: SparkSession, overlapping: Table, ns: str
) -> None:
    frame = by(sql_spark, f"versioned.{ns}.t", "native")
    assert are_joint(frame) == [True]
    assert dict(map(tuple, frame.select("k", "v").collect())) == EXPECTED


def test_keys_are_compared_where_they_are_not_selected(
    sql_spark: SparkSession, overlapping: Table, ns: str
) -> None:
    values = by(sql_spark, f"versioned.{ns}.t", "native").select("v")
    assert are_joint(values) == [True]
    assert sorted(row.v for row in values.collect()) == sorted(EXPECTED.values())
    assert overlapping.scan().to_arrow().num_rows == len(EXPECTED)


def test_a_filter_or_a_tombstone_makes_the_keys_come_first(
    sql_spark: SparkSession, overlapping: Table, ns: str
) -> None:
    """Then row groups are skipped by values, or a row is hidden by one that is not shown."""
    name = f"versioned.{ns}.t"
    filtered = by(sql_spark, name, "native").where("v > 3")
    assert not any(are_joint(filtered))
    assert dict(map(tuple, filtered.select("k", "v").collect())) == {
        key: value for key, value in EXPECTED.items() if value > 3
    }
    gone = [0, 5, BATCH - 1]
    overlapping.delete_keys(pa.table({"k": pa.array(gone, pa.int64())}))
    frame = by(sql_spark, name, "native")
    assert not any(are_joint(frame))
    expected = {key: value for key, value in EXPECTED.items() if key not in gone}
    assert dict(map(tuple, frame.select("k", "v").collect())) == expected


@pytest.mark.nightly
def test_wide_rows_are_read_after_the_keys(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """A batch of each segment at a time would take more memory than executors are asked for."""
    more = ", ".join(f"w{at} STRING" for at in range(500))
    table = catalog.create_table(f"{ns}.t", f"k BIGINT, v INT, {more}", primary_key=["k"])
    upsert(table, range(BATCH), 1)
    upsert(table, range(0, BATCH, 2), 2)
    upsert(table, range(BATCH), 3)
    name = f"versioned.{ns}.t"
    assert are_joint(by(sql_spark, name, "native").select("k", "v", "w0")) == [True]
    frame = by(sql_spark, name, "native")
    assert are_joint(frame) == [False]
    rows = frame.select("*").collect()
    assert sorted(row[:3] for row in rows) == [(key, 3, None) for key in range(BATCH)]


@pytest.mark.parametrize("overflow", ["error", "null"])
def test_a_pin_sees_a_key_in_its_narrower_type(
    sql_spark: SparkSession, catalog: Catalog, ns: str, overflow: str
) -> None:
    """Keys are compared as they are stored: one that the pin can't show hides no other."""
    table = catalog.create_table(f"{ns}.t", "k INT, v INT", primary_key=["k"])
    table.pin_schema("job")
    table.alter().change_type("k", "BIGINT").rename_column("v", "value").commit()
    keys: list[Any] = [3, 1, 2, *([2**32 + 1] if overflow == "null" else [])]
    for value in (1, 2):
        values = pa.array([value] * len(keys), pa.int32())
        table.append(pa.table({"k": pa.array(keys, pa.int64()), "value": values}))
    reader = sql_spark.read.format("versioned").option("schemaVersion", "job")
    frame = reader.option("onOverflow", overflow).load(table.location)
    assert are_joint(frame) == [True]
    assert frame.schema.simpleString() == "struct<k:int,v:int>"
    expected = [(1, 2), (2, 2), (3, 2)] + [(None, 2)] * (overflow == "null")
    assert sorted(map(tuple, frame.collect()), key=repr) == sorted(expected, key=repr)
    assert [row.v for row in frame.select("v").collect()] == [2] * len(keys)
