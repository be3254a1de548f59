"""The changes of a range of versions, tags or times, as a user reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import NotFoundError
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import moment
from versioned_catalog.model.types import Column
from versioned_catalog.observe.tracing import carried
from versioned_catalog.read.arrow_stream import capsule_of
from versioned_catalog.read.metadata_columns import feed_schema
from versioned_catalog.read.tasks import PREFETCH_SEGMENTS, read_ahead
from versioned_catalog.storage.store import Store
from versioned_catalog.stream.change_history import LogHistory, check_range
from versioned_catalog.stream.change_planner import Request, change_columns, plan_changes
from versioned_catalog.stream.change_reading import read_changes
from versioned_catalog.stream.change_tasks import Plan, WholeTask


@dataclass(frozen=True)
class Changes:
    """The changes of a range of versions, which never change. See ``Table.changes``.

    >>> table = catalog.create_table("t", "id BIGINT, n BIGINT", primary_key=["id"])
    >>> table.append(pa.table({"id": [1, 2], "n": [10, 20]}))
    1
    >>> table.append(pa.table({"id": [2], "n": [21]}))
    2
    >>> for row in table.changes(2).to_arrow().to_pylist():
    ...     print(row["id"], row["n"], row["_change_type"], row["_commit_version"])
    2 20 update_preimage 2
    2 21 update_postimage 2

    Args:
        store: the table's folder.
        plan: how the changes are computed.
    """

    store: Store = field(repr=False)
    plan: Plan = field(repr=False)

    @property
    def start(self) -> int:
        """The first version."""
        return self.plan.start

    @property
    def end(self) -> int:
        """The last version."""
        return self.plan.end

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema: the columns of the table, then those of the feed."""
        return feed_schema(self.plan.columns)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the changes in batches. The order within the range is not defined.

        Raises:
            CorruptTableError: a segment is missing or not the one that the log records.
            InvalidRequestError: a value does not fit the type in which it is returned.
            StorageError: the local disk is full, or fails.
        """
        for whole, tasks in groupby(self.plan.tasks, lambda task: isinstance(task, WholeTask)):
            threads = PREFETCH_SEGMENTS if whole and self.store.is_remote else 0
            for batch in read_ahead(self.store, tasks, threads, read_changes):
                if batch.num_rows:
                    yield batch

    def to_arrow(self) -> pa.Table:
        """Read the changes to an Arrow table."""
        tasks = self.plan.tasks
        if len(tasks) < 2 or not all(isinstance(task, WholeTask) for task in tasks):
            return pa.Table.from_batches(self.to_batches(), schema=self.schema)
        threads = PREFETCH_SEGMENTS if self.store.is_remote else os.cpu_count() or 1
        with ThreadPoolExecutor(min(len(tasks), threads)) as pool:
            read = carried(lambda task: list(read_changes(self.store, task)))
            results = list(pool.map(read, tasks))
        return pa.Table.from_batches(chain.from_iterable(results), schema=self.schema)

    def head(self, limit: int) -> pa.Table:
        """At most ``limit`` of the changes; reads no more than it needs."""
        taken, left = [], limit
        batches = self.to_batches() if limit else iter(())
        for batch in batches:
            taken.append(batch.slice(0, left))
            left -= taken[-1].num_rows
            if not left:
                break
        return pa.Table.from_batches(taken, schema=self.schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the changes as an Arrow stream, in bounded memory: see Arrow's PyCapsule interface."""
        batches = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return capsule_of(batches, requested_schema)


Point = int | str | datetime
"""A version, the name of a tag, or a time (UTC if it has no offset)."""


def table_changes(
    handle: TableHandle, start: Point, end: Point | None, request: Request
) -> Changes:
    """The changes that the commits from ``start`` to ``end`` made. See ``Table.changes``."""
    last, first = state_at(handle, end), first_version_from(handle, start)
    if first > last.version and _is_without_commits(start, end, first, last):
        first = last.version + 1
    else:
        check_range(handle.state, last, first, handle.name)
    return _changes(handle, first, last, request)


def _is_without_commits(start: Point, end: Point | None, first: int, last: TableState) -> bool:
    """Whether a range without versions is valid: it does not end before it starts."""
    if isinstance(start, datetime) and isinstance(end, datetime):
        return _utc(start) <= _utc(end)
    is_next = first == last.version + 1
    return is_next and (isinstance(start, datetime) or isinstance(end, datetime) or end is None)


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def changes_between(handle: TableHandle, start: int, end: int, request: Request) -> Changes:
    """``table_changes`` by versions; no changes if ``start`` is one above ``end``."""
    return _changes(handle, start, handle.at(end), request)


def columns_between(handle: TableHandle, start: int, end: int) -> tuple[Column, ...]:
    """The columns of the table in the changes of a range. Raises as ``changes_between``."""
    last = handle.at(end)
    _check(handle, start, last)
    return change_columns(last, Request(), handle.name)


def _check(handle: TableHandle, first: int, last: TableState) -> None:
    if first != last.version + 1:
        check_range(handle.state, last, first, handle.name)


def _changes(handle: TableHandle, first: int, last: TableState, request: Request) -> Changes:
    _check(handle, first, last)
    history = LogHistory(handle.log, handle.name)
    plan = plan_changes(handle.store, history, last, first, request, handle.name)
    return Changes(handle.store, plan)


def state_at(handle: TableHandle, end: Point | None) -> TableState:
    """The state after a version or tag, or at a time; by default the newest."""
    return handle.at(timestamp=end) if isinstance(end, datetime) else handle.at(end)


def first_version_from(handle: TableHandle, start: Point) -> int:
    """The version or that of a tag, or the first one that was committed at a time or later."""
    if isinstance(start, datetime):
        try:
            return handle.version_at(moment(start, "the start") - timedelta(microseconds=1)) + 1
        except (NotFoundError, OverflowError):
            return handle.state.created_version  # before the table was created
    return handle.version_of(start)
