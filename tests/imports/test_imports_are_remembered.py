"""A file comes in once, whatever happened to its rows, however it is reached, whoever imports it."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imports.lake import Lake
from marking import mark
from versioned_catalog import (
    Catalog,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
    Table,
)
from versioned_catalog.commit.table_handle import silent
from versioned_catalog.log import commit_log as table_log
from versioned_catalog.log import ledger as imported
from versioned_catalog.log.entry import Commit
from versioned_catalog.storage.store import Store
from versioned_interop.imports import import_files as importing
from versioned_interop.imports.listing import file_source
from versioned_interop.imports.options import import_options
from versioned_interop.imports.planning import plan_import

both = pytest.mark.parametrize("copy", [False, True], ids=["in place", "copied"])

NEVER = dt.timedelta(0)


def delete_rows(table: Table) -> None:
    table.delete([("a", ">", 0)])


def overwrite(table: Table) -> None:
    table.overwrite(pa.table({"a": [7]}))


def compact(table: Table) -> None:
    paths = [path for path in table.state.segments.paths if path.startswith("root:")]
    table.maintenance.compact(**({"paths": paths} if paths else {}))


def expire(table: Table) -> None:
    table.delete([("a", "=", 1)])
    table.maintenance.expire(NEVER, dry_run=False, force=True)
    table.maintenance.vacuum(NEVER, dry_run=False, force=True)


CHANGES: list[tuple[Callable[[Table], object], list[int]]] = [
    (delete_rows, []),
    (lambda table: table.delete([("a", "=", 1)]), [2, 3]),
    (lambda table: table.delete(None), []),
    (overwrite, [7]),
    (compact, [1, 2, 3]),
    (expire, [2, 3]),
    (lambda table: table.log.write_checkpoint(table.state), [1, 2, 3]),
    (lambda table: table.alter().rename_column("a", "b").add_column("a", "BIGINT").commit(), []),
]


@both
@pytest.mark.parametrize(("change", "left"), CHANGES)
def test_a_file_comes_in_once_whatever_happened_to_its_rows(
    lake: Lake, copy: bool, change: Callable[[Table], object], left: list[int]
) -> None:
    lake.write("0.parquet", {"a": [1, 2]})
    lake.write("1.parquet", {"a": [3]})
    change(lake.load(copy=copy))
    lake.reopen()
    found = lake.catalog.import_files("t", lake.folder, copy=copy)
    assert (found.files, found.known) == (0, 2)
    assert sorted(row["a"] for row in lake.rows() if row["a"] is not None) == left
    lake.write("2.parquet", {"a": [4]})
    assert lake.catalog.import_files("t", lake.folder, copy=copy).files == 1


@both
def test_a_replaced_table_takes_all_files(lake: Lake, copy: bool) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.load(copy=copy)
    lake.catalog.replace_table("t", "a BIGINT")
    lake.load(copy=copy)
    assert lake.rows() == [{"a": 1}]


@both
def test_what_a_rollback_takes_back_can_be_imported_again(lake: Lake, copy: bool) -> None:
    lake.write("0.parquet", {"a": [1]})
    table = lake.load(copy=copy)
    lake.write("1.parquet", {"a": [2]})
    lake.load(copy=copy)
    table.refresh().delete([("a", "=", 1)])
    table.rollback(1)  # the first import stays
    assert lake.catalog.import_files("t", lake.folder, copy=copy).files == 1
    assert sorted(row["a"] for row in lake.rows()) == [1, 2]
    table.refresh().rollback(0)
    table.rollback(table.version)  # nothing to do: no commit
    assert lake.rows() == []
    assert lake.catalog.import_files("t", lake.folder, copy=copy).files == 2
    assert sorted(row["a"] for row in lake.rows()) == [1, 2]
    assert lake.catalog.import_files("t", lake.folder, copy=copy).known == 2


def test_a_rollback_of_an_import_without_rows_is_a_commit(lake: Lake) -> None:
    lake.write("0.parquet", {"a": pa.array([], pa.int64())})
    table = lake.load()
    assert (table.version, table.state.segments.paths) == (1, [])
    assert table.rollback(0) == 2
    assert not table.state.ledger
    assert table.rollback(0) == 2


@both
def test_a_file_is_known_by_where_it_is(lake: Lake, tmp_path: Path, copy: bool) -> None:
    """Through another root, without one, through links to it and to its folder: the same file."""
    lake.write("x/0.parquet", {"a": [1]})
    lake.load(copy=copy)
    (tmp_path / "link").symlink_to(lake.folder)
    (lake.folder / "y").mkdir()
    (lake.folder / "y/z.parquet").symlink_to(lake.folder / "x/0.parquet")
    roots = {"lake": lake.folder, "up": tmp_path, "x": lake.folder / "x", "l": tmp_path / "link"}
    lake.reopen(**roots)
    for source in ("root:up/lake", "root:x", "root:l/x", "root:lake/y", tmp_path / "link/x/*"):
        for copied in (False, True):
            found = lake.catalog.import_files("t", source, copy=copied)
            names = 2 if source == "root:up/lake" else 1
            assert (found.files, found.known, found.missing) == (0, names, ()), source
    lake.reopen(other=tmp_path / "elsewhere")
    found = lake.catalog.import_files("t", lake.folder / "x", copy=True)  # without a root
    assert (found.files, found.known) == (0, 1)


@both
@pytest.mark.parametrize("pages", [False, True])
def test_a_file_is_known_wherever_its_root_lies(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copy: bool, pages: bool
) -> None:
    """Another machine has the root elsewhere; a file of that name with other content has changed."""
    if pages:
        monkeypatch.setattr(imported, "PAGE_FROM", 1)
    for name in ("x/0", "x/1", "gone"):
        lake.write(f"{name}.parquet", {"a": [1]})
    lake.load(copy=copy).delete([("a", ">", 0)])
    lake.folder = lake.folder.rename(tmp_path / "elsewhere")
    lake.reopen()
    lake.write("x/1.parquet", {"a": [1, 2]})
    (lake.folder / "gone.parquet").unlink()
    found = lake.catalog.import_files("t", "root:lake", copy=copy)
    assert (found.files, found.known, found.changed) == (0, 1, ("root:lake/x/1.parquet",))
    assert found.missing == (("root:lake/gone.parquet",) if copy else ())
    assert lake.rows() == []
    lake.write("new.parquet", {"a": [5]})
    assert lake.catalog.import_files("t", "root:lake", copy=copy).files == 1
    assert lake.catalog.import_files("t", "root:lake/x/1.parquet", copy=copy, again="all").rows == 2


def test_of_two_imports_at_once_with_the_root_in_two_places_one_takes_a_file(
    lake: Lake, tmp_path: Path
) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.catalog.create_table("t", "a BIGINT")
    handle = lake.catalog.load_table("t")._handle
    origin = file_source(handle.store, lake.folder, in_place=True)
    planned = plan_import(handle.store, origin, import_options(copy=True), handle, silent)
    shutil.copytree(lake.folder, tmp_path / "elsewhere")  # with the same dates
    lake.reopen(lake=tmp_path / "elsewhere")
    assert lake.catalog.import_files("t", "root:lake", copy=True).files == 1
    found = importing.run_import(handle, planned, silent)
    assert (found.files, lake.rows()) == (0, [{"a": 1}])


def test_a_file_that_two_names_lead_to_is_imported_once(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    (lake.folder / "1.parquet").symlink_to(lake.folder / "0.parquet")
    lake.load()
    assert lake.rows() == [{"a": 1}]


@both
def test_a_file_that_was_empty_comes_in_when_it_is_not(lake: Lake, copy: bool) -> None:
    lake.write("0.parquet", {"a": pa.array([], pa.int64())})
    lake.load(copy=copy)
    lake.text("1.parquet", "")
    assert lake.catalog.import_files("t", lake.folder, copy=copy).known == 1
    for name in ("0.parquet", "1.parquet"):
        lake.write(name, {"a": [1]})
    assert lake.catalog.import_files("t", lake.folder, copy=copy).files == 2
    assert lake.rows() == [{"a": 1}, {"a": 1}]


@both
def test_a_changed_file_comes_in_when_it_is_asked_for(lake: Lake, copy: bool) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.write("1.parquet", {"a": [5]})
    table = lake.load(copy=copy)
    lake.write("0.parquet", {"a": [1, 2]})
    found = lake.catalog.import_files("t", lake.folder, copy=copy)
    assert (found.files, found.known, found.changed) == (0, 1, ("root:lake/0.parquet",))
    found = lake.catalog.import_files("t", lake.folder, copy=copy, again="changed")
    assert (found.files, found.rows, found.known, found.changed) == (1, 2, 1, ())
    rows = sorted(row["a"] for row in lake.rows())
    # The old segment could not be read any more; rows that were copied stay.
    assert rows == ([1, 1, 2, 5] if copy else [1, 2, 5])
    assert lake.catalog.import_files("t", lake.folder, copy=copy, again="changed").known == 2
    assert table.refresh().version == 2


@both
def test_all_files_come_in_again_when_it_is_asked_for(lake: Lake, copy: bool) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.load(copy=copy)
    lake.load(copy=copy, again="all")
    assert lake.rows() == [{"a": 1}, {"a": 1}]
    table = lake.catalog.load_table("t")
    assert len({*table.state.segments.paths}) == 2
    table.delete([("a", "=", 1)])
    lake.load(copy=copy, again="all")
    assert lake.rows() == [{"a": 1}]
    with pytest.raises(InvalidRequestError, match="again is 'yes'; it must be 'changed' or 'all'"):
        lake.load(again="yes")


def test_a_changed_file_leaves_through_whatever_root_it_came(lake: Lake, tmp_path: Path) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.load()
    lake.write("0.parquet", {"a": [2, 3]})
    lake.reopen(lake=lake.folder, up=tmp_path)
    lake.catalog.import_files("t", "root:up/lake", again="changed")
    assert lake.rows() == [{"a": 2}, {"a": 3}]


def test_a_changed_file_may_be_a_segment_below_a_root_that_is_not_given(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.load()
    lake.write("0.parquet", {"a": [2, 3]})
    lake.reopen(other=lake.folder)
    with pytest.raises(InvalidRequestError, match="needs the external root 'lake'"):
        lake.catalog.import_files("t", "root:other", again="changed")
    assert lake.catalog.import_files("t", "root:other").changed == ("root:other/0.parquet",)
    lake.reopen(lake=lake.folder, other=lake.folder)
    lake.catalog.import_files("t", "root:other", again="changed")
    assert lake.rows() == [{"a": 2}, {"a": 3}]


@pytest.mark.parametrize(
    "change", [lambda table: table.delete([("a", "=", 1)]), compact], ids=["delete", "compact"]
)
def test_a_changed_file_whose_rows_were_rewritten_is_refused(
    lake: Lake, change: Callable[[Table], object]
) -> None:
    """Nothing is imported, also no file of a batch before; ``all`` is the way out."""
    lake.write("1.parquet", {"a": [1, 2, 3]})
    change(lake.load())
    before = lake.rows()
    lake.write("0.parquet", {"a": [9]})
    lake.write("1.parquet", {"a": [1, 2, 3, 4]})
    with pytest.raises(InvalidRequestError, match=r"1\.parquet has changed .* again='all'"):
        lake.load(again="changed", batch_files=1)
    assert lake.rows() == before
    lake.catalog.load_table("t").delete(None)
    lake.load(again="all")
    assert sorted(row["a"] for row in lake.rows()) == [1, 2, 3, 4, 9]
    assert lake.catalog.import_files("t", lake.folder, again="changed").known == 2


def test_a_changed_file_with_deleted_rows_is_refused(lake: Lake) -> None:
    lake.write("1.parquet", {"a": [1, 2, 3]})
    table = lake.load()
    (path,) = table.state.segments.paths
    mark(table, {path: [0]})
    assert lake.load().state.segments.marks
    lake.write("1.parquet", {"a": [1, 2, 3, 4]})
    with pytest.raises(InvalidRequestError, match=r"has deleted rows there: .* again='all'"):
        lake.load(again="changed")
    assert lake.catalog.load_table("t").state.segments.marks
    lake.load(again="all")
    assert lake.rows() == [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}]


def test_a_file_that_was_removed_comes_in_again_when_it_has_changed(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    table = lake.load()
    lake.write("0.parquet", {"a": [1, 2]})
    table.remove_external(["root:lake/0.parquet"])
    assert lake.catalog.import_files("t", lake.folder).changed == ("root:lake/0.parquet",)
    with pytest.raises(InvalidRequestError, match="no segment of the table any more"):
        lake.load(again="changed")  # the log does not tell this from a DELETE
    lake.load(again="all")
    assert lake.rows() == [{"a": 1}, {"a": 2}]
    (path,) = lake.catalog.load_table("t").state.segments.paths
    assert path == "root:lake@3/0.parquet"
    lake.catalog.load_table("t").remove_external(["root:lake/0.parquet"])  # by its file, too
    assert lake.rows() == []


@both
def test_of_two_imports_at_once_every_file_comes_in_once(lake: Lake, copy: bool) -> None:
    """Both have looked at the table before either commits; their folders overlap."""
    lake.catalog.create_table("t", "a BIGINT")
    for at in range(8):
        lake.write(f"{at}.parquet", {"a": [at]})
    sources = ("[0-5].parquet", "[2-7].parquet")
    handles = [lake.catalog.load_table("t")._handle for _ in sources]
    plans = []
    for source, handle in zip(sources, handles, strict=True):
        origin = file_source(handle.store, lake.folder / source, in_place=not copy)
        options = import_options(copy=copy, batch_files=3)
        plans.append(plan_import(handle.store, origin, options, handle, silent))
    found: list[Any] = [None, None]

    def run(at: int) -> None:
        found[at] = importing.run_import(handles[at], plans[at], silent)

    threads = [threading.Thread(target=run, args=(at,)) for at in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(row["a"] for row in lake.rows()) == list(range(8))
    assert sum(one.files for one in found) == sum(one.rows for one in found) == 8
    assert sum(one.known for one in found) == 4


def test_an_import_gives_up_when_the_schema_was_changed_meanwhile(lake: Lake) -> None:
    for at in range(4):
        lake.write(f"{at}.parquet", {"a": [at]})
    lake.catalog.create_table("t", "a BIGINT")
    other = Catalog(lake.warehouse, roots={"lake": lake.folder})

    def progress(step: str, done: int, total: int) -> None:
        if (step, done) == ("files", 2):
            other.load_table("t").alter().rename_column("a", "b").commit()
            other.load_table("t").append(pa.table({"b": [9]}))

    with pytest.raises(CommitConflictError, match="run the import again"):
        lake.load(progress=progress, batch_files=2)
    lake.load(aliases={"a": "b"})
    assert sorted(row["b"] for row in lake.rows()) == [0, 1, 2, 3, 9]


@pytest.mark.parametrize("rows", [range(1000), [2]], ids=["longer", "as long"])
def test_a_file_that_changes_while_it_is_imported_is_refused(
    lake: Lake, rows: Sequence[int]
) -> None:
    lake.write("0.parquet", {"a": [1]})

    def progress(step: str, done: int, total: int) -> None:
        if step == "schemas":
            about = (lake.folder / "0.parquet").stat()
            path = lake.write("0.parquet", {"a": list(rows)})
            if path.stat().st_size != about.st_size:  # a store may say no time, or a coarse one
                os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))

    for copy in (False, True):
        with pytest.raises(
            InvalidRequestError, match=r"0\.parquet was changed while it was imported; run it again"
        ):
            lake.load(progress=progress, copy=copy)
        assert lake.rows() == []
        lake.write("0.parquet", {"a": [1]})
    lake.load()
    assert lake.rows() == [{"a": 1}]


@pytest.mark.parametrize("folding", [False, True])
def test_pages_hold_the_files_of_large_imports(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, folding: bool
) -> None:
    """Also through a checkpoint, an expiry and a vacuum; a rollback to before them brings rows again."""
    monkeypatch.setattr(imported, "PAGE_FROM", 3)
    monkeypatch.setattr(imported, "FOLD_FROM", 5 if folding else 10**6)
    for at in range(7):
        lake.write(f"{at}.parquet", {"a": [at]})
        if at % 2:
            lake.load()  # two at a time
    table = lake.catalog.load_table("t")
    pages = len(table.state.ledger.pages)
    assert pages == (1 if folding else 0)
    lake.load()
    for at in range(7, 11):
        lake.write(f"{at}.parquet", {"a": [at]})
    lake.load()  # four at once
    table.refresh()
    assert len(table.state.ledger.pages) == pages + 1
    table.log.write_checkpoint(table.state)
    table.overwrite(pa.table({"a": [0]}))
    table.maintenance.expire(NEVER, dry_run=False, force=True)
    before = {*(Path(table.location) / "_versioned/imports").iterdir()}
    table.maintenance.vacuum(NEVER, dry_run=False, force=True)
    assert {*(Path(table.location) / "_versioned/imports").iterdir()} == before
    assert Catalog.load_path(table.location).maintenance.verify().findings == ()
    assert lake.catalog.import_files("t", lake.folder).known == 11
    lake.catalog.replace_table("t", "a BIGINT")
    table = lake.catalog.load_table("t")
    table.maintenance.expire(NEVER, dry_run=False, force=True)
    table.maintenance.vacuum(NEVER, dry_run=False, force=True)
    assert not {*(Path(table.location) / "_versioned/imports").iterdir()}


def test_an_import_that_folds_the_ledger_copies_each_batch_once(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imported, "PAGE_FROM", 6)
    monkeypatch.setattr(imported, "FOLD_FROM", 8)
    for at in range(20):
        lake.write(f"{at:02}.parquet", {"a": [at]})
    table = lake.load(copy=True, batch_files=2)
    assert len(table.state.ledger.pages) > 1
    assert len([*(Path(table.location) / "data").iterdir()]) == table.state.segments.count == 10
    assert sorted(row["a"] for row in lake.rows()) == [*range(20)]


@pytest.mark.parametrize("damage", ["flipped", "missing"])
def test_a_damaged_page_is_an_error_and_no_second_import(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(imported, "PAGE_FROM", 2)
    for at in range(2):
        lake.write(f"{at}.parquet", {"a": [at]})
    table = lake.load()
    (page,) = (Path(table.location) / "_versioned/imports").iterdir()
    data = bytearray(page.read_bytes())
    data[len(data) // 2] ^= 1
    page.unlink() if damage == "missing" else page.write_bytes(data)
    assert len(lake.rows()) == 2  # readers of rows need no page
    with pytest.raises(CorruptTableError, match="restore it from a copy"):
        lake.load()
    findings = lake.catalog.verify_table("t").findings
    assert [one.path for one in findings] == [f"_versioned/imports/{page.name}"]


def test_a_recovered_table_knows_what_was_copied(lake: Lake, tmp_path: Path) -> None:
    lake.write("0.parquet", {"a": [1, 2]})
    table = lake.load(copy=True)
    table.delete([("a", "=", 1)])
    Catalog.recover(table.location, tmp_path / "new")
    found = Catalog.load_path(tmp_path / "new").import_files(lake.folder, copy=True)
    assert (found.files, found.known) == (0, 1)


def test_a_recovered_table_knows_adopted_files_whose_rows_were_rewritten(
    lake: Lake, tmp_path: Path
) -> None:
    """Only the file that is in no recovered segment comes in."""
    lake.write("0.parquet", {"a": [1, 2]})
    lake.write("1.parquet", {"a": [3]})
    lake.write("2.parquet", {"a": [4]})
    table = lake.load()
    table.delete([("a", "in", [1, 4])])
    found = Catalog.recover(table.location, tmp_path / "new")
    assert [one for one in found.unknown if "in place" in one] != []
    new = Catalog.load_path(tmp_path / "new", roots={"lake": lake.folder})
    assert new.scan().to_arrow()["a"].to_pylist() == [2]
    assert new.import_files(lake.folder).files == 1
    assert sorted(new.refresh().scan().to_arrow()["a"].to_pylist()) == [2, 3]


def test_a_recovery_says_that_early_imports_are_unknown(lake: Lake, tmp_path: Path) -> None:
    lake.write("0.parquet", {"a": [1]})
    table = lake.load(copy=True)
    before = Catalog.recover(table.location, tmp_path / "before").unknown
    folder = Path(table.location) / "_versioned/imports"
    folder.mkdir(exist_ok=True)
    (folder / f"{0:020}-{table.state.commit_id}.json").write_text("{}")
    after = Catalog.recover(table.location, tmp_path / "after").unknown
    assert ["an early version" in text for text in (str(before), str(after))] == [False, True]


def test_links_that_lead_nowhere_are_left_to_the_survey(lake: Lake, tmp_path: Path) -> None:
    outside = tmp_path / "outside.parquet"
    pq.write_table(pa.table({"a": [2]}), outside)
    lake.write("0.parquet", {"a": [1]})
    os.symlink(outside, lake.folder / "1.parquet")
    with pytest.raises(InvalidRequestError, match="leads outside"):
        lake.load()
    lake.load(skip_unreadable=True)
    assert lake.rows() == [{"a": 1}]


def paged(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table whose three imported files are in a page."""
    monkeypatch.setattr(imported, "PAGE_FROM", 2)
    for at in range(3):
        lake.write(f"{at}.parquet", {"a": [at]})
    return lake.load(copy=True)


def test_the_second_of_two_equal_rollbacks_is_no_commit(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(3):
        lake.write(f"{at}.parquet", {"a": [at]})
    table = lake.load(copy=True)
    version = table.version
    table.overwrite(pa.table({"a": [7]}))
    lake.write("3.parquet", {"a": [3]})
    lake.load(copy=True)
    monkeypatch.setattr(imported, "PAGE_FROM", 2)
    back = table.refresh().rollback(version)
    assert table.refresh().rollback(version) == back


def test_verify_finds_the_lost_pages_of_earlier_versions(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = paged(lake, monkeypatch)
    (page,) = table.state.ledger.pages
    table.rollback(0)
    (Path(table.location) / page.path).unlink()
    assert table.maintenance.verify().findings == ()
    (finding,) = table.maintenance.verify(every_version=True).findings
    assert finding.path == page.path


def test_an_import_that_outlived_a_vacuum_names_no_page_that_is_gone(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files have no rows, so no segment of it is below the fence."""
    monkeypatch.setattr(imported, "PAGE_FROM", 2)
    lake.catalog.create_table("t", "a BIGINT")
    for at in range(3):
        lake.write(f"{at}.parquet", {"a": pa.array([], pa.int64())})
    write_page = table_log.write_page

    def overtaken(commit: Commit, previous: Commit | None, store: Store) -> Commit:
        paged = write_page(commit, previous, store)
        if paged.imported is not None and previous is None:
            other = lake.catalog.load_table("t")
            other.append(pa.table({"a": [1]}))
            other.append(pa.table({"a": [2]}))
            other.maintenance.vacuum(NEVER, dry_run=False, force=True)
        return paged

    monkeypatch.setattr(table_log, "write_page", overtaken)
    with pytest.raises(CommitConflictError, match="outlived the retention of a vacuum"):
        lake.load()
    monkeypatch.setattr(table_log, "write_page", write_page)
    lake.load()
    assert lake.load().maintenance.verify().findings == ()
