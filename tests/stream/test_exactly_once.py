"""A driver that dies between any two storage calls and checkpoint writes reads each row once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from histories.paused import Killed
from histories.seeded import first_seed
from stream.driver import Checkpoint, Columns, Delivered, Driver, Interruptions, check
from stream.tables import ids, table_at
from versioned_catalog import Catalog
from versioned_catalog.stream.offsets import NO_LIMITS, Limits, Offset, Settings

STEPS, HISTORIES = {"dev": (20, 20), "ci": (30, 30), "nightly": (30, 2000)}[
    os.environ.get("HYPOTHESIS_PROFILE", "dev")
]
AT_ONCE = 10
"""The number of histories of one test."""

NAMES = ("a", "b", "c", "d")
STARTS = [Settings(), Settings(starting_version=0), Settings(starting_version="latest")]


class History:
    """A table that is written and altered, and a driver that reads it and dies."""

    driver: type[Driver] = Driver

    def __init__(self, seed: str) -> None:
        self.random = Random(f"once/{seed}")
        catalog = Catalog(f"memory://{uuid4()}")
        self.table = catalog.create_table("t", "id BIGINT, a INT")
        self.columns: Columns = {"id": 0, "a": 1}
        self.wide: set[int] = set()
        self.made = 1
        self.written: dict[int, dict[int, Any]] = {}
        self.checkpoint = Checkpoint()
        self.settings = self.random.choice(STARTS)
        self.deaths = 0
        for _ in range(self.random.randrange(4)):
            self.append()

    def step(self) -> None:
        steps: list[Callable[[], object]] = [self.append, self.alter, self.compact, self.read]
        self.random.choices(steps, [5, 3, 1, 6])[0]()

    # Writers

    def append(self) -> None:
        """One to three rows, in one segment."""
        rows = []
        for _ in range(self.random.randint(1, 3)):
            number = len(self.written)
            row = {name: self.random.randrange(1000) for name in self.columns} | {"id": number}
            self.written[number] = {self.columns[name]: value for name, value in row.items()}
            rows.append(row)
        wide = {0, *self.wide}
        types = {n: pa.int64() if c in wide else pa.int32() for n, c in self.columns.items()}
        self.table.refresh().append(pa.Table.from_pylist(rows, pa.schema(types)))

    def alter(self) -> None:
        values = [name for name in self.columns if name != "id"]
        free = [name for name in NAMES if name not in self.columns]
        alter, name = self.table.refresh().alter(), self.random.choice([*values, *free])
        match self.random.choice(["add", "drop", "again", "rename", "widen"]):
            case "add" if free:
                alter.add_column(free[0], "INT").commit()
                self.add(free[0])
            case "drop" if name in values:
                alter.drop_column(name).commit()
                del self.columns[name]
            case "again" if name in values:
                alter.drop_column(name).add_column(name, "INT").commit()
                del self.columns[name]
                self.add(name)
            case "rename" if name in values and free:
                alter.rename_column(name, free[0]).commit()
                self.columns[free[0]] = self.columns.pop(name)
            case "widen" if name in values and self.columns[name] not in self.wide:
                alter.change_type(name, "BIGINT").commit()
                self.wide.add(self.columns[name])

    def add(self, name: str) -> None:
        self.made += 1
        self.columns[name] = self.made

    def compact(self) -> None:
        table = self.table.refresh()
        if self.random.random() < 0.5:
            table.maintenance.compact()
        else:
            table.log.write_checkpoint(table.state)

    # The reader

    def read(self) -> None:
        """A life of the driver, in which others may write, and which may end in death."""
        random = self.random
        kind = random.choice(["", "checkpoint", "sink"])
        lives = random.random() < (0.3 if self.checkpoint.done else 0.1)
        steps = None if lives else random.randrange(4 if kind else 25)
        write_at = random.randrange(20) if random.random() < 0.5 else None
        limits = Limits(segments=random.choice([None, 1, 1, 2, 3]))
        pause = Interruptions(write=self.append, write_at=write_at, steps=steps, kind=kind)
        self.life(pause, limits, random.randint(1, 4))

    def life(self, pause: Interruptions, limits: Limits, batches: int) -> None:
        driver = self.driver(
            self.table.refresh(),
            dict(self.columns),
            self.settings,
            self.checkpoint,
            pause,
            lambda: len(self.written),
        )
        try:
            driver.run(limits, batches)
        except Killed:
            self.deaths += 1

    def check(self) -> None:
        """Read the rest, and compare."""
        self.life(Interruptions(), NO_LIMITS, 3)
        delivered = list(self.checkpoint.sink.values())
        begun = self.checkpoint.begun if self.settings.starting_version == "latest" else (0, 0)
        check(delivered, self.written, begun)


@pytest.mark.thorough
@pytest.mark.parametrize("chunk", range(HISTORIES // AT_ONCE))
def test_each_row_is_read_once(chunk: int) -> None:
    start = first_seed() + chunk * AT_ONCE
    for seed in range(start, start + AT_ONCE):
        try:
            history = History(str(seed))
            for _ in range(STEPS):
                history.step()
            history.check()
        except Exception as error:
            raise AssertionError(f"VERSIONED_SEED={seed}: {error!r}") from error


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_the_first_batch_is_run_again_as_it_was(
    tmp_path: Path, start: Settings, limit: int | None
) -> None:
    """Spark stores where the first batch ends, and asks the source again where it started."""
    table = table_at(tmp_path)
    for one in (1, 2):
        table.append(ids(one))
    stream = table.stream(start)
    first = stream.initial()
    table.append(ids(3))
    end = Offset.from_json(stream.latest(first, Limits(segments=limit)).to_json())
    rows = sorted(stream.read(first, end)["id"].to_pylist())
    table.append(ids(4))
    table.maintenance.compact()
    table.alter().rename_column("n", "m").commit()
    again = table.stream(start)
    assert sorted(again.read(again.initial(), end)["id"].to_pylist()) == rows
    late = start.starting_version == "latest"
    rest = again.read(end, again.latest(end))["id"].to_pylist()
    assert sorted([*rows, *rest]) == ([3, 4] if late else [1, 2, 3, 4])


class Careless(Driver):
    """It notes that a batch is done before the sink has its rows."""

    def finish(self, number: int, batch: Delivered) -> None:
        self.checkpoint.done = number + 1
        self.pause.strike("sink")
        self.checkpoint.deliver(number, batch)


class Forgetful(Driver):
    """It plans a batch anew that was planned already."""

    def run(self, limits: Limits, batches: int) -> None:
        del self.checkpoint.offsets[self.checkpoint.done :]
        super().run(limits, batches)


@pytest.mark.parametrize(
    ("planted", "found"), [(Careless, "lost"), (Forgetful, "other rows when run again")]
)
def test_a_driver_that_is_wrong_is_found(planted: type[Driver], found: str) -> None:
    """Otherwise the deaths come where they do no harm."""
    errors = []
    for seed in range(50):
        history = History(f"{planted.__name__}/{seed}")
        history.driver = planted
        try:
            for _ in range(STEPS):
                history.step()
            history.check()
        except AssertionError as error:
            errors.append(str(error))
        if any(found in error for error in errors):
            return
    raise AssertionError(f"not found: {errors}")


ROWS = Delivered({"id": 0, "n": 1}, ({"id": 0, "n": 5}, {"id": 1, "n": None}))
WRITTEN = {0: {0: 0, 1: 5}, 1: {0: 1, 2: 7}}


def test_the_checker_accepts_what_is_right() -> None:
    check([ROWS], WRITTEN)
    check([replace(ROWS, rows=ROWS.rows[1:])], WRITTEN, begun=(0, 1))


@pytest.mark.parametrize(
    ("delivered", "found"),
    [
        ([ROWS, replace(ROWS, rows=ROWS.rows[:1])], "doubled: \\[0\\]"),
        ([replace(ROWS, rows=ROWS.rows * 2)], "doubled"),
        ([replace(ROWS, rows=ROWS.rows[:1])], "lost: \\[1\\]"),
        ([replace(ROWS, rows=(*ROWS.rows, {"id": 9, "n": 1}))], "not wanted"),
        ([replace(ROWS, rows=(ROWS.rows[0], {"id": 1, "n": 7}))], "wrong"),
    ],
)
def test_the_checker_rejects_planted_faults(delivered: list[Delivered], found: str) -> None:
    with pytest.raises(AssertionError, match=found):
        check(delivered, WRITTEN)


def test_a_batch_that_comes_again_writes_no_segment(tmp_path: Path) -> None:
    """Whoever committed it, and whatever the table objects know."""
    table = table_at(tmp_path)
    sink, other, stale = table.sink("app"), table.sink("app"), Catalog(tmp_path).load_table("t")
    table.append(ids(2), batch=("another", 1))
    version = sink.write(ids(1), 1)
    files = sorted(Path(table.location, "data").iterdir())
    for again in (sink, other):
        assert again.write(ids(1), 1) == version
        assert again.write(ids(1), 0, replace=True) == version
    assert stale.append(ids(2), batch=("another", 1)) == version
    assert sink.write(pa.table({"nothing": ["of the table"]}), 1) == version
    assert sorted(Path(table.location, "data").iterdir()) == files
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 2]
