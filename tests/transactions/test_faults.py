"""A fault at every storage call of a transaction leaves all of it or nothing, and others go on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from faults.store import Fault, FaultyStore, Plan
from faults.test_crashes import CLOCK, faults_at, run, run_killed
from transactions.bank import COLUMNS, TABLES, amounts, bank, move, rows
from versioned_catalog import Catalog
from versioned_catalog.storage.local import LocalStore


def operation(catalog: Catalog) -> None:
    """Change two tables, and create one with rows."""
    with catalog.transaction(*TABLES) as transaction:
        transaction.table("n.a").upsert(rows({1: 9}))
        transaction.table("n.b").upsert(rows({1: 11}))
        transaction.create_table("n.c", COLUMNS).append(rows({3: 30}))


def of_table(name: str) -> set[str]:
    return {
        f"read n/{name}/_versioned/last_checkpoint.json",
        f"read n/{name}/_versioned/log/N.json",
        f"create n/{name}/data/N-ID.parquet",
        f"put n/{name}/_versioned/log/N.json",
        f"put n/{name}/_versioned/tx/N.json",
        f"now n/{name}/",
    }


EXPECTED = {
    "read _versioned/last_checkpoint.json",
    "read _versioned/log/N.json",
    "list _versioned/checkpoint",
    "put _versioned/log/N.json",
    "put _versioned/tx/ID.json",
    *(call for name in ("a", "b", "c") for call in of_table(name)),
    *(f"list n/{name}/_versioned/checkpoint" for name in ("a", "b", "c")),
}


def seen(folder: Path) -> dict[str, Any]:
    """The rows of all tables, by name and by path, which never differ."""
    catalog = Catalog(folder)
    names = catalog.list_tables("n")
    found = {name: amounts(catalog, f"n.{name}") for name in names}
    for name in names:
        assert Catalog.load_path(folder / "n" / name).count() == len(found[name])
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_fault_at_every_call(every: bool, tmp_path: Path) -> None:
    prepared, whole, recorded = tmp_path / "prepared", tmp_path / "whole", Plan()
    bank(prepared)
    shutil.copytree(prepared, whole)
    assert run(whole, operation, recorded)
    assert set(recorded.calls) <= EXPECTED | CLOCK, "a storage call without a case"
    before, after = seen(prepared), seen(whole)
    assert before != after
    for at, fault in faults_at(recorded.calls, every):
        if " n/b/" in recorded.calls[at] and not every:
            continue  # as n/a
        copy = tmp_path / f"{at}-{fault.name}"
        shutil.copytree(prepared, copy)
        how = run_killed if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER) else run
        acknowledged = how(copy, operation, Plan(at, fault))
        where = f"{recorded.calls[at]}, {fault.value}"
        found = seen(copy)
        assert found in (before, after), where
        assert not acknowledged or found == after, where
        catalog = Catalog(copy)
        move(catalog)
        assert amounts(catalog, "n.a")[1] == found["a"][1] - 1, where
        assert amounts(catalog, "n.b")[1] == found["b"][1] + 1, where
        if "c" not in found:
            catalog.create_table("n.c", COLUMNS).append(rows({4: 40}))
        assert sorted(seen(copy)) == ["a", "b", "c"], where
        for name in ("a", "b", "c"):
            assert Catalog.verify_path(copy / "n" / name, every_version=True).findings == (), where
        shutil.rmtree(copy)


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_REPLY, Fault.REPLY_TAKEN])
@pytest.mark.parametrize("only", ["put n/a/_versioned/log", "put _versioned/tx/"])
def test_a_lost_reply_is_success_once(fault: Fault, only: str, tmp_path: Path) -> None:
    bank(tmp_path)
    plan = Plan(0, fault, only=only)
    move(Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan)))
    assert [amounts(Catalog(tmp_path), name)[1] for name in TABLES] == [9, 11]
    assert Catalog(tmp_path).load_table("n.a").version == 2
