"""Hints and checkpoints are only caches of the log; expired versions are read from kept states."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from sealing import resealed, sealed
from versioned_catalog import Catalog, CorruptTableError, NotFoundError, Table
from versioned_catalog.log.checkpoint import state_from_bytes

FOLDER = "t/_versioned"


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def make(root: Path) -> Table:
    """Create versions 0 to 6, with checkpoints at 2 and 4."""
    table = Catalog.create_path(root / "t", "id LONG, b STRING DEFAULT 'x'")
    for number in range(5):
        table.append(ids(number))
        if number in (1, 3):
            table.log.write_checkpoint(table.state)
    table.alter().rename_column("b", "c").commit()
    return table


def assert_whole(root: Path) -> None:
    table = Catalog.load_path(root / "t")
    assert table.version == 6
    assert table.schema.names == ["id", "c"]
    assert table.scan().to_arrow().to_pylist() == [{"id": n, "c": "x"} for n in range(5)]
    for version in range(1, 6):
        found = table.scan(version=version).to_arrow()
        assert found.to_pylist() == [{"id": n, "b": "x"} for n in range(version)]


HINTS = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"version": null}',
    b'{"version": "4"}',
    b'{"version": 4.0}',
    b'{"version": -4}',
    b'{"version": 3}',
    b'{"version": 5}',
    b'{"version": 999999}',
    b'{"version": 1' + b"0" * 300 + b"}",
    b'{"version": 1' + b"0" * 5000 + b"}",
]


@pytest.mark.parametrize("hint", HINTS, ids=range(len(HINTS)))
def test_invalid_hints_are_ignored(hint: bytes, tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / FOLDER / "last_checkpoint.json").write_bytes(hint)
    assert_whole(tmp_path)


def newest(root: Path) -> Path:
    return root / FOLDER / f"checkpoint/{4:020d}.parquet"


@pytest.mark.thorough
def test_truncated_checkpoints_are_ignored(tmp_path: Path) -> None:
    make(tmp_path)
    whole = newest(tmp_path).read_bytes()
    for length in (*range(0, 40), *range(40, len(whole), 97), len(whole) - 1):
        newest(tmp_path).write_bytes(whole[:length])
        assert Catalog.load_path(tmp_path / "t").count() == 5, length
    assert_whole(tmp_path)


def test_the_log_is_read_if_all_checkpoints_are_damaged(tmp_path: Path) -> None:
    make(tmp_path)
    for path in newest(tmp_path).parent.iterdir():
        path.write_bytes(b"PAR1")
    assert_whole(tmp_path)
    Catalog.load_path(tmp_path / "t").append(ids(9))


def test_a_checkpoint_of_another_table_is_refused(tmp_path: Path) -> None:
    """The entries after it have another table UUID: the table is refused, never mixed."""
    make(tmp_path)
    (tmp_path / "other").mkdir()
    make(tmp_path / "other")
    newest(tmp_path).write_bytes(newest(tmp_path / "other").read_bytes())
    with pytest.raises(Exception, match="another table"):
        Catalog.load_path(tmp_path / "t")


def test_a_checkpoint_of_another_version_is_ignored(tmp_path: Path) -> None:
    make(tmp_path)
    (newest(tmp_path).parent / f"{2:020d}.parquet").write_bytes(newest(tmp_path).read_bytes())
    assert_whole(tmp_path)


def test_an_entry_of_another_version_is_corrupt(tmp_path: Path) -> None:
    make(tmp_path)
    log = tmp_path / FOLDER / "log"
    (log / f"{1:020d}.json").write_bytes((log / f"{2:020d}.json").read_bytes())
    table = Catalog.load_path(tmp_path / "t")
    assert table.count() == 5, "a checkpoint follows the bad entry"
    with pytest.raises(
        CorruptTableError, match="must hold version 1, but holds the entry of version 2"
    ):
        table.inspect.history()


@pytest.mark.parametrize(
    "damage",
    [
        lambda hint, file: hint.unlink(),
        lambda hint, file: hint.write_bytes(b"rubbish"),
        lambda hint, file: file.unlink(),
        lambda hint, file: file.write_bytes(b""),
        lambda hint, file: file.write_bytes(file.read_bytes()[:-1]),
        lambda hint, file: file.write_bytes(b"[]"),
        lambda hint, file: file.write_text(
            resealed(file.read_text().replace('"version":2', '"version":1'))
        ),
    ],
)
def test_checkpoints_of_a_warehouse(damage: Callable[[Path, Path], object], tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for name in ("a", "b", "c"):
        catalog.create_namespace(name)
    loaded = catalog._names.log.load()
    assert loaded.state is not None
    catalog._names.log.write_checkpoint(loaded.state)
    catalog.create_namespace("d")
    folder = tmp_path / "_versioned"
    damage(folder / "last_checkpoint.json", folder / f"checkpoint/{2:020d}.json")
    assert Catalog(tmp_path).list_namespaces() == ["a", "b", "c", "d"]
    Catalog(tmp_path).create_table("a.t", "x INT")


def expire(table: Table, floor: int) -> None:
    """Expire versions as FORMAT.md, section 9, describes."""
    table.log.write_kept(table.at(floor))
    for version in range(floor):
        path = f"_versioned/log/{version:020d}.json"
        entry = json.loads(table.store.read(path) or b"")
        kept = {name: entry[name] for name in ("format", "version", "commit_id", "time")}
        stub = sealed({**kept, "stub": True, "floor": floor}).encode()
        table.store.overwrite(path, stub)


def test_reading_after_expiry(tmp_path: Path) -> None:
    make(tmp_path)
    commits = Catalog.load_path(tmp_path / "t").inspect.history()["commit_id"].to_pylist()
    old = Catalog.load_path(tmp_path / "t")
    expire(Catalog.load_path(tmp_path / "t"), 4)
    (tmp_path / FOLDER / "last_checkpoint.json").unlink()
    table = Catalog.load_path(tmp_path / "t")
    assert table.count() == 5
    assert table.inspect.history()["commit_id"].to_pylist() == commits
    for version in (4, 5, 6):
        assert table.scan(version=version).count() == min(version, 5)
    for version in (0, 1, 3):
        with pytest.raises(NotFoundError, match=rf"from 4 on; version {version} is expired"):
            table.scan(version=version)
    assert old.append(ids(9)) == 7, "a handle that was loaded before continues"
    assert table.find_commit(commits[2]) == 2


def test_the_checkpoint_of_the_oldest_retained_version_is_kept(tmp_path: Path) -> None:
    """Writers keep the oldest and the two newest checkpoints, and all states that expiry keeps."""
    make(tmp_path)
    early = Catalog.load_path(tmp_path / "t")
    expire(Catalog.load_path(tmp_path / "t"), 4)
    for number in range(5, 9):
        early.append(ids(number))
        early.log.write_checkpoint(early.state)
    names = sorted(int(path.stem) for path in newest(tmp_path).parent.iterdir())
    assert names == [2, 9, 10]
    assert [path.stem for path in (tmp_path / FOLDER / "kept").iterdir()] == [f"{4:020d}"]
    table = Catalog.load_path(tmp_path / "t")
    for version in (4, 5, 7, 8):
        assert table.scan(version=version).count() == table.at(version).segments.count


def test_a_missing_state_of_the_oldest_retained_version_is_reported(tmp_path: Path) -> None:
    make(tmp_path)
    expire(Catalog.load_path(tmp_path / "t"), 4)
    for folder in ("checkpoint", "kept"):
        for path in (tmp_path / FOLDER / folder).iterdir():
            path.unlink()
    with pytest.raises(
        Exception, match="the kept state of version 4, from which all versions are read"
    ):
        Catalog.load_path(tmp_path / "t")


def test_flipped_bits_in_a_checkpoint_are_detected(tmp_path: Path) -> None:
    """A flipped bit is detected by the checksums of pages, or changes nothing about segments."""
    make(tmp_path)
    whole = newest(tmp_path).read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    wanted = state_from_bytes(whole, "it").segments.core
    for at in range(4, footer, 3):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        try:
            found = state_from_bytes(bytes(damaged), "it").segments.core
        except CorruptTableError:
            continue
        assert found == wanted, at


def test_an_older_checkpoint_is_used(tmp_path: Path) -> None:
    make(tmp_path)
    for version in range(2):
        (tmp_path / FOLDER / f"log/{version:020d}.json").write_text("not looked at")
    newest(tmp_path).write_bytes(b"")
    assert Catalog.load_path(tmp_path / "t").count() == 5
    (tmp_path / FOLDER / "last_checkpoint.json").unlink()
    newest(tmp_path).unlink()
    assert Catalog.load_path(tmp_path / "t").count() == 5
