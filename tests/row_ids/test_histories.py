"""Row IDs are unique and stable over random histories, against a model in plain Python."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from histories.seeded import first_seed
from row_ids.identity_model import History, Identities
from versioned_catalog import Catalog, CommitConflictError, Table

COLUMNS = ["n", "v", "_row_id", "_row_updated"]

SEEDS, STEPS = {"dev": (3, 14), "ci": (3, 14), "nightly": (1000, 20)}[
    os.environ.get("HYPOTHESIS_PROFILE", "dev")
]


class Machine:
    """A table with row IDs, its branch and its clones, and the model of each."""

    def __init__(self, root: Path, random: Random) -> None:
        self.random = random
        self.root = root
        self.labels = itertools.count()
        self.catalog = Catalog(root / "warehouse", roots={"lake": root / "lake"})
        self.names = (f"t{number}" for number in itertools.count())
        how = random.choice(["auto", "copy", "mark"])
        late = random.random() < 0.3
        self.table = self.catalog.create_table(
            next(self.names),
            "n BIGINT NOT NULL, v BIGINT",
            partitioned_by=random.choice([[], [], ["bucket(2, n)"]]),
            properties={"row_changes": how} | ({} if late else {"row_ids": "true"}),
        )
        self.history = History(Identities(), {0: {}})
        self.branch: tuple[History, int] | None = None
        self.begins = 0
        if late:
            self.append()
            self.history.add(self.table.alter().set_property("row_ids", "true").commit(), {})
            self.begins = self.table.version  # segments from before get new IDs by a rollback
            self.check()

    # What users do

    def batch(self) -> dict[int, int]:
        return {
            next(self.labels): self.random.randrange(5) for _ in range(self.random.randint(1, 6))
        }

    def rows(self, new: dict[int, int]) -> pa.Table:
        return pa.table(
            {"n": pa.array(list(new), pa.int64()), "v": pa.array(list(new.values()), pa.int64())}
        )

    def append(self) -> None:
        new = self.batch()
        self.history.add(self.table.append(self.rows(new)), new)

    def chosen(self, history: History) -> list[int]:
        labels = sorted(history.rows)
        return self.random.sample(labels, self.random.randint(0, len(labels)) // 2)

    def delete(self) -> None:
        chosen = self.chosen(self.history)
        version = self.table.delete([("n", "in", chosen or [-1])])
        self.history.remove(version, set(chosen).__contains__)

    def update(self) -> None:
        chosen = self.chosen(self.history)
        version = self.table.update({"v": 9}, [("n", "in", chosen or [-1])])
        if chosen:
            self.history.update(version, set(chosen).__contains__, 9)
        else:
            self.history.keep(version)

    def overwrite(self) -> None:
        new = self.batch()
        version = self.table.overwrite(self.rows(new))
        self.history.remove(version, lambda _: True)
        self.history.add(version, new)

    def overwrite_where(self) -> None:
        new, least = self.batch(), self.random.randrange(10)
        version = self.table.overwrite_where(self.rows(new), [("v", "=", 9), ("n", ">=", least)])
        gone = {n for n, row in self.history.rows.items() if row.value == 9 and n >= least}
        self.history.remove(version, gone.__contains__)
        self.history.add(version, new)

    def compact(self) -> None:
        zorder = [] if self.table.partitioning else self.random.choice([[], ["v"]])
        report = self.table.maintenance.compact(strategy="full", zorder=zorder)
        self.history.keep(report.version)

    def add_column(self) -> None:
        version = self.table.alter().add_column(f"c{self.table.version}", "INT", default=1).commit()
        self.history.keep(version)

    def adopt(self) -> None:
        new = self.batch()
        folder = self.root / f"lake/{next(self.labels)}"
        folder.mkdir(parents=True)
        pq.write_table(self.rows(new), folder / "a.parquet")
        copy = bool(self.table.partitioning) or self.random.random() < 0.2
        self.history.add(self.table.import_files(folder, copy=copy).version, new)

    def rollback(self) -> None:
        least = max(self.table.state.created_version, self.begins)
        if self.branch is not None:
            least = max(least, self.branch[1])
        earlier = self.random.choice([v for v in self.history.versions if v >= least])
        self.history.back_to(self.table.rollback(earlier), earlier)

    def begin_branch(self) -> None:
        if self.branch is not None:
            return
        base = self.table.version
        self.history.keep(self.table.create_branch("b"))
        identities = self.history.identities
        self.branch = History(identities, {base + 1: dict(self.history.rows)}), self.table.version

    def on_branch(self) -> None:
        if self.branch is None:
            return
        history, table = self.branch[0], self.table.branch("b")
        new, chosen = self.batch(), self.chosen(history)
        match self.random.randrange(3):
            case 0:
                history.add(table.append(self.rows(new)), new)
            case 1 if chosen:
                version = table.update({"v": 8}, [("n", "in", chosen)])
                history.update(version, set(chosen).__contains__, 8)
            case _:
                version = table.delete([("n", "in", chosen or [-1])])
                history.remove(version, set(chosen).__contains__)
        self.same(table, history)

    def merge(self) -> None:
        if self.branch is None:
            return
        before = dict(self.history.rows)
        ancestor = self.branch[0].versions[min(self.branch[0].versions)]
        theirs = self.branch[0].rows
        try:
            version = self.table.merge_branch("b")
        except CommitConflictError:
            pass
        else:
            merged = {n: row for n, row in before.items() if n in theirs or n not in ancestor}
            changed = {n for n, row in theirs.items() if ancestor.get(n) != row}
            self.history.versions[version] = merged
            self.history.add(version, {n: theirs[n].value for n in changed})
        self.history.keep(self.table.drop_branch("b"))
        self.branch = None

    def clone(self) -> None:
        """Go on with a clone: the IDs that it gives may be those that its source gives, too."""
        if self.branch is not None:
            return
        shallow = self.random.random() < 0.5
        self.table = self.catalog.clone_table(next(self.names), self.table, shallow=shallow)
        rows = dict(self.history.rows)
        self.history = History(self.history.identities.copied(), {self.table.version: rows})

    def replace_and_restore(self) -> None:
        """Another incarnation, whose rows are others, and a rollback to the version before it."""
        if self.branch is not None:
            return
        before, name = self.table.version, self.table.name
        self.catalog.replace_table(name, "n BIGINT", properties={"row_ids": "true"})
        replaced = self.catalog.load_table(name)
        replaced.append(pa.table({"n": [1]}))
        assert replaced.scan(["_row_id"]).to_arrow()["_row_id"].to_pylist() == [0]
        version = replaced.rollback(before)
        self.table = self.catalog.load_table(name)
        self.history.back_to(version, before)

    # What must hold

    def changes(self) -> None:
        """The feed of the newest version is what the model has changed, paired by identity."""
        versions = sorted(self.history.versions)[-2:]
        if len(versions) < 2 or versions[0] < max(self.table.state.created_version, self.begins):
            return
        before, after = (self.history.versions[version] for version in versions)
        expected = []
        for n in before.keys() | after.keys():
            old, new = before.get(n), after.get(n)
            if old is None or new is None:
                row = old or new
                assert row is not None
                expected.append(("delete" if new is None else "insert", n, row.value))
            elif old.value != new.value:
                expected.append(("update_preimage", n, old.value))
                expected.append(("update_postimage", n, new.value))
        columns = ["n", "v"]
        net = self.random.random() < 0.2
        feed = self.table.changes(versions[0] + 1, versions[1], columns=columns, net=net).to_arrow()
        rows = feed.select(["_change_type", *columns]).to_pydict()
        assert sorted(zip(*rows.values(), strict=True)) == sorted(expected)

    def same(self, table: Table, history: History) -> None:
        shown = table.scan(COLUMNS).to_arrow().to_pydict()
        rows = list(zip(*(shown[name] for name in COLUMNS), strict=True))
        assert {n: (v, updated) for n, v, _, updated in rows} == {
            n: (row.value, row.updated) for n, row in history.rows.items()
        }
        assert len(rows) == len(history.rows)
        history.identities.meet((n, row_id) for n, _, row_id, _ in rows)

    def check(self) -> None:
        self.same(self.table, self.history)
        self.changes()
        again = self.catalog.load_table(self.table.name)
        self.same(again, self.history)
        some = self.random.choice(sorted(self.history.identities.ids.values()) or [0])
        found = self.table.scan(["n"], filters=[("_row_id", "=", some)]).to_arrow()["n"].to_pylist()
        assert found == [n for n in self.history.rows if self.history.identities.ids[n] == some]


OFTEN, SELDOM = (
    ("append", "delete", "update", "update"),
    (
        *("overwrite", "overwrite_where", "compact", "add_column", "adopt", "rollback"),
        *("begin_branch", "on_branch", "on_branch", "merge", "clone", "replace_and_restore"),
    ),
)


def run(root: Path, seed: int) -> None:
    random = Random(f"row IDs {seed}")
    machine = Machine(root, random)
    steps: list[str] = []
    for _ in range(STEPS):
        steps.append(random.choice(random.choice([OFTEN, SELDOM])))
        try:
            getattr(machine, steps[-1])()
            machine.check()
        except Exception as error:
            raise AssertionError(f"VERSIONED_SEED={seed}: after {steps}: {error!r}") from error


def _beyond(number: int) -> pytest.MarkDecorator:
    return pytest.mark.thorough if number < 3 else pytest.mark.nightly


SEEDED: list[Any] = [
    pytest.param(number, marks=() if not number else _beyond(number)) for number in range(SEEDS)
]


@pytest.mark.parametrize("number", SEEDED)
def test_ids_are_unique_and_stable(number: int, tmp_path: Path) -> None:
    run(tmp_path, first_seed() + number)
