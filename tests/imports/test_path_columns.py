"""Folders without a name, and what the storage knows of files, as columns."""

from __future__ import annotations

import datetime as dt
import os

import pytest

from imports.lake import Lake
from versioned_catalog import InvalidRequestError


def lake_of_folders(lake: Lake, suffix: str) -> None:
    if suffix == "csv":
        lake.text("2024/eu/x.csv", "n\n1\n")
        lake.text("2025/y.csv", "n\n2\n")
    else:
        lake.write("2024/eu/x.parquet", {"n": [1]})
        lake.write("2025/y.parquet", {"n": [2]})


@pytest.mark.nightly
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_folders_are_columns_by_their_depth(lake: Lake, suffix: str) -> None:
    lake_of_folders(lake, suffix)
    copy = suffix == "csv"
    lake.load(copy=copy, dir_columns=True)
    assert lake.rows() == [
        {"n": 1, "dir0": 2024, "dir1": "eu"},
        {"n": 2, "dir0": 2025, "dir1": None},
    ]
    lake.load("named", copy=copy, dir_columns=["year"], schema="year STRING")
    assert lake.rows("named") == [{"year": "2024", "n": 1}, {"year": "2025", "n": 2}]


def test_a_renamed_folder_column_goes_on(lake: Lake) -> None:
    lake_of_folders(lake, "parquet")
    lake.load(dir_columns=True, file_columns={"file_name": "source"})
    table = lake.catalog.load_table("t")
    table.alter().rename_column("dir0", "year").rename_column("source", "file").commit()
    lake.write("2026/z.parquet", {"n": [3]})
    lake.load()
    assert lake.rows()[2] == {"n": 3, "year": 2026, "dir1": None, "file": "z.parquet"}
    table.refresh().alter().drop_column("dir1").commit()
    lake.write("2026/eu/w.parquet", {"n": [4]})
    with pytest.raises(InvalidRequestError, match="dir1 is not a column of the table"):
        lake.load()
    lake.load(exclude=["dir1"])
    assert lake.rows()[3] == {"n": 4, "year": 2026, "file": "w.parquet"}


def test_folders_with_a_name_do_not_count_unless_they_are_no_columns(lake: Lake) -> None:
    lake.write("a/day=2024-01-01/b/x.parquet", {"n": [1]})
    lake.load(dir_columns=True)
    day = dt.date(2024, 1, 1)
    assert lake.rows() == [{"n": 1, "dir0": "a", "day": day, "dir1": "b"}] or lake.rows() == [
        {"n": 1, "day": day, "dir0": "a", "dir1": "b"}
    ]
    lake.load("u", dir_columns=True, path_columns=False)
    assert lake.rows("u") == [{"n": 1, "dir0": "a", "dir1": "day=2024-01-01", "dir2": "b"}]


def test_aliases_and_exclude_are_also_for_columns_in_paths(lake: Lake) -> None:
    lake.write("day=2024-01-01/zone=1/x.parquet", {"n": [1]})
    lake.load(aliases={"day": "on"}, exclude=["zone"])
    assert lake.rows() == [{"n": 1, "on": dt.date(2024, 1, 1)}]


@pytest.mark.parametrize("copy", [False, True])
def test_name_path_time_and_size_of_the_file(lake: Lake, copy: bool) -> None:
    path = lake.write("a/x.parquet", {"n": [1]})
    os.utime(path, ns=(0, 1_706_700_600_123_456_000))
    lake.load(
        copy=copy,
        file_columns="file_name, file_path = source, file_modification_time = at, file_size",
    )
    (row,) = lake.rows()
    assert row.pop("at").astimezone(dt.UTC) == dt.datetime(2024, 1, 31, 11, 30, 0, 123456, dt.UTC)
    wanted = {"n": 1, "file_name": "x.parquet", "source": "root:lake/a/x.parquet"}
    assert row == {**wanted, "file_size": path.stat().st_size}


def test_a_column_of_files_that_a_requested_one_would_hide_is_refused(lake: Lake) -> None:
    lake.write("a/x.parquet", {"n": [1], "dir0": [2]})
    with pytest.raises(InvalidRequestError, match="dir0 is taken from the paths, and a column of"):
        lake.load(dir_columns=True)
    lake.load(dir_columns=["folder"])
    assert lake.rows() == [{"n": 1, "dir0": 2, "folder": "a"}]
    lake.write("x=1/b/x.parquet", {"n": [1]})
    with pytest.raises(InvalidRequestError, match="the path has two columns X"):
        lake.load("u", "", dir_columns=["X"])


@pytest.mark.parametrize(
    "options",
    [
        {"file_columns": ["file_owner"]},
        {"file_columns": {"file_name": "a", "file_path": "A"}},
        {"dir_columns": ["a", "a"]},
        {"dir_columns": ["a.b"]},
    ],
)
def test_wrong_names_are_refused(lake: Lake, options: dict[str, object]) -> None:
    lake.write("a/x.parquet", {"n": [1]})
    with pytest.raises(InvalidRequestError, match="_columns must be"):
        lake.load(**options)
