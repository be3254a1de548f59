"""Clocks that are wrong, and logs that they have dated."""

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

from versioned_catalog import Catalog, Table
from versioned_catalog.errors import StorageError
from versioned_catalog.log.layout import entry_path
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
    """Put this process's clock ahead, as the clocks of stores see it."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + by

    monkeypatch.setattr(clock, "datetime", Wrong)


def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no local store say what time it is, as a folder that can't be written to."""

    def refuse(self: LocalStore) -> datetime:
        raise StorageError("can't write here")

    monkeypatch.setattr(LocalStore, "now", refuse)


def put_ahead(folder: Path, versions: Iterable[int], by: timedelta = YEAR) -> None:
    """Date entries as a library did that believed its own clock; the dates of the files stay."""
    for version in versions:
        path = folder / entry_path(version)
        entry, dates = json.loads(path.read_text()), path.stat()
        time = time_from_text(entry["time"]) + by
        path.write_text(json.dumps(entry | {"time": time_to_text(time)}))
        os.utime(path, ns=(dates.st_atime_ns, dates.st_mtime_ns))


def times(folder: Path) -> list[datetime]:
    """The times of the entries of a log."""
    log = sorted((folder / "_versioned/log").glob("*.json"))
    return [time_from_text(json.loads(path.read_text())["time"]) for path in log]


def readings(*ages: timedelta, host: str = "a") -> pa.Table:
    """Rows of a table with ``ttl``, so old."""
    now = datetime.now(UTC)
    index = pa.array([now - age for age in ages], pa.timestamp("us", "UTC"))
    days = pa.array([age.days for age in ages], pa.int64())
    return pa.table({"host": [host] * len(ages), "ts": index, "age": days})


def make(place: Any, *, ttl: str | None = "10 days", keyed: bool = True, **more: Any) -> Table:
    """A table of readings, with an old row and two young ones."""
    table = Catalog.create_path(
        place,
        "host STRING, ts TIMESTAMP, age LONG",
        primary_key=["host"] if keyed else [],
        time_index="ts",
        properties={"ttl": ttl} if ttl else {},
        **more,
    )
    table.append(readings(100 * DAY, 5 * DAY, HOUR))
    return table


def ages(table: Table, **how: Any) -> list[int]:
    """The rows that are shown, by their age in days."""
    return sorted(table.scan(["age"], **how).to_arrow()["age"].to_pylist())
