"""A fault at each storage call of a clone leaves no clone or a whole one, and its files stay."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from faults.store import FaultyStore, Plan
from faults.test_crashes import faults_at, run_killed
from pairwise import most_at_night
from versioned_catalog import Catalog
from versioned_catalog.storage.local import LocalStore

KEY = "a0cb7bdb-d6a1-44ef-9a8a-52ed04f1d7a6"
HOW = {
    "shallow": {"shallow": True},
    "deep": {},
    "replacing": {"shallow": True, "or_replace": True},
    "of a clone": {"shallow": True},
}


def prepare(folder: Path, kind: str) -> None:
    catalog = Catalog(folder)
    catalog.create_namespace("n")
    table = catalog.create_table("n.a", "id LONG, v STRING", primary_key=["id"])
    for number in (1, 2, 3):
        table.append(pa.table({"id": [number, 9], "v": [f"v{number}", f"v{number}"]}))
    if kind == "replacing":
        catalog.create_table("n.b", "id LONG").append(pa.table({"id": [7]}))
    if kind == "of a clone":
        catalog.clone_table("n.m", "n.a", shallow=True)
        catalog.load_table("n.m").append(pa.table({"id": [3], "v": ["v3"]}))


def make(catalog: Catalog, kind: str) -> None:
    source = "n.m" if kind == "of a clone" else "n.a"
    catalog.clone_table("n.b", source, commit_id=KEY, **HOW[kind])


def ids(catalog: Catalog, name: str) -> list[int]:
    return sorted(catalog.load_table(name).scan().to_arrow()["id"].to_pylist())


def clean_all(catalog: Catalog) -> None:
    for name in catalog.list_tables("n"):
        table = catalog.load_table(("n", name))
        table.maintenance.expire(timedelta(0), force=True, dry_run=False)
        table.maintenance.vacuum(timedelta(0), force=True, dry_run=False)


def calls_of(folder: Path, kind: str) -> list[str]:
    plan = Plan()
    make(Catalog.over(FaultyStore(LocalStore(str(folder)), plan)), kind)
    return plan.calls


@pytest.mark.thorough
@pytest.mark.parametrize("kind", most_at_night(["shallow"], HOW))
def test_a_fault_at_each_call(tmp_path: Path, kind: str) -> None:
    prepare(tmp_path / "begin", kind)
    shutil.copytree(tmp_path / "begin", tmp_path / "counted")
    calls = calls_of(tmp_path / "counted", kind)
    assert len([call for call in calls if call.startswith("put n/b-")]) == 2
    for at, fault in faults_at(calls, every=False):
        folder = tmp_path / f"{at}-{fault.name}"
        shutil.copytree(tmp_path / "begin", folder)
        check(folder, kind, Plan(at, fault), (calls[at], fault))
        shutil.rmtree(folder)


def check(folder: Path, kind: str, plan: Plan, what: object) -> None:
    done = run_killed(folder, lambda catalog: make(catalog, kind), plan)
    catalog = Catalog(folder)
    before = [7] if kind == "replacing" else None
    found = ids(catalog, "n.b") if catalog.table_exists("n.b") else None
    assert found in (before, [1, 2, 3, 9]), what
    assert found == [1, 2, 3, 9] or not done, what
    clean_all(catalog)
    make(catalog, kind)
    clean_all(catalog)
    for name in catalog.list_tables("n"):
        assert ids(catalog, f"n.{name}") == [1, 2, 3, 9], what
        verified = catalog.load_table(("n", name)).maintenance.verify(deep=True)
        assert verified.findings == (), what
    catalog.drop_table("n.b")
    purge(catalog)
    if kind == "of a clone":
        catalog.drop_table("n.m")
        purge(catalog)
    catalog.drop_table("n.a")


def purge(catalog: Catalog) -> None:
    """Delete the tables that were dropped, so that they can't be undropped."""
    for table in catalog.dropped_tables("n"):
        Catalog.vacuum_path(table.location, timedelta(0), force=True, dry_run=False)
