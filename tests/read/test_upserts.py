"""Upserts: the last one wins, however rows are spread over segments and tasks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from read.keyed_table import make, rows, shown
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.write.plan import WritePlan, plan_delta


def test_the_last_upsert_wins(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0), ("b", 1, 2.0), ("a", 1, 3.0)))
    assert shown(table) == [("a", 1, 3.0, 7), ("b", 1, 2.0, 7)]
    table.upsert(rows(("a", 1, 4.0), ("a", 2, 5.0)))
    assert shown(table) == [("a", 1, 4.0, 7), ("a", 2, 5.0, 7), ("b", 1, 2.0, 7)]
    assert table.count() == 3
    assert shown(table, version=1) == [("a", 1, 3.0, 7), ("b", 1, 2.0, 7)]
    assert shown(Catalog.load_path(tmp_path / "t")) == shown(table)


def test_the_last_segment_of_a_commit_wins(tmp_path: Path) -> None:
    """The tasks of one write are independent; the order of their segments decides."""
    table = make(tmp_path / "t")
    first, second = rows(("a", 1, 1.0), ("b", 1, 1.0)), rows(("a", 1, 2.0))
    plan = table.transaction().plan_write(first.schema)
    records = [
        record
        for data in (first, second)
        for record in plan.write(data.schema, data.to_batches(), table.store)
    ]
    table.transaction().commit_append(plan, records)
    assert shown(table) == [("a", 1, 2.0, 7), ("b", 1, 1.0, 7)]
    table.rollback(0)
    table.rollback(1)
    assert shown(table) == [("a", 1, 2.0, 7), ("b", 1, 1.0, 7)]


def test_padded_chars_are_one_key(tmp_path: Path) -> None:
    table = make(tmp_path / "t", "host CHAR(3), ts DATE, v DOUBLE", time_index=None)
    for host in ("a", "a ", "a  "):
        table.append(pa.table({"host": [host], "ts": pa.array([1], pa.date32()), "v": [1.0]}))
    assert table.count() == 1
    table.delete([("host", "=", "a")])
    assert table.count() == 0


def test_a_key_can_not_be_a_float(tmp_path: Path) -> None:
    """-0.0 and 0.0 are equal but not identical, and NaN is not even equal to itself."""
    for type_ in ("DOUBLE", "FLOAT", "STRUCT<x: INT>", "ARRAY<INT>", "VARIANT"):
        with pytest.raises(InvalidRequestError, match="use whole numbers"):
            make(tmp_path / type_[:3], f"host {type_}, v INT", time_index=None)


def test_partial_upserts_keep_other_columns(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0, 10), ("b", 1, 2.0, 20), columns="host ts v w"))
    table.upsert(rows(("a", 1, 11), columns="host ts w"), partial=True)
    table.upsert(rows(("a", 1, 5.0), ("c", 1, 6.0)), partial=True)
    assert shown(table) == [("a", 1, 5.0, 11), ("b", 1, 2.0, 20), ("c", 1, 6.0, 7)]
    table.alter().set_default("w", 8).commit()
    assert shown(table)[2] == ("c", 1, 6.0, 7), (
        "without an older row, it took the default at the time"
    )
    table.delete([("host", "=", "a")])
    table.upsert(rows(("a", 1, 3), columns="host ts w"), partial=True)
    assert shown(table)[0] == ("a", 1, None, 3), (
        "a partial upsert does not bring back deleted values"
    )


def test_invalid_partial_upserts_are_refused(tmp_path: Path) -> None:
    table = make(tmp_path / "t", "host STRING, ts TIMESTAMP, v DOUBLE NOT NULL, w INT")
    with pytest.raises(InvalidRequestError, match="v is NOT NULL and has no default"):
        table.upsert(rows(("a", 1, 3), columns="host ts w"), partial=True)
    with pytest.raises(InvalidRequestError, match="host is NOT NULL"):
        table.upsert(rows((1, 3.0), columns="ts v"), partial=True)
    unkeyed = Catalog.create_path(tmp_path / "unkeyed", "a INT")
    for partial in (True, False):
        with pytest.raises(InvalidRequestError, match="no primary key"):
            unkeyed.upsert(pa.table({"a": [1]}), partial=partial)


def test_a_table_without_a_primary_key_keeps_all_rows(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "ts TIMESTAMP, host STRING, v DOUBLE", time_index="ts"
    )
    for _ in range(2):
        table.append(rows(("a", 2, 1.0), ("a", 1, 1.0)))
    assert table.count() == 4
    assert [row[0] for row in shown(table)] == [1, 1, 2, 2]
    days = [v.day for v in table.scan(columns=["ts"]).to_arrow()["ts"].to_pylist()]
    assert days == [2, 3, 2, 3], "each segment is sorted by the time index"


def test_removing_a_segment_that_hides_others_is_refused(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0)))
    table.append(rows(("a", 1, 2.0)))
    newest = table.state.segments.paths[1]
    plan = table.transaction().plan_write(rows(("a", 1, 1.0)).schema)
    with pytest.raises(InvalidRequestError, match="has a primary key"):
        table.transaction().commit_rewrite(plan, (), [newest], kind="delete")
    with pytest.raises(InvalidRequestError, match="has a primary key"):
        table.transaction().delete_whole([("v", "=", 2.0)])
    assert not table.transaction().can_delete_whole([("v", "=", 2.0)])
    assert table.transaction().delete_whole(None) == 3
    assert table.count() == 0


def test_serializable_reads_conflict_with_replacing_rows(tmp_path: Path) -> None:
    """The new row does not match the condition that was read, but the row that it replaces did."""
    table = make(tmp_path / "t", properties={"isolation": "serializable"})
    table.append(rows(("a", 1, 9.0), ("b", 1, 0.0)))
    other = Catalog.load_path(tmp_path / "t")
    other.append(rows(("a", 1, 0.0)))
    plan = plan_delta(table.store, table.state, table.name)
    with pytest.raises(CommitConflictError, match="serializable"):
        table.transaction().commit_delta(
            plan, write(table, plan), kind="merge", reads=[("v", ">", 5.0)]
        )
    fine = [("host", "=", "b"), ("v", ">", 5.0)]
    table.transaction().commit_delta(plan, write(table, plan), kind="merge", reads=fine)


def write(table: Table, plan: WritePlan) -> list[SegmentRecord]:
    """Write a row whose key no other row has."""
    data = rows(("z", 1, 1.0, 1), columns="host ts v w").append_column(
        "__op_type", pa.array([0], pa.int8())
    )
    return plan.write(data.schema, data.to_batches(), table.store)


def test_an_update_does_not_lose_a_column_that_a_rollback_brings_back(tmp_path: Path) -> None:
    """An update writes whole rows; without the column they would replace its values by nulls."""
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0, 70), ("b", 1, 1.0, 71), columns="host ts v w"))
    table.alter().drop_column("w").commit()
    updating, deleting = (Catalog.load_path(tmp_path / "t") for _ in range(2))
    table.rollback(1)
    with pytest.raises(CommitConflictError, match="rollback restored the column w"):
        updating.update({"v": 2.0}, [("host", "=", "a")])
    deleting.delete([("host", "=", "b")])  # a tombstone holds no values to lose
    assert shown(table.refresh()) == [("a", 1, 1.0, 70)]
    updating.refresh().update({"v": 2.0}, [("host", "=", "a")])
    assert shown(table.refresh()) == [("a", 1, 2.0, 70)]
