"""Changes of nested columns of which a reader wants some fields: each value keeps its name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from pyspark_versioned.reader import shaped
from pyspark_versioned.source import VersionedDataSource
from pyspark_versioned.spark_types import to_spark_schema
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.common import (
    ColumnTerm,
    LiteralTerm,
    PredicateTerm,
    TypedValue,
)
from pyspark_versioned.sql.protocol.rows import MicroBatch, PlanChanges, PlanMicroBatch, StreamRef
from pyspark_versioned.sql.protocol.table import VersionRange
from pyspark_versioned.sql.stream_requests import plan_changes, plan_micro_batch
from sql import planned_reads
from sql.planned_reads import ref_of
from versioned_catalog import Catalog, CorruptTableError, Table
from versioned_catalog.model.ddl import parse_columns
from versioned_catalog.read.arrays import recast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = (
    "id BIGINT, s STRUCT<a: INT, b: INT, in: STRUCT<x: STRING, y: STRING>>, "
    "l ARRAY<STRUCT<x: INT, y: INT>>, m MAP<STRING, STRUCT<x: INT, y: INT>>"
)
WANTED = (
    "id BIGINT, s STRUCT<b: INT, in: STRUCT<y: STRING>>, l ARRAY<STRUCT<y: INT>>, "
    "m MAP<STRING, STRUCT<y: INT>>"
)
FEED = "_change_type STRING, _commit_version BIGINT"


def row(number: int, b: int) -> dict[str, Any]:
    pair = {"x": -number, "y": b}
    inside = {"x": f"x{number}", "y": f"y{b}"}
    return {
        "id": number,
        "s": {"a": -number, "b": b, "in": inside},
        "l": [pair, None],
        "m": [("k", pair)],
    }


def wanted(number: int, b: int, change: str, version: int) -> dict[str, Any]:
    pair = {"y": b}
    nested = {"s": {"b": b, "in": {"y": f"y{b}"}}, "l": [pair, None], "m": [("k", pair)]}
    return {"id": number, **nested, "_change_type": change, "_commit_version": version}


@pytest.fixture(params=["plain", "keyed"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """Version 1 inserts 1 and 2, version 2 deletes 1, version 3 writes 2 again."""
    key = ["id"] if request.param == "keyed" else []
    table = Catalog(str(tmp_path)).create_table("t", COLUMNS, primary_key=key)
    table.append(pa.Table.from_pylist([row(1, 10), row(2, 20)], table.scan().schema))
    table.delete([("id", "=", 1)])
    table.append(pa.Table.from_pylist([row(2, 21)], table.scan().schema))
    return table


def expected(table: Table) -> list[dict[str, Any]]:
    """The changes of versions 1 to 3, in the order of ``read``."""
    last = [wanted(2, 21, "insert", 3)]
    if table.schema.is_keyed:
        last = [
            wanted(2, 21, "update_postimage", 3),
            wanted(2, 20, "update_preimage", 3),
        ]
    first = [wanted(1, 10, "insert", 1), wanted(2, 20, "insert", 1)]
    return [*first, wanted(1, 10, "delete", 2), *last]


def spark_schema(ddl: str) -> StructType:
    """``StructType.fromDDL``, which needs a JVM."""
    return to_spark_schema(tuple(parse_columns(ddl)))


def rows_of(reader: Any, parts: Any) -> list[dict[str, Any]]:
    return in_order(one for part in parts for rows in reader.read(part) for one in rows.to_pylist())


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda one: (one["_commit_version"], one["id"], one["_change_type"]))


def test_a_batch_of_changes_shows_fields_by_name(table: Table) -> None:
    options = {"readChanges": "true", "startingVersion": "1", "computeUpdates": "true"}
    source = VersionedDataSource({"path": table.location, **options})
    reader = source.reader(spark_schema(f"{WANTED}, {FEED}"))
    assert rows_of(reader, reader.partitions()) == expected(table)


def test_names_are_spelled_as_the_schema_spells_them(table: Table) -> None:
    options = {"readChanges": "true", "startingVersion": "3", "computeUpdates": "false"}
    source = VersionedDataSource({"path": table.location, **options})
    reader = source.reader(spark_schema("_commit_version BIGINT, S STRUCT<B: INT>, ID BIGINT"))
    found = [b.to_pylist() for part in reader.partitions() for b in reader.read(part)]
    assert {"_commit_version": 3, "S": {"B": 21}, "ID": 2} in [
        one for rows in found for one in rows
    ]


@pytest.mark.parametrize("by_jar", [False, True], ids=["alone", "for the jar"])
def test_a_stream_of_changes_shows_fields_by_name(table: Table, by_jar: bool) -> None:
    """Without the jar, Spark's schema is the user's; with it, the jar asks for a micro-batch."""
    options = {"readChanges": "true", "startingVersion": "1", "computeUpdates": "true"}
    schema = spark_schema(f"{WANTED}, {FEED}")
    source = VersionedDataSource({"path": table.location, **options})
    stream = source.streamReader(schema)
    start = stream.initialOffset()
    end = stream.latestOffset(start, stream.getDefaultReadLimit())
    if not by_jar:
        assert rows_of(stream, stream.partitions(start, end)) == expected(table)
        return
    batch = MicroBatch(StreamRef(ref_of(table), options), json.dumps(start), json.dumps(end))
    asked = PlanMicroBatch(batch, SparkType(schema.jsonValue()), allow_native=False)
    assert in_order(planned_reads.rows_of(plan_micro_batch(asked))) == expected(table)


def test_a_filter_may_leave_nothing_to_compare(table: Table) -> None:
    """No segment of version 2 may hold such a row, so its task has no bytes."""
    literal = LiteralTerm(TypedValue(SparkType("long"), "99"))
    where = PredicateTerm("=", (ColumnTerm(("id",)), literal))
    asked = VersionRange(2, 3, net=False, carryovers=False, updates=False)
    schema = SparkType(spark_schema("id BIGINT").jsonValue())
    plan = plan_changes(PlanChanges(ref_of(table), asked, schema, (where,), allow_native=False))
    assert planned_reads.rows_of(plan) == []


def test_a_struct_is_cast_by_the_names_of_its_fields() -> None:
    array = pa.array([{"a": 1, "b": 2}, None])
    swapped = pa.struct([("b", pa.int32()), ("a", pa.int64())])
    assert recast(array, swapped).to_pylist() == [{"b": 2, "a": 1}, None]
    assert recast(pa.array([[{"a": 1, "b": 2}]]), pa.list_(swapped)).to_pylist() == [
        [{"b": 2, "a": 1}]
    ]
    for names in (["b"], ["a", "c"], ["a", "B"]):
        with pytest.raises(pa.ArrowTypeError, match="does not have the fields"):
            recast(array, pa.struct([(name, pa.int64()) for name in names]))


def test_a_batch_with_other_columns_than_spark_expects_is_an_error() -> None:
    """By position, the values of a would be those of b."""
    batch = pa.record_batch({"a": [1], "b": [2]})
    for names in (["b", "a"], ["a"], ["a", "c"]):
        with pytest.raises(CorruptTableError, match="do not have the schema that Spark expects"):
            shaped(batch, pa.schema([(name, pa.int64()) for name in names]))
    nested = pa.record_batch({"s": [{"a": 1, "b": 2}]})
    with pytest.raises(CorruptTableError, match="does not have the fields"):
        shaped(nested, pa.schema([("s", pa.struct([("b", pa.int64())]))]))


@pytest.mark.thorough
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["plain", pytest.param("keyed", marks=pytest.mark.thorough)])
def test_sql_shows_nested_fields_of_changes_by_name(
    sql_spark: SparkSession, catalog: Catalog, ns: str, kind: str
) -> None:
    """Spark asks for the fields that a statement names; the expected values are those of ``row``."""
    key = ["id"] if kind == "keyed" else []
    table = catalog.create_table(f"{ns}.t", COLUMNS, primary_key=key)
    table.append(pa.Table.from_pylist([row(1, 10), row(2, 20)], table.scan().schema))
    table.delete([("id", "=", 1)])
    changes = f"versioned.{ns}.t CHANGES FROM VERSION 1"

    def rows(query: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(one) for one in sql_spark.sql(query).collect())

    shown = "s.b, s.in.y, l[0].y, m['k'].y"
    one, two = (10, "y10", 10, 10), (20, "y20", 20, 20)
    assert rows(f"SELECT {shown} FROM {changes}") == [one, one, two]
    assert rows(f"SELECT s.b FROM {changes}") == [(10,), (10,), (20,)]
    assert rows(f"SELECT id FROM {changes} WHERE s.b = 20") == [(2,)]
    assert rows(f"SELECT id FROM {changes} WHERE s.in.y = 'y10' AND s.b > 0") == [(1,), (1,)]
    assert rows(f"SELECT l.y FROM {changes} WHERE id = 2") == [([20, None],)]
    assert rows(f"SELECT sum(s.b), max(m['k'].y) FROM {changes}") == [(40, 20)]
    by_type = f"SELECT _change_type, sum(l[0].y) FROM {changes} GROUP BY ALL"
    assert rows(by_type) == [("delete", 10), ("insert", 30)]
    sql_spark.sql(f"SELECT s FROM {changes}").createOrReplaceTempView("changed")
    assert rows("SELECT s.in.y FROM changed WHERE s.a < -1") == [("y20",)]
