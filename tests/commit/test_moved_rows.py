"""Operations that follow compactions of the rows that they remove (FORMAT.md, section 11, note 21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from commit.cases import append, mark_a, mark_b
from commit.planned import Planned, now
from commit.test_marks import last
from versioned_catalog import CommitConflictError, NotFoundError
from versioned_catalog.commit import moved_rows
from versioned_catalog.commit.operations import Compact, Rewrite
from versioned_catalog.log.entry import Stub, stub_to_bytes
from versioned_catalog.log.entry_json import commit_to_bytes
from versioned_catalog.log.record import SegmentRecord

GONE = "removed by another commit since version"


def compact(
    table: Planned, removed: Sequence[SegmentRecord], rows: Sequence[int], moved: Any = None
) -> list[SegmentRecord]:
    """Replace segments by others of so many rows, in the same order; return the others."""
    table_base = table.here
    added = [replace(table.segment(1, 20), rows=count) for count in rows]
    paths = tuple(record.path for record in removed)
    groups = ((len(removed), len(added), True),) if moved is None else moved
    table.commit(Compact(table_base, tuple(added), removed=paths, moved=groups))
    return added


def test_a_compaction_says_how_it_moved_rows() -> None:
    table = Planned()
    (merged,) = compact(table, [table.b, table.a], [20])
    entry = last(table)
    assert entry.removed == (table.b.path, table.a.path)
    assert entry.details["moved"] == [[2, 1]]
    assert table.log.load().state == table.state
    assert table.live == {merged.path}


def test_rows_are_where_they_were_moved() -> None:
    table = Planned()
    mine = table.mark("delete", table.a, 0, 9)
    (merged,) = compact(table, [table.b, table.a], [20])
    table.commit(mine)
    assert table.marked(merged) == [10, 19]


def test_rows_that_were_marked_before_are_not_counted() -> None:
    table = Planned()
    mine = table.mark("delete", table.a, 2, 5, 6)
    table.commit(mark_a(table))  # 3 and 4
    (merged,) = compact(table, [table.a, table.b], [18])
    table.commit(mine)
    assert table.marked(merged) == [2, 3, 4]


def test_rows_are_divided_among_the_new_segments() -> None:
    table = Planned()
    mine = table.mark("delete", table.b, 0, 4, 5, 9)
    first, second = compact(table, [table.a, table.b], [15, 5])
    table.commit(mine)
    assert table.marked(first) == [10, 14]
    assert table.marked(second) == [0, 4]


def test_a_segment_of_which_every_row_was_to_go_is_removed() -> None:
    table = Planned()
    mine = table.rewrite("delete", table.b, low=None)
    first, second = compact(table, [table.a, table.b], [5, 15])
    table.commit(mine)
    assert (table.marked(first), table.marked(second)) == (None, [*range(5, 15)])
    again = Planned()
    mine = again.rewrite("delete", again.b, low=None)
    first, _ = compact(again, [again.a, again.b], [10, 10])
    again.commit(mine)
    assert again.live == {first.path}


def test_groups_are_followed_each_on_its_own() -> None:
    table = Planned()
    table.plan_here()
    others = [table.segment(low, low + 9) for low in (21, 31)]
    for record in others:
        table.commit(replace(append(table), records=(record,)))
    table.plan_here()
    c, d = others
    mine = Rewrite(
        table.base,
        (),
        removed=(table.a.path, table.b.path),
        marks={d.path: np.array([7], np.int64)},
        kind="merge",
        reads=None,
    )
    _, second = compact(table, [table.b, table.a, c, d], [20, 20], ((2, 1, True), (2, 1, True)))
    table.commit(mine)
    assert table.live == {second.path}
    assert table.marked(second) == [17]


def test_compactions_are_followed_one_after_the_other() -> None:
    table = Planned()
    mine = table.mark("update", table.a, 1, low=31)
    table.commit(append(table))
    (newest,) = last(table).added
    (once,) = compact(table, [table.b, table.a], [20])
    (twice,) = compact(table, [newest, once], [30])
    table.commit(mine)
    assert table.marked(twice) == [21]


def test_rows_that_others_marked_since_are_united() -> None:
    table = Planned()
    mine = table.mark("update", table.a, 1, low=31)
    (merged,) = compact(table, [table.a, table.b], [20])
    table.plan_here()
    table.commit(table.mark("delete", merged, 0, 15))
    table.commit(mine)
    assert table.marked(merged) == [0, 1, 15]


@pytest.mark.parametrize("before", [True, False])
def test_a_row_is_deleted_once(before: bool) -> None:
    table = Planned()
    mine = table.mark("update", table.a, 3, low=31)
    if before:
        table.commit(mark_a(table))
        compact(table, [table.a, table.b], [18])
    else:
        (merged,) = compact(table, [table.a, table.b], [20])
        table.commit(replace(mark_a(table), base=table.here, marks={merged.path: np.array([3])}))
    with pytest.raises(CommitConflictError, match="by another commit since version"):
        table.commit(mine)


def test_copies_of_rows_that_were_marked_before_are_refused() -> None:
    table = Planned()
    mine = [table.rewrite("update", table.a), table.overwrite(table.a), table.overwrite()]
    table.commit(mark_a(table))
    compact(table, [table.a, table.b], [18])
    for operation in mine:
        with pytest.raises(CommitConflictError, match=GONE):
            table.commit(operation)


def test_copies_of_rows_that_were_marked_after_are_refused() -> None:
    table = Planned()
    copies = [table.rewrite("update", table.a), table.overwrite(table.a)]
    every = table.overwrite()
    (merged,) = compact(table, [table.a, table.b], [20])
    table.plan_here()
    table.commit(table.mark("delete", merged, 0))
    for operation in copies:
        with pytest.raises(CommitConflictError, match="deleted or replaced by another commit"):
            table.commit(operation)
    with pytest.raises(CommitConflictError, match=GONE):
        table.commit(every)


def test_marks_of_other_rows_do_not_hinder_copies() -> None:
    table = Planned()
    mine = table.rewrite("update", table.a)
    (merged,) = compact(table, [table.a, table.b], [20])
    table.plan_here()
    table.commit(table.mark("delete", merged, 12))
    table.commit(mine)
    assert table.marked(merged) == [*range(10), 12]


def test_other_operations_are_not_followed() -> None:
    table = Planned()
    mine = table.mark("update", table.a, 3)
    (merged,) = compact(table, [table.a, table.b], [20])
    table.plan_here()
    table.commit(table.rewrite("update", merged))
    with pytest.raises(CommitConflictError, match=GONE):
        table.commit(mine)


MISFITS: list[Any] = [
    *("all", [2, 1], [["2", "1"]], [[2, True]], [[-2, 1]]),
    *([[2, 1, 0]], [[2, 1, True]], [[2, 1, False]], [[2, 1, False, False]]),
    *([[1, 1]], [[2, 2]], [[3, 1]], [[0, 0]], [[1, 0], [1, 1]]),
]


@pytest.mark.parametrize("moved", MISFITS, ids=str)
def test_counts_that_do_not_fit_are_not_followed(moved: Any) -> None:
    table = Planned()
    mine = table.mark("update", table.a, 3)
    compact(table, [table.a, table.b], [20])
    entry = replace(last(table), details={"moved": moved})
    table.log.store.overwrite(table.log.entry_path(entry.head.version), commit_to_bytes(entry))
    with pytest.raises(CommitConflictError, match=GONE):
        table.commit(mine)


def test_a_compaction_of_fewer_rows_is_not_followed() -> None:
    table = Planned()
    mine = table.mark("update", table.a, 3)
    compact(table, [table.a, table.b], [19])
    with pytest.raises(CommitConflictError, match=GONE):
        table.commit(mine)


def test_an_expired_commit_is_not_followed() -> None:
    table = Planned()
    mine = [table.mark("update", table.a, 3), table.overwrite()]
    table.commit(now(append)(table))
    head = last(table).head
    compact(table, [table.a, table.b], [20])
    stub = Stub(head.version, head.commit_id, head.time, head.version + 1)
    table.log.store.overwrite(table.log.entry_path(head.version), stub_to_bytes(stub))
    for operation in mine:
        with pytest.raises(CommitConflictError, match=GONE):
            table.commit(operation)


def test_marks_below_the_fence_are_refused() -> None:
    table = Planned()
    mine = table.rewrite("delete", table.a, low=None)
    compact(table, [table.a, table.b], [20])
    table.plan_here()
    table.commit(table.fence(3))
    with pytest.raises(CommitConflictError, match="outlived the retention of a vacuum"):
        table.commit(mine)


def test_a_row_that_was_read_is_found_after_a_compaction() -> None:
    """A serializable write that only read rows conflicts with deletes of the segment they moved to."""
    table = Planned(properties={"isolation": "serializable"})
    mine = table.rewrite("merge", where=[("k", "<", 11)], low=31)
    (merged,) = compact(table, [table.a, table.b], [20])
    table.plan_here()
    table.commit(table.mark("delete", merged, 0))
    with pytest.raises(CommitConflictError, match="may have added or removed rows"):
        table.commit(mine)


def test_a_compaction_beside_a_mark_of_the_other_segment() -> None:
    table = Planned()
    mine = table.mark("update", table.a, 9)
    table.commit(mark_b(table))  # row 0, and adds a segment
    (merged,) = compact(table, [table.a, table.b], [19])
    table.commit(mine)
    assert table.marked(merged) == [9]


def test_a_group_that_is_not_in_order_is_followed_as_a_whole() -> None:
    table = Planned()
    c = table.segment(21, 30)
    table.commit(replace(append(table), records=(c,)))
    table.plan_here()
    whole, some = table.rewrite("merge", table.a, table.b, low=None), table.mark("delete", c, 7)
    part = table.rewrite("delete", table.a, low=None)
    groups = ((2, 1, False), (1, 1, True))
    first, second = compact(table, [table.a, table.b, c], [20, 10], groups)
    assert last(table).details["moved"] == [[2, 1, False], [1, 1]]
    with pytest.raises(CommitConflictError, match="or moved by a compaction"):
        table.commit(part)
    table.commit(some)
    assert table.marked(second) == [7]
    table.commit(whole)
    assert table.live == {second.path}
    assert first.path not in table.live


def test_an_overwrite_of_a_keyed_table_follows_groups_of_its_rows() -> None:
    table = Planned(ddl="k INT NOT NULL, v INT", primary_key=["k"])
    mine = table.overwrite()
    table.commit(append(table))
    (newest,) = last(table).added
    _, other = compact(table, [table.a, table.b, newest], [20, 10], ((2, 1, False), (1, 1, False)))
    table.commit(mine)
    assert table.live == {other.path, mine.records[0].path}


def test_very_many_rows_are_not_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved_rows, "MOST_ROWS", 9)
    table = Planned()
    mine, few = table.rewrite("update", table.a), table.mark("delete", table.b, *range(9))
    (merged,) = compact(table, [table.a, table.b], [20])
    with pytest.raises(CommitConflictError, match=GONE):
        table.commit(mine)
    table.commit(few)
    assert table.marked(merged) == [*range(10, 19)]


def test_a_row_in_another_group_was_not_read() -> None:
    table = Planned(properties={"isolation": "serializable"})
    mine = table.rewrite("merge", where=[("k", "<", 11)], low=31)
    _, second = compact(table, [table.a, table.b], [10, 10], ((1, 1, True), (1, 1, True)))
    table.plan_here()
    table.commit(table.mark("delete", second, 0))
    table.commit(mine)


def test_rows_of_a_base_that_is_expired_are_followed() -> None:
    table = Planned()
    mine, every = table.mark("delete", table.b, 3), table.overwrite()
    table.commit(append(table))
    head = table.here
    (merged,) = compact(table, [table.a, table.b], [20])
    kept = table.log.load

    def load(version: int | None = None) -> Any:
        if version is not None and version < head.version:
            raise NotFoundError("expired")
        return kept(version)

    table.log.load = load  # type: ignore[method-assign]
    table.commit(mine)
    assert table.marked(merged) == [13]
    with pytest.raises(CommitConflictError, match=GONE):
        table.commit(every)
