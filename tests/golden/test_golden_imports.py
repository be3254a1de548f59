"""A table with a ledger of imports, written once by format version 1, stays readable and writable."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from versioned_catalog import Catalog, Table
from versioned_catalog.log.ledger import Taken, imported_files

GOLDEN = Path(__file__).parent / "v1-imports"
PLACE = "/golden-imports"
LAKE = f"memory:/{PLACE}/raw"
KNOWN = [("copied/0.parquet", Taken.EMPTY)] + [
    (f"copied/{at}.parquet", Taken.COPIED) for at in (1, 2)
]


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    """The table where it was created, since the ledger says where the files were."""
    found = MemoryFileSystem()
    for path in GOLDEN.rglob("*"):
        if path.is_file():
            found.pipe_file(f"{PLACE}/{path.relative_to(GOLDEN).as_posix()}", path.read_bytes())
    yield found
    found.rm(PLACE, recursive=True)


def load() -> Table:
    return Catalog.load_path(f"memory:/{PLACE}/table", roots={"lake": LAKE})


def ids(table: Table, version: int | None = None) -> list[int]:
    return sorted(table.scan(version=version).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("checkpoint", [True, False])
def test_rows_and_ledger(memory: MemoryFileSystem, checkpoint: bool) -> None:
    if not checkpoint:
        memory.rm(f"{PLACE}/table/_versioned/checkpoint", recursive=True)
    table = load()
    assert [ids(table, version) for version in (1, 2, 3)] == [[1, 2], [1, 2, 7, 8], [1, 2]]
    assert ids(table) == [2, 7, 8]
    external = [path for path in table.state.segments.paths if path.startswith("root:")]
    assert external == ["root:lake@4/placed.parquet"]
    found = [(one.place, one.taken) for one in imported_files(table.state.ledger, table.store)]
    placed = [(f"{LAKE}/placed.parquet", Taken.ADOPTED)] * 2
    assert found == [*((f"{LAKE}/{name}", taken) for name, taken in KNOWN), *placed]
    assert (len(table.state.ledger.pages), table.state.adoptions) == (1, 2)
    assert table.maintenance.verify(deep=True).findings == ()


def test_its_files_are_known_and_new_ones_come_in(memory: MemoryFileSystem) -> None:
    """The files of the test are younger than those that were imported, so they have changed."""
    table = load()
    memory.cp_file(f"{PLACE}/raw/placed.parquet", f"{PLACE}/raw/new.parquet")
    found = table.import_files(LAKE, aliases={"a": "v"}, exclude=["b"])
    names = [*(name for name, taken in KNOWN if taken is not Taken.EMPTY), "placed.parquet"]
    assert found.changed == tuple(f"root:lake/{name}" for name in names)
    assert (found.files, found.rows) == (2, 2)  # the empty one has changed, too
    assert ids(table.refresh()) == [2, 7, 7, 8, 8]
    assert "root:lake@6/new.parquet" in table.state.segments.paths
    table.rollback(1)
    assert ids(table) == [1, 2]


def test_a_table_from_before_the_ledger_takes_new_files(tmp_path: Path) -> None:
    """Its files count as imported, also that of which a row was deleted; paths are not used again."""
    shutil.copytree(GOLDEN.parent / "v1-external", tmp_path, dirs_exist_ok=True)
    roots = {"lake": tmp_path / "raw"}
    table = Catalog.load_path(tmp_path / "table", roots=roots)
    assert "imports" not in table.state.features.write
    names = {"Host": "name", "host": "name"}
    how = {"aliases": names, "path_columns": False, "kept": "ignore"}
    assert table.import_files(tmp_path / "raw", **how).known == 3
    assert table.refresh().version == 5
    shutil.copy(tmp_path / "raw/day=1/part-0.parquet", tmp_path / "raw/new.parquet")
    found = table.import_files(tmp_path / "raw", **how)
    assert (found.files, found.known) == (1, 3)
    live = [path for path in table.refresh().state.segments.paths if path.startswith("root:")]
    assert [path for path in live if "@" in path] == ["root:lake@6/new.parquet"]
    assert table.state.adoptions == -1
    again = Catalog.load_path(tmp_path / "table", roots=roots)
    again.log.write_checkpoint(again.state)
    assert Catalog.load_path(tmp_path / "table", roots=roots).state.adoptions == -1
    again.maintenance.expire(dt.timedelta(0), dry_run=False, force=True)
    assert again.import_files(tmp_path / "raw", **how).known == 4


def early_table(place: Path) -> Table:
    """The table from before the ledger, without rows: nothing that it adopted is live any more."""
    shutil.copytree(GOLDEN.parent / "v1-external", place, dirs_exist_ok=True)
    table = Catalog.load_path(place / "table", roots={"lake": place / "raw"})
    table.delete(None)
    return table.refresh()


def taken(table: Table, source: Path) -> tuple[int, int, int]:
    how = {"aliases": {"Host": "name", "host": "name"}, "path_columns": False}
    found = table.refresh().import_files(source, evolve=True, **how)
    return found.files, found.known, len(found.changed)


def test_the_first_import_does_not_end_what_an_early_table_knows(tmp_path: Path) -> None:
    table, raw = early_table(tmp_path), tmp_path / "raw"
    new, changed = raw / "zz/new.parquet", raw / "day=1/part-0.parquet"
    new.parent.mkdir()
    shutil.copy(changed, new)
    shutil.copy(raw / "day=1/part-0.parquet", tmp_path / "before")
    shutil.copy(raw / "other.parquet", changed)  # of another size
    assert taken(table, raw / "zz") == (1, 0, 0)
    assert taken(table, changed) == (0, 0, 1)
    shutil.copy(tmp_path / "before", changed)
    assert taken(table, changed) == (0, 1, 0)
    assert table.maintenance.verify().findings == ()
    table.log.write_checkpoint(table.state)
    assert taken(table, raw) == (0, 4, 0)


def test_a_rollback_takes_back_what_an_early_table_adopted(tmp_path: Path) -> None:
    table, raw = early_table(tmp_path), tmp_path / "raw"
    table.rollback(0)
    assert taken(table, raw / "day=1")[:2] == (1, 0)
    table.rollback(0)
    assert taken(table, raw / "day=1")[:2] == (1, 0)
