"""Random histories of a table and its branches, held to the naive model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa

from branches.naive import Conflict, Naive
from versioned_catalog import Catalog, CommitConflictError, Table

NAMES = ("a", "b", "c", "d")
BRANCHES = ("x", "y")
KEYS = 12
TYPES = {"INT": pa.int32(), "BIGINT": pa.int64()}


def ordered(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


class History:
    """One table, changed at random; each step is done to the model, too."""

    def __init__(self, url: str, seed: int) -> None:
        self.random = Random(seed)
        self.model = Naive()
        self.table = Catalog.create_path(url, "key INT", properties={"row_changes": "mark"})
        self.model.add(None, "key", "INT", None)
        self.opened: dict[str, Table] = {}
        self.conflicts = self.merges = 0
        self.log: list[str] = []

    def run(self, steps: int) -> None:
        for _ in range(3):
            self.append(None)
        for _ in range(steps):
            self.step()
            self.check()

    def step(self) -> None:
        branch = self.random.choice([None, *self.model.branches])
        does = self.random.choices(
            [self.append, self.delete, self.update, self.alter, self.branching, self.upkeep],
            [3, 2, 2, 4, 5, 1],
        )[0]
        self.log.append(f"{does.__name__} {branch}")
        does(branch)

    def of(self, branch: str | None) -> Table:
        if branch is None:
            return self.table.refresh()
        if branch not in self.opened or self.random.random() < 0.2:
            self.opened[branch] = Catalog.load_path(self.table.location).branch(branch)
        return self.opened[branch].refresh()

    # Rows

    def append(self, branch: str | None) -> None:
        columns = self.model.side(branch).columns.values()
        some = [column for column in columns if column.name == "key" or self.random.random() < 0.8]
        rows = [
            {column.name: self.random.randrange(KEYS) for column in some}
            for _ in range(self.random.randint(1, 6))
        ]
        self.model.append(branch, rows)
        arrays = {
            column.name: pa.array([row[column.name] for row in rows], TYPES[column.type])
            for column in some
        }
        self.of(branch).append(pa.table(arrays))

    def delete(self, branch: str | None) -> None:
        key = self.random.randrange(KEYS)
        self.model.delete(branch, key)
        self.of(branch).delete([("key", "=", key)])

    def update(self, branch: str | None) -> None:
        names = [c.name for c in self.model.side(branch).columns.values() if c.name != "key"]
        if names:
            key, name, value = self.random.randrange(KEYS), self.random.choice(names), 100
            self.model.update(branch, key, name, value)
            self.of(branch).update({name: value}, [("key", "=", key)])

    # Columns

    def alter(self, branch: str | None) -> None:
        side, table = self.model.side(branch), self.of(branch)
        columns = [column for column in side.columns.values() if column.name != "key"]
        taken, free = [c.name for c in columns], self.free(branch)
        what = self.random.choice(["add", "add", "drop", "rename", "widen", "default"])
        if what == "add" and free:
            name, default = self.random.choice(free), self.random.choice([None, 7, 8])
            self.model.add(branch, name, "INT", default)
            given = {} if default is None else {"default": default}
            table.alter().add_column(name, "INT", **given).commit()
        elif what == "drop" and taken:
            name = self.random.choice(taken)
            self.model.drop(branch, name)
            table.alter().drop_column(name).commit()
        elif what == "rename" and taken and free:
            name, new = self.random.choice(taken), self.random.choice(free)
            self.model.change(branch, name, name=new)
            table.alter().rename_column(name, new).commit()
        elif what == "widen" and (narrow := [c.name for c in columns if c.type == "INT"]):
            name = self.random.choice(narrow)
            self.model.change(branch, name, type="BIGINT")
            table.alter().change_type(name, "BIGINT").commit()
        elif what == "default" and taken:
            name, value = self.random.choice(taken), self.random.randrange(20, 23)
            self.model.change(branch, name, new=value)
            table.alter().set_default(name, value).commit()

    def free(self, branch: str | None) -> list[str]:
        taken = {column.name for column in self.model.side(branch).columns.values()}
        return [name for name in NAMES if name not in taken]

    # Branches

    def branching(self, _: str | None) -> None:
        name = self.random.choice(BRANCHES)
        if name not in self.model.branches:
            self.model.make(name)
            self.table.refresh().create_branch(name)
            return
        what = self.random.choice(["merge", "merge", "merge", "forward", "drop", "replace"])
        if what in ("merge", "forward"):
            forward = what == "forward"
            self.merge(name, forward=forward)
            return
        self.model.forget(name)
        self.opened.pop(name, None)
        if what == "drop":
            self.table.refresh().drop_branch(name)
        else:
            self.model.make(name)
            self.table.refresh().create_branch(name, replace=True)

    def merge(self, name: str, *, forward: bool) -> None:
        expected = self.outcome(lambda: self.model.merge(name, forward=forward), Conflict)
        table = self.table.refresh()
        found = self.outcome(
            lambda: table.merge_branch(name, fast_forward=forward), CommitConflictError
        )
        assert (expected is None) == (found is None), f"merge of {name}: {expected}, {found}"
        self.conflicts += expected is not None
        self.merges += expected is None

    @staticmethod
    def outcome(act: Callable[[], object], refusal: type[Exception]) -> str | None:
        try:
            act()
        except refusal as error:
            return str(error)
        return None

    def upkeep(self, _: str | None) -> None:
        table = self.table.refresh()
        what = self.random.choice(["compact", "vacuum", "expire"])
        if what == "compact":
            before = set(table.state.segments.paths)
            table.maintenance.compact(strategy="full")
            if set(table.refresh().state.segments.paths) != before:
                self.model.compact()
        elif what == "vacuum":
            table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
        else:
            table.maintenance.expire(timedelta(0), 1, dry_run=False, force=True)

    # What readers see

    def check(self) -> None:
        fresh = Catalog.load_path(self.table.location)
        assert fresh.branches.keys() == self.model.branches.keys()
        for branch in (None, *self.model.branches):
            table = fresh if branch is None else fresh.branch(branch)
            side = self.model.side(branch)
            names = {column.name: column.type for column in side.columns.values()}
            assert {c.name: c.type.value.upper() for c in table.schema.columns} == {
                name: {"INT": "INT", "BIGINT": "LONG"}[type_] for name, type_ in names.items()
            }
            shown = side.shown()
            assert ordered(table.scan().to_arrow().to_pylist()) == ordered(shown), branch
            name = self.random.choice([*names])
            value = self.random.choice([7, 100, self.random.randrange(KEYS)])
            wanted = ordered([row for row in shown if row[name] == value])
            for prune in (True, False):
                scan = table.scan(filters=[(name, "=", value)], prune=prune)
                assert ordered(scan.to_arrow().to_pylist()) == wanted, (branch, name, value)
