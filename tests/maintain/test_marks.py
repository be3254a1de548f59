"""Vacuum keeps and deletes files of marks; verify, recover and inspect know marks."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from maintain.tables import DAY, NOW, expire, ids, later, load, tick
from marking import mark, marks_of
from versioned_catalog import Catalog, Table
from versioned_catalog.log import marks
from versioned_catalog.log.features import MARKS
from versioned_catalog.maintain.vacuum import Vacuumed

FOLDER = "t/_versioned/marks"
UUID = "0" * 32


@pytest.fixture(autouse=True)
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write each mark to a file."""
    monkeypatch.setattr(marks, "INLINE_BYTES", 0)


def make(root: Path) -> Table:
    """Versions 1 and 2 add segments of 3 rows; 3 and 4 mark rows of the first, and 5 of the second."""
    table = Catalog.create_path(root / "t", "id LONG")
    table.append(ids(1, 2, 3))
    table.append(ids(4, 5, 6))
    first, second = table.state.segments.paths
    mark(table, {first: [0]})
    mark(table, {first: [2]})
    mark(table, {second: [1]})
    assert marks_of(table) == {first: [0, 2], second: [1]}
    return table


def files(root: Path) -> set[str]:
    return set(os.listdir(root / FOLDER))


def of_version(root: Path, version: int) -> set[str]:
    """The files of the marks of a version."""
    state = load(root).log.load(version).state
    assert state is not None
    return {path.rpartition("/")[2] for path in state.segments.mark_files}


def vacuum(table: Table) -> Vacuumed:
    tick()
    return table.maintenance.vacuum(NOW, dry_run=False, force=True)


def findings(root: Path, **how: bool) -> list[tuple[str, str]]:
    report = Catalog.verify_path(root / "t", **how)
    return [(one.path, one.problem) for one in report.findings]


def test_vacuum_keeps_the_marks_of_retained_versions(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.set_tag("three", 3)
    before = files(tmp_path)
    assert len(before) == 3
    vacuum(table)
    assert files(tmp_path) == before
    expire(table, 1)
    result = vacuum(table)
    assert files(tmp_path) == before == of_version(tmp_path, 3) | of_version(tmp_path, 6)
    assert result.segments == ()
    table.drop_tag("three")
    expire(table, 1)
    result = vacuum(table)
    needed = of_version(tmp_path, load(tmp_path).version)
    assert files(tmp_path) == needed
    assert {*result.segments} == {f"_versioned/marks/{name}" for name in before - needed}
    assert findings(tmp_path, deep=True, every_version=True) == []


def test_vacuum_deletes_orphan_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path)
    before = files(tmp_path)
    folder = tmp_path / FOLDER
    for name in (f"0-{UUID}.puffin", f"5-{UUID}.puffin", ".0-x.tmp", "other.puffin"):
        (folder / name).write_bytes(b"x")
    table.append(ids(7))
    table.maintenance.vacuum(DAY, dry_run=False, force=True)
    assert len(files(tmp_path)) == len(before) + 4
    later(monkeypatch, 2 * DAY)
    table.append(ids(8))
    table.maintenance.vacuum(DAY, dry_run=False, force=True)
    assert files(tmp_path) == before | {"other.puffin"}


def test_vacuum_of_a_dropped_table_deletes_its_marks(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    table = catalog.create_table("t", "id LONG")
    table.append(ids(1, 2, 3))
    (path,) = table.state.segments.paths
    mark(table, {path: [1]})
    assert files(tmp_path)
    catalog.drop_table("t")
    tick()
    Catalog.vacuum_path(tmp_path / "t", NOW, dry_run=False, force=True)
    assert files(tmp_path) == set()


def test_verify_reads_the_marks(tmp_path: Path) -> None:
    table = make(tmp_path)
    assert findings(tmp_path, deep=True, every_version=True) == []
    _, second = table.state.segments.paths
    (name,) = of_version(tmp_path, 5) - of_version(tmp_path, 4)
    path = tmp_path / FOLDER / name
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    ((found, problem),) = findings(tmp_path)
    assert found == second
    assert "marks of deleted rows cannot be read" in problem
    assert "does not have its checksum" in problem
    path.unlink()
    ((found, problem),) = findings(tmp_path)
    assert (found, "is missing" in problem) == (second, True)


def test_verify_of_every_version_reads_marks_that_were_replaced(tmp_path: Path) -> None:
    table = make(tmp_path)
    first, _ = table.state.segments.paths
    (name,) = of_version(tmp_path, 3)
    (tmp_path / FOLDER / name).unlink()
    assert findings(tmp_path) == []
    ((found, problem),) = findings(tmp_path, every_version=True)
    assert (found, "is missing" in problem) == (first, True)


def test_verify_reads_the_marks_of_removed_segments_and_of_tags(tmp_path: Path) -> None:
    table = make(tmp_path)
    first, second = table.state.segments.paths
    table.set_tag("five", 5)
    table.overwrite(ids(9))
    for folder_file in (tmp_path / FOLDER).iterdir():
        folder_file.unlink()
    assert findings(tmp_path) == []
    found = [path for path, _ in findings(tmp_path, every_version=True)]
    assert sorted(found) == sorted([first, first, second])
    expire(table, 1)
    found = [path for path, _ in findings(tmp_path, every_version=True)]
    assert sorted(found) == sorted([first, second])


def test_recovered_tables_keep_rows_deleted(tmp_path: Path) -> None:
    make(tmp_path)
    Catalog.recover(tmp_path / "t", tmp_path / "new")
    new = Catalog.load_path(tmp_path / "new")
    first, second = new.state.segments.paths
    assert marks_of(new) == {first: [0, 2], second: [1]}
    assert all((tmp_path / "new" / path).exists() for path in new.state.segments.mark_files)
    assert new.maintenance.verify(deep=True, every_version=True).findings == ()


def test_recovery_uses_marks_after_a_gap(tmp_path: Path) -> None:
    table = make(tmp_path)
    (tmp_path / "t" / table.log.entry_path(2)).unlink()
    Catalog.recover(tmp_path / "t", tmp_path / "new")
    new = Catalog.load_path(tmp_path / "new")
    paths = new.state.segments.paths
    assert marks_of(new)[paths[0]] == [0, 2]


def test_recovery_says_which_marks_are_lost(tmp_path: Path) -> None:
    table = make(tmp_path)
    first, _ = table.state.segments.paths
    (name,) = of_version(tmp_path, 4)
    (tmp_path / FOLDER / name).unlink()
    result = Catalog.recover(tmp_path / "t", tmp_path / "new")
    (lost,) = [one for one in result.unknown if "were deleted; they are back" in one]
    assert first in lost
    new = Catalog.load_path(tmp_path / "new")
    assert list(marks_of(new).values()) == [[1]]
    assert result.rows == 5


def test_damaged_tables_without_log_have_no_marks(tmp_path: Path) -> None:
    make(tmp_path)
    for file in (tmp_path / "t/_versioned/log").iterdir():
        file.unlink()
    result = Catalog.recover(tmp_path / "t", tmp_path / "new")
    assert any("may be back" in one for one in result.unknown)
    assert MARKS not in Catalog.load_path(tmp_path / "new").state.features.read


def test_inspection_shows_marked_rows(tmp_path: Path) -> None:
    table = make(tmp_path)
    found = table.inspect.segments()
    assert found.select(["rows", "marked_rows"]).to_pylist() == [
        {"rows": 3, "marked_rows": 2},
        {"rows": 3, "marked_rows": 1},
    ]
    assert found.schema.field("marked_rows").type == pa.int64()
    assert "mark" not in found.column_names
    assert table.inspect.snapshots()["rows"].to_pylist() == [0, 3, 6, 5, 4, 3]


def test_partitions_count_the_rows_that_are_left(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG, p INT", partitioned_by=["p"])
    table.append(pa.table({"id": [1, 2, 3], "p": pa.array([1, 1, 2], pa.int32())}))
    first = table.state.segments.paths[0]
    mark(table, {first: [0]})
    assert table.inspect.partitions()["rows"].to_pylist() == [1, 1]
