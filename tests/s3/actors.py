"""What the processes of a race do, and what they write down of it: one line of JSON each time."""

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
"""Rows of one append."""

SPAN = 10_000
"""Rows of one writer have numbers below this, after its own number times this."""


@dataclass(frozen=True)
class Scene:
    """Where a race takes place, and how long.

    Args:
        place: the table's folder.
        options: of its storage.
        notes: the folder where everybody writes down what happened.
        writers, appends: how many there are, and how many appends of each.
        seed: of what is drawn.
        retention: seconds, of clean-up; None for none.
    """

    place: str
    options: dict[str, Any]
    notes: Path
    writers: int
    appends: int
    seed: int
    retention: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether the writers are done."""
        return (self.notes / "over").exists()

    def open(self) -> Table:
        """The table; tried again, for the server is unwell."""
        while True:
            try:
                return Catalog.load_path(self.place, storage_options=self.options)
            except VersionedError:
                time.sleep(0.1)


class Notes:
    """What one process writes down."""

    def __init__(self, scene: Scene, who: str) -> None:
        self._who = who
        self._file = (scene.notes / f"{who}.jsonl").open("w", buffering=1)

    def write(self, kind: str, **what: Any) -> None:
        print(json.dumps({"kind": kind, **what}), file=self._file)

    def commit(self, what: str, rows: tuple[int, ...], ask: Callable[[], int]) -> str:
        """Ask for a commit and write down what was told; how it ended."""
        began, version, said, commit_id = time.monotonic(), None, "", ""
        try:
            version, outcome = ask(), LANDED
        except CommitOutcomeUnknown as error:
            outcome, said, commit_id = OPEN, type(error).__name__, error.commit_id
        except VersionedError as error:
            outcome, said = REFUSED, f"{type(error).__name__}: {error}"
        ended = time.monotonic()
        told = Commit(self._who, what, began, ended, outcome, version, rows)
        self.write("commit", told=asdict(told), said=said, commit_id=commit_id)
        return outcome

    @contextmanager
    def excused(self) -> Any:
        """Failures that a reader may meet: the server is unwell, or the version is given up."""
        try:
            yield
        except VersionedError as error:
            self.write("excuse", said=f"{type(error).__name__}: {error}")


def writer(scene: Scene, number: int) -> None:
    """Appends; now and then it dies halfway, as far as anybody can see."""
    notes, draw = Notes(scene, f"writer{number}"), random.Random(f"{scene.seed} {number}")
    table = scene.open()
    for at in range(scene.appends):
        first = number * SPAN + at * ROWS
        rows = tuple(range(first, first + ROWS))
        data = pa.table({"id": pa.array(rows, pa.int64())})
        if draw.random() < 0.05:
            with notes.excused():
                plan = table.transaction().plan_write(data.schema)
                list(plan.write(data.schema, iter(data.to_batches()), table.store))
        if notes.commit("append", rows, lambda data=data: table.append(data)) != LANDED:
            with notes.excused():
                table.refresh()


def alterer(scene: Scene) -> None:
    """Adds, renames, widens and drops columns."""
    notes, number = Notes(scene, "alterer"), 0
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
        notes.commit("alter", (), change.commit)
        with notes.excused():
            table.refresh()
        time.sleep(0.1)


def reader(scene: Scene, number: int) -> None:
    """Pins a version, the newest or an older one, and reads it twice."""
    notes, draw = Notes(scene, f"reader{number}"), random.Random(f"{scene.seed} reader {number}")
    table = scene.open()
    while not scene.is_over:
        with notes.excused():
            look = _look(table, scene, draw, f"reader{number}")
            notes.write("look", told=asdict(look))


def _look(table: Table, scene: Scene, draw: random.Random, who: str) -> Look:
    began = time.monotonic()
    table.refresh()
    pinned = time.monotonic()
    newest = draw.random() < 0.5
    version = table.version if newest else draw.randint(0, table.version)
    if version < 60:
        span = (0, scene.writers * SPAN)
    else:
        first = draw.randrange(scene.writers) * SPAN
        span = (first, first + SPAN)
    where = [("id", ">=", span[0]), ("id", "<", span[1])]

    def read() -> tuple[int, ...]:
        found = table.scan(columns=["id"], filters=where, version=version).to_arrow()
        return tuple(found["id"].to_pylist())

    count = table.count() if newest else None
    seen = (read(), read())
    return Look(who, began, pinned, version, newest, span, seen, count)


def cleaner(scene: Scene) -> None:
    """Expires and vacuums, all the time."""
    assert scene.retention is not None
    notes, retention = Notes(scene, "cleaner"), timedelta(seconds=scene.retention)
    table = scene.open()
    while not scene.is_over:
        with notes.excused():
            gone = table.maintenance.vacuum(retention, dry_run=False, force=True)
            notes.write("vacuum", segments=len(gone.segments), fence=gone.fence)
        time.sleep(0.3)
        with notes.excused():
            expired = table.maintenance.expire(10 * retention, dry_run=False, force=True)
            notes.write("expire", versions=expired.versions, floor=expired.oldest_version)
        time.sleep(0.3)


ACTORS = {"writer": writer, "alterer": alterer, "reader": reader, "cleaner": cleaner}


def act(what: str, scene: Scene, *number: int) -> None:
    """Be one of them."""
    ACTORS[what](scene, *number)
