"""Marked rows are deletes in the change feed; streams of added rows refuse or skip them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stream.tables import Reader, ids, table_at
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.commit.operations import Base, Rewrite
from versioned_catalog.stream.change_tasks import DifferenceTask, WholeTask
from versioned_catalog.stream.offsets import Limits, OnRewrite, Settings

Change = tuple[int, str, int]
"""The version of a change, its type, and the ID of its row."""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Rows 0 to 9 in one segment, whose changes are marked."""
    made = table_at(tmp_path, properties={"row_changes": "mark"})
    made.append(ids(*range(10)))
    return made


def changes(table: Table, start: int, end: int | None = None, **how: Any) -> list[Change]:
    found = Catalog.load_path(table.location).changes(start, end, **how).to_arrow().to_pylist()
    return sorted((r["_commit_version"], r["_change_type"][0], r["id"]) for r in found)


def mark(table: Table, path: str, *positions: int) -> int:
    """Mark rows by hand."""
    marks = {path: np.array(positions, np.int64)}
    return table._handle.commit(
        Rewrite(Base.of(table.refresh().state), (), (), (), kind="delete", reads=None, marks=marks)
    )


def test_each_commit_deletes_the_rows_that_it_marks(table: Table) -> None:
    table.delete([("id", "in", [1, 4])])
    table.delete([("id", "in", [2])])
    assert changes(table, 1) == [
        *((1, "i", n) for n in range(10)),
        (2, "d", 1),
        (2, "d", 4),
        (3, "d", 2),
    ]
    assert changes(table, 3) == [(3, "d", 2)]
    assert changes(table, 2, filters=[("id", ">", 1)]) == [(2, "d", 4), (3, "d", 2)]
    assert changes(table, 2, filters=[("id", ">", 100)]) == []
    assert changes(table, 2, columns=["id"]) == changes(table, 2)


def test_an_update_is_a_delete_and_an_insert_of_the_rows_that_it_changes(table: Table) -> None:
    table.update({"n": 40}, [("id", "in", [3, 4])])  # row 4 has that value already
    assert changes(table, 2) == [(2, "d", 3), (2, "i", 3)]
    assert changes(table, 2, carryovers=True) == [
        (2, "d", 3),
        (2, "d", 4),
        (2, "i", 3),
        (2, "i", 4),
    ]
    whole = table.changes(2).to_arrow().to_pylist()
    assert sorted((row["_change_type"], row["id"], row["n"]) for row in whole) == [
        ("delete", 3, 30),
        ("insert", 3, 40),
    ]


def test_a_copy_of_a_marked_segment_deletes_only_what_was_left(table: Table) -> None:
    table.delete([("id", "=", 0)])
    table.alter().set_property("row_changes", "copy").commit()
    table.delete([("id", "=", 1)])
    assert changes(table, 4) == [(4, "d", 1)]
    table.delete([("id", "<", 100)])
    assert changes(table, 5) == [(5, "d", n) for n in range(2, 10)]


def test_the_last_rows_of_a_segment(table: Table) -> None:
    table.delete([("id", ">", 1)])
    mark(table, table.refresh().state.segments.paths[0], 0, 1)
    assert table.refresh().state.segments.count == 0
    assert changes(table, 3) == [(3, "d", 0), (3, "d", 1)]


def test_a_rollback_brings_rows_back(table: Table) -> None:
    table.delete([("id", "in", [1, 4])])
    table.delete([("id", "in", [2])])
    table.rollback(2)
    table.rollback(1)
    table.rollback(3)
    assert changes(table, 4) == [
        (4, "i", 2),
        (5, "i", 1),
        (5, "i", 4),
        (6, "d", 1),
        (6, "d", 2),
        (6, "d", 4),
    ]
    assert changes(table, 4, net=True) == []
    assert changes(table, 5, net=True) == [(6, "d", 2)]


def test_a_rollback_to_other_marks_and_segments(table: Table) -> None:
    table.delete([("id", "=", 1)])
    table.rollback(1)
    table.delete([("id", "=", 2)])
    table.append(ids(20))
    table.rollback(2)
    assert changes(table, 6) == [(6, "d", 1), (6, "d", 20), (6, "i", 2)]


def test_a_removed_segment_that_a_rollback_restores_has_its_mark(table: Table) -> None:
    table.delete([("id", "<", 8)])
    table.delete(None)
    table.rollback(2)
    assert changes(table, 3) == [(3, "d", 8), (3, "d", 9), (4, "i", 8), (4, "i", 9)]
    assert changes(table, 3, net=True) == []


def test_net_changes_of_marks(table: Table) -> None:
    table.delete([("id", "in", [1, 4])])
    table.append(ids(20, 21))
    table.delete([("id", "in", [2, 20])])
    table.update({"n": 0}, [("id", "=", 21)])
    assert changes(table, 2, net=True) == [
        (5, "d", 1),
        (5, "d", 2),
        (5, "d", 4),
        (5, "i", 21),
    ]
    assert changes(table, 1, net=True) == [(5, "i", n) for n in (0, 3, *range(5, 10), 21)]
    assert changes(table, 4, net=True) == [
        (5, "d", 2),
        (5, "d", 20),
        (5, "d", 21),
        (5, "i", 21),
    ]


def test_net_changes_across_a_compaction(table: Table) -> None:
    table.delete([("id", "=", 1)])
    table.maintenance.compact(strategy="full")
    table.delete([("id", "=", 2)])
    assert changes(table, 3) == [(4, "d", 2)]
    assert changes(table, 2, net=True) == [(4, "d", 1), (4, "d", 2)]
    assert changes(table, 1, net=True) == [(4, "i", n) for n in (0, *range(3, 10))]


def test_changes_by_partition(tmp_path: Path) -> None:
    table = table_at(
        tmp_path, "id BIGINT, n INT", partitioned_by=["n"], properties={"row_changes": "mark"}
    )
    kind = pa.schema([("id", pa.int64()), ("n", pa.int32())])
    rows = [{"id": n, "n": n % 2} for n in range(6)]
    table.append(pa.Table.from_pylist(rows, kind))
    table.update({"n": 1}, [("id", "=", 2)])
    assert changes(table, 2) == [(2, "d", 2), (2, "i", 2)]
    plan = table.changes(2).plan.tasks
    assert [type(task) for task in plan] == [WholeTask, WholeTask]  # in different partitions
    table.update({"id": 30}, [("id", "=", 3)])
    assert changes(table, 3) == [(3, "d", 3), (3, "i", 30)]
    (task,) = table.changes(3).plan.tasks
    assert isinstance(task, DifferenceTask)
    assert task.rows == 2


def test_changes_in_the_schema_of_the_end(table: Table) -> None:
    table.delete([("id", "=", 1)])
    table.alter().drop_column("n").commit()
    table.alter().add_column("n", "STRING", default="new").commit()
    table.delete([("id", "=", 2)])
    found = table.changes(2).to_arrow().to_pylist()
    assert [(row["_commit_version"], row["id"], row["n"]) for row in found] == [
        (2, 1, "new"),
        (5, 2, "new"),
    ]
    assert table.changes(2, 2).to_arrow()["n"].to_pylist() == [10]


# Streams


def test_a_change_stream_shows_marked_rows(table: Table) -> None:
    stream = table.change_stream()
    at = stream.latest(stream.initial())
    assert stream.read(stream.initial(), at).num_rows == 10
    table.delete([("id", "in", [1, 4])])
    table.update({"n": 0}, [("id", "=", 5)])
    end = stream.latest(at)
    assert (stream.behind(at).versions, stream.behind(at).segments) == (2, 3)
    assert stream.latest(at, Limits(segments=1)).version == 3
    found = stream.read(at, end).to_pylist()
    assert sorted((r["_commit_version"], r["_change_type"], r["id"], r["n"]) for r in found) == [
        (2, "delete", 1, 10),
        (2, "delete", 4, 40),
        (3, "delete", 5, 50),
        (3, "insert", 5, 0),
    ]
    assert stream.latest(end) == end


def test_a_change_stream_starts_with_the_rows_that_are_left(table: Table) -> None:
    table.delete([("id", "<", 7)])
    table.append(ids(20))
    stream = table.change_stream()
    start = stream.initial()
    assert stream.behind(start).rows == 4
    assert sorted(r["id"] for r in stream.read(start, stream.latest(start)).to_pylist()) == [
        7,
        8,
        9,
        20,
    ]


def test_a_stream_of_rows_starts_with_those_that_are_left(table: Table) -> None:
    table.delete([("id", "<", 7)])
    reader = Reader(table.stream())
    assert reader.stream.behind(reader.at).rows == 3
    assert reader.ids() == [7, 8, 9]
    table.append(ids(20))
    assert reader.ids() == [20]


def test_a_stream_of_rows_refuses_marks_as_it_refuses_copies(table: Table) -> None:
    reader = Reader(table.stream())
    assert len(reader.ids()) == 10
    table.delete([("id", "=", 1)])
    with pytest.raises(InvalidRequestError, match=r"version 2 \(delete\) removed rows"):
        reader.ids()


def test_a_stream_of_rows_skips_marks_and_the_rows_of_updates(table: Table) -> None:
    reader = Reader(table.stream(Settings(on_rewrite=OnRewrite.SKIP)))
    assert len(reader.ids()) == 10
    table.delete([("id", "=", 1)])
    table.update({"n": 0}, [("id", "=", 5)])
    table.append(ids(20))
    assert reader.ids() == [20]


def test_rows_marked_after_they_were_added_are_in_the_stream(table: Table) -> None:
    """A batch has the same rows whenever it is planned."""
    stream = table.stream(Settings(starting_version=1, on_rewrite=OnRewrite.SKIP))
    start = stream.initial()
    table.delete([("id", "<", 5)])
    assert stream.read(start, stream.latest(start, Limits())).num_rows == 10
