"""Wrong clocks, and logs with entries dated by them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sealing import sealed
from versioned_catalog import Catalog, Table
from versioned_catalog.errors import StorageError
from versioned_catalog.log.features import entry_path
from versioned_catalog.log.times import time_from_text, time_to_text
from versioned_catalog.storage import clock
from versioned_catalog.storage.local import LocalStore

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
YEAR = timedelta(days=365)

WRONG = """
import datetime, importlib, pkgutil, sys, time
import pandas, pyarrow, versioned_catalog

by = datetime.timedelta(seconds=float(sys.argv[1]))
right, seconds = datetime.datetime, time.time

class Kind(type):
    def __instancecheck__(cls, one):
        return isinstance(one, right)

class Wrong(right, metaclass=Kind):
    @classmethod
    def now(cls, tz=None):
        return right.now(tz) + by

time.time = lambda: seconds() + by.total_seconds()
for found in pkgutil.walk_packages(versioned_catalog.__path__, "versioned_catalog."):
    module = importlib.import_module(found.name)
    if getattr(module, "datetime", None) is right:
        module.datetime = Wrong
"""


def run_with_wrong_clock(by: timedelta, script: str, *arguments: str) -> None:
    """Run a script in a process whose clock is wrong; its arguments begin at ``sys.argv[2]``."""
    command = [sys.executable, "-c", WRONG + script, str(by.total_seconds()), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def set_own_clock(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    """Move this process's clock, as the stores' clocks read it."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + by

    monkeypatch.setattr(clock, "datetime", Wrong)


def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make local stores report no time, as in a folder without write access."""

    def refuse(self: LocalStore) -> datetime:
        raise StorageError("can't write here")

    monkeypatch.setattr(LocalStore, "now", refuse)


def put_ahead(folder: Path, versions: Iterable[int], by: timedelta = YEAR) -> None:
    """Date entries as a library would that trusts its own clock; the dates of the files stay."""
    for version in versions:
        path = folder / entry_path(version)
        entry, dates = json.loads(path.read_text()), path.stat()
        time = time_from_text(entry["time"]) + by
        path.write_text(sealed(entry | {"time": time_to_text(time)}))
        os.utime(path, ns=(dates.st_atime_ns, dates.st_mtime_ns))


def times(folder: Path) -> list[datetime]:
    """The times of a log's entries."""
    log = sorted((folder / "_versioned/log").glob("*.json"))
    return [time_from_text(json.loads(path.read_text())["time"]) for path in log]


def readings(*ages: timedelta, host: str = "a") -> pa.Table:
    """Rows of a table with ``ttl``, of these ages."""
    now = datetime.now(UTC)
    index = pa.array([now - age for age in ages], pa.timestamp("us", "UTC"))
    days = pa.array([age.days for age in ages], pa.int64())
    return pa.table({"host": [host] * len(ages), "ts": index, "age": days})


def make(folder: Any, *, ttl: str | None = "10 days", keyed: bool = True, **more: Any) -> Table:
    """A table of readings, with one old row and two recent ones."""
    table = Catalog.create_path(
        folder,
        "host STRING, ts TIMESTAMP, age LONG",
        primary_key=["host"] if keyed else [],
        time_index="ts",
        properties={"ttl": ttl} if ttl else {},
        **more,
    )
    table.append(readings(100 * DAY, 5 * DAY, HOUR))
    return table


def ages(table: Table, **how: Any) -> list[int]:
    """The ages in days of the rows that are shown."""
    return sorted(table.scan(["age"], **how).to_arrow()["age"].to_pylist())
