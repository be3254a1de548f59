"""Jobs pinned to schemas 3 and 7, and one that follows, write one keyed table while it is altered."""

from __future__ import annotations

import os
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from histories.seeded import first_seed, sample
from pins.naive import INT_MAX, KEY, Model, Shown
from versioned_catalog import Catalog, InvalidRequestError, Table

PINNED = {3: "third", 7: "seventh"}
"""The labels of the pins, by schema version."""

JOBS = (*PINNED.values(), "follower")

# The steps of a history, and the histories.
STEPS, HISTORIES = {"dev": (15, 5), "ci": (30, 5), "nightly": (30, 1000)}[
    os.environ.get("HYPOTHESIS_PROFILE", "dev")
]


AT_ONCE = 5
"""The number of histories of one test."""


class Histories:
    """A table and its model, with a random step at a time."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"pins/{seed}")
        self.catalog = Catalog(f"memory://{uuid4()}")
        self.model = Model()
        self.table = self.catalog.create_table("t", "id BIGINT, c2 INT", primary_key=["id"])

    def step(self) -> None:
        kind = self.random.choices(
            ["write", "alter", "maintain"], [10, 4, 3] if self.version < 7 else [20, 4, 5]
        )[0]
        match kind:
            case "write":
                self.write(self.random.choice(JOBS))
            case "alter":
                self.alter()
            case _:
                self.maintain()
        self.check()

    @property
    def version(self) -> int:
        return self.table.state.schema_version

    def of(self, job: str) -> Table:
        """The table as a job loads it."""
        label = job if job in self.model.pins else None
        return self.catalog.load_table("t", schema=label)

    # Steps

    def alter(self) -> None:
        self.table.refresh()
        model, alter, random = self.model, self.table.alter(), self.random
        values = [one for one in model.shown if one.column != KEY]
        name = random.choice(values).name if values else None
        fresh = f"c{random.randrange(6)}"
        taken = fresh in [one.name for one in model.shown]
        match random.choice(["add", "add", "drop", "rename", "widen", "move", "default"]):
            case "add" if not taken:
                default = random.choice([None, random.randrange(100)])
                alter.add_column(fresh, "INT", default=default).commit()
                model.add(fresh, default)
            case "drop" if name is not None and len(values) > 1:
                alter.drop_column(name).commit()
                model.drop(name)
            case "rename" if name is not None and not taken:
                alter.rename_column(name, fresh).commit()
                model.rename(name, fresh)
            case "widen" if name is not None:
                alter.change_type(name, "BIGINT").commit()
                model.widen(name)
            case "move" if name is not None:
                alter.move_column(name, first=True).commit()
                model.move_first(name)
            case "default" if name is not None:
                value = random.randrange(100)
                alter.set_default(name, value).commit()
                model.set_default(name, value)
        label = PINNED.get(self.version)
        if label is not None and label not in model.pins:
            self.table.pin_schema(label)
            model.pin(label)

    def write(self, job: str) -> None:
        random, model, table = self.random, self.model, self.of(job)
        columns = model.schema(job)
        values = [one for one in columns if one.column != KEY]
        match random.choice(["upsert", "upsert", "partial", "update", "delete"]):
            case "upsert" | "partial" as how:
                chosen = random.sample(values, random.randint(1, len(values))) if values else []
                shown = [one for one in columns if one.column == KEY or one in chosen]
                rows = [self.row(shown, key) for key in random.sample(range(12), 3)]
                partial = how == "partial"
                table.upsert(arrow(shown, rows), partial=partial)
                for row in rows:
                    model.upsert(job, row, partial=partial)
            case "update" if values and not model.overflows(job):
                name, where = random.choice(values).name, random.choice(columns).name
                value, most = random.randrange(1000), random.randrange(1000)
                table.update({name: value}, [(where, "<=", most)])
                model.update(job, name, value, where, most)
            case "delete":
                where, most = random.choice(columns).name, random.randrange(20)
                table.delete([(where, "<=", most)])
                model.delete(job, where, most)

    def row(self, columns: list[Shown], key: int) -> dict[str, Any]:
        """A row with random values, some of which do not fit an INT."""
        random = self.random
        row: dict[str, Any] = {}
        for one in columns:
            large = one.wide and random.random() < 0.1
            value = random.choice([None, random.randrange(1000), random.randrange(20)])
            row[one.name] = key if one.column == KEY else INT_MAX + 5 if large else value
        return row

    def maintain(self) -> None:
        table = self.table.refresh()
        match self.random.choice(["compact", "retire", "checkpoint"]):
            case "compact":
                table.maintenance.compact()
            case "checkpoint":
                table.log.write_checkpoint(table.state)
            case "retire" if self.model.pins and self.version > 9 and self.random.random() < 0.3:
                label = self.random.choice(sorted(self.model.pins))
                table.retire_schema(label)
                self.model.retire(label)

    # Checks

    def check(self) -> None:
        filtered = self.random.choice(JOBS)
        for job in JOBS:
            label = job if job in self.model.pins else None
            table = self.of(job) if label is None else self.of(job).seen_as(job, overflow="null")
            assert table.schema.names == [one.name for one in self.model.schema(job)]
            found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
            assert found == self.model.seen(job), job
            if job == filtered:
                self.check_filter(job, table)
            if label is not None and self.model.overflows(job):
                with pytest.raises(InvalidRequestError, match="do not fit INT"):
                    self.of(job).scan().to_arrow()

    def check_filter(self, job: str, table: Table) -> None:
        """A random filter, with or without pruning."""
        where, most = self.random.choice(self.model.schema(job)).name, self.random.randrange(1000)
        expected = [
            row for row in self.model.seen(job) if row[where] is not None and row[where] <= most
        ]
        scan = table.scan(filters=[(where, "<=", most)], prune=self.random.random() < 0.5)
        assert sorted(scan.to_arrow().to_pylist(), key=lambda row: row["id"]) == expected


def arrow(columns: list[Shown], rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(
        rows, pa.schema({one.name: pa.int64() if one.wide else pa.int32() for one in columns})
    )


@pytest.mark.thorough
@pytest.mark.parametrize("number", sample(HISTORIES // AT_ONCE))
def test_every_job_sees_what_the_model_shows(number: int) -> None:
    for seed in range(first_seed() + number * AT_ONCE, first_seed() + (number + 1) * AT_ONCE):
        histories = Histories(seed)
        for step in range(STEPS):
            try:
                histories.step()
            except Exception as error:
                raise AssertionError(f"VERSIONED_SEED={seed}, step {step}: {error!r}") from error


def test_histories_reach_both_pins() -> None:
    """Otherwise they would test less than they say."""
    reached = []
    for seed in range(5):
        histories = Histories(seed)
        for _ in range(STEPS):
            histories.alter()
        reached.append(len(histories.model.pins))
    assert max(reached) == 2
