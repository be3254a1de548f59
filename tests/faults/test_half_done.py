"""Interrupted work: partial segments, checkpoints after a commit, and failed reads."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.store import Fault, FaultyStore, Plan
from versioned_catalog import Catalog, StorageError, Table, VersionedError
from versioned_catalog.log.reader import LoadedState
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.storage.store import Sink, Store
from versioned_catalog.write import segment_writer

ROWS = pa.table({"id": pa.array(range(1000), pa.int64())})


class HalfDisk(LocalStore):
    """A disk that stops in the middle of a segment.

    Args:
        root: the folder.
        stop: what happens then.
        write: the number of the write.
    """

    def __init__(self, root: str, stop: Callable[[], None], write: int) -> None:
        super().__init__(root)
        self._stop, self._write = stop, write

    def child(self, path: str) -> HalfDisk:
        return HalfDisk(super().child(path).url, self._stop, self._write)

    @contextmanager
    def create(self, path: str) -> Iterator[Sink]:
        with super().create(path) as sink:
            yield HalfSink(sink, os.path.join(self.url, path), self._stop, self._write)


class HalfSink:
    """Writes half of one write, and then stops."""

    def __init__(self, sink: Sink, path: str, stop: Callable[[], None], write: int) -> None:
        self._sink, self._path, self._stop, self._left = sink, path, stop, write

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        self._left -= 1
        if self._left < 0:
            # Beyond the buffer, as in a large file.
            with open(self._path, "ab") as file:
                file.write(view[: len(view) // 2])
            self._stop()
        return self._sink.write(view)


def fail() -> None:
    raise StorageError("planted")


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    catalog = Catalog(tmp_path / "w")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id LONG")
    for number in range(3):
        table.append(pa.table({"id": [number]}))
        table.log.write_checkpoint(table.state)
    table.append(pa.table({"id": [3]}))
    return tmp_path / "w"


def fresh(folder: Path) -> Table:
    return Catalog(folder).load_table("n.t")


def apart(work: Callable[[], object]) -> bool:
    """Run in a process of its own, and return whether it ended normally."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except VersionedError:
            os._exit(1)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("stop", [fail, kill])
@pytest.mark.parametrize("operation", ["append", "overwrite"])
@pytest.mark.parametrize("write", [0, 1, 2, 4])
def test_a_partial_segment_is_deleted_unless_the_process_dies(
    write: int,
    operation: str,
    stop: Callable[[], None],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        segment_writer, "PAGES_BYTES", 1
    )  # a write for each page, as in a large file
    store: Store = HalfDisk(str(folder), stop, write)
    table = Catalog.over(store).load_table("n.t")
    before = set((folder / "n/t/data").iterdir())
    if stop is kill:
        assert not apart(lambda: getattr(table, operation)(ROWS))
    else:
        with pytest.raises(StorageError, match="planted"):
            getattr(table, operation)(ROWS)
    left = len(set((folder / "n/t/data").iterdir()) - before)
    assert left == (stop is kill), "a partial segment is left only if the process was killed"
    assert fresh(folder).version == 4
    assert fresh(folder).scan().to_arrow()["id"].to_pylist() == [0, 1, 2, 3]
    fresh(folder).append(ROWS)
    assert fresh(folder).scan().to_arrow().num_rows == 1004


CHECKPOINT = [
    "read {}_versioned/last_checkpoint.json",
    "overwrite {}_versioned/checkpoint/N.{}",
    "overwrite {}_versioned/last_checkpoint.json",
    "files {}_versioned/checkpoint",
]
LOAD = [
    "read {}_versioned/last_checkpoint.json",
    "read {}_versioned/checkpoint/N.parquet",
    "read {}_versioned/log/N.json",
    "read {}_versioned/log/N.json",
]
NAMES = [
    "read _versioned/last_checkpoint.json",
    "read _versioned/log/N.json",
    "list _versioned/checkpoint",
    *["read _versioned/log/N.json"] * 2,
]
LATER = {
    "append": [
        *NAMES,
        *(call.format("n/t/") for call in LOAD),
        "create n/t/data/N-ID.parquet",
        "now n/t/",
        "put n/t/_versioned/log/N.json",
        *(call.format("n/t/", "parquet") for call in CHECKPOINT),
        "delete n/t/_versioned/checkpoint/N.parquet",
    ],
    "create_namespace": [
        *NAMES,
        "now ",
        "put _versioned/log/N.json",
        *(call.format("", "json") for call in CHECKPOINT),
    ],
}


@pytest.mark.thorough
@pytest.mark.parametrize("operation", LATER)
def test_a_failed_checkpoint_does_not_fail_the_commit(
    operation: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure after the put is invisible to others; the order of calls is fixed."""
    monkeypatch.setattr(LoadedState, "wants_checkpoint", True)

    def act(folder: Path, plan: Plan) -> None:
        catalog = Catalog.over(FaultyStore(LocalStore(str(folder)), plan))
        if operation == "append":
            catalog.load_table("n.t").append(ROWS)
        else:
            catalog.create_namespace("m")

    def seen(folder: Path) -> Any:
        table = fresh(folder)
        return (table.count(), table.scan().to_arrow(), Catalog(folder).list_namespaces())

    recorded = Plan()
    whole = shutil.copytree(folder, tmp_path / "whole")
    act(whole, recorded)
    assert recorded.calls == LATER[operation]
    put = next(n for n, call in enumerate(recorded.calls) if call.startswith("put"))
    faults = (Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.KILL_BEFORE, Fault.KILL_AFTER)
    for at, fault in itertools.product(range(put, len(recorded.calls)), faults):
        copy = shutil.copytree(folder, tmp_path / f"{at}{fault.name}")
        plan = Plan(at, fault)
        if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER):
            assert not apart(partial(act, copy, plan))
        elif at == put:
            with pytest.raises(StorageError):
                act(copy, plan)
        else:
            act(copy, plan)
        lost = at == put and fault in (Fault.FAIL_BEFORE, Fault.KILL_BEFORE)
        assert seen(copy) == seen(folder if lost else whole), (recorded.calls[at], fault)
        act(copy, Plan()) if operation == "append" else Catalog(copy).create_namespace("k")
        fresh(copy).append(ROWS)


def test_a_checkpoint_that_is_not_written_is_logged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(LoadedState, "wants_checkpoint", True)
    at = LATER["append"].index("overwrite n/t/_versioned/checkpoint/N.parquet")
    catalog = Catalog.over(FaultyStore(LocalStore(str(folder)), Plan(at, Fault.FAIL_BEFORE)))
    table = catalog.load_table("n.t")
    table.append(ROWS)
    assert f"no checkpoint of {table.location} was written: " in caplog.text


def test_checkpoints_of_other_writers_are_counted(folder: Path) -> None:
    """Two writers take turns; each counts the other's entries, so there is one checkpoint in 16."""
    a, b = (Catalog(folder).load_table("n.t") for _ in range(2))
    before = {path.name for path in (folder / "n/t/_versioned/checkpoint").iterdir()}
    found: set[str] = set()
    for _ in range(20):
        a.append(ROWS)
        b.append(ROWS)
        found |= {path.name for path in (folder / "n/t/_versioned/checkpoint").iterdir()}
    assert len(found - before) == 2


def test_a_failed_read_is_reported_and_changes_nothing(folder: Path) -> None:
    def look(plan: Plan) -> list[int]:
        catalog = Catalog.over(FaultyStore(LocalStore(str(folder)), plan))
        table = catalog.load_table("n.t").refresh()
        old = table.scan(version=1).to_arrow()["id"].to_pylist()
        assert old == [0]
        assert table.inspect.history().num_rows == 5
        found: list[int] = table.scan().to_arrow()["id"].to_pylist()
        return found

    recorded = Plan()
    assert look(recorded) == [0, 1, 2, 3]
    assert {call.split()[0] for call in recorded.calls} == {"read", "open", "list"}
    for at in range(len(recorded.calls)):
        with pytest.raises(StorageError, match="planted"):
            look(Plan(at))
    assert look(Plan()) == [0, 1, 2, 3]


def test_checkpoints_are_written_automatically_and_some_are_kept(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "id LONG")
    for number in range(210):
        table.alter().set_property("n", str(number)).commit()
    folder = tmp_path / "t/_versioned/checkpoint"
    names = sorted(path.name for path in folder.iterdir())
    assert 2 < len(names) <= 210 // 16
    assert Catalog.load_path(tmp_path / "t").properties == {"n": "209"}
    for name in names:
        (folder / name).write_bytes(b"")
    assert Catalog.load_path(tmp_path / "t").properties == {"n": "209"}
