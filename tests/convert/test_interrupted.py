"""A conversion and a sync that are interrupted at any storage call are finished by the next run."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from convert.sources import Lake, delta_rows, rows_of
from faults.store import Fault, FaultyStore, Plan
from versioned_catalog import Catalog, CommitConflictError, VersionedError
from versioned_interop.convert.convert import Request, open_source
from versioned_interop.convert.sync import follow

LATER = pa.table({"id": [3, 4], "v": ["c", None], "w": [1, 2]})


def convert(catalog: Catalog, lake: Lake) -> None:
    catalog.convert("t", lake.delta_path)


def sync(catalog: Catalog, lake: Lake) -> None:
    catalog.load_table("t").sync()


def prepared(folder: Path, operation: Callable[..., None]) -> Lake:
    """A source with three schemas, and before a sync the table of its first version."""
    lake = Lake(folder)
    lake.write_delta(pa.table({"id": [1, 2], "v": ["a", "b"]}))
    if operation is sync:
        convert(lake.catalog, lake)
    lake.write_delta(LATER, mode="append", schema_mode="merge")
    lake.delta().delete("id = 1")
    lake.write_delta(pa.table({"id": [9], "x": [1.5]}), mode="append", schema_mode="merge")
    return lake


def faulty(lake: Lake, plan: Plan) -> Catalog:
    store: Any = FaultyStore(lake.catalog._store, plan)
    return Catalog.over(store)


def run(operation: Callable[..., None], lake: Lake, plan: Plan) -> None:
    """Run in a process that may be killed."""
    if plan.fault not in (Fault.KILL_BEFORE, Fault.KILL_AFTER):
        with contextlib.suppress(VersionedError):
            operation(faulty(lake, plan), lake)
        return
    child = os.fork()
    if child == 0:
        try:
            operation(faulty(lake, plan), lake)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("operation", [convert, sync])
def test_a_fault_at_every_call_is_healed_by_the_next_run(
    operation: Callable[..., None], tmp_path: Path
) -> None:
    lake = prepared(tmp_path / "lake", operation)
    expected = delta_rows(lake.delta())
    warehouse = lake.folder / "warehouse"
    spare = tmp_path / "spare"
    if warehouse.exists():
        shutil.copytree(warehouse, spare)

    def reset() -> None:
        shutil.rmtree(warehouse, ignore_errors=True)
        if spare.exists():
            shutil.copytree(spare, warehouse)

    recorded, listing = Plan(), lake.listing()
    operation(faulty(lake, recorded), lake)
    assert any(call.startswith("put t/") for call in recorded.calls)
    versions = lake.catalog.load_table("t").version
    for at, call in enumerate(recorded.calls):
        writes = call.startswith(("put", "create", "overwrite"))
        kinds = [Fault.FAIL_BEFORE, Fault.FAIL_AFTER] + (
            [Fault.KILL_AFTER, Fault.LOST_REPLY] if writes else []
        )
        for kind in kinds:
            reset()
            run(operation, lake, Plan(at, kind))
            where = f"{call}, {kind.value}"
            table = lake.catalog.convert("t", lake.delta_path)
            assert rows_of(table) == expected, where
            assert table.version == versions, where
            assert table.sync().version == versions, where
    assert lake.listing() == listing


def test_a_sync_that_fails_between_its_commits_is_finished_by_the_next(tmp_path: Path) -> None:
    lake = prepared(tmp_path, sync)
    plan = Plan(1, Fault.FAIL_BEFORE, only="put t/_versioned/log")
    with pytest.raises(VersionedError, match="planted"):
        sync(faulty(lake, plan), lake)
    table = lake.catalog.load_table("t")
    assert table.schema.names == ["id", "v", "w"]
    assert table.count() == 2
    table.sync()
    assert rows_of(table) == delta_rows(lake.delta())


@pytest.mark.parametrize("copy", [True, False], ids=["copied", "in place"])
def test_a_sync_that_another_one_overtook_adds_no_row_twice(tmp_path: Path, copy: bool) -> None:
    lake = Lake(tmp_path)
    lake.write_delta(pa.table({"id": [1, 2]}))
    first = lake.catalog.convert("t", lake.delta_path, copy=copy)
    second = lake.catalog.load_table("t")
    lake.write_delta(pa.table({"id": [3, 4]}), mode="append")
    source, _ = open_source(Request(lake.delta_path), lake.catalog._store)
    follow(first.handle, source)
    with pytest.raises(CommitConflictError, match=r"another process followed|run it again"):
        follow(second.handle, source)
    assert rows_of(lake.catalog.load_table("t")) == delta_rows(lake.delta())


def test_two_syncs_at_the_same_time_follow_once(tmp_path: Path) -> None:
    lake = prepared(tmp_path, sync)
    first, second = lake.catalog.load_table("t"), lake.catalog.load_table("t")
    first.sync()
    second.sync()
    assert rows_of(lake.catalog.load_table("t")) == delta_rows(lake.delta())
    assert second.version == first.version
