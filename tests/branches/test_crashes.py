"""A fault at each storage call of what makes, writes, merges, drops and vacuums branches."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from faults.store import Fault, Plan
from faults.test_crashes import assert_clean, faults_at, run, run_killed
from versioned_catalog import Catalog

ROWS = pa.table({"id": pa.array([7, 8], pa.int64())})


def make(catalog: Catalog) -> None:
    catalog.load_table("n.t").create_branch("new")


def replace(catalog: Catalog) -> None:
    catalog.load_table("n.t").create_branch("b", 1, replace=True)


def drop(catalog: Catalog) -> None:
    catalog.load_table("n.t").drop_branch("b")


def merge(catalog: Catalog) -> None:
    catalog.load_table("n.t").merge_branch("b")


def append(catalog: Catalog) -> None:
    catalog.load_table("n.t").branch("b").append(ROWS)


def alter(catalog: Catalog) -> None:
    catalog.load_table("n.t").branch("b").alter().add_column("z", "INT", default=1).commit()


def delete(catalog: Catalog) -> None:
    catalog.load_table("n.t").branch("b").delete([("id", "=", 2)])


def vacuum(catalog: Catalog) -> None:
    time.sleep(0.015)  # so that files are in the past, however coarse the disk's clock
    catalog.load_table("n.t").maintenance.vacuum(timedelta(0), dry_run=False, force=True)


OPERATIONS = [make, replace, drop, merge, append, alter, delete, vacuum]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a branch, on which rows were added, marked and copied and columns altered."""
    folder = tmp_path_factory.mktemp("prepared")
    catalog = Catalog(folder)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "id LONG, b STRING")
    for ids in (range(10), [20], [21]):
        table.append(pa.table({"id": pa.array(ids, pa.int64())}))
    for name in ("b", "lost"):
        table.create_branch(name, 2)
        branch = table.branch(name)
        branch.alter().rename_column("b", "text").add_column("c", "INT", default=5).commit()
        branch.append(pa.table({"id": pa.array([30], pa.int64())}))
        branch.delete([("id", "=", 1)])
    table.delete([("id", "=", 3)])
    table.drop_branch("lost")
    return folder


def seen(folder: Path) -> dict[str | None, Any]:
    """What readers see of the table and each branch."""
    table = Catalog(folder).load_table("n.t")
    sides = {None: table} | {name: table.branch(name) for name in table.branches}
    return {
        name: (
            side.version,
            [(c.id, c.name) for c in side.schema.columns],
            sorted(map(str, side.scan().to_arrow().to_pylist())),
            side.inspect.history()["operation"].to_pylist(),
        )
        for name, side in sides.items()
    }


def next_commits_work(folder: Path) -> None:
    """The table, each branch, a merge and a vacuum work, loaded anew."""
    table = Catalog(folder).load_table("n.t")
    for side in (table, *map(table.branch, table.branches)):
        rows = side.count()
        side.append(ROWS)
        side.alter().add_column("later", "INT").drop_column("later").commit()
        assert side.refresh().count() == rows + 2
    for name in table.branches:
        rows, more = table.count(), table.branch(name).count()
        table.merge_branch(name)
        assert table.count() >= max(rows, more - 2)
        table.drop_branch(name)
    table.create_branch("again")
    time.sleep(0.015)
    table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
    assert table.refresh().branch("again").count() == table.count()
    assert_clean(folder)


@pytest.mark.thorough
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.__name__)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_fault_at_every_call(
    operation: Callable[[Catalog], None], every: bool, prepared: Path, tmp_path: Path
) -> None:
    recorded, whole = Plan(), tmp_path / "whole"
    shutil.copytree(prepared, whole)
    assert run(whole, operation, recorded)
    before, after = seen(prepared), seen(whole)
    assert before != after
    for at, fault in faults_at(recorded.calls, every):
        copy = tmp_path / f"{at}-{fault.name}"
        shutil.copytree(prepared, copy)
        how = run_killed if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER) else run
        acknowledged = how(copy, operation, Plan(at, fault))
        where = f"{recorded.calls[at]}, {fault.value}"
        assert seen(copy) in (before, after), where
        assert not acknowledged or seen(copy) == after, where
        next_commits_work(copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_REPLY, Fault.REPLY_TAKEN])
@pytest.mark.parametrize("operation", [make, merge, append], ids=lambda o: o.__name__)
def test_a_lost_reply_is_success_once(
    operation: Callable[[Catalog], None], fault: Fault, prepared: Path, tmp_path: Path
) -> None:
    for folder in ("whole", "lost"):
        shutil.copytree(prepared, tmp_path / folder)
    assert run(tmp_path / "whole", operation, Plan())
    assert run(tmp_path / "lost", operation, Plan(0, fault, only="put n/t"))
    assert seen(tmp_path / "lost") == seen(tmp_path / "whole")
