"""Many writers at once, killed writers, and faults at each storage call: no number is given twice."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.store import Fault, Plan
from faults.test_crashes import READING, run, run_killed
from versioned_catalog import Catalog, CommitConflictError, Identity
from versioned_catalog.storage.local import LocalStore

WRITERS, WRITES = 8, 12
FEW = 5
"""How often each of them writes where every write takes long."""


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    catalog = Catalog(tmp_path / "w")
    catalog.create_namespace("n")
    catalog.create_table("n.tab", "id BIGINT, k BIGINT", identity={"id": Identity()})
    return tmp_path / "w"


def append(catalog: Catalog, *keys: int) -> None:
    catalog.load_table("n.tab").append(pa.table({"k": pa.array(keys, pa.int64())}))


def rows(warehouse: Path, branch: str | None = None) -> dict[int, int]:
    """The number of each key; keys and numbers are distinct."""
    table = Catalog(warehouse).load_table("n.tab")
    read = (table if branch is None else table.branch(branch)).scan().to_arrow()
    keys, numbers = read["k"].to_pylist(), read["id"].to_pylist()
    assert None not in numbers
    assert len(set(numbers)) == len(set(keys)) == len(numbers)
    return dict(zip(keys, numbers, strict=True))


def test_writers_at_once(warehouse: Path) -> None:
    def write(writer: int) -> None:
        for write in range(WRITES):
            first = (writer * WRITES + write) * 3
            append(Catalog(warehouse), first, first + 1, first + 2)

    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(write, range(WRITERS)))
    found = rows(warehouse)
    assert sorted(found) == list(range(WRITERS * WRITES * 3))
    assert min(found.values()) == 1


def _write_until_killed(warehouse: str, writer: int) -> None:
    key = writer * 1_000_000
    while True:
        append(Catalog(warehouse), key, key + 1)
        key += 2


def test_writers_that_are_killed(warehouse: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=_write_until_killed, args=(str(warehouse), writer))
        for writer in range(WRITERS)
    ]
    for process in writers:
        process.start()
    random, deadline = Random(7), time.monotonic() + 120
    while Catalog(warehouse).load_table("n.tab").version < 2 * WRITERS:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for process in random.sample(writers, len(writers)):
        time.sleep(random.random() / 5)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    before = rows(warehouse)
    append(Catalog(warehouse), -1)
    after = rows(warehouse)
    assert before.items() <= after.items()
    assert after[-1] > max(before.values())


@pytest.mark.thorough
def test_branches_at_once(warehouse: Path) -> None:
    names = [None, "a", "b", "c"]
    for name in names[1:]:
        Catalog(warehouse).load_table("n.tab").create_branch(name)

    def write(writer: int) -> None:
        name = names[writer % len(names)]
        for write in range(FEW):
            table = Catalog(warehouse).load_table("n.tab")
            target = table if name is None else table.branch(name)
            target.append(pa.table({"k": pa.array([writer * FEW + write], pa.int64())}))

    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(write, range(WRITERS)))
    for name in names[1:]:
        Catalog(warehouse).load_table("n.tab").merge_branch(name)
    assert sorted(rows(warehouse)) == list(range(WRITERS * FEW))


LOG = "put n/tab/_versioned/log/N.json"


@pytest.mark.parametrize("of_branch", [False, True])
def test_a_branch_takes_numbers_at_the_same_moment(warehouse: Path, of_branch: bool) -> None:
    """Both have looked at each other's numbers before either has taken some."""
    own = Catalog(warehouse).load_table("n.tab")
    own.create_branch("b")
    branch = own.state.branches["b"].id

    def on_branch() -> None:
        rows = pa.table({"k": pa.array([1, 2], pa.int64())})
        Catalog(warehouse).load_table("n.tab").branch("b").append(rows)

    def on_table() -> None:
        append(Catalog(warehouse), 3, 4)

    branch_log = f"put n/tab/_versioned/branch/{branch}/log/N.json"
    theirs, at = (on_table, branch_log) if of_branch else (on_branch, LOG)
    interrupted = Interruption(at, before=theirs)
    catalog = Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), interrupted))
    table = catalog.load_table("n.tab")
    target = table.branch("b") if of_branch else table
    target.append(pa.table({"k": pa.array([5, 6], pa.int64())}))
    assert interrupted.happened
    Catalog(warehouse).load_table("n.tab").merge_branch("b")
    assert len(rows(warehouse)) == 4


def test_a_column_that_is_dropped_at_the_same_moment(warehouse: Path) -> None:
    def drop() -> None:
        Catalog(warehouse).load_table("n.tab").alter().drop_column("id").commit()

    interrupted = Interruption(LOG, before=drop)
    append(Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), interrupted)), 1)
    read = Catalog(warehouse).load_table("n.tab").scan().to_arrow()
    assert read.to_pylist() == [{"k": 1}]


def test_a_table_that_is_replaced_at_the_same_moment(warehouse: Path) -> None:
    def replace() -> None:
        Catalog(warehouse).replace_table(
            "n.tab", "id BIGINT, k BIGINT", identity={"id": Identity(start=50)}
        )

    interrupted = Interruption(LOG, before=replace)
    with pytest.raises(CommitConflictError):
        append(Catalog.over(InterruptedStore(LocalStore(str(warehouse)), Plan(), interrupted)), 1)
    append(Catalog(warehouse), 2)
    assert rows(warehouse) == {2: 50}


FAULTS = (Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.KILL_AFTER, Fault.LOST_REPLY)


def _sync(catalog: Catalog) -> None:
    catalog.load_table("n.tab").sync_identity("id")


@pytest.mark.parametrize("operation", [lambda catalog: append(catalog, 3, 4), _sync])
def test_each_fault(warehouse: Path, operation: Callable[[Catalog], None]) -> None:
    append(Catalog(warehouse), 1, 2)
    recorded, whole = Plan(), warehouse.parent / "whole"
    shutil.copytree(warehouse, whole)
    assert run(whole, operation, recorded)
    for at, call in enumerate(recorded.calls):
        for fault in FAULTS[:1] if call.startswith(READING) else FAULTS:
            copy = warehouse.parent / "copy"
            shutil.copytree(warehouse, copy)
            how = run_killed if fault is Fault.KILL_AFTER else run
            acknowledged = how(copy, operation, Plan(at, fault))
            found = rows(copy)
            assert {1: 1, 2: 2}.items() <= found.items(), (call, fault)
            assert len(found) in ((4,) if acknowledged and operation is not _sync else (2, 4))
            append(Catalog(copy), 9)
            assert rows(copy)[9] > max(found.values()), (call, fault)
            assert Catalog.verify_path(copy / "n/tab", every_version=True).findings == ()
            shutil.rmtree(copy)
