"""A segment of somebody else is identified by its adoption: a path alone says nothing of its rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from external.files import ROOT, mapped, write
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    CommitConflictError,
    InvalidRequestError,
    Table,
)
from versioned_catalog.log.features import ADOPTIONS

A, B = {"v": "a"}, {"v": "b"}
"""The column of the file from which the table's column is read."""

PLAIN, AGAIN = "root:lake/x.parquet", "root:lake@3/x.parquet"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Version 1 reads v from the file's column a, version 3 from b; version 2 has no rows."""
    lake = tmp_path / "raw"
    table = Catalog(tmp_path / "w", roots={ROOT: lake}).create_table("t", "id BIGINT, v BIGINT")
    write(lake, "x.parquet", pa.table({"id": [1, 2], "a": [10, 20], "b": [11, 21]}))
    adopt(table, A)
    table.remove_external([PLAIN])
    adopt(table, B)
    return table


def adopt(table: Table, names: dict[str, str]) -> None:
    table.append_external([mapped(table, "x.parquet", names)])


def again(table: Table) -> Table:
    """The same table, opened anew."""
    roots = {name: where.url for name, where in table.store.location.roots}
    return Catalog.load_path(table.location, roots=roots)


def values(table: Table, version: int | None = None) -> list[int]:
    """The values of v at a version."""
    found: list[int] = table.scan(version=version).to_arrow()["v"].to_pylist()
    return sorted(found)


OLD, NEW = [10, 20], [11, 21]


def test_each_adoption_is_a_segment(table: Table) -> None:
    assert table.at(1).segments.paths == [PLAIN]
    assert table.state.segments.paths == [AGAIN]
    assert [values(table, version) for version in range(4)] == [[], OLD, [], NEW]
    (row,) = set(table.scan(["_segment"]).to_arrow()["_segment"].to_pylist())
    assert row == AGAIN
    assert again(table).maintenance.verify(deep=True, every_version=True).findings == ()


def test_old_readers_are_refused_once_a_file_is_adopted_again(table: Table) -> None:
    log = Path(table.location) / "_versioned/log"
    features = [json.loads(path.read_bytes())["features"] for path in sorted(log.iterdir())]
    assert [ADOPTIONS in one["read"] for one in features] == [False, False, False, True]
    assert [ADOPTIONS in one["write"] for one in features] == [False, False, False, True]


@pytest.mark.parametrize(("to", "shown"), [(0, []), (1, OLD), (2, [])])
def test_a_rollback_restores_the_segment_of_then(table: Table, to: int, shown: list[int]) -> None:
    table.rollback(to)
    assert values(table) == values(again(table)) == shown
    table.rollback(3)
    assert values(table) == values(again(table)) == NEW


def test_a_path_is_used_once_even_after_a_rollback(table: Table) -> None:
    table.rollback(0)
    adopt(table, A)
    assert table.state.segments.paths == ["root:lake@5/x.parquet"]
    table.log.write_checkpoint(table.state)
    other = again(table)
    other.rollback(1)
    other.remove_external([PLAIN])
    adopt(other, B)
    assert other.state.segments.paths == ["root:lake@8/x.parquet"]


def net(table: Table, start: int, end: int) -> list[tuple[str, int]]:
    found = table.changes(start, end, net=True).to_arrow().to_pylist()
    return sorted((row["_change_type"], row["v"]) for row in found)


def test_net_changes_show_both_adoptions(table: Table) -> None:
    both = [*(("delete", v) for v in OLD), *(("insert", v) for v in NEW)]
    assert net(table, 2, 3) == both
    assert net(table, 1, 3) == [("insert", v) for v in NEW]
    table.rollback(1)
    assert net(table, 2, 4) == []  # the segment of version 1 is live again
    assert net(table, 4, 4) == [*(("delete", v) for v in NEW), *(("insert", v) for v in OLD)]


def stale(table: Table) -> Table:
    """A handle that has seen version 1 only."""
    other = again(table)
    other._handle = other._handle.pinned(1)
    return other


@pytest.mark.parametrize("filters", [[("id", "=", 1)], [("id", ">", 0)], None], ids=str)
def test_a_stale_delete_does_not_take_the_new_adoption(table: Table, filters: Any) -> None:
    with pytest.raises(CommitConflictError):
        stale(table).delete(filters)
    assert values(table.refresh()) == NEW


def test_other_stale_writes_do_not_take_it_either(table: Table) -> None:
    with pytest.raises(CommitConflictError):
        stale(table).update({"v": 0}, [("id", "=", 1)])
    with pytest.raises(CommitConflictError):
        stale(table).overwrite(pa.table({"id": [9], "v": [9]}))
    with pytest.raises(CommitConflictError):
        stale(table).transaction().commit_external((), removed=[PLAIN])
    assert stale(table).maintenance.compact(paths=[PLAIN]).removed == 0
    with pytest.raises(AlreadyExistsError, match="in the table already"):
        adopt(again(table), A)
    assert values(again(table)) == NEW
    assert again(table).state.segments.paths == [AGAIN]


def test_streams_follow_both_adoptions(table: Table) -> None:
    stream = table.change_stream()
    start = stream.newest()
    table.remove_external([AGAIN])
    adopt(table, A)
    table.rollback(3)
    seen = stream.read(start, stream.newest()).to_pylist()
    gone = [("delete", v) for v in NEW], [("delete", v) for v in OLD]
    came = [("insert", v) for v in OLD], [("insert", v) for v in NEW]
    found = [(row["_change_type"], row["v"]) for row in seen]
    assert sorted(found[:2]) == gone[0]
    assert sorted(found[2:4]) == came[0]
    assert sorted(found[4:]) == [*gone[1], *came[1]]


def test_compaction_and_rollback_bring_back_each_adoption(table: Table) -> None:
    table.maintenance.compact(paths=[AGAIN])
    assert values(table) == NEW
    assert net(table, 2, 4) == [*(("delete", v) for v in OLD), *(("insert", v) for v in NEW)]
    table.rollback(1)
    assert (values(table), table.state.segments.paths) == (OLD, [PLAIN])
    table.rollback(3)
    assert (values(table), table.state.segments.paths) == (NEW, [AGAIN])


def test_one_file_may_be_two_segments(table: Table) -> None:
    """As an import does that is asked to take all files again; each is removed by itself."""
    lake = dict(table.store.location.roots)[ROOT].url
    table.import_files(lake, again="all", schema="id BIGINT", exclude=["a", "b"])
    assert table.state.segments.paths == [AGAIN, "root:lake@4/x.parquet"]
    assert table.count() == 4
    table.remove_external([AGAIN])
    assert table.scan().to_arrow()["v"].to_pylist() == [None, None]
    table.rollback(4)
    table.delete([("v", "=", 11)])
    assert sorted(table.scan().to_arrow()["v"].to_pylist(), key=str) == [21, None, None]


def test_the_path_of_a_segment_is_not_taken_for_that_of_a_file(table: Table) -> None:
    """Else it would be adopted under a path that no reader can take apart."""
    file = replace(mapped(table, "x.parquet", {"v": "a"}), path=f"root:{ROOT}@9/x.parquet")
    with pytest.raises(InvalidRequestError, match=r"give that of its file, root:lake/x\.parquet"):
        table.append_external([file])
    with pytest.raises(InvalidRequestError, match=r"give that of its file or folder, root:lake/d"):
        table.import_files(f"root:{ROOT}@9/d")
