"""Scans of keyed tables: only overlapping segments are merged, and filters change no result."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from read.keyed_table import make, rows, shown
from versioned_catalog import Table
from versioned_catalog.read.aggregates import count_rows, extreme
from versioned_catalog.read.tasks import MergeTask


def merged(table: Table, **how: object) -> list[int]:
    """How many segments each merge of a scan has."""
    tasks = [task for task, _ in table.scan(**how).tasks()]  # type: ignore[arg-type]
    return [len(task.members) for task in tasks if isinstance(task, MergeTask)]


def test_a_filter_on_a_value_does_not_show_a_replaced_version(tmp_path: Path) -> None:
    """The newest version of the row is in a segment that the filter does not match."""
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0)))
    table.append(rows(("a", 1, 100.0)))
    for prune in (True, False):
        assert shown(table, filters=[("v", "<", 50.0)], prune=prune) == []
        assert shown(table, filters=[("host", "=", "a"), ("v", "<", 50.0)], prune=prune) == []
        assert shown(table, filters=[("v", ">", 50.0)], prune=prune) == [("a", 1, 100.0, 7)]
    assert table.scan(filters=[("v", "<", 50.0)]).count() == 0


def test_a_filter_on_the_row_key_prunes_segments_before_a_merge(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0), ("b", 1, 1.0)))
    table.append(rows(("b", 1, 2.0), ("c", 1, 2.0)))
    assert merged(table) == [2]
    scan = table.scan(filters=[("host", "=", "c")])
    assert (scan.report().pruned, merged(table, filters=[("host", "=", "c")])) == (1, [])
    either = [[("host", "=", "c"), ("v", "=", 2.0)], [("host", "=", "d")]]
    assert shown(table, filters=either) == [("c", 1, 2.0, 7)]
    assert table.scan(filters=either).report().pruned == 1


def test_segments_without_overlap_are_not_merged(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    for day in (1, 2, 3):  # of all hosts, one day each: no range of the time overlaps
        table.append(rows(("a", day, 1.0), ("z", day, 1.0)))
    assert merged(table) == []
    assert table.scan().merged_paths() == frozenset()
    assert count_rows(table.scan()) == 6
    table.upsert(rows(("m", 2, 5.0)))
    assert merged(table) == [2]
    assert len(table.scan().merged_paths()) == 2
    assert count_rows(table.scan()) is None
    assert table.count() == 7
    assert table.scan(limit=2).to_arrow().num_rows == 2


def test_a_limit_counts_shown_rows(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    for _ in range(3):
        table.append(rows(("a", 1, 1.0), ("b", 1, 1.0)))
    table.append(rows(("x", 9, 1.0), ("y", 9, 1.0)))
    for limit in range(6):
        assert table.scan(limit=limit).to_arrow().num_rows == min(limit, 4)
        assert table.scan(limit=limit).count() == min(limit, 4)


def test_segments_of_tombstones_alone_are_not_read(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0)))
    table.delete([("host", "=", "a")])
    assert table.count() == 0
    assert count_rows(table.scan()) is None
    assert table.maintenance.compact().added == 0
    assert (table.state.segments.count, table.count()) == (0, 0)


def test_statistics_of_replaced_rows_are_not_used(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 100.0)))
    assert extreme(table.scan(), table.schema.get(("v",)), True) == (True, "100.0")
    table.append(rows(("a", 1, 1.0)))
    assert extreme(table.scan(), table.schema.get(("v",)), True) == (False, None)


def test_sequence_and_op_type_as_metadata_columns(tmp_path: Path) -> None:
    table = make(tmp_path / "t", "host STRING, ts TIMESTAMP, v DOUBLE, `__op_type` STRING")
    data = rows(("a", 1, 1.0), ("b", 1, 1.0)).append_column("__op_type", pa.array(["x", "y"]))
    table.append(data)
    table.append(data.slice(0, 1))
    names = ["host", "__sequence", "__op_type"]
    found = table.scan(columns=names).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == [("a", 2, "x"), ("b", 1, "y")]
    table.maintenance.compact()
    found = table.scan(columns=names, filters=[("__sequence", ">", 1)]).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == [("a", 2, "x")]


@pytest.mark.parametrize("compacted", [False, True])
def test_added_and_dropped_columns(tmp_path: Path, compacted: bool) -> None:
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0), ("b", 1, 2.0)))
    table.upsert(rows(("a", 1, 9.0)), partial=True)
    table.alter().drop_column("v").commit()
    table.alter().add_column("v", "double", default=0.5).commit()
    if compacted:
        table.maintenance.compact(strategy="full")
    assert shown(table) == [("a", 1, 7, 0.5), ("b", 1, 7, 0.5)]
    table.upsert(rows(("b", 1, 3.0)), partial=True)
    assert shown(table) == [("a", 1, 7, 0.5), ("b", 1, 7, 3.0)]
    assert table.delete([("v", "=", 1.0)]) == table.version
    assert table.count() == 2


def test_segments_of_different_partitions_are_not_merged(tmp_path: Path) -> None:
    table = make(tmp_path / "t", partitioned_by=["bucket(4, host)"])
    hosts = [f"h{n}" for n in range(20)]
    table.append(rows(*((host, 1, 1.0) for host in hosts)))
    assert table.state.segments.count == 4
    assert merged(table) == []
    table.append(rows((hosts[3], 1, 2.0)))
    assert merged(table) == [2]
    table.alter().set_partitioning(["bucket(2, host)"]).commit()
    table.append(rows((hosts[5], 1, 3.0)))
    assert merged(table) == [6], "what is partitioned otherwise may hold any key"
    assert shown(table, filters=[("v", ">", 1.0)]) == [("h3", 1, 2.0, 7), ("h5", 1, 3.0, 7)]
    table.maintenance.compact()
    assert (merged(table), table.count()) == ([], 20)
