"""The behaviour that all stores share."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from versioned_catalog import Catalog, InvalidRequestError, StorageError
from versioned_catalog.storage.opening import open_store
from versioned_catalog.storage.store import Put, Store


@pytest.fixture(params=["local", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    match request.param:
        case "local":
            store = open_store(tmp_path)
        case "memory":
            store = open_store(f"memory://{uuid4()}")
        case _:
            options = request.getfixturevalue("s3").options
            store = open_store(request.getfixturevalue("s3_place"), options)
    assert store.put_if_absent("here", b"") is Put.WON
    return store


def test_files_are_listed_with_size_and_date(store: Store) -> None:
    before = store.now()
    store.overwrite("data/b", b"123")
    store.overwrite("data/a", b"1")
    store.overwrite("data/below/c", b"")
    found = store.files("data")
    assert [(file.name, file.bytes) for file in found] == [("a", 1), ("b", 3)]
    early, late = before - timedelta(seconds=2), store.now() + timedelta(seconds=2)
    assert all(early <= file.modified <= late for file in found)
    assert store.files("other") == []


def test_many_files_are_deleted_together(store: Store) -> None:
    for name in ("a", "b", "c"):
        store.overwrite(f"data/{name}", b"")
    store.delete_all(["data/a", "data/missing", "data/c"])
    assert store.list("data") == ["b"]


def test_the_first_put_wins(store: Store) -> None:
    assert store.put_if_absent("log/0", b"first") is Put.WON
    assert store.put_if_absent("log/0", b"second") is Put.TAKEN
    assert store.read("log/0") == b"first"


def test_gcs_is_opened_by_the_class_that_passes_conditions_on() -> None:
    """The one that gcsfs registers replaces files in zonal buckets, whatever was asked."""
    core = pytest.importorskip("gcsfs.core")
    for scheme in ("gs", "gcs"):
        store = open_store(f"{scheme}://bucket/t", {"token": "anon"})
        assert type(store._fs) is core.GCSFileSystem
        assert store._fs.consistency == "md5"
        assert store.url == f"{scheme}://bucket/t"


class Plain(MemoryFileSystem):
    """A file system that checks for a file and then writes, as fsspec does by default."""

    protocol = "plain"
    store: dict[str, object] = {}  # noqa: RUF012 - a class attribute in fsspec, too
    pseudo_dirs = [""]  # noqa: RUF012


def test_writing_to_a_file_system_without_put_if_absent_is_refused() -> None:
    fsspec.register_implementation("plain", Plain, clobber=True)
    with pytest.raises(InvalidRequestError, match=r"both commit a version; .* put the table on"):
        Catalog("plain://warehouse").create_namespace("n")
    with pytest.raises(InvalidRequestError, match="two writers could both commit a version"):
        Catalog.create_path("plain://table", "x INT")
    assert Plain().find("") == []


def test_an_overwrite_survives_the_deletion_of_its_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vacuum deletes old temporary files, also that of a writer that was paused for long."""
    replace, seen = os.replace, []

    def paused(source: str, target: str) -> None:
        seen.append(source)
        if len(seen) == 1:
            os.unlink(source)
        replace(source, target)

    monkeypatch.setattr(os, "replace", paused)
    store = open_store(tmp_path)
    store.overwrite("log/0", b"new")
    assert store.read("log/0") == b"new"
    assert len(seen) == 2
    assert [file.name for file in store.files("log")] == ["0"]


def test_an_overwrite_does_not_bring_back_a_deleted_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, seen = os.replace, []

    def late(source: str, target: str) -> None:
        seen.append(source)
        if len(seen) == 1:
            shutil.rmtree(tmp_path / "log")
        replace(source, target)

    monkeypatch.setattr(os, "replace", late)
    with pytest.raises(StorageError, match="can't write"):
        open_store(tmp_path).overwrite("log/0", b"new")
    assert not (tmp_path / "log").exists()
