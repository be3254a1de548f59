"""Random histories of a table with an identity column and its branches, against a set of numbers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from pairwise import most_at_night
from versioned_catalog import Catalog, Identity, InvalidRequestError, Table

STEPS = 30


class History:
    """A table, the keys of its rows by branch and version, and the number of each key."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.random, self.catalog = random, Catalog(folder)
        self.start, self.step = random.choice([(1, 1), (-5, 3), (100, -7), (0, 1000)])
        how = Identity(always=random.random() < 0.5, start=self.start, step=self.step)
        self.catalog.create_table("tab", "id BIGINT, k BIGINT", identity={"id": how})
        self.always = how.always
        self.live: dict[str | None, set[int]] = {None: set()}
        self.versions: dict[int, set[int]] = {}
        self.numbers: dict[int, int] = {}
        self.keys = 0
        self.name = "id"

    def table(self, branch: str | None = None) -> Table:
        table = self.catalog.load_table("tab")
        return table if branch is None else table.branch(branch)

    def any_branch(self) -> str | None:
        return self.random.choice(list(self.live))

    def new_keys(self) -> list[int]:
        count = self.random.randint(1, 4)
        self.keys += count
        return list(range(self.keys - count, self.keys))

    def append(self) -> None:
        branch, keys = self.any_branch(), self.new_keys()
        self.table(branch).append(pa.table({"k": pa.array(keys, pa.int64())}))
        self.live[branch] |= set(keys)

    def overwrite(self) -> None:
        keys = self.new_keys()
        if len(self.live) == 1:
            self.table().overwrite(pa.table({"k": pa.array(keys, pa.int64())}))
            self.live[None] = set(keys)

    def append_that_fails(self) -> None:
        with pytest.raises(InvalidRequestError):
            self.table(self.any_branch()).append(pa.table({"k": ["x"]}))

    def delete(self) -> None:
        branch = self.any_branch()
        if self.live[branch] and len(self.live) == 1:
            key = self.random.choice(sorted(self.live[branch]))
            self.table(branch).delete([("k", "=", key)])
            self.live[branch].discard(key)

    def update(self) -> None:
        if len(self.live) == 1:
            self.table().update({"k": 0}, [("k", "=", -1)])

    def compact(self) -> None:
        self.table().maintenance.compact()

    def rename(self) -> None:
        if len(self.live) == 1:
            other = "nr" if self.name == "id" else "id"
            self.table().alter().rename_column(self.name, other).commit()
            self.name = other
            self.versions.clear()

    def rollback(self) -> None:
        if self.versions and len(self.live) == 1:
            version = self.random.choice(sorted(self.versions))
            self.table().rollback(version)
            self.live[None] = set(self.versions[version])

    def begin_branch(self) -> None:
        if len(self.live) < 3:
            name = f"b{self.keys}"
            if name not in self.table().branches:
                self.table().create_branch(name)
                self.live[name] = set(self.live[None])

    def end_branch(self) -> None:
        branch = self.any_branch()
        if branch is not None:
            merged = self.random.random() < 0.7
            if merged:
                self.table().merge_branch(branch)
                self.live[None] |= self.live[branch]
            self.table().drop_branch(branch)
            gone = self.live.pop(branch)
            if not merged:  # nobody sees its rows any more
                for key in gone.difference(*self.live.values(), *self.versions.values()):
                    del self.numbers[key]

    def sync(self) -> None:
        self.table(self.any_branch()).sync_identity(self.name)

    def check(self) -> None:
        for branch, keys in self.live.items():
            read = self.table(branch).scan([self.name, "k"]).to_arrow()
            found = dict(zip(read["k"].to_pylist(), read[self.name].to_pylist(), strict=True))
            assert set(found) == keys
            for key, number in found.items():
                assert (number - self.start) % self.step == 0
                assert self.numbers.setdefault(key, number) == number
        assert len(set(self.numbers.values())) == len(self.numbers)
        self.versions[self.table().version] = set(self.live[None])


ACTIONS = (
    History.append,
    History.append,
    History.append,
    History.overwrite,
    History.append_that_fails,
    History.delete,
    History.update,
    History.compact,
    History.rename,
    History.rollback,
    History.begin_branch,
    History.begin_branch,
    History.end_branch,
    History.sync,
)


@pytest.mark.parametrize("seed", most_at_night(range(20), range(300)))
def test_no_number_is_given_twice(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, Random(seed))
    for _ in range(STEPS):
        history.random.choice(ACTIONS)(history)
        history.check()
