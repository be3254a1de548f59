"""The law of changes for tables without a key whose rows occur many times, beside multisets."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from histories.seeded import first_seed
from versioned_catalog import Catalog, Table
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.offsets import Limits, Offset, Settings

Rows = Counter[tuple[int, str]]

SHORT, THOROUGH, NIGHTLY = 1, 8, 600

STEPS = (
    ["append"] * 3
    + ["delete", "update", "overwrite", "partition"]
    + ["compact"] * 3
    + ["roll back"] * 3
)


def told(changes: Changes | pa.Table) -> dict[int, tuple[Rows, Rows]]:
    """The deletes and inserts of each version."""
    found: dict[int, tuple[Rows, Rows]] = {}
    arrow = changes if isinstance(changes, pa.Table) else changes.to_arrow()
    for row in arrow.to_pylist():
        deletes, inserts = found.setdefault(row["_commit_version"], (Counter(), Counter()))
        assert row["_change_type"] in ("delete", "insert")
        (deletes if row["_change_type"] == "delete" else inserts)[row["a"], row["b"]] += 1
    return found


class History:
    """One table and what each of its versions shows; a row is one of four."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"repeated/{seed}")
        catalog = Catalog(f"memory://{uuid4()}")
        partitioning = self.random.choice([[], ["a"], ["b"]])
        self.table: Table = catalog.create_table(
            *("t", "a BIGINT, b STRING"),
            partitioned_by=partitioning,
            properties={"auto_maintain": "off"},
        )
        self.past: list[Rows] = [Counter()]
        self.stream = self.table.change_stream(Settings(starting_version=0))
        self.at: Offset = self.stream.initial()

    def arrow(self) -> tuple[pa.Table, Rows]:
        rows = [
            (self.random.randrange(2), self.random.choice("xy"))
            for _ in range(self.random.randrange(1, 5))
        ]
        columns = {"a": pa.array([a for a, _ in rows], pa.int64()), "b": [b for _, b in rows]}
        return pa.table(columns), Counter(rows)

    def step(self) -> None:
        now, a = self.past[-1], self.random.randrange(2)
        match self.random.choice(STEPS):
            case "append":
                data, rows = self.arrow()
                self.table.append(data)
                after = now + rows
            case "delete":
                b = self.random.choice("xy")
                self.table.delete([("a", "=", a), ("b", "=", b)])
                after = Counter({row: count for row, count in now.items() if row != (a, b)})
            case "update":
                self.table.update({"b": "x"}, [("a", "=", a)])
                after = Counter()
                for (one, text), count in now.items():
                    after[one, "x" if one == a else text] += count
            case "overwrite":
                data, after = self.arrow()
                self.table.overwrite(data)
            case "partition":
                fields = self.random.choice([[], ["a"], ["b"], ["bucket(2, a)"]])
                if self.table.partitioning != fields:
                    self.table.alter().set_partitioning(fields).commit()
                after = now
            case "compact":
                self.table.maintenance.compact(strategy=self.random.choice(["full", "small"]))
                after = now
            case _:
                version = self.random.randrange(len(self.past))
                self.table.rollback(version)
                after = self.past[version]
        while len(self.past) <= self.table.version:  # a compaction may be several commits
            self.past.append(now)
        self.past[-1] = after if self.past[-1] is now else self.past[-1]

    def check(self) -> None:
        """The changes of each commit of some range."""
        end = self.random.randrange(1, len(self.past)) if len(self.past) > 1 else 0
        start = self.random.randrange(end + 1)
        self.compare(told(self.table.changes(start, end)), start, end)

    def check_net(self) -> None:
        """The net changes of all ranges up to the newest version."""
        end = len(self.past) - 1
        for start in range(end + 1):
            net = told(self.table.changes(start, end, net=True))
            before = self.past[start - 1] if start else Counter()
            expected = self.difference(before, self.past[end])
            assert net.pop(end, (Counter(), Counter())) == expected, (start, end)
            assert not net

    def read_on(self) -> None:
        limits = Limits(segments=self.random.choice([None, 1, 3]))
        end = self.stream.latest(self.at, limits)
        self.compare(told(self.stream.read(self.at, end)), self.at.version, end.version - 1)
        self.at = end

    def compare(self, each: dict[int, Any], start: int, end: int) -> None:
        for version in range(start, end + 1):
            before = self.past[version - 1] if version else Counter()
            found = each.pop(version, (Counter(), Counter()))
            assert found == self.difference(before, self.past[version]), (start, version, end)
        assert not each

    @staticmethod
    def difference(before: Rows, after: Rows) -> tuple[Rows, Rows]:
        return before - after, after - before


def run(seed: int, steps: int = 10) -> None:
    history = History(seed)
    try:
        for _ in range(steps):
            history.step()
            history.check()
            if history.random.random() < 0.5:
                history.read_on()
        history.check_net()
    except BaseException as error:
        raise AssertionError(f"VERSIONED_SEED={seed}: {error!r}") from error


def test_a_few_histories() -> None:
    for seed in range(SHORT):
        run(seed)


@pytest.mark.thorough
def test_some_histories() -> None:
    for seed in range(SHORT, THOROUGH):
        run(seed, steps=16)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(NIGHTLY // 50))
def test_many_histories(block: int) -> None:
    for seed in range(50):
        run(first_seed() + 1000 + 50 * block + seed, steps=16)
