"""A table that is created of files has all of them, or is not there."""

from __future__ import annotations

from pathlib import Path

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
