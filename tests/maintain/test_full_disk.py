"""A vacuum frees space on a disk whose blocks are all in use."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maintain.tables import NOW, age, data, ids, load, make, shown, tick, write
from versioned_catalog import Catalog, StorageError, Table
from versioned_catalog.maintain.vacuum import Vacuumed
from versioned_catalog.storage import local
from versioned_catalog.storage.local import RESERVE, RESERVE_BYTES, LocalStore

ORPHAN = f"0-{'0' * 32}.parquet"


def vacuum(table: Table) -> Vacuumed:
    tick()
    return table.maintenance.vacuum(NOW, dry_run=False, force=True)


def reserve(root: Path) -> Path:
    return root / "t" / RESERVE


# A simulated full disk.


@pytest.fixture
def fill(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make the creation of files fail, as on a full disk, while any of the given files exists."""

    def full_while(*there: Path, number: int = errno.ENOSPC) -> None:
        def make_file(path: str, mode: str = "r", *more: Any, **named: Any) -> Any:
            if "x" in mode and any(one.exists() for one in there):
                raise OSError(number, os.strerror(number))
            return open(path, mode, *more, **named)

        monkeypatch.setattr(local, "open", make_file, raising=False)

    return full_while


def test_every_table_on_a_disk_has_a_reserve(tmp_path: Path) -> None:
    make(tmp_path, 1)
    assert reserve(tmp_path).stat().st_size == RESERVE_BYTES
    assert reserve(tmp_path).stat().st_blocks * 512 >= RESERVE_BYTES
    assert not Catalog.create_path("memory://reserve/t", "a INT").store.files("_versioned")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_vacuum_uses_the_reserve_and_restores_it(
    number: int, tmp_path: Path, fill: Callable[..., None]
) -> None:
    table = make(tmp_path, 2)
    known = data(tmp_path)
    write(table, 7)
    orphans = data(tmp_path) - known
    table.append(ids(3))
    old = reserve(tmp_path).read_bytes()
    fill(reserve(tmp_path), number=number)
    with pytest.raises(StorageError, match=os.strerror(number)):
        table.append(ids(4))
    result = vacuum(table)
    assert result.fence == 3
    assert not orphans & data(tmp_path)
    assert len(reserve(tmp_path).read_bytes()) == RESERVE_BYTES
    assert reserve(tmp_path).read_bytes() != old
    fill()
    load(tmp_path).append(ids(4))
    assert shown(load(tmp_path)) == [2, 3, 4]


def test_without_a_reserve_files_that_need_no_fence_are_deleted_first(
    tmp_path: Path, fill: Callable[..., None]
) -> None:
    table = make(tmp_path, 2)
    (tmp_path / "t/data" / ORPHAN).write_bytes(b"x")
    left = tmp_path / "t/data/.x.tmp"
    left.write_bytes(b"x" * 10_000)
    reserve(tmp_path).unlink()
    fill(left)
    assert f"data/{ORPHAN}" in vacuum(table).segments
    assert not left.exists()
    assert reserve(tmp_path).exists()


def test_a_recent_temporary_file_is_kept_even_if_the_disk_is_full(
    tmp_path: Path, fill: Callable[..., None]
) -> None:
    table = make(tmp_path, 2)
    orphan, left = tmp_path / "t/data" / ORPHAN, tmp_path / "t/data/.x.tmp"
    for path in (orphan, left):
        path.write_bytes(b"x")
    for path in (orphan, *(tmp_path / "t/_versioned/log").iterdir()):
        age(path, timedelta(days=1))
    commits = table.version
    fill(tmp_path)
    with pytest.raises(StorageError, match="No space left"):
        table.maintenance.vacuum(NOW, dry_run=False, force=True)
    assert orphan.exists(), "there is no fence"
    assert load(tmp_path).version == commits


def test_other_failures_do_not_use_the_reserve(tmp_path: Path, fill: Callable[..., None]) -> None:
    table = make(tmp_path, 2)
    (tmp_path / "t/data" / ORPHAN).write_bytes(b"x")
    tick()
    now = datetime.now(UTC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStore, "now", lambda _: now)
        fill(tmp_path, number=errno.EACCES)
        with pytest.raises(StorageError, match="Permission denied"):
            table.maintenance.vacuum(NOW, dry_run=False, force=True)
    assert reserve(tmp_path).exists()


def test_a_dropped_table_is_vacuumed_on_a_full_disk(
    tmp_path: Path, fill: Callable[..., None]
) -> None:
    table = make(tmp_path, 2)
    table.drop()
    fill(reserve(tmp_path))
    tick()
    Catalog.vacuum_path(tmp_path / "t", NOW, dry_run=False, force=True)
    assert not data(tmp_path)


def test_the_clock_of_the_store_works_on_a_full_disk(
    tmp_path: Path, fill: Callable[..., None]
) -> None:
    store = LocalStore(str(tmp_path))
    os.utime(tmp_path, (0, 0))
    fill(tmp_path)
    assert abs(store.now().timestamp() - time.time()) < 60
    fill(tmp_path, number=errno.EACCES)
    with pytest.raises(StorageError, match="Permission denied"):
        store.now()


# A disk that is really full.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    asked = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(asked, check=False, capture_output=True).returncode:
        pytest.skip("this process may not mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_up(path: Path) -> None:
    """Use every free block."""
    with path.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError as error:
                assert error.errno == errno.ENOSPC


@pytest.mark.parametrize("at", ["data", "other"])
def test_a_vacuum_on_a_disk_without_a_free_block(at: str, small_disk: Path) -> None:
    """The disk is filled by a segment of a dead writer, or by a file that a vacuum must not delete."""
    table = make(small_disk, 2)
    write(table, *range(20_000))
    table.append(ids(3))
    fill_up(small_disk / "t/data" / ORPHAN if at == "data" else small_disk / "other")
    with pytest.raises(StorageError, match="No space left"):
        table.append(ids(4))
    result = vacuum(load(small_disk))
    assert len(result.segments) == (2 if at == "data" else 1)
    load(small_disk).append(ids(4))
    assert shown(load(small_disk)) == [2, 3, 4]
    assert load(small_disk).maintenance.verify(deep=True).is_clean
    assert reserve(small_disk).stat().st_size == RESERVE_BYTES


def test_a_write_that_does_not_fit_leaves_no_files(small_disk: Path) -> None:
    table = make(small_disk, 2)
    before, free = data(small_disk), os.statvfs(small_disk).f_bavail
    with pytest.raises(StorageError, match="No space left"):
        write(table, *range(1_000_000))
    assert data(small_disk) == before
    assert os.statvfs(small_disk).f_bavail == free
    table.append(ids(3))
    assert shown(load(small_disk)) == [2, 3]
