"""The option ``changeColumn``: writes that apply a change feed, as Spark's tasks carry them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructType

from pyspark_versioned.source import VersionedDataSource
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.common import TableRef
from pyspark_versioned.sql.protocol.rows import (
    PlanWrite,
    PythonCommit,
    Write,
    WriteBatch,
    WritePlan,
)
from pyspark_versioned.sql.write_plans import plan_write
from pyspark_versioned.sql.write_requests import JarWriter
from versioned_catalog import Catalog, InvalidRequestError, Table

UNVERSIONED = (
    StructType().add("id", LongType()).add("n", LongType()).add("_change_type", StringType())
)
FRAME = StructType([*UNVERSIONED]).add("_commit_version", LongType())


def changes(*rows: tuple[int, int | None, str, int]) -> pa.RecordBatch:
    names = ("id", "n", "_change_type", "_commit_version")
    return pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


FIRST = changes((1, 10, "insert", 1), (2, 20, "insert", 1), (2, None, "delete", 2))
SECOND = changes((3, 30, "insert", 1))
AGAIN = changes((2, 22, "insert", 3))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id BIGINT, n BIGINT", primary_key=["id"])
    table.append(pa.table({"id": [2, 4], "n": [0, 4]}))
    return table


def shown(table: Table) -> list[tuple[Any, ...]]:
    found = table.refresh().scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def source(table: Table, **options: str) -> VersionedDataSource:
    return VersionedDataSource({"path": table.location, "changeColumn": "_change_type", **options})


def ref(table: Table) -> TableRef:
    state = table.refresh().state
    return TableRef(
        location=table.location,
        storage={},
        hadoop=None,
        name=table.name,
        uuid=state.table_uuid,
        version=state.version,
        schema_version=state.schema_version,
        pending=(),
        seen=None,
        overflow="error",
        written_as=None,
        branch=None,
    )


def write(table: Table, mode: str = "append") -> Write:
    return Write(
        table=ref(table),
        mode=mode,
        operation="insert",
        filters=(),
        own_rows=False,
        checked=False,
        taken=(),
        effect=None,
        removed=(),
        batch=WriteBatch("job", "3", epoch=False),
        change_column="_change_type",
    )


def plan(table: Table, frame: StructType, change_column: str = "_change_type") -> WritePlan:
    return plan_write(
        PlanWrite(
            table=ref(table),
            creation=None,
            schema=SparkType(frame.jsonValue()),
            filters=(),
            options=("changeColumn",),
            lengths_checked=True,
            distribution_mode="none",
            carried=None,
            change_column=change_column,
        )
    )


def test_tasks_write_the_last_change_of_their_keys(table: Table) -> None:
    writer = source(table).writer(FRAME, False)
    writer.commit([writer.write(iter([FIRST])), writer.write(iter([SECOND]))])
    assert shown(table) == [(1, 10), (3, 30), (4, 4)]
    assert table.version == 2


def test_one_key_in_two_tasks_is_refused(table: Table) -> None:
    writer = source(table).writer(FRAME, False)
    written = [writer.write(iter([one])) for one in (FIRST, SECOND, AGAIN)]
    with pytest.raises(InvalidRequestError, match=r"the same row key.*changes.repartition\('id'\)"):
        writer.commit(written)
    assert table.refresh().version == 1


def test_the_jar_sends_the_changes_of_a_key_to_one_task(table: Table) -> None:
    found = plan(table, FRAME)
    assert not found.is_native
    assert found.distribution.mode == "hash", "whatever the option distributionMode says"
    assert [key.by.column for key in found.distribution.by] == [("id",)]  # type: ignore[union-attr]


def test_the_jar_leaves_the_write_to_python(table: Table) -> None:
    asked = PythonCommit(commit_id="c" * 36, write=write(table), creation=None, stored=False, by={})
    writer = JarWriter.of(asked)
    writer.commit([writer.write(iter([FIRST])), writer.write(iter([SECOND])), None])
    assert shown(table) == [(1, 10), (3, 30), (4, 4)]
    again = JarWriter.of(asked)
    again.commit([again.write(iter([AGAIN]))])
    assert shown(table) == [(1, 10), (3, 30), (4, 4)], "batch 3 is there"


def test_what_is_refused(table: Table) -> None:
    with pytest.raises(InvalidRequestError, match="changeColumn goes with mode append"):
        source(table).writer(FRAME, True)
    with pytest.raises(InvalidRequestError, match="changeColumn goes with mode append"):
        JarWriter.of(PythonCommit("c" * 36, write(table, "overwrite"), None, stored=False, by={}))
    for planned in (
        lambda: plan(table, UNVERSIONED),
        lambda: source(table).writer(UNVERSIONED, False),
    ):
        with pytest.raises(InvalidRequestError, match="need the column _commit_version"):
            planned()
    with pytest.raises(InvalidRequestError, match="column op, which is not one of their columns"):
        plan(table, FRAME, "op")
    missing = VersionedDataSource({"path": f"{table.location}/x", "changeColumn": "_change_type"})
    with pytest.raises(InvalidRequestError, match="changeColumn needs a table with a primary key"):
        missing.writer(FRAME, False)
