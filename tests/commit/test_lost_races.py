"""A writer that loses many races reads each entry of the winners once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

import pyarrow as pa
import pytest

from faults.store import FaultyStore, Plan
from versioned_catalog import Catalog, Table
from versioned_catalog.log import seen_entries
from versioned_catalog.log.commit_log import table_log
from versioned_catalog.storage.memory import MemoryStore
from versioned_catalog.storage.store import Put, Store

BEHIND = 300
"""Commits since the base of the writer, more than it once remembered."""


class Overtaken(FaultyStore):
    """A store in which somebody else commits right before each of the first puts of an entry."""

    def __init__(self, inner: Store, plan: Plan, others: list[Callable[[], object]]) -> None:
        super().__init__(inner, plan)
        self._others = others

    def put_if_absent(self, path: str, data: bytes, dated: datetime | None = None) -> Put:
        if self._others:
            self._others.pop()()
        return super().put_if_absent(path, data, dated)


def reads_before_puts(losses: int) -> list[int]:
    """The reads of entries before each put of a writer that loses some races."""
    place = f"memory://races/{uuid4().hex}"
    other = Catalog.create_path(place, "id LONG", properties={"auto_maintain": "off"})
    plan = Plan()

    def commit() -> None:
        other.alter().set_comment("id", str(other.version)).commit()

    store = Overtaken(MemoryStore(place.removeprefix("memory:/")), plan, [commit] * losses)
    log = table_log(store)
    writer = Table(log, log.load(), "t")
    rows = pa.table({"id": [1]})
    transaction = writer.transaction()
    planned = transaction.plan_write(rows.schema)
    records = planned.write(rows.schema, rows.to_batches(), writer.store)
    for _ in range(BEHIND):
        commit()
    plan.calls.clear()
    transaction.commit_append(planned, records)
    counts, reads = [], 0
    for call in plan.calls:
        if call.startswith("put"):
            counts.append(reads)
            reads = 0
        reads += call.startswith("read _versioned/log")
    return counts


def test_entries_of_winners_are_read_once() -> None:
    # It finds out that it is behind at its first put. After that, all that is new is the entry that wins
    # the next race, and that there is no other.
    first, behind, *later = reads_before_puts(losses=3)
    assert first == 0
    assert behind >= BEHIND
    assert all(reads <= 3 for reads in later)
    assert len(later) == 2


def test_the_memory_for_entries_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of the entries since the base, some are forgotten, and read again.
    monkeypatch.setattr(seen_entries, "MOST_BYTES", 10_000)
    _, _, *later = reads_before_puts(losses=2)
    assert min(later) > BEHIND
