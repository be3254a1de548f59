"""Compaction leaves out marked rows, clears marks, and brings no marked row back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from external.files import ROOT, mapped, write
from versioned_catalog import Catalog, Table
from versioned_catalog.log.marks import mark_of
from versioned_catalog.write.compaction import plan_tasks
from versioned_catalog.write.compaction_choice import bins, much_marked
from versioned_catalog.write.plan import plan_now

LARGE = {"target_segment_bytes": "1", "row_changes": "mark"}
"""Properties with which no segment is small."""


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def create(folder: Path, *segments: range, **properties: str) -> Table:
    table = Catalog.create_path(
        folder / "t", "id BIGINT", properties={"row_changes": "mark", **properties}
    )
    for ids in segments:
        table.append(rows(*ids))
    return table


def ids(table: Table) -> list[int]:
    return sorted(Catalog.load_path(table.location).scan().to_arrow()["id"].to_pylist())


def without(count: int, *deleted: int) -> list[int]:
    return [n for n in range(count) if n not in deleted]


def marked(table: Table) -> dict[str, int]:
    """The number of marked rows by segment."""
    marks = Catalog.load_path(table.location).state.segments.marks
    return {path: mark.rows for path, mark in marks.items()}


def test_auto_rewrites_segments_of_which_a_tenth_is_marked(tmp_path: Path) -> None:
    table = create(tmp_path, range(20), range(20, 40), range(40, 60), **LARGE)
    table.delete([("id", "in", [3, 25, 26])])
    first, second, third = table.state.segments.paths
    assert marked(table) == {first: 1, second: 2}
    assert table.maintenance.compact(dry_run=True).removed == 1
    done = table.maintenance.compact()
    assert (done.removed, done.skipped) == (1, 0)
    assert marked(table) == {first: 1}
    assert {first, third} < set(table.state.segments.paths)
    assert second not in table.state.segments.paths
    assert ids(table) == without(60, 3, 25, 26)
    assert table.changes(table.version).to_arrow().num_rows == 0
    assert table.maintenance.compact().removed == 0


def test_small_leaves_large_marked_segments(tmp_path: Path) -> None:
    table = create(tmp_path, range(20), **LARGE)
    table.delete([("id", "<", 10)])
    assert table.maintenance.compact(strategy="small").removed == 0


def test_full_clears_each_mark(tmp_path: Path) -> None:
    table = create(tmp_path, range(20), range(20, 40))
    table.delete([("id", "in", [3, 25])])
    table.maintenance.compact(strategy="full")
    assert marked(table) == {}
    assert table.state.segments.count == 1
    assert table.state.segments.rows == table.count() == 38
    assert ids(table) == without(40, 3, 25)
    assert ids(table.as_of(3)) == without(40, 3, 25)
    assert Catalog.verify_path(table.location, deep=True, every_version=True).findings == ()


def test_small_marked_segments_are_merged(tmp_path: Path) -> None:
    table = create(tmp_path, range(20), range(20, 40))
    table.delete([("id", "=", 3)])
    assert table.maintenance.compact().removed == 2
    assert (marked(table), ids(table)) == ({}, without(40, 3))


def test_chosen_segments_are_read_without_marked_rows(tmp_path: Path) -> None:
    table = create(tmp_path, range(20), range(20, 40))
    table.delete([("id", "in", [3, 25])])
    first, second = table.state.segments.paths
    table.maintenance.compact(paths=[first])
    assert (marked(table), ids(table)) == ({second: 1}, without(40, 3, 25))


def test_a_z_order_is_of_the_rows_that_are_left(tmp_path: Path) -> None:
    table = create(tmp_path, range(20), range(20, 40))
    table.delete([("id", "<", 30)])
    table.maintenance.compact(zorder=["id"])
    assert (marked(table), ids(table)) == ({}, list(range(30, 40)))


def test_partitions_are_compacted_apart(tmp_path: Path) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "id BIGINT, p BIGINT", partitioned_by=["p"], properties=LARGE
    )
    table.append(pa.table({"id": list(range(20)), "p": [n % 2 for n in range(20)]}))
    table.delete([("id", "in", [4, 6])])
    assert table.maintenance.compact().removed == 1
    assert (marked(table), ids(table)) == ({}, without(20, 4, 6))


def test_a_segment_whose_rows_are_all_marked_is_removed(tmp_path: Path) -> None:
    """Writers remove such a segment, but another writer may leave it."""
    table = create(tmp_path, range(4), range(4, 8))
    state = table.state
    path = state.segments.paths[0]
    every = mark_of(table.store, state.version, path, np.arange(4))
    spec = plan_now(table.store, state, "t").spec
    marked_state = replace(state, segments=state.segments.marked({path: every}))
    (task,) = plan_tasks(marked_state, spec, None, [path], "auto")
    assert task.paths == (path,)
    assert task.run(table.store) == ()
    both = plan_tasks(marked_state, spec, None, None, "full")
    assert [sum(r.rows for r in one.run(table.store)) for one in both] == [4]


def test_bins_hold_what_is_left_of_marked_segments(tmp_path: Path) -> None:
    table = create(tmp_path, range(4))
    row: dict[str, Any] = {"schema_version": 0, "partition": None, "rows": 100, "mark": None}
    half = '{"rows":50,"blob":"AA=="}'
    each = [
        row | {"path": "data/a", "bytes": 100, "mark": half},
        row | {"path": "data/b", "bytes": 100, "mark": half},
        row | {"path": "data/c", "bytes": 100},
        row | {"path": "root:lake/d", "bytes": 100, "mark": half},
        row | {"path": "data/e", "bytes": 100, "mark": '{"rows":9,"blob":"AA=="}'},
    ]
    packed = bins(each, table.state.schemas, 100, much_marked)
    assert [[one["path"] for one in group] for group in packed] == [["data/a", "data/b"]]


# At once


@pytest.mark.parametrize("refreshed", [False, True])
def test_a_group_that_is_marked_meanwhile_is_skipped(tmp_path: Path, refreshed: bool) -> None:
    table = create(tmp_path, range(20), range(20, 40), **LARGE)
    table.delete([("id", "in", [1, 2, 21, 22])])
    first, second = table.state.segments.paths
    tasks = table.maintenance.plan_compaction()
    assert [task.paths for task in tasks] == [(first,), (second,)]
    done = [(task, task.run(table.store)) for task in tasks]
    Catalog.load_path(table.location).delete([("id", "=", 5)])
    if refreshed:
        table.refresh()
    compacted = table.maintenance.commit_compaction(tasks, done)
    assert (compacted.removed, compacted.skipped) == (1, 1)
    assert marked(table) == {first: 3}
    assert ids(table) == without(40, 1, 2, 5, 21, 22)


def test_a_repeated_compaction_is_one_commit(tmp_path: Path) -> None:
    table = create(tmp_path, range(20), **LARGE)
    table.delete([("id", "<", 5)])
    tasks = table.maintenance.plan_compaction()
    done = [(task, task.run(table.store)) for task in tasks]
    late = Catalog.load_path(table.location)
    table.maintenance.commit_compaction(tasks, done, commit_id="c")
    assert late.maintenance.commit_compaction(tasks, done, commit_id="c").removed == 1
    assert late.refresh().version == 3
    assert ids(table) == list(range(5, 20))


def test_adopted_files_are_copied_on_demand_only(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    catalog = Catalog(tmp_path / "warehouse", roots={ROOT: lake})
    table = catalog.create_table("t", "id BIGINT", properties={"row_changes": "mark"})
    write(lake, "x.parquet", rows(*range(10)))
    table.append_external([mapped(table, "x.parquet")])
    table.delete([("id", "<", 5)])
    assert table.maintenance.compact().removed == 0
    assert table.maintenance.compact(strategy="full").removed == 1
    assert table.scan().to_arrow()["id"].to_pylist() == [5, 6, 7, 8, 9]
    assert not table.state.segments.has_marks
