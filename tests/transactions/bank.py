"""Tables of accounts, and what tests of transactions do with them."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa

from faults.store import Fault, FaultyStore, Plan
from versioned_catalog import Catalog, CommitConflictError, StorageError
from versioned_catalog.storage.local import LocalStore

COLUMNS = "id BIGINT NOT NULL, amount BIGINT"
TABLES = ("n.a", "n.b")


def rows(accounts: dict[int, int]) -> pa.Table:
    """Amounts by ID."""
    ids, amounts = list(accounts), list(accounts.values())
    return pa.table({"id": pa.array(ids, pa.int64()), "amount": pa.array(amounts, pa.int64())})


def bank(folder: Path, accounts: dict[int, int] | None = None) -> Catalog:
    """A warehouse with two tables of the same accounts."""
    return bank_at(folder, accounts=accounts)


def bank_at(
    place: str | Path, options: Any = None, *, accounts: dict[int, int] | None = None
) -> Catalog:
    """The same, with storage options."""
    catalog = Catalog(place, options)
    catalog.create_namespace("n")
    for name in TABLES:
        table = catalog.create_table(name, COLUMNS, primary_key=["id"])
        table.upsert(rows(accounts or {1: 10, 2: 20}))
    return catalog


def amounts(catalog: Catalog, name: str) -> dict[int, int]:
    """The amounts of a table by ID."""
    return read(catalog.load_table(name))


def read(table: object) -> dict[int, int]:
    """The amounts of a loaded table by ID."""
    found = table.scan().to_arrow().to_pylist()  # type: ignore[attr-defined]
    return {row["id"]: row["amount"] for row in found}


def move(catalog: Catalog, amount: int = 1) -> None:
    """Move an amount of account 1 from the first table to the second, in one transaction."""
    with catalog.transaction(*TABLES) as transaction:
        first, second = map(transaction.table, TABLES)
        have, other = read(first)[1], read(second)[1]
        first.upsert(rows({1: have - amount}))
        second.upsert(rows({1: other + amount}))


def leave_undecided(folder: Path) -> None:
    """Let a process die that has prepared ``move`` in both tables, and not decided it."""
    child = os.fork()
    if child == 0:
        plan = Plan(0, Fault.KILL_BEFORE, only="put _versioned/tx/")
        move(Catalog.over(FaultyStore(LocalStore(str(folder)), plan)))
        os._exit(0)
    assert os.waitpid(child, 0)[1] != 0


def keep_moving(place: str | Path, options: Any, seed: int, longest_pause: float) -> None:
    """Move amounts until killed; pause after an error, for up to some seconds."""
    draw = random.Random(seed)
    while True:
        try:
            move(Catalog(place, options), draw.randint(-5, 5))
        except (CommitConflictError, StorageError):
            time.sleep(draw.uniform(0, longest_pause))


def add_up_while_killing(
    reader: Callable[[], Catalog],
    start: Callable[[int], BaseProcess],
    draw: random.Random,
    *,
    seconds: float,
    pauses: tuple[float, float],
) -> tuple[int, int]:
    """Let four writers move amounts, and check that account 1 has the same sum in each snapshot.

    Args:
        reader: opens the warehouse.
        start: starts the writer with a number.
        pauses: the shortest and the longest time between two kills, in seconds.

    Returns:
        How many sums were added up, and how many writers were killed.
    """
    children = [start(number) for number in range(4)]
    sums, killed, end = 0, 0, time.monotonic() + seconds
    next_kill = time.monotonic() + pauses[1]
    try:
        while time.monotonic() < end:
            try:
                with reader().transaction(*TABLES) as transaction:
                    found = [read(transaction.table(name)) for name in TABLES]
            except CommitConflictError:
                continue  # others were faster 64 times
            assert sum(accounts[1] for accounts in found) == 20
            sums += 1
            if time.monotonic() > next_kill:
                next_kill = time.monotonic() + draw.uniform(*pauses)
                at = draw.randrange(4)
                children[at].kill()
                children[at].join()
                killed += 1
                children[at] = start(100 + killed)
    finally:
        for child in children:
            child.kill()
            child.join()
    return sums, killed


def check_end(catalog: Catalog) -> None:
    """Check that the sum is what it was, and both logs are sound, after one more transaction."""
    move(catalog, 1)
    assert sum(amounts(catalog, name)[1] for name in TABLES) == 20
    for name in TABLES:
        table = catalog.load_table(name)
        assert table.version > 2
        assert table.maintenance.verify(every_version=True).findings == ()
