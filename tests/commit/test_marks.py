"""Entries that mark rows, and rollbacks that restore marks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from commit.cases import back_to_2, expire_1, mark_a, mark_b, undo_b
from commit.planned import Planned
from marking import mark
from versioned_catalog import Catalog, CommitConflictError
from versioned_catalog.commit.operations import Rewrite
from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log import marks
from versioned_catalog.log.bitmaps import blob_of
from versioned_catalog.log.entry import Commit, Stub, stub_to_bytes
from versioned_catalog.log.features import MARKS
from versioned_catalog.log.marks import FileMark, InlineMark, Mark
from versioned_catalog.read.scan_columns import bind_filters


def last(table: Planned) -> Commit:
    """The newest entry."""
    (entry,) = table.log.entries(table.state.version, table.state.version)
    assert isinstance(entry, Commit)
    return entry


def inline(*positions: int) -> InlineMark:
    return InlineMark(len(positions), blob_of(np.array(positions, np.int64)))


def test_an_entry_marks_rows_and_needs_the_feature() -> None:
    table = Planned()
    assert MARKS not in table.state.features.read
    table.commit(mark_b(table))
    entry = last(table)
    assert entry.marked == {table.b.path: inline(0)}
    assert (entry.head.operation, len(entry.added), entry.removed) == ("update", 1, ())
    assert MARKS in entry.head.features.read & entry.head.features.write
    table.plan_here()
    table.commit(table.append())
    assert MARKS in last(table).head.features.read & last(table).head.features.write
    assert table.marked(table.b) == [0]
    assert table.log.load().state == table.state


def test_an_operation_marks_rows_of_several_segments() -> None:
    table = Planned()
    rows = {table.a.path: np.array([9], np.int64), table.b.path: np.arange(10, dtype=np.int64)}
    reads = bind_filters(None, table.base.schema)
    table.commit(Rewrite(table.base, (), kind="delete", reads=reads, marks=rows))
    entry = last(table)
    assert (entry.marked, entry.removed) == ({table.a.path: inline(9)}, (table.b.path,))
    assert (table.state.segments.rows, table.state.segments.shown_rows) == (10, 9)


def test_no_mark_is_empty() -> None:
    table = Planned()
    assert table.commit(table.mark("update", table.a, low=31))
    assert last(table).marked == {}
    assert table.log.load().state == table.state


def test_large_marks_are_written_before_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "INLINE_BYTES", 0)
    table = Planned()
    table.commit(mark_a(table))
    first = last(table).marked[table.a.path]
    assert isinstance(first, FileMark)
    assert first.path.startswith("_versioned/marks/2-")
    assert table.marked(table.a) == [3, 4]
    table.commit(table.mark("merge", table.a, 0))
    assert table.marked(table.a) == [0, 3, 4]
    assert last(table).marked[table.a.path] != first
    table.log.store.delete(first.path)
    table.plan_here()
    table.commit(table.rollback(3))
    with pytest.raises(CorruptTableError, match="is missing"):
        table.commit(table.mark("merge", table.a, 0))


def rolled_back(table: Planned, version: int) -> dict[str, Mark | None]:
    """Roll back, and return what the entry says of marks."""
    table.plan_here()
    assert table.commit(table.rollback(version))
    assert table.log.load().state == table.state
    return dict(last(table).marked)


def test_a_rollback_clears_marks() -> None:
    table = Planned()
    table.commit(mark_a(table))
    assert rolled_back(table, 2) == {table.a.path: None}
    assert table.marked(table.a) is None
    assert not table.state.segments.has_marks


def test_a_rollback_restores_marks() -> None:
    table = Planned()
    table.commit(mark_a(table))
    table.commit(table.mark("delete", table.a, 5))
    table.commit(mark_b(table))
    assert rolled_back(table, 3) == {table.a.path: inline(3, 4), table.b.path: None}
    assert rolled_back(table, 2) == {table.a.path: None}
    assert rolled_back(table, 4) == {table.a.path: inline(3, 4, 5)}
    assert table.marked(table.a) == [3, 4, 5]


def test_a_rollback_restores_the_marks_of_removed_segments() -> None:
    table = Planned()
    table.commit(mark_a(table))
    table.plan_here()
    table.commit(table.compact(table.a, table.b))
    assert not table.state.segments.has_marks
    assert rolled_back(table, 3) == {table.a.path: inline(3, 4)}
    assert table.marked(table.a) == [3, 4]
    assert table.marked(table.b) is None


def test_a_rollback_says_nothing_of_segments_that_leave() -> None:
    table = Planned()
    table.commit(mark_b(table))
    table.commit(mark_a(table))
    assert rolled_back(table, 1) == {table.a.path: None}
    assert table.live == {table.a.path}


def test_a_rollback_to_the_current_marks_makes_no_entry() -> None:
    table = Planned()
    table.commit(mark_a(table))
    table.plan_here()
    table.commit(table.tag("x", 1))
    table.plan_here()
    assert not table.commit(table.rollback(3))
    assert table.commit(back_to_2(table))


def test_copies_after_an_expired_commit_are_refused_in_tables_with_marks() -> None:
    for with_mark in (False, True):
        table = Planned()
        if with_mark:
            table.commit(table.mark("delete", table.b, 1))
            table.plan_here()
        planned = table.rewrite("delete", table.a)
        table.commit(table.append())
        head = last(table).head
        stub = Stub(head.version, head.commit_id, head.time, head.version + 1)
        table.log.store.overwrite(table.log.entry_path(head.version), stub_to_bytes(stub))
        if with_mark:
            with pytest.raises(CommitConflictError, match="an expired commit"):
                table.commit(planned)
        else:
            assert table.commit(planned)


def test_a_rollback_clears_marks_after_an_expiry() -> None:
    table = Planned()
    table.commit(mark_a(table))
    table.plan_here()
    table.commit(expire_1(table))
    table.plan_here()
    assert table.commit(undo_b(table))
    assert table.marked(table.a) is None


def test_a_row_is_marked_once() -> None:
    table = Planned()
    mine = table.mark("update", table.a, 4, low=31)
    table.commit(mark_a(table))
    with pytest.raises(CommitConflictError, match="were deleted or replaced by another commit"):
        table.commit(mine)


def test_a_copy_has_the_marks_of_its_base() -> None:
    table = Planned()
    copies = [table.rewrite("update", table.a), table.compact(table.a, table.b)]
    table.commit(mark_a(table))
    for operation in copies:
        with pytest.raises(CommitConflictError, match="deleted or restored rows"):
            table.commit(operation)


def test_marks_are_united_without_hashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement may mark millions of rows, and hashing takes microseconds for each."""

    def hashed(*_: object) -> None:
        raise AssertionError("positions in order are merged without hashing")

    for name in ("unique", "union1d"):
        monkeypatch.setattr(np, name, hashed)
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "a LONG")
    rows = 1_000_000
    table.append(pa.table({"a": np.arange(rows)}))
    (path,) = table.state.segments.paths
    mark(table, {path: range(0, rows, 2)})
    odd = np.arange(1, rows - 1, 2)
    mark(table, {path: odd})
    assert table.refresh().state.segments.shown_rows == 1
