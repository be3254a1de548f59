"""Marks: DELETE, UPDATE and overwrites of few rows leave segments as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from external.files import ROOT, mapped, write
from faults.store import Fault, FaultyStore, Plan
from pairwise import matrix, some
from sealing import resealed
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    Table,
    VersionedError,
    expr,
)
from versioned_catalog.log.marks import FileMark, marked_rows
from versioned_catalog.names.folders import load_at
from versioned_catalog.read.segment_file import SegmentFile
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.write import segment_writer, writer
from versioned_catalog.write.marking import ROW_CHANGES

INTS = pa.int32()
Pairs = list[tuple[Any, ...]]
K16 = list(range(16))


def data(pairs: Pairs) -> pa.Table:
    keys, values = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({"k": pa.array(keys, INTS), "v": pa.array(values, INTS)})


def create(folder: Path, **properties: str) -> Table:
    """A table with one segment, of 16 rows: k from 0 to 15, and v = 0."""
    table = Catalog.create_path(folder / "t", "k INT, v INT", properties=properties)
    table.append(data([(k, 0) for k in K16]))
    return table


@pytest.fixture
def sixteen(tmp_path: Path) -> Table:
    return create(tmp_path)


def again(table: Table) -> Table:
    return Catalog.load_path(table.location)


def shown(table: Table, **how: Any) -> Pairs:
    """The rows, loaded anew."""
    rows = again(table).scan(**how).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def zeros(*keys: int) -> Pairs:
    return [(key, 0) for key in keys]


def in_order(*parts: Pairs) -> Pairs:
    return sorted((row for part in parts for row in part), key=repr)


def marks(table: Table) -> list[list[int]]:
    """The marked positions of each marked segment, in the order of the segments."""
    state = again(table).state
    rows = dict(zip(state.segments.paths, state.segments.core["rows"].to_pylist(), strict=True))
    found = state.segments.marks
    return [
        marked_rows(table.store, found[path], path, rows[path]).tolist()
        for path in state.segments.paths
        if path in found
    ]


def files(table: Table) -> dict[str, int]:
    """The data files, with the time of their last change."""
    folder = Path(table.location.removeprefix("file://")) / "data"
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


def kept_every_file(table: Table, before: dict[str, int]) -> bool:
    return before.items() <= files(table).items()


def clean(table: Table) -> bool:
    findings = Catalog.verify_path(table.location, deep=True, every_version=True).findings
    return findings == ()


# What is marked, and what is copied


@pytest.mark.parametrize(
    ("how", "deleted", "marked", "new_files"),
    [
        ("auto", [3], [[3]], 0),
        ("auto", [3, 5, 9, 15], [[3, 5, 9, 15]], 0),
        ("auto", [3, 5, 9, 12, 15], [], 1),
        ("mark", [3], [[3]], 0),
        ("mark", [3, 5, 9, 12, 15], [[3, 5, 9, 12, 15]], 0),
        ("copy", [3], [], 1),
    ],
)
def test_delete_marks_at_most_a_quarter_unless_it_is_told(
    tmp_path: Path, how: str, deleted: list[int], marked: list[list[int]], new_files: int
) -> None:
    table = create(tmp_path, row_changes=how)
    before = files(table)
    assert table.delete([("k", "in", deleted)]) == 2
    assert shown(table) == in_order(zeros(*(k for k in K16 if k not in deleted)))
    assert again(table).count() == 16 - len(deleted)
    assert marks(table) == marked
    assert kept_every_file(table, before)
    assert len(files(table)) - len(before) == new_files
    assert again(table).state.segments.count == 1
    assert again(table).inspect.history()["operation"].to_pylist()[-1] == "delete"
    assert shown(table, version=1) == in_order(zeros(*K16))
    assert clean(table)


@pytest.mark.parametrize(
    ("how", "changed", "marked", "segments"),
    [
        ("auto", [3], [[3]], [16, 1]),
        ("auto", [3, 5, 9, 15], [[3, 5, 9, 15]], [16, 4]),
        ("auto", [3, 5, 9, 12, 15], [], [16]),
        ("mark", [3, 5, 9, 12, 15], [[3, 5, 9, 12, 15]], [16, 5]),
        ("copy", [3], [], [16]),
    ],
)
def test_update_writes_only_the_changed_rows_of_marked_segments(
    tmp_path: Path, how: str, changed: list[int], marked: list[list[int]], segments: list[int]
) -> None:
    table = create(tmp_path, row_changes=how)
    before = files(table)
    assert table.update({"v": expr("k + 100")}, [("k", "in", changed)]) == 2
    others = [k for k in K16 if k not in changed]
    assert shown(table) == in_order(zeros(*others), [(k, k + 100) for k in changed])
    assert marks(table) == marked
    assert again(table).state.segments.core["rows"].to_pylist() == segments
    assert kept_every_file(table, before)
    assert again(table).count() == 16
    assert again(table).inspect.history()["operation"].to_pylist()[-1] == "update"
    assert clean(table)


@pytest.mark.parametrize(
    ("how", "marked", "segments"),
    [("auto", [[3, 4]], [1, 16]), ("mark", [[3, 4]], [1, 16]), ("copy", [], [1, 14])],
)
def test_overwrite_where_marks_what_it_replaces(
    tmp_path: Path, how: str, marked: list[list[int]], segments: list[int]
) -> None:
    table = create(tmp_path, row_changes=how)
    table.overwrite_where(data([(40, 7)]), [("k", "in", [3, 4])])
    others = [k for k in K16 if k not in (3, 4)]
    assert shown(table) == in_order(zeros(*others), [(40, 7)])
    assert marks(table) == marked
    assert sorted(again(table).state.segments.core["rows"].to_pylist()) == segments
    assert again(table).inspect.history()["operation"].to_pylist()[-1] == "overwrite"


def test_a_transaction_overwrites_its_own_rows_by_marks(sixteen: Table) -> None:
    """The plan may be older than the newest version; its rows are computed from rows of it."""
    transaction = sixteen.transaction()
    rows = data([(3, 30)])
    plan = transaction.plan_write(rows.schema)
    records = plan.write(rows.schema, rows.to_batches())
    again(sixteen).delete([("k", "=", 5)])
    transaction.commit_overwrite_where(plan, records, [("k", "=", 3)], own_rows=True)
    others = [k for k in K16 if k not in (3, 5)]
    assert shown(sixteen) == in_order(zeros(*others), [(3, 30)])
    assert marks(sixteen) == [[3, 5]]


def test_earlier_marks_count_towards_the_quarter(sixteen: Table) -> None:
    sixteen.delete([("k", "in", [0, 1, 2])])
    sixteen.delete([("k", "=", 3)])
    assert marks(sixteen) == [[0, 1, 2, 3]]
    sixteen.update({"v": 1}, [("k", "=", 4)])
    assert marks(sixteen) == []
    assert shown(sixteen) == in_order(zeros(*range(5, 16)), [(4, 1)])
    assert again(sixteen).state.segments.core["rows"].to_pylist() == [12]


def test_a_condition_that_matches_nothing_commits_nothing(tmp_path: Path) -> None:
    for how in ("auto", "mark", "copy"):
        table = create(tmp_path / how, row_changes=how)
        table.delete([("k", "in", [0, 1, 2])])
        version, before = again(table).version, files(table)
        assert table.delete([("k", "in", [0, 2])]) == version, "these rows are marked already"
        assert table.update({"v": 1}, [("k", "in", [0, 2])]) == version
        assert files(table) == before


def test_a_segment_whose_rows_all_match_is_removed_without_a_mark(tmp_path: Path) -> None:
    table = create(tmp_path, row_changes="mark")
    before = files(table)
    table.append(data([(100, 0), (200, 0)]))
    table.delete([("k", "<", 50)])  # all of it, by its bounds
    assert (shown(table), marks(table)) == ([(100, 0), (200, 0)], [])
    table.delete([("k", "in", [100, 200]), ("v", "=", 0)])  # all of it, by reading
    assert (shown(table), marks(table)) == ([], [])
    assert again(table).state.segments.count == 0
    assert kept_every_file(table, before)


def test_the_last_rows_of_a_segment_leave_with_it(tmp_path: Path) -> None:
    table = create(tmp_path, row_changes="mark")
    table.delete([("k", "in", [0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])])
    table.update({"v": 5}, [("k", "in", [1, 2, 13, 14, 15])])
    assert shown(table) == in_order([(k, 5) for k in (1, 2, 13, 14, 15)])
    assert (marks(table), again(table).state.segments.core["rows"].to_pylist()) == ([], [5])
    assert clean(table)


def test_the_property_that_holds_is_that_of_the_statement(sixteen: Table) -> None:
    sixteen.alter().set_property("row_changes", "copy").commit()
    sixteen.delete([("k", "=", 1)])
    assert marks(sixteen) == []
    sixteen.alter().set_property("row_changes", "mark").commit()
    sixteen.delete([("k", "in", [0, 2, 3, 4, 5])])
    assert marks(sixteen) == [[0, 1, 2, 3, 4]]
    sixteen.alter().unset_property("row_changes").commit()
    sixteen.delete([("k", "=", 6)])
    assert (marks(sixteen), shown(sixteen)) == ([], in_order(zeros(*range(7, 16))))


def test_an_unknown_value_of_an_older_table_is_reported(tmp_path: Path) -> None:
    """A property of that name was the user's own before it had a meaning."""
    create(tmp_path, team="x")
    entry = tmp_path / "t/_versioned/log" / f"{0:020d}.json"
    entry.write_text(resealed(entry.read_text().replace("team", ROW_CHANGES)))
    table = Catalog.load_path(tmp_path / "t")
    for change in (
        lambda: table.delete([("k", "=", 1)]),
        lambda: table.update({"v": 1}, [("k", "=", 1)]),
        lambda: table.overwrite_where(data([]), [("k", "=", 1)]),
    ):
        with pytest.raises(InvalidRequestError) as caught:
            change()
        for part in (str(tmp_path), "row_changes is 'x'", "'auto', 'copy' or 'mark'"):
            assert part in str(caught.value)
    assert table.alter().set_property("row_changes", "mark").commit() == 2
    table.delete([("k", "=", 1)])
    assert marks(table) == [[1]]


# One statement after another


def test_a_delete_after_a_delete_unites_the_marks(sixteen: Table) -> None:
    sixteen.delete([("k", "in", [9, 2])])
    again(sixteen).delete([("k", "<=", 2), ("k", ">", 0)])
    assert marks(sixteen) == [[1, 2, 9]]
    assert shown(sixteen) == in_order(zeros(*(k for k in K16 if k not in (1, 2, 9))))
    assert shown(sixteen, version=2) == in_order(zeros(*(k for k in K16 if k not in (2, 9))))


def test_an_update_after_a_delete_brings_no_row_back(sixteen: Table) -> None:
    sixteen.delete([("k", "=", 2)])
    sixteen.update({"v": expr("v + 1")}, [("k", "in", [1, 2, 3])])
    sixteen.update({"v": expr("v + 1")}, [("k", "in", [1, 2])])
    others = [k for k in K16 if k not in (1, 2, 3)]
    assert shown(sixteen) == in_order(zeros(*others), [(1, 2), (3, 1)])
    assert marks(sixteen) == [[1, 2, 3]], "the new segment has two rows, so it was copied"


def test_an_update_of_all_rows_leaves_marked_ones_out(sixteen: Table) -> None:
    sixteen.delete([("k", "in", [0, 15])])
    sixteen.update({"v": 1})
    assert (shown(sixteen), marks(sixteen)) == (in_order([(k, 1) for k in range(1, 15)]), [])
    sixteen.delete([("k", "=", 7)])
    sixteen.update({"v": 2}, [("k", ">=", 0)])
    assert shown(sixteen) == in_order([(k, 2) for k in range(1, 15) if k != 7])


def test_updated_rows_of_several_segments_share_one(sixteen: Table) -> None:
    """Else each small UPDATE would leave as many small segments as it touches."""
    sixteen.append(data([(k, 0) for k in range(100, 116)]))
    sixteen.update({"v": 1}, [("k", "in", [3, 103])])
    assert marks(sixteen) == [[3], [3]]
    assert again(sixteen).state.segments.core["rows"].to_pylist() == [16, 16, 2]


def test_duplicate_rows_are_told_apart_by_position(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "k INT, v INT")
    table.append(data([(1, 1)] * 8))
    table.delete([("_row_position", "in", [2, 5])])
    assert (marks(table), shown(table)) == ([[2, 5]], [(1, 1)] * 6)
    table.update({"v": 2}, [("_row_position", "=", 2)])  # is marked already
    assert shown(table) == [(1, 1)] * 6


# Two at once


def outcome(change: Callable[[], object]) -> VersionedError | None:
    try:
        change()
    except CommitConflictError as error:
        return error
    return None


FEW, MANY = [3], [3, 4, 5, 6, 7, 8, 9, 10]
OTHERS, MANY_OTHERS = [12], [11, 12, 13, 14, 15]


SITUATIONS = {
    "different rows": (FEW, OTHERS, True),
    "the same row": (FEW, FEW, False),
    "one row of both": (FEW, [3, 12], False),
    "a mark and a copy": (FEW, MANY_OTHERS, False),  # which would bring the marked row back
    "a copy and a mark": (MANY, OTHERS, False),
    "two copies": (MANY, MANY_OTHERS, False),
}
CHANGES = ("delete", "update", "overwrite")
MEETINGS = matrix(
    list(product(("snapshot", "serializable"), SITUATIONS, CHANGES, CHANGES)),
    lambda *case: ", ".join(case),
)


@pytest.mark.parametrize(("isolation", "situation", "one", "two"), MEETINGS)
def test_two_jobs_on_one_segment(
    tmp_path: Path, isolation: str, situation: str, one: str, two: str
) -> None:
    first, second, lands = SITUATIONS[situation]
    table = create(tmp_path, isolation=isolation)
    mine = again(table)
    change(table, one, first)
    error = outcome(lambda: change(mine, two, second))
    landed = model(dict.fromkeys(K16, 0), one, first)
    expected = model(landed, two, second)
    if lands and isolation == "snapshot":
        assert error is None
        assert shown(table) == in_order(list(expected.items()))
        assert marks(table) == [sorted(first + second)]
    else:
        assert error is not None
        assert str(tmp_path) in str(error)
        assert "run it again" in str(error)
        assert shown(table) == in_order(list(landed.items()))
        change(mine.refresh(), two, second)
        assert shown(table) == in_order(list(expected.items()))
    assert clean(table)


def change(table: Table, job: str, keys: list[int]) -> None:
    where = [("k", "in", keys)]
    match job:
        case "delete":
            table.delete(where)
        case "update":
            table.update({"v": expr("v + 1")}, where)
        case "overwrite":
            table.overwrite_where(data([(keys[0], 50)]), where)


def model(rows: dict[int, int], job: str, keys: list[int]) -> dict[int, int]:
    others = {k: v for k, v in rows.items() if k not in keys}
    match job:
        case "update":
            return others | {k: rows[k] + 1 for k in keys if k in rows}
        case "overwrite":
            return others | {keys[0]: 50}
        case _:
            return others


def test_serializable_statements_on_other_segments_both_land(tmp_path: Path) -> None:
    table = create(tmp_path, isolation="serializable")
    table.append(data([(k, 0) for k in range(100, 116)]))
    mine = again(table)
    table.delete([("k", "=", 3)])
    mine.delete([("k", "=", 103)])
    assert marks(table) == [[3], [3]]


def test_a_mark_and_an_append_or_an_alter_both_land(sixteen: Table) -> None:
    mine, other = again(sixteen), again(sixteen)
    sixteen.append(data([(3, 9)]))
    sixteen.alter().add_column("w", "int", default=5).commit()
    mine.delete([("k", "=", 3)])
    other.update({"v": 1}, [("k", "=", 4)])
    others = [k for k in K16 if k not in (3, 4)]
    assert shown(sixteen) == in_order([(k, 0, 5) for k in others], [(3, 9, 5), (4, 1, 5)])
    assert marks(sixteen) == [[3, 4]]


# Other features


@pytest.mark.parametrize("how", ["auto", "mark", "copy"])
def test_partitioned_tables(tmp_path: Path, how: str) -> None:
    table = Catalog.create_path(
        tmp_path / "t", "p INT, k INT", partitioned_by=["p"], properties={"row_changes": how}
    )
    rows = [(k % 2, k) for k in range(16)]
    table.append(pa.table({"p": [p for p, _ in rows], "k": [k for _, k in rows]}, _schema("p k")))
    table.delete([("k", "=", 6)])
    table.update({"p": 7}, [("k", "in", [2, 3])])
    table.update({"k": 100}, [("k", "=", 4)])
    left = [(p, k) for p, k in rows if k not in (6, 2, 3, 4)]
    assert shown(table) == in_order(left, [(7, 2), (7, 3), (0, 100)])
    assert shown(table, filters=[("p", "=", 7)]) == [(7, 2), (7, 3)]
    table.delete([("p", "=", 0)])
    assert shown(table) == in_order([row for row in left if row[0] == 1], [(7, 2), (7, 3)])
    partitions = again(table).inspect.segments()["partition"].to_pylist()
    assert {*map(tuple, partitions)} == {("1",), ("7",)}
    assert clean(table)


def _schema(names: str) -> pa.Schema:
    return pa.schema([pa.field(name, INTS) for name in names.split()])


def test_sorted_tables_sort_the_updated_rows(tmp_path: Path) -> None:
    table = create(tmp_path, sort_by="k DESC", row_changes="mark")
    table.update({"v": 1}, [("k", "in", [2, 9, 4])])
    new = again(table).state.segments.paths[-1]
    rows = table.scan(["k", "_segment"]).to_arrow().to_pylist()
    assert [row["k"] for row in rows if row["_segment"] == new] == [9, 4, 2]


def test_rows_are_marked_in_segments_of_earlier_schemas(sixteen: Table) -> None:
    sixteen.delete([("k", "=", 0)])
    sixteen.alter().drop_column("v").commit()
    sixteen.alter().add_column("v", "int", default=7).add_column("w", "string").commit()
    before = files(sixteen)
    sixteen.delete([("k", "=", 1), ("v", "=", 7)])
    assert sixteen.delete([("v", "=", 0)]) == again(sixteen).version, "those values were dropped"
    sixteen.update({"w": "x"}, [("k", "=", 2)])
    assert marks(sixteen) == [[0, 1, 2]]
    assert kept_every_file(sixteen, before)
    assert shown(sixteen) == in_order([(k, 7, None) for k in range(3, 16)], [(2, 7, "x")])
    assert [*map(len, shown(sixteen, version=2))] == [2] * 15


def test_a_pinned_job_marks_rows_and_keeps_columns_that_it_does_not_see(sixteen: Table) -> None:
    sixteen.pin_schema("job")
    sixteen.alter().add_column("w", "int", default=5).commit()
    sixteen.alter().drop_column("v").commit()
    job = again(sixteen).seen_as("job")
    job.delete([("k", "=", 0)])
    job.update({"v": 8}, [("k", "=", 1)])
    job.overwrite_where(data([(90, 9)]), [("k", "=", 2)])
    assert marks(sixteen) == [[0, 1, 2]]
    seen = again(sixteen).seen_as("job").scan().to_arrow().to_pylist()
    assert sorted((row["k"], row["v"]) for row in seen) == [
        (1, 8),
        *zeros(*range(3, 16)),
        (90, 9),
    ]
    assert shown(sixteen) == in_order([(k, 5) for k in (1, *range(3, 16), 90)])


def test_rows_of_adopted_files_are_marked(tmp_path: Path) -> None:
    """The file of somebody else is neither copied nor changed."""
    lake = tmp_path / "lake"
    catalog = Catalog(tmp_path / "warehouse", roots={ROOT: lake})
    table = catalog.create_table("t", "k INT, v INT")
    file = write(lake, "x.parquet", data([(k, 0) for k in K16]))
    bytes_before = file.read_bytes()
    table.append_external([mapped(table, "x.parquet")])
    paths = table.state.segments.paths
    table.delete([("k", "=", 3)])
    assert not list((tmp_path / "warehouse").rglob("*.parquet"))
    table.update({"v": 1}, [("k", "in", [4, 5])])
    assert table.state.segments.paths[: len(paths)] == paths
    assert file.read_bytes() == bytes_before
    others = [k for k in K16 if k not in (3, 4, 5)]
    loaded = Catalog(tmp_path / "warehouse", roots={ROOT: lake}).load_table("t")
    rows = loaded.scan().to_arrow().to_pylist()
    assert sorted((r["k"], r["v"]) for r in rows) == sorted([*zeros(*others), (4, 1), (5, 1)])
    assert loaded.count() == 15


def test_compaction_drops_marked_rows_and_their_marks(sixteen: Table) -> None:
    sixteen.append(data([(k, 0) for k in range(20, 36)]))
    sixteen.delete([("k", "in", [3, 21])])
    sixteen.maintenance.compact(strategy="full")
    assert marks(sixteen) == []
    assert again(sixteen).state.segments.core["rows"].to_pylist() == [30]
    others = [k for k in (*K16, *range(20, 36)) if k not in (3, 21)]
    assert shown(sixteen) == in_order(zeros(*others))
    assert shown(sixteen, version=2) == in_order(zeros(*K16, *range(20, 36)))


def test_changes_show_marked_rows_as_deleted_once(sixteen: Table) -> None:
    sixteen.delete([("k", "=", 3)])
    sixteen.update({"v": 1}, [("k", "=", 4)])
    rows = again(sixteen).changes(2, 3).to_arrow().to_pylist()
    found = [(r["_commit_version"], r["_change_type"], r["k"], r["v"]) for r in rows]
    assert sorted(found) == [(2, "delete", 3, 0), (3, "delete", 4, 0), (3, "insert", 4, 1)]


# What is read


@pytest.fixture
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_writer, "ROW_GROUP_ROWS", 10)
    monkeypatch.setattr(writer, "ROW_GROUP_ROWS", 10)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str]]]:
    """The row groups that are read, each with the names of its columns that are."""
    seen: list[tuple[int, list[str]]] = []
    real = SegmentFile.read

    def counting(file: SegmentFile, group: int, batch_rows: int) -> Any:
        seen.append((group, [column.name for column in file.task.plan.needed]))
        return real(file, group, batch_rows)

    monkeypatch.setattr(SegmentFile, "read", counting)
    return seen


def grouped(folder: Path, **properties: str) -> Table:
    """A table with one segment of ten row groups, of ten rows each: k from 0 to 99."""
    table = Catalog.create_path(folder / "t", "k INT, v INT, w INT", properties=properties)
    batches = [list(range(low, low + 10)) for low in range(0, 100, 10)]
    columns = [pa.chunked_array([pa.array(part, INTS) for part in batches])] * 3
    table.append(pa.table(columns, _schema("k v w")))
    return table


@pytest.mark.usefixtures("small_row_groups")
def test_a_selective_delete_reads_the_matching_row_groups_of_its_columns(
    tmp_path: Path, reads: list[tuple[int, list[str]]]
) -> None:
    table = grouped(tmp_path)
    table.delete([("k", "in", [33, 71])])
    assert reads == [(3, ["k"]), (7, ["k"])]
    assert marks(table) == [[33, 71]]


@pytest.mark.usefixtures("small_row_groups")
def test_a_selective_update_reads_whole_rows_only_where_they_change(
    tmp_path: Path, reads: list[tuple[int, list[str]]]
) -> None:
    table = grouped(tmp_path)
    table.update({"v": 5}, [("k", "=", 33)])
    assert reads == [(3, ["k"]), (3, ["k", "v", "w"])]


@pytest.mark.usefixtures("small_row_groups")
def test_reading_ends_where_a_copy_is_due(
    tmp_path: Path, reads: list[tuple[int, list[str]]]
) -> None:
    """More than a quarter of the rows match after three row groups."""
    table = grouped(tmp_path)
    table.delete([("v", "!=", 99)])
    assert [group for group, columns in reads if columns == ["v"]] == [0, 1, 2]
    assert shown(table) == [(99, 99, 99)]
    del reads[:]
    table = grouped(tmp_path / "copy", row_changes="copy")
    table.delete([("v", "!=", 99)])
    assert [group for group, columns in reads if columns == ["v"]] == [0]


# Every two jobs, one after the other and at once

Model = list[tuple[Any, ...]]
APPENDED = (2, 80)


def _delete(keys: list[int]) -> Callable[[Table], object]:
    return lambda table: table.delete([("k", "in", keys)])


def _update(keys: list[int]) -> Callable[[Table], object]:
    return lambda table: table.update({"v": expr("v + 1")}, [("k", "in", keys)])


JOBS: dict[str, tuple[Callable[[Table], object], Callable[[Model], Model]]] = {
    "delete few": (_delete([2, 18]), lambda rows: [r for r in rows if r[0] not in (2, 18)]),
    "delete many": (
        _delete(list(range(2, 10))),
        lambda rows: [r for r in rows if not 2 <= r[0] < 10],
    ),
    "update few": (
        _update([3, 19]),
        lambda rows: [(k, v + 1) if k in (3, 19) else (k, v) for k, v in rows],
    ),
    "update many": (
        _update(list(range(1, 9))),
        lambda rows: [(k, v + 1) if 1 <= k < 9 else (k, v) for k, v in rows],
    ),
    "update all": (
        lambda table: table.update({"v": expr("v + 1")}),
        lambda rows: [(k, v + 1) for k, v in rows],
    ),
    "overwrite where": (
        lambda table: table.overwrite_where(data([(2, 70)]), [("k", "in", [2, 3])]),
        lambda rows: [*(r for r in rows if r[0] not in (2, 3)), (2, 70)],
    ),
    "append": (lambda table: table.append(data([APPENDED])), lambda rows: [*rows, APPENDED]),
    "compact": (lambda table: table.maintenance.compact(strategy="full"), lambda rows: rows),
    "alter": (
        lambda table: table.alter().change_type("v", "long").set_property("row_changes", "mark")
        .commit(),
        lambda rows: rows,
    ),
    "truncate": (lambda table: table.truncate(), lambda rows: []),
    "overwrite": (lambda table: table.overwrite(data([(3, 9)])), lambda rows: [(3, 9)]),
    "tag": (lambda table: table.set_tag("x"), lambda rows: rows),
}  # fmt: skip


@pytest.fixture
def two_segments() -> Table:
    table = Catalog.create_path(f"memory://{uuid4()}", "k INT, v INT")
    table.append(data([(k, 0) for k in K16]))
    table.append(data([(k, 0) for k in range(16, 32)]))
    table.delete([("k", "in", [4, 20])])
    return table


START: Model = [(k, 0) for k in range(32) if k not in (4, 20)]


TWO = [
    pytest.param(one, two, marks=[] if "update few" in (one, two) else [pytest.mark.thorough])
    for one, two in product(JOBS, repeat=2)
]


@pytest.mark.parametrize(("one", "two"), TWO)
def test_every_two_jobs(two_segments: Table, one: str, two: str) -> None:
    late = again(two_segments)
    JOBS[one][0](two_segments)
    expected = JOBS[one][1](START)
    assert shown(two_segments) == in_order(expected)
    if outcome(lambda: JOBS[two][0](late)) is not None:
        assert shown(two_segments) == in_order(expected), "a refused job changes nothing"
        JOBS[two][0](late.refresh())
        expected = JOBS[two][1](expected)
    elif one == "append":  # a row that was appended since the base is not changed
        expected = [*JOBS[two][1](START), APPENDED]
    else:
        expected = JOBS[two][1](expected)
    assert shown(two_segments) == in_order(expected)
    assert again(two_segments).count() == len(expected)
    assert Catalog.verify_path(two_segments.location, deep=True).findings == ()


@pytest.mark.parametrize("seed", some(range(3), range(12)))
def test_random_jobs_in_a_row(two_segments: Table, seed: int) -> None:
    random, rows, at = Random(seed), START, {again(two_segments).version: START}
    for name in random.choices(list(JOBS), k=8):
        JOBS[name][0](two_segments)
        rows = JOBS[name][1](rows)
        at[again(two_segments).version] = rows
        if random.random() < 0.2:
            version = random.choice(list(at))
            two_segments.rollback(version)
            rows = at[again(two_segments).version] = at[version]
        assert shown(two_segments) == in_order(rows)
    for version, then in at.items():
        assert shown(two_segments, version=version) == in_order(then)
    assert Catalog.verify_path(two_segments.location, deep=True, every_version=True).findings == ()


# Crashes

THOUSANDS = 20_000
FAULTS = (Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.LOST_REPLY)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a segment of many rows, of which so many are deleted that their mark is a file."""
    folder = tmp_path_factory.mktemp("large") / "t"
    table = Catalog.create_path(folder, "k INT, v INT")
    table.append(data([(k, 0) for k in range(THOUSANDS)]))
    table.delete([("k", "in", DELETED[0])])
    return folder


DELETED = [list(range(first, THOUSANDS, 11)) for first in (1, 2)]


LARGE_JOBS: dict[str, Callable[[Table], object]] = {
    "delete": lambda table: table.delete([("k", "in", DELETED[1])]),
    "update": lambda table: table.update({"v": 1}, [("k", "in", DELETED[1])]),
    "overwrite_where": lambda table: table.overwrite_where(
        data([(k, 1) for k in DELETED[1]]), [("k", "in", DELETED[1])]
    ),
}


def totals(table: Table) -> tuple[int, int, int, int]:
    """The number of rows and of keys, and the sums of keys and values."""
    rows = table.scan().to_arrow()
    sums = pc.sum(rows["k"]).as_py(), pc.sum(rows["v"]).as_py()
    return rows.num_rows, pc.count_distinct(rows["k"]).as_py(), *sums


def expected_totals(deleted: int, updated: int) -> tuple[int, int, int, int]:
    gone = {key for keys in DELETED[:deleted] for key in keys}
    count = THOUSANDS - len(gone)
    return count, count, sum(range(THOUSANDS)) - sum(gone), updated


@pytest.mark.thorough
@pytest.mark.parametrize("job", LARGE_JOBS)
def test_a_fault_at_each_storage_call_leaves_the_old_rows_or_the_new(
    large: Path, tmp_path: Path, job: str
) -> None:
    before = expected_totals(1, 0)
    after = expected_totals(2, 0) if job == "delete" else expected_totals(1, len(DELETED[1]))
    recorded = _run(large, tmp_path / "whole", job, Plan())
    whole = Catalog.load_path(tmp_path / "whole")
    assert totals(whole) == after
    assert all(isinstance(mark, FileMark) for mark in whole.state.segments.marks.values())
    assert len(whole.state.segments.marks) == 1
    assert any("marks/" in call for call in recorded.calls), "the new mark is a file, too"
    for at, call in enumerate(recorded.calls):
        reads = call.startswith(("read", "list", "files", "now", "open"))
        for fault in (Fault.FAIL_BEFORE,) if reads else FAULTS:
            folder = tmp_path / f"{at}-{fault.name}"
            _run(large, folder, job, Plan(at, fault))
            table = Catalog.load_path(folder)
            assert totals(table) in (before, after), (call, fault)
            assert Catalog.verify_path(folder, every_version=True).findings == ()
            rows = table.count()
            table.delete([("k", "=", 0)])
            assert again(table).count() == rows - 1
            shutil.rmtree(folder)


def _run(source: Path, folder: Path, job: str, plan: Plan) -> Plan:
    shutil.copytree(source, folder)
    store = FaultyStore(LocalStore(str(folder)), plan)
    with suppress(VersionedError):
        LARGE_JOBS[job](load_at(store, "t"))
    return plan
