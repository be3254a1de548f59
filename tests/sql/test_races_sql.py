"""Two Spark applications and two Python writers on one table, interleaved right before their commits.

The checker of ``faults/serial.py`` judges their results and the states of the log.
``faults/test_isolation.py`` shows that it rejects planted faults.

Needs JVMs because Spark applications commit; ``faults/test_isolation.py`` does the same with PyArrow.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from faults.serial import Done
from faults.test_isolation import COLUMNS, LEVELS, Interleaving
from jar import ROOT, built_jar
from sql.test_statements import environment
from versioned_catalog import Catalog, Table

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

COUNT = 100 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 10
"""The number of interleavings at each isolation level."""

KEYS = 3


class App:
    """A Spark application in its own process, which runs one statement at a time."""

    def __init__(self, folder: Path, warehouse: Path) -> None:
        self._gate = folder
        folder.mkdir()
        paths = [str(ROOT / "tests" / "sql" / "gated"), environment()["PYTHONPATH"]]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sql.run_app", str(warehouse)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**environment(), "PYTHONPATH": os.pathsep.join(paths), "GATE": str(folder)},
            cwd=folder,
        )

    def _response(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def wait_ready(self) -> None:
        assert self._response() == {"ready": True}
        os.set_blocking(self._process.stdout.fileno(), False)  # type: ignore[union-attr]

    def start(self, statement: str) -> dict[str, Any] | None:
        """Run a statement up to its commit; return its result if it ends without one."""
        (self._gate / "closed").touch()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(statement) + "\n")
        self._process.stdin.flush()
        return self._wait(until_commit=True)

    def go_on(self) -> dict[str, Any]:
        """Let the statement commit; return its result."""
        (self._gate / "waiting").unlink()
        (self._gate / "open").touch()
        ended = self._wait(until_commit=False)
        assert ended is not None
        return ended

    def _wait(self, *, until_commit: bool) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        for _ in range(12_000):
            if until_commit and (self._gate / "waiting").exists():
                return None
            line = self._process.stdout.readline()
            if line:
                (self._gate / "closed").unlink(missing_ok=True)
                result: dict[str, Any] = json.loads(line)
                return result
            assert self._process.poll() is None
            time.sleep(0.005)
        raise AssertionError("a statement did not end in time")

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("races")


@pytest.fixture(scope="module")
def apps(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[App]]:
    built_jar()
    folder = tmp_path_factory.mktemp("gates")
    started = [App(folder / name, warehouse / "w") for name in ("one", "two")]
    for app in started:
        app.wait_ready()
    yield started
    for app in started:
        app.stop()


class Race(Interleaving):
    """An ``Interleaving`` of two Python clients and two Spark applications."""

    def __init__(
        self, random: Random, level: str, table: Table, name: str, apps: list[App]
    ) -> None:
        super().__init__(random, level, table)
        self.clients = self.clients[:2]
        self._name = name
        self._idle = list(apps)
        self._waiting: list[tuple[App, Done]] = []

    def run(self, steps: int) -> None:
        for _ in range(steps):
            if self._idle and self.random.random() < 0.5:
                self._start(self._idle.pop())
            elif self._waiting and self.random.random() < 0.3:
                self._finish()
            else:
                super().run(1)
        while self._waiting:
            self._finish()

    def _start(self, app: App) -> None:
        table = Catalog.load_path(self.folder)
        counter, key = table.schema.column(3).name, self.random.randrange(KEYS)
        what, statement, rows = self._statement(counter, key)
        done = Done(what, table.version, None, key, rows)
        ended = app.start(statement)
        if ended is None:
            self._waiting.append((app, done))
        else:
            self._idle.append(app)
            self._record(done, ended)

    def _finish(self) -> None:
        app, done = self._waiting.pop(self.random.randrange(len(self._waiting)))
        self._idle.append(app)
        self._record(done, app.go_on())

    def _record(self, done: Done, ended: dict[str, Any]) -> None:
        if ended["error"] is not None:
            # Nothing else runs during a commit, so a refused one conflicts with an earlier commit.
            assert "run it again" in ended["error"] or "changed" in ended["error"], ended["error"]
            self.refused += 1
            return
        last = Catalog.load_path(self.folder).inspect.history().to_pylist()[-1]
        versions = {one.version for one in self.done}
        version = last["version"] if last["version"] not in versions else None
        if done.what == "alter" and version is None:
            return  # the column has that name already
        assert version is None or last["base_version"] == done.base
        self.done.append(Done(done.what, done.base, version, done.key, done.rows))

    def _statement(self, counter: str, key: int) -> tuple[str, str, Any]:
        number, other = next(self.numbers), self.random.randrange(KEYS)
        row, new = ((number, other, 0),), "m" if counter == "n" else "n"
        match self.random.choice(
            ["update", "update", "merge", "delete", "replace", "append", "alter"]
        ):
            case "update":
                text = f"UPDATE {self._name} SET {counter} = {counter} + 1 WHERE k = {key}"
                return "increment", text, ()
            case "merge":
                text = (
                    f"MERGE INTO {self._name} t USING (SELECT {key} AS k) s ON t.k = s.k "
                    f"WHEN MATCHED THEN UPDATE SET {counter} = t.{counter} + 1"
                )
                return "increment", text, ()
            case "delete":
                return "delete", f"DELETE FROM {self._name} WHERE k = {key}", ()
            case "replace":
                text = (
                    f"INSERT INTO {self._name} REPLACE WHERE k = {key} SELECT {number}, {other}, 0"
                )
                return "replace", text, row
            case "append":
                return "append", f"INSERT INTO {self._name} VALUES ({number}, {other}, 0)", row
            case _:
                text = f"ALTER TABLE {self._name} RENAME COLUMN {counter} TO {new}"
                return "alter", text, ()


@pytest.mark.nightly
@pytest.mark.parametrize("level", LEVELS)
def test_two_applications_and_two_writers(apps: list[App], warehouse: Path, level: str) -> None:
    catalog = Catalog(warehouse / "w")
    catalog.create_namespace(level)
    counts: dict[str, int] = {"refused": 0, "landed": 0, "skewed": 0}
    for seed in range(COUNT):
        name = f"{level}.t{seed}"
        table = catalog.create_table(name, COLUMNS, properties={"isolation": level})
        race = Race(Random(seed), level, table, f"versioned.{name}", apps)
        race.run(8)
        assert race.findings(level) == [], seed
        counts["refused"] += race.refused
        counts["landed"] += len(race.states)
        counts["skewed"] += bool(race.findings("serializable"))
    assert counts["refused"] > COUNT / 2, counts
    assert counts["landed"] > 3 * COUNT, counts
    if level == "serializable":
        assert counts["skewed"] == 0
