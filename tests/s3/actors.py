"""The processes of a race; each records its commits and reads as JSON lines in a journal."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from faults.history import LANDED, OPEN, REFUSED, Commit, Look
from versioned_catalog import Catalog, CommitOutcomeUnknown, Table, VersionedError

ROWS = 3
"""The number of rows of an append."""

SPAN = 10_000
"""The size of the range of row IDs of each writer; writer n starts at n times this."""


@dataclass(frozen=True)
class Scene:
    """The setting of a race.

    Args:
        url: the location of the table.
        options: the storage options.
        journals: the folder of the processes' journals.
        writers, appends: the number of writers, and of the appends of each.
        seed: the seed of all random choices.
        retention: the retention of expire and vacuum in seconds; None to run neither.
    """

    url: str
    options: dict[str, Any]
    journals: Path
    writers: int
    appends: int
    seed: int
    retention: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether the writers are done."""
        return (self.journals / "over").exists()

    def open(self) -> Table:
        """Load the table, and retry while the server fails."""
        while True:
            try:
                return Catalog.load_path(self.url, storage_options=self.options)
            except VersionedError:
                time.sleep(0.1)


class Journal:
    """The journal of one process."""

    def __init__(self, scene: Scene, who: str) -> None:
        self._who = who
        self._file = (scene.journals / f"{who}.jsonl").open("w", buffering=1)

    def write(self, kind: str, **what: Any) -> None:
        print(json.dumps({"kind": kind, **what}), file=self._file)

    def commit(self, what: str, rows: tuple[int, ...], act: Callable[[], int]) -> str:
        """Run a commit and record its result; return its outcome."""
        began, version, message, commit_id = time.monotonic(), None, "", ""
        try:
            version, outcome = act(), LANDED
        except CommitOutcomeUnknown as error:
            outcome, message, commit_id = OPEN, type(error).__name__, error.commit_id
        except VersionedError as error:
            outcome, message = REFUSED, f"{type(error).__name__}: {error}"
        ended = time.monotonic()
        commit = Commit(self._who, what, began, ended, outcome, version, rows)
        self.write("commit", commit=asdict(commit), message=message, commit_id=commit_id)
        return outcome

    @contextmanager
    def tolerating_failures(self) -> Any:
        """Record failures that are allowed: of the server, or because a version has expired."""
        try:
            yield
        except VersionedError as error:
            self.write("failure", message=f"{type(error).__name__}: {error}")


def writer(scene: Scene, number: int) -> None:
    """Append rows; sometimes write segments without a commit, as if killed halfway."""
    journal, rng = Journal(scene, f"writer{number}"), random.Random(f"{scene.seed} {number}")
    table = scene.open()
    for at in range(scene.appends):
        first = number * SPAN + at * ROWS
        rows = tuple(range(first, first + ROWS))
        data = pa.table({"id": pa.array(rows, pa.int64())})
        if rng.random() < 0.05:
            with journal.tolerating_failures():
                plan = table.transaction().plan_write(data.schema)
                list(plan.write(data.schema, iter(data.to_batches()), table.store))
        if journal.commit("append", rows, lambda data=data: table.append(data)) != LANDED:
            with journal.tolerating_failures():
                table.refresh()


def alterer(scene: Scene) -> None:
    """Add, rename and drop columns."""
    journal, number = Journal(scene, "alterer"), 0
    table = scene.open()
    while not scene.is_over:
        names = [column.name for column in table.schema.columns if column.name != "id"]
        change = table.alter()
        if len(names) < 2:
            change.add_column(f"c{number}", "int", default=number)
        elif number % 3:
            change.rename_column(names[0], f"r{number}")
        else:
            change.drop_column(names[0])
        number += 1
        journal.commit("alter", (), change.commit)
        with journal.tolerating_failures():
            table.refresh()
        time.sleep(0.1)


def reader(scene: Scene, number: int) -> None:
    """Read the newest or an older version twice."""
    journal, rng = Journal(scene, f"reader{number}"), random.Random(f"{scene.seed} reader {number}")
    table = scene.open()
    while not scene.is_over:
        with journal.tolerating_failures():
            look = _look(table, scene, rng, f"reader{number}")
            journal.write("look", look=asdict(look))


def _look(table: Table, scene: Scene, rng: random.Random, who: str) -> Look:
    began = time.monotonic()
    table.refresh()
    pinned = time.monotonic()
    newest = rng.random() < 0.5
    version = table.version if newest else rng.randint(0, table.version)
    if version < 60:
        span = (0, scene.writers * SPAN)
    else:
        first = rng.randrange(scene.writers) * SPAN
        span = (first, first + SPAN)
    where = [("id", ">=", span[0]), ("id", "<", span[1])]

    def read() -> tuple[int, ...]:
        found = table.scan(columns=["id"], filters=where, version=version).to_arrow()
        return tuple(found["id"].to_pylist())

    count = table.count() if newest else None
    seen = (read(), read())
    return Look(who, began, pinned, version, newest, span, seen, count)


def cleaner(scene: Scene) -> None:
    """Expire and vacuum repeatedly."""
    assert scene.retention is not None
    journal, retention = Journal(scene, "cleaner"), timedelta(seconds=scene.retention)
    table = scene.open()
    while not scene.is_over:
        with journal.tolerating_failures():
            deleted = table.maintenance.vacuum(retention, dry_run=False, force=True)
            journal.write("vacuum", segments=len(deleted.segments), fence=deleted.fence)
        time.sleep(0.3)
        with journal.tolerating_failures():
            expired = table.maintenance.expire(10 * retention, dry_run=False, force=True)
            journal.write("expire", versions=expired.versions, oldest=expired.oldest_version)
        time.sleep(0.3)


ACTORS = {"writer": writer, "alterer": alterer, "reader": reader, "cleaner": cleaner}


def act(role: str, scene: Scene, *number: int) -> None:
    """Run the actor of a role."""
    ACTORS[role](scene, *number)
