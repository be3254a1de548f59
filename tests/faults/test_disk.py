"""Every system call of the local store fails, kills the process, or is the last before power is lost."""

from __future__ import annotations

import errno
import itertools
import os
import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.disk import Disk, Platter, Strike
from pairwise import most_at_night
from versioned_catalog import Catalog, CommitOutcomeUnknown, NotFoundError, StorageError, Table
from versioned_catalog.errors import VersionedError
from versioned_catalog.storage import local

Operation = Callable[[Path], object]


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "b": [f"row {number}" for number in ids]})


def append(folder: Path) -> int:
    return Catalog.load_path(folder).append(rows(7, 8))


def alter(folder: Path) -> int:
    return Catalog.load_path(folder).alter().rename_column("b", "c").commit()


def create(folder: Path) -> Table:
    return Catalog.create_path(folder.parent / "new", "x INT")


def first_append(folder: Path) -> int:
    return Catalog.load_path(folder.parent / "empty").append(rows(7))


def checkpoint(folder: Path) -> None:
    table = Catalog.load_path(folder)
    table.log.write_checkpoint(table.state)


CLOCK = ["make t/_versioned/.clock.ID.tmp", "unlink t/_versioned/.clock.ID.tmp"]
ENTRY = [
    "make t/_versioned/log/.N.json.ID.tmp",
    "sync t/_versioned/log/.N.json.ID.tmp",
    "link t/_versioned/log/N.json",
    "unlink t/_versioned/log/.N.json.ID.tmp",
    "sync t/_versioned/log",
]
SEGMENT = ["make t/data/N-ID.parquet", "sync t/data/N-ID.parquet", "sync t/data"]

# Segments and their folder are synced before the entry, the entry before its folder; new folders from
# the top down.
EXPECTED: dict[Operation, list[str]] = {
    append: [*SEGMENT, *CLOCK, *ENTRY],
    alter: [*CLOCK, *ENTRY],
    create: [
        "make .clock.ID.tmp",
        "unlink .clock.ID.tmp",
        "make new/_versioned/log/.N.json.ID.tmp",
        "mkdir new",
        "sync .",
        "mkdir new/_versioned",
        "sync new",
        "mkdir new/_versioned/log",
        "sync new/_versioned",
        *(call.replace(" t/", " new/") for call in ENTRY),
        "make new/_versioned/.reserve.ID.tmp",
        "sync new/_versioned/.reserve.ID.tmp",
        "replace new/_versioned/reserve",
        "sync new/_versioned",
    ],
    first_append: [
        "mkdir empty/data",
        "sync empty",
        *(call.replace(" t/", " empty/") for call in (*SEGMENT, *CLOCK, *ENTRY)),
    ],
    checkpoint: [
        "make t/_versioned/checkpoint/.N.parquet.ID.tmp",
        "sync t/_versioned/checkpoint/.N.parquet.ID.tmp",
        "replace t/_versioned/checkpoint/N.parquet",
        "sync t/_versioned/checkpoint",
        "make t/_versioned/.last_checkpoint.json.ID.tmp",
        "sync t/_versioned/.last_checkpoint.json.ID.tmp",
        "replace t/_versioned/last_checkpoint.json",
        "sync t/_versioned",
        "unlink t/_versioned/checkpoint/N.parquet",
    ],
}
OPERATIONS = pytest.mark.parametrize("operation", EXPECTED, ids=lambda o: o.__name__)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of some history and three checkpoints, and one with an empty table."""
    folder = tmp_path_factory.mktemp("prepared")
    table = Catalog.create_path(folder / "t", "id LONG, b STRING")
    for number in range(3):
        table.append(rows(number))
        table.log.write_checkpoint(table.state)
    table.append(rows(3))
    Catalog.create_path(folder / "empty", "id LONG, b STRING")
    return folder


def seen(folder: Path) -> dict[str, Any]:
    """Everything that a reader can see."""
    found: dict[str, Any] = {}
    for name in ("t", "empty", "new"):
        try:
            table = Catalog.load_path(folder / name)
        except NotFoundError:
            continue
        operations = table.inspect.history()["operation"].to_pylist()
        found[name] = (table.schema, table.scan().to_arrow().to_pylist(), operations)
    return found


def next_commit_works(folder: Path, operation: Operation) -> None:
    names: dict[Operation, str] = {create: "new", first_append: "empty"}
    folder = folder / names.get(operation, "t")
    if operation is create and not (folder / "_versioned/log" / f"{0:020d}.json").exists():
        Catalog.create_path(folder, "x INT")
    table = Catalog.load_path(folder)
    table.append(pa.table({table.schema.names[0]: pa.array([99], pa.int32())}))
    assert Catalog.load_path(folder).scan().to_arrow().num_rows == table.count()


def run(folder: Path, operation: Operation, disk: Disk) -> bool:
    """Run the operation on that disk, and return whether it was acknowledged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "os", disk)
        patch.setattr(local, "open", disk.new_file, raising=False)
        try:
            operation(folder / "t")
        except VersionedError:
            return False
        return True


def run_apart(folder: Path, operation: Operation, disk: Disk) -> bool:
    """Run the operation in a process of its own, which the disk may kill."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if run(folder, operation, disk) else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code != 2, "the operation raised another error than a VersionedError"
    return code == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "operation", most_at_night({append, create}, EXPECTED), ids=lambda o: o.__name__
)
def test_a_fault_at_every_system_call(operation: Operation, prepared: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(prepared, tmp_path / "whole")
    recorded = Disk(whole)
    assert run(whole, operation, recorded)
    assert recorded.calls == EXPECTED[operation]
    before, after = seen(prepared), seen(whole)
    assert before != after or operation is checkpoint
    for at, strike in itertools.product(range(len(recorded.calls)), Strike):
        copy = shutil.copytree(prepared, tmp_path / f"{at}{strike.name}")
        kills = strike in (Strike.KILL_BEFORE, Strike.KILL_AFTER)
        acknowledged = (run_apart if kills else run)(copy, operation, Disk(copy, at, strike))
        found, where = seen(copy), f"{recorded.calls[at]}: {strike.value}"
        assert found in (before, after), where
        assert found == after or not acknowledged, where
        next_commit_works(copy, operation)
        shutil.rmtree(copy)


@pytest.mark.thorough
@OPERATIONS
def test_a_power_failure_at_every_call(
    operation: Operation, prepared: Path, tmp_path: Path
) -> None:
    work = shutil.copytree(prepared, tmp_path / "work")
    cuts: list[Path] = []

    def cut() -> None:
        cuts.append(platter.without_power(tmp_path / f"cut{len(cuts)}"))

    platter = Platter(work, cut)
    assert run(work, operation, platter)
    after = seen(work)
    acknowledged = platter.without_power(tmp_path / "acknowledged")
    assert seen(acknowledged) == after, "what was acknowledged is durable"
    for folder in (*cuts, acknowledged):
        assert seen(folder) in (seen(prepared), after)
        next_commit_works(folder, operation)


def test_an_unsynced_folder_is_synced_before_a_commit_is_acknowledged(
    prepared: Path, tmp_path: Path
) -> None:
    """The entry is linked, and the sync of its folder fails: the retried put finds its own entry."""
    work = shutil.copytree(prepared, tmp_path / "work")

    class Once(Platter):
        def fsync(self, handle: int) -> None:
            name = os.readlink(f"/proc/self/fd/{handle}")
            if name.endswith("log") and "failed" not in self.calls:
                self.calls.append("failed")
                raise OSError(errno.EIO, "once")
            super().fsync(handle)

    platter = Once(work)
    assert run(work, append, platter)
    assert "failed" in platter.calls
    assert seen(platter.without_power(tmp_path / "cut")) == seen(work)
    assert seen(work)["t"][2][-2:] == ["append", "append"]


def test_a_folder_that_can_not_be_synced_makes_the_outcome_unknown(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = shutil.copytree(prepared, tmp_path / "work")

    def never(folder: str) -> None:
        if folder.endswith("log"):
            raise OSError(errno.EIO, "never")

    table = Catalog.load_path(work / "t")
    with monkeypatch.context() as patch:
        patch.setattr(local, "_sync_folder", never)
        with pytest.raises(CommitOutcomeUnknown) as caught:
            table.append(rows(7))
    assert table.find_commit(caught.value.commit_id) == 5


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT])
def test_a_link_that_succeeded_with_an_error(code: int, prepared: Path, tmp_path: Path) -> None:
    work = shutil.copytree(prepared, tmp_path / "work")
    at = EXPECTED[append].index("link t/_versioned/log/N.json")
    assert run(work, append, Disk(work, at, Strike.FAIL_AFTER, code)), "acknowledged once"
    assert seen(work)["t"][2] == ["create", *["append"] * 5]
    assert len(seen(work)["t"][1]) == 6


@OPERATIONS
def test_a_failure_leaves_no_temporary_files(
    operation: Operation, prepared: Path, tmp_path: Path
) -> None:
    for at, call in enumerate(EXPECTED[operation]):
        if not call.startswith(("link", "replace")) and not re.match(r"sync .*tmp$", call):
            continue
        work = shutil.copytree(prepared, tmp_path / str(at))
        done = run(work, operation, Disk(work, at, Strike.FAIL_BEFORE, errno.ENOSPC))
        assert done == ("reserve" in call), "only the reserve may be missing"
        assert not list(work.rglob(".*.tmp"))
        assert done or seen(work) == seen(prepared)


def test_a_full_disk_is_a_storage_error(prepared: Path, tmp_path: Path) -> None:
    """A real limit: the system lets no file grow."""
    work = shutil.copytree(prepared, tmp_path / "work")
    many = pa.table({"id": range(300_000), "b": [os.urandom(8).hex() for _ in range(300_000)]})
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            Catalog.load_path(work / "t").append(many)
        except StorageError as error:
            os._exit(0 if "can't write" in str(error) else 3)
        except BaseException:
            os._exit(4)
        os._exit(5)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert seen(work) == seen(prepared)
    assert {*os.listdir(work / "t/data")} == {*os.listdir(prepared / "t/data")}, "no partial file"
    next_commit_works(work, append)


@pytest.mark.parametrize("call", ["sync t/data/N-ID.parquet", "sync t/data"])
def test_an_unfinished_segment_is_deleted(call: str, prepared: Path, tmp_path: Path) -> None:
    work = shutil.copytree(prepared, tmp_path / "work")
    disk = Disk(work, EXPECTED[append].index(call), Strike.FAIL_BEFORE, errno.ENOSPC)
    assert not run(work, append, disk)
    assert disk.calls[-1] == "unlink t/data/N-ID.parquet"
    assert sorted(os.listdir(work / "t/data")) == sorted(os.listdir(prepared / "t/data"))


def test_a_forked_process_deletes_nothing(tmp_path: Path) -> None:
    """The child closes its copy of the file that the parent goes on writing."""
    context = local.LocalStore(str(tmp_path)).create("data/x")
    sink = context.__enter__()
    child = os.fork()
    if child == 0:
        try:
            context.__exit__(RuntimeError, RuntimeError("in the child"), None)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    sink.write(b"whole")
    context.__exit__(None, None, None)
    assert (tmp_path / "data/x").read_bytes() == b"whole"
