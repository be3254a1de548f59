"""Tables of accounts, and what tests of transactions do with them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from faults.store import Fault, FaultyStore, Plan
from versioned_catalog import Catalog
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
