"""Random histories of imports among deletes, overwrites, rollbacks and maintenance, against a model."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from histories.seeded import first_seed, sample
from imports import naive
from imports.naive import File, Outcome, State
from versioned_catalog import Catalog, InvalidRequestError, Table

STEPS = 14
NOTHING = dt.timedelta(0)


class World:
    """A table, its model, and the files that both are given."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.lake, self.warehouse = folder / "lake", folder / "warehouse"
        self.lake.mkdir()
        (folder / "link").symlink_to(self.lake)
        self.roots = {"lake": self.lake, "up": folder, "link": folder / "link"}
        self.folder = folder
        self.files: dict[str, File] = {}
        self.values = 0
        self.catalog().create_table("t", "v BIGINT")
        self.states = {0: State()}
        self.floor = self.start = 0
        self.said: list[str] = []

    def catalog(self) -> Catalog:
        return Catalog(self.warehouse, roots=self.roots)

    def table(self) -> Table:
        return self.catalog().load_table("t")

    @property
    def state(self) -> State:
        return self.states[max(self.states)]

    @property
    def kept(self) -> list[int]:
        """The retained versions of this incarnation that the model knows."""
        return sorted(v for v in self.states if v >= max(self.floor, self.start))

    # Files

    def write_file(self) -> None:
        """Write a new file, or other content to one that no segment is."""
        names = [f"{part}/{at}.parquet" for part in "xy" for at in range(2)]
        kept = [s for v, s in self.states.items() if v >= self.floor]
        adopted = {one.file for state in kept for one in state.segments}
        name = self.random.choice([one for one in names if one not in adopted] or ["x/9.parquet"])
        if name in adopted:
            return
        count = self.random.choice([0, 1, 2, 3])
        content = tuple(range(self.values, self.values + count))
        self.values += count
        file = self.files.setdefault(name, File([]))
        file.contents.append(content)
        path = self.lake / name
        path.parent.mkdir(exist_ok=True)
        columns = {"a": list(content), "b": [1000 + value for value in content]}
        typed = {key: pa.array(values, pa.int64()) for key, values in columns.items()}
        pq.write_table(pa.table(typed), path)
        os.utime(path, (1_700_000_000, 1_700_000_000 + 60 * (self.values + file.now)))

    # Imports

    def selected(self, part: str) -> list[str]:
        return sorted(name for name in self.files if name.startswith(part))

    def do_import(self) -> None:
        part = self.random.choice(["", "x/", "y/"])
        if self.selected(part):
            again = self.random.choice([None, None, None, "changed", "all"])
            copy = self.random.random() < 0.3
            column = self.random.choice("ab")
            if naive.is_refused(self.state, self.files, self.selected(part), again):
                with pytest.raises(InvalidRequestError, match="no segment of the table any more"):
                    self.call(part, column, copy, again)
                return
            self.check(self.call(part, column, copy, again), part, column, copy, again)

    def call(self, part: str, column: str, copy: bool, again: str | None, **how: Any) -> Any:
        ways = ["root:lake", "root:up/lake", "root:link", str(self.lake), str(self.folder / "link")]
        source = f"{self.random.choice(ways)}/{part}".rstrip("/")
        self.said.append(f"import {source} v={column} copy={copy} again={again}")
        return self.catalog().import_files(
            "t",
            source,
            aliases={column: "v"},
            exclude=["b" if column == "a" else "a"],
            copy=copy,
            again=again,
            batch_files=self.random.choice([1, 2, 1000]),
            **how,
        )

    def check(self, found: Any, part: str, column: str, copy: bool, again: str | None) -> None:
        """Compare the outcome of an import, and take its versions over."""
        after, outcome = naive.imported(
            self.state, self.files, self.selected(part), column, copy=copy, again=again
        )
        changed = tuple(sorted("/".join(name.split("/")[-2:]) for name in found.changed))
        assert Outcome(found.files, found.known, changed) == outcome, self.said
        self.take(after)

    def two_imports(self) -> None:
        """An import that lists the files before another one commits, and imports what that left."""
        mine, theirs = (self.random.choice(["", "x/", "y/"]) for _ in "mt")
        if not (self.selected(mine) and self.selected(theirs)):
            return
        columns, copies = self.random.choices("ab", k=2), self.random.choices([False, True], k=2)
        done: list[Any] = []

        def progress(step: str, at: int, total: int) -> None:
            if not done:  # the first schema was read
                done.append(None)
                found = self.call(theirs, columns[1], copies[1], None)
                self.check(found, theirs, columns[1], copies[1], None)

        before = self.state
        found = self.call(mine, columns[0], copies[0], None, progress=progress)
        if not done:
            return self.check(found, mine, columns[0], copies[0], None)
        planned = [
            name
            for name in self.selected(mine)
            if naive.wants(before, name, self.files[name], None) == "new"
        ]
        after, outcome = naive.imported(
            self.state, self.files, planned, columns[0], copy=copies[0], again=None
        )
        assert found.files == outcome.files, self.said
        self.take(after)
        return None

    # Other commits

    def delete(self) -> None:
        rows = sorted(self.state.rows)
        values = set(self.random.sample(rows, min(len(rows), self.random.choice([1, 2, 9]))))
        self.said.append(f"delete {values}")
        self.table().delete([("v", "in", sorted(values))])
        self.take(naive.deleted(self.state, values))

    def overwrite(self) -> None:
        self.said.append("overwrite")
        values = [] if self.random.random() < 0.5 else [5000 + self.random.randrange(100)]
        self.table().overwrite(pa.table({"v": pa.array(values, pa.int64())}))
        self.take(naive.overwritten(self.state, Counter(values)))

    def compact(self) -> None:
        self.said.append("compact")
        self.table().maintenance.compact(strategy="full")
        self.take(naive.compacted(self.state))

    def rollback(self) -> None:
        version = self.random.choice(self.kept)
        self.said.append(f"rollback to {version}")
        self.table().rollback(version)
        self.take(self.states[version])

    def adopt_again(self) -> None:
        """Roll back, and adopt all files: some anew, with another column."""
        self.rollback()
        if self.files:
            column = self.random.choice("ab")
            self.check(self.call("", column, False, None), "", column, False, None)

    def replace(self) -> None:
        self.said.append("replace")
        self.catalog().replace_table("t", "v BIGINT")
        self.take(State())
        self.start = max(self.states)

    def clean_up(self) -> None:
        self.said.append("expire and vacuum")
        maintenance = self.table().maintenance
        keep = self.random.choice([1, 3])
        maintenance.expire(NOTHING, keep_last=keep, dry_run=False, force=True)
        maintenance.vacuum(NOTHING, dry_run=False, force=True)
        self.take(self.state)
        self.floor = self.table().state.floor

    def checkpoint(self) -> None:
        self.said.append("checkpoint")
        table = self.table()
        table.log.write_checkpoint(table.state)

    def step(self) -> None:
        weights = {
            self.write_file: 5,
            self.do_import: 8,
            self.two_imports: 3,
            self.delete: 3,
            self.overwrite: 1,
            self.compact: 1,
            self.rollback: 2,
            self.adopt_again: 2,
            self.replace: 0.5,
            self.clean_up: 0.7,
            self.checkpoint: 1,
        }
        (chosen,) = self.random.choices(list(weights), list(weights.values()))
        chosen()
        assert rows(self.table()) == self.state.rows, self.said

    def take(self, after: State) -> None:
        """Give all new versions of the table the state after an operation, the last one at least."""
        version = self.table().version
        self.states[version] = after

    def check_all(self) -> None:
        """All retained versions, and the changes between them, are those of the model."""
        table = self.table()
        known = self.kept
        for version in known:
            assert rows(table, version) == self.states[version].rows, (version, self.said)
        for start, end in itertools.pairwise(known):
            for net in (False, True):
                self.check_changes(table, start, end, net)
        self.check_changes(table, known[0], known[-1], True)
        assert self.catalog().verify_table("t", deep=True).findings == (), self.said

    def check_changes(self, table: Table, start: int, end: int, net: bool) -> None:
        if start == end:
            return
        changed: Counter[int] = Counter()
        for row in table.changes(start + 1, end, net=net).to_arrow().to_pylist():
            changed[row["v"]] += 1 if row["_change_type"] == "insert" else -1
        then, now = self.states[start].rows, self.states[end].rows
        every = then.keys() | now.keys() | changed.keys()
        wrong = {v for v in every if then[v] + changed[v] != now[v]}
        assert not wrong, (start, end, net, self.said)


def rows(table: Table, version: int | None = None) -> Counter[int]:
    return Counter(table.scan(version=version).to_arrow()["v"].to_pylist())


def play(folder: Path, seed: int) -> None:
    world = World(folder, first_seed() + seed)
    world.write_file()
    for _ in range(STEPS):
        world.step()
    world.check_all()


@pytest.mark.parametrize("seed", sample(10))
def test_histories(tmp_path: Path, seed: int) -> None:
    play(tmp_path, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [*range(10, 60), *range(1000, 2000)])
def test_many_histories(tmp_path: Path, seed: int) -> None:
    play(tmp_path, seed)
