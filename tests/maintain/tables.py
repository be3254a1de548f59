"""Tables to clean up, and a clock that tests can move."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.storage.local import LocalStore
from versioned_catalog.write.plan import WritePlan

NOW = timedelta(0)
DAY = timedelta(days=1)


def ids(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def shown(table: Table, version: int | str | None = None) -> list[int]:
    return sorted(row["id"] for row in table.scan(["id"], version=version).to_arrow().to_pylist())


def load(root: Path) -> Table:
    return Catalog.load_path(root / "t")


def make(root: Path, versions: int = 6) -> Table:
    """Create a table in which version n shows n alone, so every version has a segment of its own."""
    table = Catalog.create_path(root / "t", "id LONG, b STRING DEFAULT 'x'")
    for number in range(1, versions + 1):
        table.overwrite(ids(number))
    return table


def expire(table: Table, keep_last: int) -> int:
    """Retain this many versions, and return the first of them."""
    tick()
    return table.maintenance.expire(NOW, keep_last, dry_run=False, force=True).oldest_version


def tick() -> None:
    """Wait until the files are in the past: a disk's clock is some milliseconds coarse."""
    time.sleep(0.015)


def write(table: Table, *values: int) -> tuple[WritePlan, list[Any]]:
    """Write segments without committing them."""
    plan = table.transaction().plan_write(ids(*values).schema)
    return plan, plan.write(ids(*values).schema, iter(ids(*values).to_batches()), table.store)


def data(root: Path) -> set[str]:
    return set(os.listdir(root / "t/data"))


def everything(root: Path) -> dict[str, bytes]:
    """All files and their content."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def later(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    """Move the store's clock forward."""
    monkeypatch.setattr(LocalStore, "now", lambda self: datetime.now(UTC) + by)


def age(path: Path, by: timedelta) -> None:
    """Set the date of a file back."""
    then = time.time() - by.total_seconds()
    os.utime(path, (then, then))


Change = Callable[[Table], object]
