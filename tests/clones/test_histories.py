"""Random histories of tables and their clones, against a model that copies rows."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from histories.seeded import sample
from versioned_catalog import Catalog, InvalidRequestError, Table

STEPS = 40


@dataclass
class Naive:
    """A table as its users think of it.

    Args:
        columns: names by what identifies a column for ever.
        rows: the values of each row by column; by key, or by a number of the row.
        reads: the tables whose files it may read.
    """

    keyed: bool
    columns: dict[int, str]
    rows: dict[Any, dict[int, Any]] = field(default_factory=dict)
    past: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    shallow: bool = False

    def shown(self) -> list[tuple[Any, ...]]:
        tokens = sorted(self.columns, key=self.columns.__getitem__)
        return sorted(
            (tuple(row.get(token) for token in tokens) for row in self.rows.values()), key=repr
        )


class History:
    """Runs random steps on tables and on their models."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.catalog = Catalog(folder)
        self.catalog.create_namespace("n")
        self.naive: dict[str, Naive] = {}
        self.counter = 0
        for keyed in (False, True):
            self.new(keyed)

    def number(self) -> int:
        self.counter += 1
        return self.counter

    def new(self, keyed: bool) -> None:
        name = f"t{self.number()}"
        key = ["id"] if keyed else []
        self.catalog.create_table(f"n.{name}", "id LONG NOT NULL, c0 LONG", primary_key=key)
        self.naive[name] = Naive(keyed, {0: "id", self.number(): "c0"})
        self.remember(name)

    def table(self, name: str) -> Table:
        return self.catalog.load_table(f"n.{name}")

    def remember(self, name: str) -> None:
        self.naive[name].past[self.table(name).version] = self.naive[name].shown()

    def step(self) -> None:
        name = self.random.choice(sorted(self.naive))
        steps = [self.append] * 5 + [self.delete] * 2 + [self.clone] * 2
        steps += [self.add, self.drop_column, self.rename, self.compact, self.clean, self.drop]
        self.random.choice(steps)(name)
        if name in self.naive:
            self.remember(name)

    def append(self, name: str) -> None:
        naive, batch = self.naive[name], self.number()
        ids = self.random.sample(range(8), self.random.randint(1, 4))
        written = [
            {token: key if token == 0 else self.number() for token in naive.columns} for key in ids
        ]
        naive.rows |= {row[0] if naive.keyed else (batch, row[0]): row for row in written}
        arrays = {
            column: pa.array([row[token] for row in written], pa.int64())
            for token, column in naive.columns.items()
        }
        self.table(name).append(pa.table(arrays))

    def delete(self, name: str) -> None:
        naive, key = self.naive[name], self.random.randrange(8)
        naive.rows = {row: cells for row, cells in naive.rows.items() if cells[0] != key}
        self.table(name).delete([("id", "=", key)])

    def add(self, name: str) -> None:
        naive, token = self.naive[name], self.number()
        free = sorted({"c0", "c1", "c2"} - {*naive.columns.values()})
        if not free:
            return
        column, default = self.random.choice(free), self.random.choice([None, token])
        given = {} if default is None else {"default": default}
        self.table(name).alter().add_column(column, "long", **given).commit()
        naive.columns[token] = column
        for cells in naive.rows.values():
            cells[token] = default

    def drop_column(self, name: str) -> None:
        naive = self.naive[name]
        if len(naive.columns) > 1:
            token = self.random.choice(sorted(naive.columns)[1:])
            self.table(name).alter().drop_column(naive.columns.pop(token)).commit()

    def rename(self, name: str) -> None:
        naive = self.naive[name]
        free = sorted({"c0", "c1", "c2"} - {*naive.columns.values()})
        if len(naive.columns) > 1 and free:
            token = self.random.choice(sorted(naive.columns)[1:])
            new = self.random.choice(free)
            self.table(name).alter().rename_column(naive.columns[token], new).commit()
            naive.columns[token] = new

    def compact(self, name: str) -> None:
        strategy = self.random.choice(["auto", "full"])
        self.table(name).maintenance.compact(strategy=strategy)

    def clean(self, name: str) -> None:
        table = self.table(name)
        table.maintenance.expire(timedelta(0), force=True, dry_run=False)
        table.maintenance.vacuum(timedelta(0), force=True, dry_run=False)

    def drop(self, name: str) -> None:
        if len(self.naive) < 3:
            return
        try:
            self.catalog.drop_table(f"n.{name}")
        except InvalidRequestError as error:
            assert "shallow clones" in str(error)
            assert any(naive.shallow for naive in self.naive.values())
        else:
            del self.naive[name]

    def clone(self, name: str) -> None:
        source, target = self.naive[name], f"t{self.number()}"
        replaced = [n for n in self.naive if n != name and self.random.random() < 0.2]
        target = replaced[0] if replaced else target
        shallow = self.random.random() < 0.7
        try:
            self.catalog.clone_table(
                f"n.{target}", f"n.{name}", shallow=shallow, or_replace=bool(replaced)
            )
        except InvalidRequestError as error:
            assert replaced
            assert "shallow clones" in str(error)
            return
        copied = {key: dict(cells) for key, cells in source.rows.items()}
        self.naive[target] = Naive(source.keyed, dict(source.columns), copied, shallow=shallow)
        self.remember(target)

    def check(self) -> None:
        for name, naive in self.naive.items():
            table = self.table(name)
            for version in table.inspect.snapshots()["version"].to_pylist():
                if version in naive.past:
                    found = table.scan(version=version).to_arrow()
                    assert shown(found) == naive.past[version], (name, version)
            assert shown(table.scan().to_arrow()) == naive.shown(), name


def shown(rows: pa.Table) -> list[tuple[Any, ...]]:
    names = sorted(rows.column_names)
    return sorted((tuple(row[name] for name in names) for row in rows.to_pylist()), key=repr)


@pytest.mark.parametrize("seed", sample(1, short=0))
def test_every_table_has_its_own_rows(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 400))
def test_every_table_has_its_own_rows_at_night(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed)


def run(folder: Path, seed: int) -> None:
    history = History(folder, seed)
    for _ in range(STEPS):
        history.step()
        history.check()
    for name in history.naive:
        assert history.table(name).maintenance.verify(deep=True).findings == ()
