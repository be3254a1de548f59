"""Faults at every storage call of a drop, an undrop, a purge and a restore."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from faults.store import Fault, FaultyStore, Plan
from faults.test_crashes import READING, run, run_killed
from versioned_catalog import AlreadyExistsError, Catalog, NotFoundError
from versioned_catalog.storage.local import LocalStore

NOW = timedelta(0)
FAULTS = (Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.KILL_AFTER)


def drop(catalog: Catalog) -> None:
    catalog.drop_table("n.t")


def undrop(catalog: Catalog) -> None:
    catalog.undrop("n.t")


def vacuum(catalog: Catalog) -> None:
    from versioned_catalog.names.folders import vacuum_at

    store = catalog._store.child("n/t")
    vacuum_at(store, NOW, dry_run=False, force=True, progress=lambda *_: None)


def restore(catalog: Catalog) -> None:
    catalog.load_table("n.t").rollback(2)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A table of two segments that was replaced by one of one segment."""
    catalog = Catalog(tmp_path / "w")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id INT, x STRING DEFAULT 'x'")
    for number in (1, 2):
        table.append(pa.table({"id": pa.array([number], pa.int32())}))
    table = catalog.replace_table("n.t", "q BIGINT")
    table.append(pa.table({"q": [7]}))
    table.log.write_checkpoint(table.state)
    return tmp_path / "w"


def rows(folder: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = Catalog(folder).load_table("n.t").scan().to_arrow().to_pylist()
    return found


def each_fault(
    warehouse: Path, operation: Callable[[Catalog], None], check: Callable[[Path, bool, str], None]
) -> None:
    """Check what is left of a warehouse after each fault at each call of an operation."""
    recorded, whole = Plan(), warehouse.parent / "whole"
    shutil.copytree(warehouse, whole)
    assert run(whole, operation, recorded)
    assert any(call.startswith("put") for call in recorded.calls)
    for at, call in enumerate(recorded.calls):
        for fault in FAULTS[:1] if call.startswith(READING) else FAULTS:
            copy = warehouse.parent / "copy"
            shutil.copytree(warehouse, copy)
            how = run_killed if fault is Fault.KILL_AFTER else run
            acknowledged = how(copy, operation, Plan(at, fault))
            check(copy, acknowledged, f"{call}, {fault.value}")
            assert Catalog.verify_path(copy / "n/t", every_version=True).findings == ()
            shutil.rmtree(copy)


def undropped(folder: Path) -> None:
    """Undrop the table, unless it is there."""
    try:
        Catalog(folder).undrop("n.t")
    except AlreadyExistsError:
        assert Catalog(folder).list_tables("n") == ["t"]
    assert rows(folder) == [{"q": 7}]
    assert Catalog(folder).dropped_tables() == ()


def test_a_drop_that_died_is_taken_back(warehouse: Path) -> None:
    def check(folder: Path, acknowledged: bool, where: str) -> None:
        assert not acknowledged or Catalog(folder).list_tables("n") == [], where
        undropped(folder)

    each_fault(warehouse, drop, check)


def test_an_undrop_that_died_is_settled_by_another_one(warehouse: Path) -> None:
    drop(Catalog(warehouse))

    def check(folder: Path, acknowledged: bool, where: str) -> None:
        if acknowledged:
            assert rows(folder) == [{"q": 7}], where
        undropped(folder)
        table = Catalog(folder).load_table("n.t")
        assert table.append(pa.table({"q": [8]})) == table.version
        table.rollback(2)
        assert [row["id"] for row in rows(folder)] == [1, 2], where

    each_fault(warehouse, undrop, check)


@pytest.mark.thorough
def test_a_vacuum_that_died_leaves_all_of_a_table_or_one_that_is_purged(warehouse: Path) -> None:
    drop(Catalog(warehouse))

    def check(folder: Path, acknowledged: bool, where: str) -> None:
        try:
            undropped(folder)
        except NotFoundError as error:
            assert "vacuum has begun" in str(error), where
            assert Catalog(folder).dropped_tables() == ()
            vacuum(Catalog(folder))
            assert list((folder / "n/t/data").iterdir()) == [], "the next vacuum goes on at once"
        else:
            assert not acknowledged, where
            table = Catalog(folder).load_table("n.t")
            assert [table.scan(version=v).count() for v in range(5)] == [0, 1, 2, 0, 1], where

    each_fault(warehouse, vacuum, check)


def test_a_restore_that_died_is_there_whole_or_not_at_all(warehouse: Path) -> None:
    def check(folder: Path, acknowledged: bool, where: str) -> None:
        found = rows(folder)
        assert found in ([{"q": 7}], [{"id": 1, "x": "x"}, {"id": 2, "x": "x"}]), where
        assert not acknowledged or len(found) == 2, where
        restore(Catalog(folder))
        assert len(rows(folder)) == 2

    each_fault(warehouse, restore, check)


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_REPLY, Fault.REPLY_TAKEN])
@pytest.mark.parametrize("operation", [undrop, vacuum, restore])
def test_a_lost_reply_makes_no_second_commit(
    warehouse: Path, operation: Callable[[Catalog], None], fault: Fault
) -> None:
    if operation is not restore:
        drop(Catalog(warehouse))
    log = warehouse / "n/t/_versioned/log"
    before, plan = len(list(log.iterdir())), Plan(0, fault, only="put n/t/_versioned/log")
    operation(Catalog.over(FaultyStore(LocalStore(str(warehouse)), plan)))
    assert len(plan.calls) >= 1
    assert len(list(log.iterdir())) == before + 1


def test_a_fault_never_brings_back_an_earlier_table_of_the_name(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "begin")
    catalog.create_namespace("n")
    for columns in ("earlier INT", "later INT"):
        catalog.create_table("n.t", columns)
        catalog.drop_table("n.t")
    shutil.copytree(tmp_path / "begin", tmp_path / "counted")
    plan = Plan()
    undrop(Catalog.over(FaultyStore(LocalStore(str(tmp_path / "counted")), plan)))
    for at in range(len(plan.calls)):
        folder = tmp_path / str(at)
        shutil.copytree(tmp_path / "begin", folder)
        run(folder, undrop, Plan(at, Fault.FAIL_BEFORE))
        undropped = Catalog(folder)
        if undropped.table_exists("n.t"):
            assert undropped.load_table("n.t").schema.names == ["later"], plan.calls[at]
