"""Interleavings of DELETE, UPDATE, overwrites, appends, ALTERs and rollbacks at each isolation level."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from faults.interrupted import InterruptedStore, Interruption
from faults.rules import skip_rule
from faults.serial import Done, State, findings
from faults.store import Plan
from pairwise import matrix
from versioned_catalog import Catalog, CommitConflictError, Scan, Table
from versioned_catalog.commit.operations import Rewrite
from versioned_catalog.commit.row_rules import reads_unchanged
from versioned_catalog.commit.segment_rules import removed_are_live
from versioned_catalog.storage.local import LocalStore

LEVELS = ["snapshot", "serializable"]
KEYS = 4


COLUMNS = "row INT, k INT, n INT"


def rows(*given: tuple[int, int, int]) -> pa.Table:
    columns = zip(*given, strict=True)
    return pa.table([pa.array(c, pa.int32()) for c in columns], names=["row", "k", "n"])


class Interleaving:
    """Three clients, each of which sees the table as of its last refresh."""

    def __init__(self, random: Random, level: str, table: Table | None = None) -> None:
        self.random = random
        self.numbers = itertools.count()
        self.done: list[Done] = []
        self.refused = 0
        table = table or Catalog.create_path(
            f"memory://{uuid4()}", COLUMNS, properties={"isolation": level}
        )
        self.folder = table.location
        for _ in range(2):
            new_rows = tuple((next(self.numbers), key, 0) for key in range(KEYS))
            self.done.append(
                Done("append", table.version, table.append(rows(*new_rows)), rows=new_rows)
            )
        self.clients = [Catalog.load_path(self.folder) for _ in range(3)]

    def run(self, steps: int) -> None:
        for _ in range(steps):
            client = self.random.choice(self.clients)
            if self.random.random() < 0.4:
                client.refresh()
            what = self.random.choice(
                ["append", "delete", "increment", "increment", "replace", "alter", "rollback"]
            )
            self.act(client, what)

    def act(self, client: Table, what: str) -> None:
        base, commit_id = client.version, str(uuid4())
        key = self.random.randrange(KEYS)
        new_rows = ((next(self.numbers), self.random.randrange(KEYS), 0),)
        to = self.random.randint(max(0, base - 2), base)
        counter = client.schema.column(3).name
        try:
            match what:
                case "append":
                    client.append(rows(*new_rows).rename_columns(["row", "k", counter]))
                case "delete":
                    client.delete([("k", "=", key)], commit_id=commit_id)
                case "increment":
                    assignments = {counter: pc.field(counter) + 1}
                    client.update(assignments, [("k", "=", key)], commit_id=commit_id)
                case "replace":
                    plan = client.transaction().plan_write(
                        rows(*new_rows).rename_columns(["row", "k", counter]).schema
                    )
                    batches = rows(*new_rows).rename_columns(["row", "k", counter]).to_batches()
                    records = plan.write(batches[0].schema, iter(batches), client.store)
                    client.transaction().commit_overwrite_where(plan, records, [("k", "=", key)])
                case "alter":
                    new = "m" if counter == "n" else "n"
                    client.alter().rename_column(counter, new).commit(commit_id=commit_id)
                case "rollback":
                    client.rollback(to, commit_id=commit_id)
        except CommitConflictError:
            self.refused += 1
            return
        version: int | None = client.version
        reporting = ("delete", "increment", "rollback", "alter")
        if what in reporting and client.find_commit(commit_id) is None:
            version = None
        if what in ("rollback", "alter") and version is None:
            return
        added = new_rows if what in ("append", "replace") else ()
        self.done.append(Done(what, base, version, key, added, to))

    @cached_property
    def states(self) -> list[State]:
        """The rows of the table at each version, by column ID."""
        table = Catalog.load_path(self.folder)
        found = []
        for _, state in table.log.walk(table.version):
            scan = Scan(table.store, state, state.schema.columns)
            shown = pa.Table.from_batches(scan.to_batches(), scan.schema).to_pydict()
            found.append(tuple(zip(*shown.values(), strict=True)))
        return found

    def findings(self, level: str) -> list[str]:
        return findings(self.done, self.states, serializable=level == "serializable")


@pytest.mark.nightly
@pytest.mark.parametrize("level", LEVELS)
def test_random_interleavings(level: str) -> None:
    """100 interleavings under each isolation level."""
    counts: dict[str, int] = {"refused": 0, "skewed": 0}
    for seed in range(100):
        race = Interleaving(Random(seed), level)
        race.run(10)
        assert race.findings(level) == [], seed
        counts["refused"] += race.refused
        counts["skewed"] += bool(race.findings("serializable"))
        assert {d.version for d in race.done} - {None} >= set(range(1, len(race.states)))
    assert counts["refused"] > 50, "too few conflicts to test anything"
    assert (counts["skewed"] > 0) is (level == "snapshot"), (
        "only snapshot isolation allows write skew"
    )


def problems(level: str) -> Iterator[str]:
    """What is wrong with 20 histories, found when it is asked for."""
    for seed in range(20):
        race = Interleaving(Random(seed), level)
        race.run(10)
        yield from race.findings(level)


@pytest.mark.thorough
def test_the_checker_finds_real_lost_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check for removed segments, both of two concurrent increments are committed."""

    skip_rule(monkeypatch, Rewrite, removed_are_live)
    assert any("a lost update" in text for text in problems("snapshot"))


@pytest.mark.thorough
def test_the_checker_finds_real_write_skew(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_rule(monkeypatch, Rewrite, reads_unchanged)
    first = next(problems("serializable"))
    assert "write skew" in first


def test_the_checker_rejects_planted_faults() -> None:
    start: State = ((0, 1, 0), (1, 2, 0))
    one = Done("increment", 0, 1, key=1)
    two = Done("increment", 0, 2, key=1)
    once: State = ((0, 1, 1), (1, 2, 0))
    twice: State = ((0, 1, 2), (1, 2, 0))
    after_one = Done("increment", 1, 2, key=1)
    assert findings([one, after_one], [start, once, twice], serializable=True) == []
    assert findings([one, two], [start, once, once], serializable=False), "a lost update"
    more: State = (*start, (2, 1, 0))
    came = Done("append", 0, 1, rows=((2, 1, 0),))
    gone = Done("delete", 0, 2, key=1)
    left: State = ((1, 2, 0), (2, 1, 0))
    assert findings([came, gone], [start, more, left], serializable=False) == []
    (skew,) = findings([came, gone], [start, more, left], serializable=True)
    assert "write skew" in skew
    assert findings([came, gone], [start, more, start], serializable=False), "deleted rows return"
    assert findings([Done("delete", 0, None, key=1)], [start], serializable=False)
    assert findings([one, one], [start, once], serializable=False), "a version is given twice"
    back = Done("rollback", 0, 2, to=0)
    assert findings([came, back], [start, more, start], serializable=False), "an unread change"


# Forced: another writer commits between the last read of the log and the put.

ACTS: dict[str, Callable[[Table], Any]] = {
    "append": lambda t: t.append(rows((9, 1, 0))),
    "delete": lambda t: t.delete([("k", "=", 1)]),
    "update": lambda t: t.update({"n": pc.field("n") + 1}, [("k", "=", 1)]),
    "overwrite": lambda t: t.overwrite_where(rows((8, 1, 0)), [("k", "=", 1)]),
    "whole": lambda t: t.transaction().delete_whole([("k", ">", 2)]),
    "alter": lambda t: t.alter().rename_column("n", "m").commit(),
    "rollback": lambda t: t.rollback(1),
    "tag": lambda t: t.set_tag(f"x{uuid4()}", 0),
}
REWRITES = {"delete", "update", "overwrite"}


def lands(mine: str, theirs: str, level: str) -> bool:
    """The outcome by FORMAT.md, section 11; all but "whole" and "alter" affect rows of key 1."""
    if theirs == "tag" or mine == "tag":
        return True
    if mine == "rollback":
        return False
    if theirs == "rollback":  # it removes the segment of 3, and restores none
        return mine != "whole"
    if mine in REWRITES:
        return theirs not in REWRITES and not (theirs == "append" and level == "serializable")
    return mine != "whole" or theirs != "whole"


INTERLEAVINGS = [(mine, theirs, level) for mine in ACTS for theirs in ACTS for level in LEVELS]


@pytest.mark.parametrize("mine, theirs, level", matrix(INTERLEAVINGS, "{} - {} - {}".format))
def test_forced_interleavings(mine: str, theirs: str, level: str, tmp_path: Any) -> None:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", "row INT, k INT, n INT", properties={"isolation": level})
    table.append(rows((0, 1, 0), (1, 2, 0)))
    table.append(rows((2, 3, 0)))
    what = Interruption(
        "put n/t/_versioned/log/N.json",
        before=lambda: ACTS[theirs](Catalog(tmp_path).load_table("n.t")),
    )
    mixed = Catalog.over(InterruptedStore(LocalStore(str(tmp_path)), Plan(), what)).load_table(
        "n.t"
    )
    base = mixed.state
    if lands(mine, theirs, level):
        ACTS[mine](mixed)
    else:
        with pytest.raises(CommitConflictError, match=r"n\.t|a concurrent commit changed"):
            ACTS[mine](mixed)
    assert what.happened
    assert base.version == 2
    log = Catalog(tmp_path).load_table("n.t").inspect.history()["operation"].to_pylist()
    again = mine == theirs == "alter"  # the column has that name already
    assert len(log) == (5 if lands(mine, theirs, level) and not again else 4)


@pytest.mark.thorough
@pytest.mark.parametrize("level", LEVELS)
def test_concurrent_increments_of_threads_add_up(level: str) -> None:
    """Each thread retries after a conflict: no increment is lost."""
    folder = f"memory://{uuid4()}"
    Catalog.create_path(folder, "row INT, k INT, n INT", properties={"isolation": level}).append(
        rows((0, 1, 0), (1, 2, 0))
    )

    def work() -> None:
        table, left = Catalog.load_path(folder), 8
        while left:
            try:
                table.update({"n": pc.field("n") + 1}, [("k", "=", 1)])
                left -= 1
            except CommitConflictError:
                table.refresh()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = Catalog.load_path(folder).scan().to_arrow().to_pylist()
    assert found == [{"row": 0, "k": 1, "n": 32}, {"row": 1, "k": 2, "n": 0}]
