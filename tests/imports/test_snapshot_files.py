"""A table that is created of files has all of them, or is not there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import AlreadyExistsError, Catalog, InvalidRequestError, VersionedError


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    return folder


def test_a_table_that_is_there_stays(tmp_path: Path, files: Path) -> None:
    catalog = Catalog(tmp_path / "w", roots={"in": files})
    catalog.create_table("t", "id BIGINT").append(pa.table({"id": [7]}))
    with pytest.raises(AlreadyExistsError, match="t"):
        catalog.snapshot_files("t", files)
    assert catalog.load_table("t").scan().to_arrow()["id"].to_pylist() == [7]


def test_a_table_that_appears_meanwhile_stays(tmp_path: Path, files: Path) -> None:
    """As its creation fails, somebody else's table of the name is neither filled nor dropped."""
    catalog = Catalog(tmp_path / "w", roots={"in": files})

    def meanwhile(step: str, done: int, total: int) -> None:
        if not Catalog(tmp_path / "w").table_exists("t"):
            Catalog(tmp_path / "w").create_table("t", "id BIGINT").append(pa.table({"id": [7]}))

    with pytest.raises(AlreadyExistsError):
        catalog.snapshot_files("t", files, progress=meanwhile)
    assert catalog.load_table("t").scan().to_arrow()["id"].to_pylist() == [7]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_killed_call_leaves_a_table_that_says_what_to_do(
    tmp_path: Path, files: Path, elsewhere: bool
) -> None:
    catalog = Catalog(tmp_path / "w", roots={"in": files})
    location = tmp_path / "w/own/t" if elsewhere else None
    pq.write_table(pa.table({"id": [2]}), files / "b.parquet")

    class Killed(BaseException):
        """What no handler of the call sees as a failure."""

    def kill(step: str, done: int, total: int) -> None:
        if step == "files" and Catalog(tmp_path / "w").table_exists("t"):
            raise Killed

    def snapshot(**options: Any) -> int:
        return catalog.snapshot_files("t", files, location=location, batch_files=1, **options).files

    for _ in range(2):
        with pytest.raises(Killed):
            snapshot(progress=kill)
        folder = f", delete its folder {location} and" if elsewhere else " and"
        with pytest.raises(AlreadyExistsError, match=f"drop the table{folder} run this again"):
            snapshot()
        with pytest.raises(InvalidRequestError, match="exists, and has no property k"):
            snapshot(properties={"k": "v"}, resume=True)
        catalog.drop_table("t")
        if location is not None:
            with pytest.raises(InvalidRequestError, match="files are missing"):
                catalog.register_table("t", location)
            shutil.rmtree(location)
    with pytest.raises(Killed):
        snapshot(progress=kill)
    snapshot(resume=True)
    with pytest.raises(AlreadyExistsError, match="choose another name"):
        snapshot()
    assert sorted(catalog.load_table("t").scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert "convert.unfinished" not in catalog.load_table("t").state.properties


def test_a_failure_leaves_no_table_in_its_location(tmp_path: Path, files: Path) -> None:
    catalog = Catalog(tmp_path / "w", roots={"in": files})
    null = pa.table({"id": [None]}, pa.schema([("id", pa.int64())]))
    pq.write_table(null, files / "b.parquet")
    location = tmp_path / "w/own/t"
    with pytest.raises(VersionedError):
        catalog.snapshot_files("t", files, schema="id BIGINT NOT NULL", location=location)
    done = catalog.snapshot_files("t", files, location=location)
    table = catalog.load_table("t")
    assert (done.files, done.version, table.properties) == (2, table.version, {})
    assert table.location == str(location)


def test_a_table_that_can_not_have_all_files_is_dropped(tmp_path: Path, files: Path) -> None:
    catalog = Catalog(tmp_path / "w", roots={"in": files})
    for number in range(3):
        pq.write_table(
            pa.table({"id": [None]}, pa.schema([("id", pa.int64())])), files / f"{number}.parquet"
        )
    with pytest.raises(VersionedError):
        catalog.snapshot_files("t", files, schema="id BIGINT NOT NULL")
    assert not catalog.table_exists("t")
    assert catalog.snapshot_files("t", files).files == 4
    with pytest.raises(InvalidRequestError):
        catalog.snapshot_files("u", files, schema="id INT")
    assert not catalog.table_exists("u")
