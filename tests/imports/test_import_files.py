"""``import_files``: in place and copied, again, killed, and into tables that exist."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from imports.lake import Lake
from sealing import unsealed
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.commit.table_handle import silent
from versioned_interop.imports.import_files import run_import
from versioned_interop.imports.listing import file_source
from versioned_interop.imports.options import import_options
from versioned_interop.imports.planning import plan_import

both = pytest.mark.parametrize("copy", [False, True], ids=["in place", "copied"])


@both
def test_a_second_call_imports_what_is_new(lake: Lake, copy: bool) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.load(copy=copy)
    lake.write("1.parquet", {"a": [2, 3]})
    found = lake.catalog.import_files("t", lake.folder, copy=copy)
    assert (found.files, found.rows, found.known) == (1, 2, 1)
    assert sorted(row["a"] for row in lake.rows()) == [1, 2, 3]
    before = lake.catalog.load_table("t").version
    assert lake.catalog.import_files("t", lake.folder, copy=copy).files == 0
    assert lake.catalog.load_table("t").version == before


@both
def test_changed_and_missing_files_are_reported(lake: Lake, copy: bool) -> None:
    for at in range(3):
        lake.write(f"{at}.parquet", {"a": [at]})
    lake.load(copy=copy)
    lake.write("0.parquet", {"a": [9]})  # of the same size
    os.utime(lake.folder / "0.parquet", ns=(1, 1))
    (lake.folder / "1.parquet").unlink()
    found = lake.catalog.import_files("t", lake.folder, copy=copy)
    known = "root:lake/{}.parquet"
    assert (found.changed, found.missing, found.known) == (
        (known.format(0),),
        (known.format(1),),
        1,
    )


def test_a_pattern_does_not_miss_files_outside_it(lake: Lake) -> None:
    lake.write("x/0.parquet", {"a": [0]})
    lake.write("y/1.parquet", {"a": [1]})
    lake.load()
    found = lake.catalog.import_files("t", lake.folder / "x/*.parquet")
    assert (found.known, found.missing) == (1, ())


def test_files_stay_where_they_are_or_are_copied(lake: Lake, tmp_path: Path) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.load("placed")
    lake.load("copied", copy=True)
    segments = {
        name: lake.catalog.load_table(name).inspect.segments() for name in ("placed", "copied")
    }
    paths = {name: found["path"].to_pylist() for name, found in segments.items()}
    assert paths["placed"] == ["root:lake/0.parquet"]
    assert paths["copied"][0].startswith("data/")
    (lake.folder / "0.parquet").unlink()
    assert lake.rows("copied") == [{"a": 1}]


def test_in_place_needs_a_root(tmp_path: Path, lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    catalog = Catalog(tmp_path / "other")
    for source in (lake.folder, lake.folder / "0.parquet", lake.folder / "*.parquet"):
        with pytest.raises(InvalidRequestError, match=f"--root lake={lake.folder} on the command"):
            catalog.import_files("t", source)
    with pytest.raises(InvalidRequestError, match=f"--root lake={lake.folder.parent} on the com"):
        catalog.convert("t", str(lake.folder))
    catalog.import_files("t", lake.folder, copy=True)
    assert catalog.load_table("t").count() == 1


@pytest.mark.parametrize(
    "source", ["root:lake", "root:lake/x", "root:lake/x/*.parquet", "root:lake/**/0.*"]
)
def test_sources_by_the_name_of_a_root(lake: Lake, source: str) -> None:
    lake.write("x/0.parquet", {"a": [1]})
    lake.catalog.import_files("t", source)
    assert lake.rows() == [{"a": 1}]


def test_hidden_and_empty_files_are_left_out(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    for name in ("_SUCCESS", ".x.parquet", "_tmp/y.parquet", ".git/z.parquet", "nothing.parquet"):
        lake.text(name, "" if name == "nothing.parquet" else "no parquet")
    lake.load()
    assert lake.rows() == [{"a": 1}]


@both
def test_files_without_rows_count_for_the_schema(lake: Lake, copy: bool) -> None:
    lake.write("0.parquet", {"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})
    lake.write("1.parquet", {"a": [1]})
    assert str(lake.load(copy=copy).schema) == "a BIGINT, b STRING"
    assert lake.rows() == [{"a": 1, "b": None}]
    assert lake.catalog.import_files("t", lake.folder, copy=copy).known == 2


def test_nothing_to_import(lake: Lake) -> None:
    with pytest.raises(InvalidRequestError, match="there are no files to import"):
        lake.load()
    lake.write("a/0.parquet", {"a": [1]})
    lake.text("_b", "")
    (lake.folder / "empty").mkdir()
    for name, what in (
        ("b", "there is no file or folder"),
        ("a/b/c.parquet", "there is no file or folder"),
        ("a/*.csv", "there are no files to import"),
        ("empty", "there are no files to import"),
        ("_b", "there are no files to import"),
    ):
        for source in (f"root:lake/{name}", lake.folder / name):
            with pytest.raises(InvalidRequestError, match=what):
                lake.catalog.import_files("t", source)
            with pytest.raises(InvalidRequestError, match=what):
                lake.catalog.import_files("t", source, copy=True)


def test_a_damaged_file_is_refused_by_name_or_left_out(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.text("1.parquet", "no parquet at all")
    with pytest.raises(InvalidRequestError, match=r"1\.parquet: it is not a whole Parquet file"):
        lake.load()
    found = lake.catalog.import_files("t", lake.folder, skip_unreadable=True)
    assert [one.path for one in found.unreadable] == ["1.parquet"]
    assert lake.rows() == [{"a": 1}]


@both
def test_a_table_gets_new_columns_only_if_allowed(lake: Lake, copy: bool) -> None:
    table = lake.catalog.create_table("t", "a INT, s STRUCT<x: INT>")
    table.append(pa.table({"a": pa.array([0], pa.int32())}))
    lake.write("0.parquet", {"a": [1], "b": ["x"], "s": [{"x": 1, "y": 2}]})
    with pytest.raises(InvalidRequestError) as caught:
        lake.load(copy=copy)
    text = str(caught.value)
    assert "b is not a column of the table: STRING in 1 file (0.parquet). Pass evolve=True" in text
    assert "s.y is not a column of the table: BIGINT in 1 file (0.parquet)" in text
    lake.load(copy=copy, evolve=True)
    schema = str(lake.catalog.load_table("t").schema)
    if not copy:  # a copy converts the values to the table's types
        assert schema == "a BIGINT, s STRUCT<x: BIGINT, y: BIGINT>, b STRING"
    assert lake.rows() == [
        {"a": 0, "s": None, "b": None},
        {"a": 1, "s": {"x": 1, "y": 2}, "b": "x"},
    ]


def test_columns_keep_their_ids_when_they_are_renamed(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    table = lake.load()
    table.alter().rename_column("a", "b").commit()
    lake.write("1.parquet", {"b": [2]})
    lake.load()
    assert lake.rows() == [{"b": 1}, {"b": 2}]


def test_options_of_a_new_table_are_not_ignored_for_one_that_exists(lake: Lake) -> None:
    """A table that is as they say takes the files, so that a call can be repeated."""
    lake.write("0.parquet", {"a": [1], "b": [1]})
    there = {
        "partitioned_by": ["a"],
        "properties": {"k": "v", "comment": "c", "sort_by": "b", "isolation": "serializable"},
        "location": lake.warehouse / "own/t",
    }
    lake.load(copy=True, **there)
    lake.write("1.parquet", {"a": [2], "b": [2]})
    lake.load(copy=True, **there)
    assert len(lake.rows()) == 2
    lake.write("2.parquet", {"a": [3], "b": [3]})
    for option, other, said in (
        ("partitioned_by", ["b"], r"exists, and has partitioning \['a'\]"),
        ("properties", {"k": "w"}, "k = v, while k is w"),
        ("properties", {"comment": "d"}, "comment = c, while comment is d"),
        ("properties", {"primary_key": "a"}, "no property primary_key"),
        ("properties", {"j": "v"}, "no property j"),
        ("properties", {"sort_by": "a"}, "sort_by = b"),
        ("location", lake.warehouse / "own/u", "own/t, while location is .*own/u"),
    ):
        with pytest.raises(InvalidRequestError, match=rf"(?s){said}.*{option} is for a new table"):
            lake.load(copy=True, **{option: other})
    assert len(lake.rows()) == 2


def test_a_table_with_a_key_takes_copies(lake: Lake) -> None:
    lake.catalog.create_table("t", "k BIGINT, v STRING", primary_key=["k"])
    lake.write("0.parquet", {"k": [1, 2], "v": ["a", "b"]})
    with pytest.raises(InvalidRequestError, match="primary key"):
        lake.load()
    lake.load(copy=True)
    assert lake.rows() == [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}]


def test_a_partitioned_table_takes_files_of_one_partition(lake: Lake) -> None:
    lake.write("p=1/0.parquet", {"v": [1]})
    lake.write("p=2/1.parquet", {"v": [2]})
    lake.load(partitioned_by=["p"])
    table = lake.catalog.load_table("t")
    assert table.partitioning == ["p"]
    assert table.scan(filters=[("p", "=", 2)]).to_arrow().to_pylist() == [{"v": 2, "p": 2}]


def test_the_schema_is_committed_before_a_row(lake: Lake) -> None:
    for at in range(4):
        lake.write(f"{at}.parquet", {"a": [at]})
    seen = []

    def progress(step: str, done: int, total: int) -> None:
        if step == "files" and not seen:
            seen.append(str(lake.catalog.load_table("t").schema))
            assert lake.catalog.load_table("t").count() == 0
        assert (done, total) <= (4, 4)

    lake.load(progress=progress, batch_files=2)
    assert seen == ["a BIGINT"]
    assert lake.catalog.load_table("t").version == 2


def killed(warehouse: Path, folder: Path, options: dict[str, Any], after: int) -> None:
    """Import in a process that ends itself after some files."""
    calls = 0

    def progress(step: str, done: int, total: int) -> None:
        nonlocal calls
        calls += step == "files"
        if calls == after:
            os.kill(os.getpid(), signal.SIGKILL)

    catalog = Catalog(warehouse, roots={"lake": folder})
    catalog.import_files("t", folder, batch_files=2, progress=progress, **options)


@both
@pytest.mark.parametrize("after", [1, 3, 6])
def test_an_import_that_was_killed_goes_on(
    lake: Lake, tmp_path: Path, copy: bool, after: int
) -> None:
    for at in range(7):
        lake.write(f"{at}.parquet", {"a": [at]})
    work = (tmp_path / "warehouse", lake.folder, {"copy": copy}, after)
    process = multiprocessing.get_context("fork").Process(target=killed, args=work)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    lake.load(copy=copy, batch_files=2)
    assert sorted(row["a"] for row in lake.rows()) == list(range(7))


EARLY = "_versioned/imports"


def journaled(lake: Lake, commit_id: str, *, copied: bool, ended: bool) -> None:
    """Take the ledger away, and write the journal that early versions of this library kept instead."""
    table = lake.catalog.load_table("t")
    log = Path(table.location) / "_versioned/log"
    for path in log.iterdir():
        entry = unsealed(json.loads(path.read_bytes()))
        entry.pop("imported", None)
        entry["features"]["write"] = entry["features"]["read"]
        path.write_text(json.dumps(entry))
    about = (lake.folder / "0.parquet").stat()
    journal = {
        **{"commit_id": commit_id, "base_version": 0, "table_uuid": table.state.table_uuid},
        "copied": copied,
        "files": [["root:lake/0.parquet", about.st_size, about.st_mtime_ns // 1000, ""]],
        "empty": [],
    }
    folder = Path(table.location) / EARLY
    folder.mkdir()
    name = f"{0:020}-{commit_id}.json"
    (folder / name).write_text(json.dumps(journal))
    if ended:
        (folder / f"{name}.done").write_text("")
    lake.reopen()


@both
@pytest.mark.parametrize(
    ("landed", "ended"), [(True, True), (True, False), (False, False)], ids=str
)
def test_the_journal_of_an_early_version_counts(
    lake: Lake, copy: bool, landed: bool, ended: bool
) -> None:
    """Killed before the commit, or before it was recorded as done, or not killed."""
    lake.write("0.parquet", {"a": [1]})
    table = lake.load(copy=copy)
    commit_id = table.state.commit_id if landed else str(uuid.uuid4())
    journaled(lake, commit_id, copied=copy, ended=ended)
    expected = 0 if landed or not copy else 1  # in place, the live segment says it
    assert lake.catalog.import_files("t", lake.folder, copy=copy).files == expected
    lake.write("1.parquet", {"a": [2]})
    assert lake.catalog.import_files("t", lake.folder, copy=copy).files == 1
    assert lake.catalog.import_files("t", lake.folder, copy=copy).files == 0
    assert lake.catalog.verify_table("t").findings == ()


def test_of_two_imports_at_once_the_second_takes_what_is_left(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    handle = lake.load()._handle.pinned(0)
    lake.write("1.parquet", {"a": [2]})
    origin = file_source(handle.store, lake.folder, in_place=True)
    planned = plan_import(handle.store, origin, import_options(), handle, silent)
    assert len(planned.survey.files) == 2
    found = run_import(handle, planned, silent)
    assert (found.files, found.rows, found.known) == (1, 1, 1)
    assert lake.rows() == [{"a": 1}, {"a": 2}]
