"""Steps that change both tables of a history in one transaction, some of which die half-way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from faults.store import Fault, FaultyStore, Plan
from versioned_catalog import Catalog, VersionedError
from versioned_catalog.storage.opening import open_store, with_roots

if TYPE_CHECKING:
    from second_reader.histories import History

REFUSED = (VersionedError, pa.ArrowException, IndexError, KeyError)


def transact(history: History) -> None:
    """Change tables in a transaction, which is undone as a whole if the last step is refused."""
    change(history, history.catalog)


def change(history: History, catalog: Catalog) -> None:
    rng = history.rng
    isolation = rng.choice(["snapshot", "snapshot", "serializable"])
    with catalog.transaction("t", "u", isolation=isolation) as transaction:
        for _ in range(rng.randint(1, 3)):
            table = transaction.table(rng.choice("tu"))
            try:
                history.change_rows_or_schema(table)
            except REFUSED:
                if rng.random() < 0.1:
                    raise
        if rng.random() < 0.15:
            transaction.drop_table("u")
            transaction.create_table("u", **history.definition())
        elif rng.random() < 0.2:
            new = transaction.create_table(f"n{rng.randrange(3)}", **history.definition())
            new.append(history.written(new, 2))


def die(history: History) -> None:
    """Let a process die in a transaction: undecided, or decided and not copied everywhere."""
    folders = [Path(history.catalog.load_table(name).location).name for name in "tu"]
    place = history.rng.choice(
        [
            *(f"put {folder}/_versioned/log/" for folder in folders),
            *(f"put {folder}/_versioned/tx/" for folder in folders),
            *["put _versioned/tx/"] * 4,
        ]
    )
    fault = history.rng.choice([Fault.KILL_BEFORE, Fault.KILL_AFTER])
    child = os.fork()
    if child == 0:
        try:
            store = open_store(history.warehouse, with_roots(None, {"lake": history.lake}))
            change(history, Catalog.over(FaultyStore(store, Plan(0, fault, only=place))))
        finally:
            os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        raise IndexError("the transaction was refused, or never came to its place")


STEPS = (*[transact] * 3, *[die] * 4)
