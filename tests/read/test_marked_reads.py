"""Marked rows are in no answer: scans, filters, counts, extremes and estimates leave them out."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from external.files import ROOT, mapped, write
from versioned_catalog import Catalog, CorruptTableError, InvalidRequestError, NotFoundError, Table
from versioned_catalog.commit.operations import Base, Rewrite
from versioned_catalog.log.marks import FileMark, InlineMark, mark_of
from versioned_catalog.read.aggregates import count_rows, count_values, estimate, extreme
from versioned_catalog.read.segment_file import SegmentFile, SegmentTask
from versioned_catalog.read.tasks import read_segment, read_with_matches
from versioned_catalog.write import segment_writer, writer

INTS = pa.int32()
UNKNOWN = (False, None)
PRUNING = pytest.mark.parametrize("prune", [True, False])
Make = Callable[..., Table]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda ddl, **more: Catalog.create_path(tmp_path / "t", ddl, **more)


@pytest.fixture
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_writer, "ROW_GROUP_ROWS", 10)
    monkeypatch.setattr(writer, "ROW_GROUP_ROWS", 10)


def mark(table: Table, *positions: int, segment: int = 0) -> int:
    """Mark rows of a segment, by its place among the live ones."""
    state = table.refresh().state
    marks = {state.segments.paths[segment]: np.array(sorted(positions), np.int64)}
    return table._handle.commit(
        Rewrite(Base.of(state), (), (), (), kind="delete", reads=None, marks=marks)
    )


def numbers(make: Make, *segments: list[Any], kind: Any = INTS, ddl: str = "INT") -> Table:
    """A table with a column c; each list becomes a segment."""
    table = make(f"c {ddl}")
    for values in segments:
        table.append(pa.table({"c": pa.array(values, kind)}))
    return table


def rows(table: Table, **how: Any) -> list[tuple[Any, ...]]:
    """The rows, by a table that was loaded from the log, and by one from a checkpoint."""
    loaded = Catalog.load_path(table.location)
    found = [tuple(row.values()) for row in loaded.scan(**how).to_arrow().to_pylist()]
    table.refresh()
    table.log.write_checkpoint(table.state)
    again = Catalog.load_path(table.location).scan(**how)
    assert [tuple(row.values()) for b in again.to_batches() for row in b.to_pylist()] == found
    return found


# Scans


@PRUNING
@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
@pytest.mark.usefixtures("small_row_groups")
def test_marked_rows_are_left_out_and_positions_stay(
    make: Make, prune: bool, batch_rows: int
) -> None:
    table = numbers(make, list(range(35)))
    mark(table, 0, 9, 10, 13, 34)
    kept = [n for n in range(35) if n not in (0, 9, 10, 13, 34)]
    assert rows(table, columns=["c", "_row_position"], prune=prune) == [(n, n) for n in kept]
    assert rows(table, columns=["_row_position"], prune=prune) == [(n,) for n in kept]
    ((task, _),) = table.scan(prune=prune).tasks()
    assert isinstance(task, SegmentTask)
    batches = list(read_segment(table.store, task, batch_rows))
    assert [v for batch in batches for v in batch["c"].to_pylist()] == kept
    assert all(0 < batch.num_rows <= batch_rows for batch in batches)


@PRUNING
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([("c", ">=", 12), ("c", "<", 16)], [12, 14, 15]),
        ([("c", "=", 13)], []),
        ([("c", "in", [9, 10, 11, 30])], [11, 30]),
        ([("_row_position", ">", 31)], [32, 33]),
        ([("_row_position", "in", [13, 14])], [14]),
    ],
)
@pytest.mark.usefixtures("small_row_groups")
def test_filters_see_no_marked_row(
    make: Make, prune: bool, filters: Any, expected: list[int]
) -> None:
    table = numbers(make, list(range(35)))
    mark(table, 0, 9, 10, 13, 34)
    assert rows(table, filters=filters, prune=prune) == [(n,) for n in expected]
    scan = table.scan(columns=["_row_position"], filters=filters, prune=prune)
    assert scan.to_arrow()["_row_position"].to_pylist() == expected
    assert table.scan(filters=filters, prune=prune).count() == len(expected)
    assert table.scan(columns=[], filters=filters, prune=prune).to_arrow().num_rows == len(expected)


@pytest.mark.usefixtures("small_row_groups")
def test_row_groups_that_are_marked_whole_are_not_read(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = numbers(make, list(range(40)))
    mark(table, *range(10, 20), *range(30, 40), 5)
    groups, read = list[int](), SegmentFile.read

    def seen(file: SegmentFile, group: int, batch_rows: int) -> Any:
        groups.append(group)
        return read(file, group, batch_rows)

    monkeypatch.setattr(SegmentFile, "read", seen)
    assert table.scan().to_arrow()["c"].to_pylist() == [*range(5), *range(6, 10), *range(20, 30)]
    assert groups == [0, 2]


@pytest.mark.usefixtures("small_row_groups")
def test_parts_of_a_file_leave_out_their_marked_rows(make: Make) -> None:
    table = numbers(make, list(range(40)))
    mark(table, 3, 25)
    parts = [task for split in table.scan().partitions(1) for task in split]
    assert len(parts) > 1
    found = [b["c"].to_pylist() for task in parts for b in read_segment(table.store, task)]
    assert sorted(n for part in found for n in part) == [n for n in range(40) if n not in (3, 25)]


def test_tasks_are_read_elsewhere(make: Make) -> None:
    table = numbers(make, [1, 2, 3])
    mark(table, 1)
    ((task, _),) = pickle.loads(pickle.dumps(table.scan().tasks()))
    assert [b["c"].to_pylist() for b in read_segment(table.store, task)] == [[1, 3]]


def test_nested_columns_and_narrow_projections(make: Make) -> None:
    table = make("a INT, s STRUCT<x: INT, y: STRING>, l ARRAY<INT>, m MAP<STRING, INT>, z STRING")
    whole = [
        {"a": n, "s": {"x": n, "y": str(n)}, "l": [n, n + 1], "m": {"k": n}, "z": "z" * n}
        for n in range(5)
    ]
    arrow = table.scan().schema
    table.append(
        pa.Table.from_pylist(whole, schema=pa.schema([f.with_nullable(True) for f in arrow]))
    )
    mark(table, 0, 3)
    left = [{**row, "m": list(row["m"].items())} for row in (whole[1], whole[2], whole[4])]
    assert table.scan().to_arrow().to_pylist() == left
    assert table.scan(["l"]).to_arrow()["l"].to_pylist() == [[1, 2], [2, 3], [4, 5]]
    some = table.scan(["z"], filters=[("s.x", ">", 1)]).to_arrow()
    assert some["z"].to_pylist() == ["zz", "zzzz"]
    assert table.scan([]).to_arrow().num_rows == 3


def test_rewrites_see_the_rows_that_are_left(make: Make) -> None:
    table = numbers(make, [1, 2, 3, 4])
    mark(table, 1)
    ((task, _),) = table.scan(filters=[("c", ">", 2)]).tasks()
    assert isinstance(task, SegmentTask)
    ((batch, mask),) = read_with_matches(table.store, task)
    assert batch["c"].to_pylist() == [1, 3, 4]
    assert mask.to_pylist() == [False, True, True]
    table.update({"c": 9}, [("c", "=", 3)])
    assert sorted(rows(table)) == [(1,), (4,), (9,)]


def test_a_limit_counts_the_rows_that_are_left(make: Make) -> None:
    table = numbers(make, [1, 2, 3], [4, 5, 6], [7, 8, 9])
    mark(table, 0, 1)
    assert [table.scan(limit=n).to_arrow()["c"].to_pylist() for n in (1, 2, 4, 5)] == [
        [3],
        [3, 4],
        [3, 4, 5, 6],
        [3, 4, 5, 6, 7],
    ]
    assert [table.scan(limit=n).report().pruned for n in (1, 2, 5)] == [2, 1, 0]
    assert [table.scan(limit=n).count() for n in (1, 5, 100)] == [1, 5, 7]


def test_streams_of_arrow_leave_marked_rows_out(make: Make) -> None:
    table = numbers(make, [1, 2, 3])
    mark(table, 0)
    assert pa.RecordBatchReader.from_stream(table.scan()).read_all()["c"].to_pylist() == [2, 3]
    assert pa.table(table)["c"].to_pylist() == [2, 3]


# Schemas, versions and pins


def test_a_column_dropped_and_added_again_after_the_mark(make: Make) -> None:
    table = make("a INT, b INT")
    table.append(pa.table({"a": pa.array([1, 2, 3], INTS), "b": pa.array([10, 20, 30], INTS)}))
    mark(table, 1)
    table.alter().drop_column("b").commit()
    table.alter().add_column("b", "INT", default=7).commit()
    assert rows(table) == [(1, 7), (3, 7)]
    assert rows(table, filters=[("b", "=", 20)]) == []
    assert rows(table, filters=[("b", "=", 7)], columns=["a"]) == [(1,), (3,)]
    mark(table, 0)
    table.alter().rename_column("a", "n").change_type("n", "BIGINT").commit()
    assert rows(table) == [(3, 7)]


def test_each_version_and_tag_has_its_marks(make: Make) -> None:
    table = numbers(make, [1, 2, 3])
    mark(table, 0)
    table.set_tag("one", 2)
    mark(table, 2)
    assert rows(table) == [(2,)]
    assert rows(table, version="one") == [(2,), (3,)]
    assert rows(table, version=1) == [(1,), (2,), (3,)]
    assert table.as_of(2).count() == 2
    table.rollback(2)
    assert rows(table) == [(2,), (3,)]
    table.rollback(1)
    assert rows(table) == [(1,), (2,), (3,)]


def test_a_marked_value_that_does_not_fit_a_pin_is_no_error(make: Make) -> None:
    table = make("c INT")
    table.append(pa.table({"c": pa.array([1], INTS)}))
    table.pin_schema("old")
    table.alter().change_type("c", "BIGINT").commit()
    table.append(pa.table({"c": pa.array([2, 2**40, 3])}))
    old = table.seen_as("old")
    with pytest.raises(InvalidRequestError, match="do not fit"):
        old.scan().to_arrow()
    mark(table, 1, segment=1)
    old = Catalog.load_path(table.location).seen_as("old")
    assert old.scan().to_arrow()["c"].to_pylist() == [1, 2, 3]
    assert old.scan(filters=[("c", ">", 1)]).to_arrow()["c"].to_pylist() == [2, 3]
    assert old.scan().count() == 3


def test_rows_of_external_files_are_marked_by_position(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    catalog = Catalog(tmp_path / "warehouse", roots={ROOT: lake})
    table = catalog.create_table("t", "k INT, s STRING")
    data = pa.table({"k": pa.array(range(30), INTS), "s": [str(n) for n in range(30)]})
    write(lake, "x.parquet", data, row_group_size=10)
    table.append_external([mapped(table, "x.parquet")])
    mark(table, *range(10, 20), 3, 29)
    kept = [*range(3), *range(4, 10), *range(20, 29)]
    for prune in (True, False):
        scan = table.scan(["s", "_row_position"], prune=prune)
        assert scan.to_arrow().to_pylist() == [{"s": str(n), "_row_position": n} for n in kept]
        some = table.scan(["s"], filters=[("k", ">", 26)], prune=prune).to_arrow()
        assert some["s"].to_pylist() == ["27", "28"]
    assert table.count() == len(kept)


# Counts, extremes and estimates


def test_counts_of_rows_are_exact(make: Make) -> None:
    table = numbers(make, [1, 2, 3], [4, 5])
    mark(table, 0, 2)
    assert table.count() == table.scan().count() == count_rows(table.scan()) == 3
    assert count_rows(table.scan(filters=[("c", ">=", 4)])) == 2
    assert count_rows(table.scan(filters=[("c", "<=", 3)])) == 1
    assert table.snapshot().count() == 3


def test_counts_of_values_step_back_where_nulls_may_be_marked(make: Make) -> None:
    table = make("a INT, b INT, n INT")
    mixed = {"a": [1, 2, 3], "b": [1, None, 3], "n": [None] * 3}
    table.append(pa.table({name: pa.array(v, INTS) for name, v in mixed.items()}))
    table.append(pa.table({name: pa.array(v, INTS) for name, v in mixed.items()}))
    mark(table, 1)
    scan = table.scan()
    found = {c.name: count_values(scan, c) for c in scan.columns}
    assert found == {"a": 5, "b": None, "n": 0}


@pytest.mark.parametrize(
    ("segments", "marked", "least", "greatest"),
    [
        ([[1, 5], [2, 4]], [0], UNKNOWN, UNKNOWN),  # 1 and 5 may be marked
        ([[1, 5], [0, 9]], [0], (True, "0"), (True, "9")),  # the other segment has both ends
        ([[1, 5], [1, 4]], [0], (True, "1"), UNKNOWN),
        ([[5, 5], [6, 7]], [1], (True, "5"), (True, "7")),  # all rows are alike, and one is left
        ([[None, 5], [6, 7]], [1], UNKNOWN, (True, "7")),
        ([[None, None], [6, 7]], [1], (True, "6"), (True, "7")),
        ([[None, None]], [1], (True, None), (True, None)),
    ],
)
def test_extremes_step_back_where_the_bound_may_be_marked(
    make: Make, segments: list[list[Any]], marked: list[int], least: Any, greatest: Any
) -> None:
    table = numbers(make, *segments)
    mark(table, *marked)
    scan = table.scan()
    (column,) = scan.columns
    assert (extreme(scan, column, False), extreme(scan, column, True)) == (least, greatest)


@pytest.mark.parametrize(
    ("segments", "least", "greatest"),
    [
        ([[float("nan"), 1.0]], UNKNOWN, UNKNOWN),
        ([[float("nan"), 1.0], [0.5, float("nan")]], (True, "0.5"), (True, "NaN")),
        ([[float("nan"), float("nan")]], UNKNOWN, UNKNOWN),
        ([[float("nan"), float("nan")], [float("nan")]], (True, "NaN"), (True, "NaN")),
        ([[2.0, 2.0], [1.0, 3.0]], (True, "1.0"), (True, "3.0")),
    ],
)
def test_extremes_of_floats(
    make: Make, segments: list[list[Any]], least: Any, greatest: Any
) -> None:
    table = numbers(make, *segments, kind=pa.float64(), ddl="DOUBLE")
    mark(table, 0)
    scan = table.scan()
    (column,) = scan.columns
    assert (extreme(scan, column, False), extreme(scan, column, True)) == (least, greatest)


def test_estimates_count_the_rows_that_are_left(make: Make) -> None:
    table = numbers(make, [None, None, 3, 4, 5, 6])
    mark(table, 0, 2, 3, 4, 5)
    scan = table.scan()
    found = estimate(scan, scan.columns[0])
    assert found is not None
    assert (found.nulls, found.distinct) == (1, None)


def test_nulls_of_marked_rows_do_not_hinder_not_null(make: Make) -> None:
    table = numbers(make, [1, None, 3], [4, None])
    mark(table, 1)
    with pytest.raises(InvalidRequestError, match="null"):
        table.alter().set_not_null("c").commit()
    mark(table, 1, segment=1)
    table.alter().set_not_null("c").commit()
    assert rows(table) == [(1,), (3,), (4,)]


# Damage


def test_a_mark_in_a_file_is_read_and_its_loss_is_reported(make: Make) -> None:
    table = numbers(make, list(range(200_000)))
    mark(table, *range(0, 200_000, 7))
    ((path, found),) = table.refresh().state.segments.marks.items()
    assert isinstance(found, FileMark)
    assert table.scan(filters=[("c", "<", 9)]).to_arrow()["c"].to_pylist() == [1, 2, 3, 4, 5, 6, 8]
    assert table.count() == 200_000 - 28_572
    table.store.delete(found.path)
    with pytest.raises(CorruptTableError, match=f"marks of {path}, is missing"):
        table.scan().to_arrow()


def test_a_mark_of_an_expired_version_is_reported_as_such(make: Make) -> None:
    table = numbers(make, list(range(200_000)))
    mark(table, *range(0, 200_000, 7))
    tasks = [task for task, _ in Catalog.load_path(table.location).scan().tasks()]
    ((_, found),) = table.refresh().state.segments.marks.items()
    assert isinstance(found, FileMark)
    mark(table, *range(1, 200_000, 7))
    table.maintenance.expire(timedelta(0), dry_run=False, force=True)
    table.store.delete(found.path)
    with pytest.raises(NotFoundError, match="was expired since this was planned"):
        list(read_segment(table.store, tasks[0]))


def test_a_mark_beyond_the_segment_is_damage(make: Make) -> None:
    table = numbers(make, [1, 2, 3])
    ((task, _),) = table.scan().tasks()
    beyond = mark_of(table.store, 0, "x", np.array([1, 3]))
    assert isinstance(beyond, InlineMark)
    with pytest.raises(CorruptTableError, match="row 3 is marked in a segment of 3 rows"):
        list(read_segment(table.store, replace(task, mark=beyond)))


def test_only_some_rows_are_read(make: Make) -> None:
    table = numbers(make, list(range(9)))
    ((task, _),) = table.scan().tasks()
    assert isinstance(task, SegmentTask)
    new, old = (mark_of(table.store, 0, "x", np.array(at)) for at in ([1, 4, 8], [4]))
    found = {
        name: [
            v for b in read_segment(table.store, replace(task, **how)) for v in b["c"].to_pylist()
        ]
        for name, how in {
            "new": {"only": new, "mark": old},
            "all": {"only": new},
            "none": {"only": old, "mark": new},
        }.items()
    }
    assert found == {"new": [1, 8], "all": [1, 4, 8], "none": []}
    assert replace(task, only=new, mark=old).shown_rows == 3
    assert replace(task, mark=new).shown_rows == 6
