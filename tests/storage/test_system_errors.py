"""The operating system's errors are StorageErrors: they say nothing about a file's content."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, CorruptTableError, StorageError, Table
from versioned_catalog.maintain import salvage
from versioned_catalog.maintain.segment_check import checksum_of, opened
from versioned_catalog.storage import local
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.parquet import open_parquet, translate_errors

SYSTEM = [errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EIO, errno.ENOMEM, errno.ESTALE]
OF_THE_FILE = [errno.ENOENT, errno.EISDIR, errno.EINVAL, errno.ELOOP]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    created = Catalog.create_path(tmp_path / "t", "id LONG, b STRING")
    for number in range(3):
        created.append(pa.table({"id": [number], "b": ["x"]}))
    created.log.write_checkpoint(created.state)
    return created


@pytest.mark.parametrize("number", SYSTEM, ids=errno.errorcode.get)
def test_a_system_error_is_a_storage_error(number: int) -> None:
    with (
        pytest.raises(StorageError, match=f"can't read x: {os.strerror(number)}"),
        translate_errors("x"),
    ):
        raise OSError(number, f"Failed to open x. Detail: [errno {number}]")


@pytest.mark.parametrize("number", OF_THE_FILE, ids=errno.errorcode.get)
def test_an_error_caused_by_the_file_is_corruption(number: int) -> None:
    with pytest.raises(CorruptTableError), translate_errors("x"):
        raise OSError(number, "no")
    with pytest.raises(CorruptTableError), translate_errors("x"):
        raise OSError("Couldn't deserialize thrift")


@pytest.mark.parametrize("number", SYSTEM, ids=errno.errorcode.get)
def test_an_unreadable_segment_is_not_missing(
    number: int, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table.state.segments.paths[0]

    def refuse(_: str) -> Any:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(local.os, "stat", refuse)
        with pytest.raises(StorageError, match=os.strerror(number)):
            table.store.open(path)
    os.unlink(Path(table.location) / path)
    with pytest.raises(CorruptTableError, match="is missing"):
        table.store.open(path)


FEW_FILES = """
import os, resource, sys
from versioned_catalog import Catalog, StorageError

folder, act = sys.argv[1:]

table = Catalog.load_path(folder)

def scan(free):
    table.scan().to_arrow()

def read(free):
    Catalog.load_path(folder).scan().to_arrow()

def verify(free):
    Catalog.load_path(folder).maintenance.verify(deep=True)

def recover(free):
    Catalog.recover(folder, f"{folder}-{free}")

act = globals()[act]
act("warm")                                # imports what it needs while there are files left
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
for free in range(4):
    used = max(map(int, os.listdir("/proc/self/fd"))) + 1
    for handle in range(used):             # no gap is left below the limit
        try:
            os.fstat(handle)
        except OSError:
            os.dup2(0, handle)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + free, hard))
    try:
        act(free)
    except StorageError as error:
        assert "Too many open files; raise the limit (ulimit -n)" in str(error), error
        print("refused")
    else:
        print("done")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("act", ["scan", "read", "verify", "recover"])
def test_too_many_open_files_is_not_reported_as_corruption(act: str, table: Table) -> None:
    """Whichever call gets no file descriptor, the table is not reported as corrupt."""
    done = subprocess.run(
        [sys.executable, "-c", FEW_FILES, table.location, act],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "refused"


def test_errors_in_the_middle_of_a_read(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table.state.segments.paths[0]
    with opened(table.store, path) as file:
        assert file.read(4) == b"PAR1"

    def fail(*_: Any) -> None:
        raise OSError(errno.EMFILE, "no")

    monkeypatch.setattr("builtins.open", fail)
    with pytest.raises(StorageError, match="ulimit -n"):
        checksum_of(table.store, path)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make the operating system refuse every segment to PyArrow."""

    def refuse(number: int) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(pq, "ParquetFile", fail)

    return refuse


def test_an_error_names_the_file_and_the_reason(
    table: Table, refused: Callable[[int], None]
) -> None:
    folder = table.store.open(table.state.segments.paths[0])
    refused(errno.EMFILE)
    with pytest.raises(StorageError, match=r"ulimit -n"):
        open_parquet(folder, folder)
    with pytest.raises(StorageError, match=r"data/.*parquet: Too many open files"):
        table.scan().to_arrow()
    with pytest.raises(StorageError, match="ulimit -n"):
        table.maintenance.verify()


def test_a_bad_block_is_a_finding_and_a_shortage_is_an_error(
    table: Table, tmp_path: Path, refused: Callable[[int], None]
) -> None:
    refused(errno.EIO)
    (finding, *_) = table.maintenance.verify().findings
    assert "Input/output error" in finding.problem
    footers = salvage.read_segments(table.store, lambda *_: None)
    assert len(footers.damaged) == 3
    refused(errno.EMFILE)
    with pytest.raises(StorageError, match="ulimit -n"):
        salvage.read_segments(table.store, lambda *_: None)


def test_recover_does_not_treat_an_unreadable_entry_as_lost(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = LocalStore.read

    def refuse(self: LocalStore, path: str, *limit: int) -> bytes | None:
        if path.endswith("2.json"):
            cause = PermissionError(errno.EACCES, "no")
            raise StorageError(f"can't read {path}: no") from cause
        return read(self, path, *limit)

    monkeypatch.setattr(LocalStore, "read", refuse)
    with pytest.raises(StorageError, match="can't read"):
        Catalog.recover(table.location, tmp_path / "new")
