"""A file is in a table once, whether it was imported or belongs to the source of a conversion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from convert.sources import Lake, data_files, delete_positions
from faults.interrupted import InterruptedStore, Interruption
from faults.store import Plan
from versioned_catalog import Catalog, InvalidRequestError, Table

SCHEMA = Schema(NestedField(1, "id", LongType()))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def source(lake: Lake) -> Any:
    """A table of two files, one of which has two rows, in a folder of their own."""
    found = lake.iceberg_table(SCHEMA)
    found.add_files([raw(lake, 0), raw(lake, 1, 2)])
    return found


def raw(lake: Lake, *ids: int) -> str:
    """A file with these IDs."""
    path = lake.root / "raw" / f"{ids[0]}.parquet"
    path.parent.mkdir(exist_ok=True)
    rows = ", ".join(f"({one}::BIGINT)" for one in ids)
    duckdb.sql(f"FROM (VALUES {rows}) AS t(id)").write_parquet(str(path))
    return str(path)


def convert(lake: Lake, **options: Any) -> Table:
    return lake.catalog.convert("t", str(lake.root / "n/t"), **options)


def ids(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def test_a_file_that_was_imported_before_the_source_added_it_is_refused(
    lake: Lake, source: Any
) -> None:
    table, file = convert(lake), raw(lake, 9)
    table.import_files(file)
    source.add_files([file])
    with pytest.raises(
        InvalidRequestError, match=r"t: root:lake/raw/9.parquet was imported here .*remove_external"
    ):
        table.sync()
    assert ids(table) == [0, 1, 2, 9]
    table.remove_external(["root:lake/raw/9.parquet"])
    table.sync()
    assert ids(table) == [0, 1, 2, 9]


@pytest.mark.parametrize("deletes", [False, True], ids=["all copied", "with deleted rows"])
def test_files_that_a_conversion_copied_are_not_imported(
    lake: Lake, source: Any, deletes: bool
) -> None:
    left = [0, 1, 2]
    if deletes:  # all rows of the first file, and one of the other
        (lake.root / "n/t/data").mkdir(parents=True, exist_ok=True)
        first, second = data_files(source)
        delete_positions(source, [(first, 0)], [(second, 1)])
        left = [1]
    table = convert(lake, copy=not deletes)
    assert ids(table) == left
    assert table.import_files(str(lake.root / "raw")).known == 2
    source.add_files([raw(lake, 3)])
    table.sync()
    assert table.import_files(str(lake.root / "raw"), copy=True).known == 3
    assert ids(table) == [*left, 3]
    table.rollback(0)
    table.import_files(str(lake.root / "raw"))
    assert ids(table) == [0, 1, 2, 3]


def moved(table: Table) -> None:
    """Move the row of the imported file to a segment of the table."""
    table.update({"id": 10}, [("id", "=", 9)])


@pytest.mark.parametrize("copy", [True, False], ids=["copied", "in place, then updated"])
@pytest.mark.parametrize("deleted", [False, True])
def test_rows_that_were_imported_before_the_source_added_their_file_are_not_doubled(
    lake: Lake, source: Any, copy: bool, deleted: bool
) -> None:
    table, file = convert(lake), raw(lake, 9)
    before = table.version
    table.import_files(file, copy=copy)
    if not copy:
        moved(table)
    kept = ids(table)
    source.add_files([file])
    with pytest.raises(InvalidRequestError, match=r"raw/9.parquet was imported here .*rollback"):
        table.sync()
    assert ids(table) == kept
    if deleted:
        table.delete([("id", ">", 8)])
    else:
        table.rollback(before)
    table.sync()
    assert ids(table) == [0, 1, 2, 9]


def test_a_file_that_the_source_takes_out_and_adds_again_is_no_import(
    lake: Lake, source: Any
) -> None:
    table = convert(lake, copy=True)
    everything = source.current_snapshot().snapshot_id
    source.delete("id < 1")
    table.sync()
    assert ids(table) == [1, 2]
    source.manage_snapshots().rollback_to_snapshot(everything).commit()
    source.add_files([raw(lake, 3)])
    table.sync()
    assert ids(table) == [0, 1, 2, 3]


def test_a_file_that_was_imported_through_another_root_is_refused(
    lake: Lake, source: Any, tmp_path: Path
) -> None:
    convert(lake)
    file = raw(lake, 9)
    roots = {"lake": lake.root, "raw": lake.root / "raw"}
    table = Catalog(tmp_path / "warehouse", roots=roots).load_table("t")
    table.import_files("root:raw/9.parquet")
    source.add_files([file])
    with pytest.raises(InvalidRequestError, match=r"t: root:raw/9.parquet was imported here"):
        table.sync()
    table.remove_external(["root:raw/9.parquet"])
    table.sync()
    assert ids(table) == [0, 1, 2, 9]


def test_a_file_of_the_source_that_was_imported_once_more_on_purpose_is_followed(
    lake: Lake, source: Any
) -> None:
    table = convert(lake)
    _, file = data_files(source)
    table.import_files(file, copy=True, again="all")
    assert ids(table) == [0, 1, 1, 2, 2]
    (lake.root / "n/t/data").mkdir(parents=True, exist_ok=True)
    delete_positions(source, [(file, 0)])
    table.sync()
    assert ids(table) == [0, 1, 2, 2]


COMMIT = "put t/_versioned/log/N.json"


def racing(lake: Lake, theirs: Callable[[], object], at: str) -> Table:
    """The table, in a process before whose next commit another one does something."""
    what = Interruption(at, before=theirs)
    store: Any = InterruptedStore(lake.catalog._store, Plan(), what)
    return Catalog.over(store).load_table("t")


@pytest.mark.parametrize("copied", [False, True], ids=["adopted", "copied"])
@pytest.mark.parametrize("copy", [False, True], ids=["imported in place", "imported as a copy"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_imported_during_a_sync_comes_in_once(
    lake: Lake, source: Any, copied: bool, copy: bool, replaced: bool
) -> None:
    table, file = convert(lake, copy=copied), raw(lake, 9)
    source.add_files([file])
    if replaced:
        source.delete("id < 1")
    racer = racing(lake, lambda: table.import_files(file, copy=copy), COMMIT)
    with pytest.raises(InvalidRequestError, match=r"raw/9.parquet was imported here"):
        racer.sync()
    assert ids(table.refresh()) == [0, 1, 2, 9]


@pytest.mark.parametrize("copied", [False, True], ids=["adopted", "copied"])
@pytest.mark.parametrize("copy", [False, True], ids=["imported in place", "imported as a copy"])
def test_a_file_that_a_sync_brings_during_its_import_comes_in_once(
    lake: Lake, source: Any, copied: bool, copy: bool
) -> None:
    table, file = convert(lake, copy=copied), raw(lake, 9)
    source.add_files([file])
    done = racing(lake, table.sync, COMMIT).import_files(file, copy=copy)
    assert (done.files, done.known) == (0, 1)
    assert ids(table.refresh()) == [0, 1, 2, 9]
