"""A write, planned once and carried out anywhere: bind, write segments, tell what was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from versioned_catalog.conflicts.incarnation import evolution_of, first_evolution
from versioned_catalog.conflicts.operations import Base, Create
from versioned_catalog.datafile.open_segment import WriteSpec
from versioned_catalog.datafile.writer import target_bytes, write_segments
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.bind import plan as plan_changes
from versioned_catalog.evolution.evolution import BoundChange
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.write.delta_rows import DeltaBinder
from versioned_catalog.write.row_schema import Binder, merging_changes


@dataclass(frozen=True)
class WritePlan:
    """All that a writer of rows must know; it travels to executors.

    Args:
        location: the table's folder.
        table: the table, for errors.
        base: the snapshot that the write was planned on; None for a table in the making.
        changes: columns that the write brings along.
        spec: how segments are written.
        now: what ``current_timestamp`` is in this write.
    """

    location: Location
    table: str
    base: Base | None
    changes: tuple[BoundChange, ...]
    spec: WriteSpec
    now: datetime

    @property
    def based_on(self) -> Base:
        """The base of a plan for a table that exists."""
        assert self.base is not None, "the rows of a new table are committed by its creation"
        return self.base

    def write(
        self,
        arrow: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        store: Store | None = None,
        scratch: str | None = None,
    ) -> list[SegmentRecord]:
        """Write rows as segments that no snapshot holds yet.

        Args:
            arrow: the schema of the batches.
            batches: the rows.
            store: the table's folder, where it is open already.
            scratch: a folder of the local disk for rows that do not fit in memory; None for Python's
                own.

        Raises:
            InvalidRequestError: the rows do not fit the table.
        """
        kind = DeltaBinder if self.spec.ops else Binder
        binder = kind(arrow, self.spec.schema, self.table, self.now)
        bound = (binder.bind(batch) for batch in batches)
        return write_segments(store or reopen(self.location), self.spec, bound, scratch)


def plan_write(
    store: Store,
    state: TableState,
    table: str,
    arrow: pa.Schema,
    *,
    merge_schema: bool,
    partial: bool = False,
) -> WritePlan:
    """Plan a write on a snapshot.

    Args:
        store: the table's folder.
        state: the snapshot.
        table: the table, for errors.
        arrow: the schema of what is written.
        merge_schema: add the columns that the table does not have, and widen types.
        partial: columns that are left out keep their value.

    Raises:
        InvalidRequestError: the rows can't fit the table.
    """
    if partial:
        check_keyed(state.schema, table)
    changes: tuple[BoundChange, ...] = ()
    schema: Schema = state.schema
    if merge_schema:
        requests = merging_changes(arrow, schema)
        if requests:
            changes, after = plan_changes(
                requests, evolution_of(state), state.schemas.newest.version + 1
            )
            schema = after.schema
    spec = WriteSpec(
        state.table_uuid,
        state.version,
        schema,
        target_bytes(state.properties),
        patch=assigned(arrow, schema) if partial else None,
    )
    now = datetime.now(UTC)
    plan = WritePlan(store.location, table, Base.of(state), changes, spec, now)
    Binder(arrow, schema, table, now)  # refuse before anything is written
    return plan


def assigned(arrow: pa.Schema, schema: Schema) -> tuple[int, ...]:
    """The IDs of the columns that partial upserts with a schema assign."""
    given = {name_key(name) for name in arrow.names}
    return tuple(
        column.id
        for column in schema.columns
        if name_key(column.name) in given and column.id not in schema.row_key
    )


def check_keyed(schema: Schema, table: str) -> None:
    """Refuse what only a table with a primary key can do.

    Raises:
        InvalidRequestError: it has none.
    """
    if not schema.is_keyed:
        raise InvalidRequestError(
            f"{table} has no primary key, so that no row can take the place of another; append() the "
            "rows, or make a table with primary_key and write them to it"
        )


def plan_delta(store: Store, state: TableState, table: str) -> WritePlan:
    """Plan the writing of rows and tombstones, as a DELETE, UPDATE or MERGE makes them.

    What is written then are the table's columns, all of them nullable, and after them ``__op_type``:
    0 PUT, 1 DELETE; of a DELETE only the row key counts.

    Args:
        store: the table's folder.
        state: the snapshot that was read.
        table: the table, for errors.
    """
    check_keyed(state.schema, table)
    plan = plan_now(store, state, table)
    return replace(plan, spec=replace(plan.spec, ops=True))


def plan_now(store: Store, state: TableState, table: str) -> WritePlan:
    """Plan a write on a snapshot whose rows somebody else makes fit.

    Args:
        store: the table's folder.
        state: the snapshot.
        table: the table, for errors.
    """
    size = target_bytes(state.properties)
    spec = WriteSpec(state.table_uuid, state.version, state.schema, size)
    return WritePlan(store.location, table, Base.of(state), (), spec, datetime.now(UTC))


def plan_create(
    store: Store, operation: Create, state: TableState | None, table: str, arrow: pa.Schema | None
) -> WritePlan:
    """Plan the first rows of a table in the making.

    Args:
        store: the folder where it will be.
        operation: what makes it.
        state: what the log there adds up to: nothing, or a table that was dropped or is replaced.
        table: the table, for errors.
        arrow: the schema of what is written, where that is known.
    """
    evolution = first_evolution(operation, state)
    base_version = -1 if state is None else state.version
    size = target_bytes(evolution.properties)
    spec = WriteSpec(operation.table_uuid, base_version, evolution.schema, size)
    now = datetime.now(UTC)
    if arrow is not None:
        Binder(arrow, evolution.schema, table, now)  # refuse before anything is written
    return WritePlan(store.location, table, None, (), spec, now)


def batches_of(data: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema and the batches of whatever can be written.

    Args:
        data: a pyarrow Table, RecordBatch, or RecordBatchReader (or what exports one).

    Raises:
        InvalidRequestError: it is none of them.
    """
    match data:
        case pa.Table():
            return data.schema, iter(data.to_batches())
        case pa.RecordBatch():
            return data.schema, iter([data])
        case pa.RecordBatchReader():
            return data.schema, iter(data)
        case _ if hasattr(data, "__arrow_c_stream__"):
            reader = pa.RecordBatchReader.from_stream(data)
            return reader.schema, iter(reader)
        case _:
            raise InvalidRequestError(
                f"{type(data).__name__} can't be written; give a pyarrow Table, RecordBatch or "
                "RecordBatchReader"
            )
