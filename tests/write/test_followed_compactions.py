"""Writes of tables without a primary key that follow compactions, with real rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from histories.flights import captured
from versioned_catalog import Catalog, CommitConflictError, Table

Write = Callable[[Table], object]
GONE = "removed by another commit since version"


def rows(ids: range, v: int = 0) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array([v] * len(ids), pa.int64())})


def make(
    folder: Path, partitioned_by: Sequence[str] = (), **properties: str
) -> tuple[Table, Table]:
    """A table with three segments of ten rows, as a compaction sees it, and as a writer does."""
    table = Catalog.create_path(
        folder / "t",
        "id BIGINT, v BIGINT",
        partitioned_by=partitioned_by,
        properties={"auto_maintain": "off", **properties},
    )
    for first in (0, 10, 20):
        table.append(rows(range(first, first + 10)))
    return table, Catalog.load_path(folder / "t")


def shown(table: Table) -> list[tuple[int, int]]:
    stored = Catalog.load_path(table.location).scan().to_arrow()
    return sorted(zip(stored["id"].to_pylist(), stored["v"].to_pylist(), strict=True))


def delete(table: Table) -> object:
    return table.delete([("id", "in", [3, 11, 12])])


def update(table: Table) -> object:
    return table.update({"v": 7}, [("id", "in", [3, 11, 12])])


def replace_some(table: Table) -> object:
    return table.overwrite_where(rows(range(100, 102)), [("id", "<", 10)])


def replace_all(table: Table) -> object:
    return table.overwrite(rows(range(100, 102)))


BEFORE = [(n, 0) for n in range(30)]
NEW = [(100, 0), (101, 0)]
WRITES: dict[str, tuple[Write, list[tuple[int, int]]]] = {
    "delete": (delete, [row for row in BEFORE if row[0] not in (3, 11, 12)]),
    "update": (update, [(n, 7 if n in (3, 11, 12) else 0) for n, _ in BEFORE]),
    "where": (replace_some, [*BEFORE[10:], *NEW]),
    "overwrite": (replace_all, NEW),
}
"""Each write, and the rows after it."""


@pytest.mark.parametrize("row_changes", ["auto", "mark"])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_lands_after_a_compaction_with_newer_rows(
    name: str, row_changes: str, tmp_path: Path
) -> None:
    table, late = make(tmp_path, row_changes=row_changes)
    write, expected = WRITES[name]
    operation = captured(late, write)
    table.append(rows(range(50, 60)))
    assert table.maintenance.compact(strategy="full").removed == 4
    late._handle.commit(operation)
    assert shown(table) == sorted([*expected, *((n, 0) for n in range(50, 60))])
    assert table.refresh().maintenance.verify().is_clean


@pytest.mark.parametrize("name", WRITES)
def test_changes_show_what_the_write_changed(name: str, tmp_path: Path) -> None:
    table, late = make(tmp_path)
    write, expected = WRITES[name]
    operation = captured(late, write)
    table.append(rows(range(50, 60)))
    table.maintenance.compact(strategy="full")
    late._handle.commit(operation)
    changes = table.refresh().changes(table.version, net=True).to_arrow().to_pylist()
    signs = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
    found: dict[tuple[int, int], int] = {}
    for row in changes:
        key = row["id"], row["v"]
        found[key] = found.get(key, 0) + signs[row["_change_type"]]
    came, gone = {*expected} - {*BEFORE}, {*BEFORE} - {*expected}
    wanted = {**dict.fromkeys(came, 1), **dict.fromkeys(gone, -1)}
    assert {key: n for key, n in found.items() if n} == wanted


@pytest.mark.parametrize("name", ["delete", "update", "where"])
def test_a_write_by_copies_is_refused(name: str, tmp_path: Path) -> None:
    table, late = make(tmp_path, row_changes="copy")
    operation = captured(late, WRITES[name][0])
    table.append(rows(range(50, 60)))
    table.maintenance.compact(strategy="full")
    with pytest.raises(CommitConflictError, match=GONE):
        late._handle.commit(operation)


def test_an_overwrite_of_a_table_that_only_copies_lands(tmp_path: Path) -> None:
    """No row of another write is in the new segments, so nothing must be marked."""
    table, late = make(tmp_path, row_changes="copy")
    operation = captured(late, replace_all)
    table.maintenance.compact(strategy="full")
    late._handle.commit(operation)
    assert shown(table) == NEW
    assert not table.refresh().state.features.read


def _sort(table: Table) -> None:
    table.append(rows(range(-9, 0)))
    table.maintenance.compact(strategy="full")


def _cluster(table: Table) -> None:
    table.append(rows(range(-9, 0)))
    table.maintenance.compact(zorder=["v", "id"])


def _repartition(table: Table) -> None:
    table.append(rows(range(-9, 0)))
    table.alter().set_partitioning(["truncate(20, id)"]).commit()
    table.maintenance.compact(strategy="full")


OTHERWISE: dict[str, tuple[Callable[[Table], None], dict[str, Any]]] = {
    "sorted": (_sort, {"sort_by": "v, id DESC"}),
    "clustered": (_cluster, {}),
    "partitioned": (_repartition, {}),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_compaction_that_moves_rows_otherwise_is_not_followed(name: str, tmp_path: Path) -> None:
    compact, properties = OTHERWISE[name]
    table, late = make(tmp_path, **properties)
    operation = captured(late, delete)
    compact(table)
    with pytest.raises(CommitConflictError, match=GONE):
        late._handle.commit(operation)
    assert len(shown(table)) == 39


def test_rows_of_each_partition_are_found(tmp_path: Path) -> None:
    table, late = make(tmp_path, partitioned_by=["truncate(15, id)"])
    operation = captured(late, delete)
    table.append(rows(range(1, 20)))
    table.delete([("id", "=", 2)])
    table.maintenance.compact(strategy="full")
    late._handle.commit(operation)
    left = [row for row in [*BEFORE, *((n, 0) for n in range(1, 20))] if row[0] != 2]
    for row in [(3, 0), (11, 0), (12, 0)]:
        left.remove(row)
    assert shown(table) == sorted(left)


def test_rows_of_older_schemas_are_found(tmp_path: Path) -> None:
    table, late = make(tmp_path)
    operation = captured(late, delete)
    table.alter().rename_column("v", "w").add_column("x", "BIGINT").commit()
    table.append(pa.table({"id": [60], "w": [0], "x": [1]}))
    table.maintenance.compact(strategy="full")
    late._handle.commit(operation)
    left = Catalog.load_path(table.location).scan().to_arrow()
    assert sorted(left["id"].to_pylist()) == [n for n in [*range(30), 60] if n not in (3, 11, 12)]


def test_large_segments_are_divided_alike(tmp_path: Path) -> None:
    """Each row group fills a segment here, so one group of segments becomes several."""
    table, late = make(tmp_path)
    operation = captured(late, delete)
    table.append(rows(range(1000, 400_000)))
    table.alter().set_property("target_segment_bytes", "1").commit()
    assert table.maintenance.compact(strategy="full").added > 1
    late._handle.commit(operation)
    left = Catalog.load_path(table.location).scan().to_arrow()["id"].to_pylist()
    assert sorted(left) == [n for n in [*range(30), *range(1000, 400_000)] if n not in (3, 11, 12)]


def test_a_writer_that_maintains_its_table_disturbs_none(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id BIGINT, v BIGINT")
    table.append(rows(range(30)))
    writes = [
        captured(Catalog.load_path(tmp_path / "t"), write)
        for write in (delete, lambda t: t.update({"v": 9}, [("id", ">", 25)]))
    ]
    for number in range(40):
        table.append(rows(range(100 + number, 101 + number)))
    assert table.inspect.history()["operation"].to_pylist().count("compact") == 2
    for operation in writes:
        table._handle.commit(operation)
    expected = [(n, 9 if n > 25 else 0) for n in range(30) if n not in (3, 11, 12)]
    assert shown(table) == [*expected, *((n, 0) for n in range(100, 140))]
