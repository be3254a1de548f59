"""Writes that are replanned after a change of schema, or committed exactly once.

The log holds the last batch of each application (FORMAT.md, section 5, ``batch``), as Delta's
transactions of applications do.

The segments of a write that adds columns name column IDs, and a schema version, that another commit
may have taken meanwhile. If the table is live, the write is replanned on the newest state from the
columns of its input. Its segments are committed unchanged if the schema is now the planned one, because
the other commit added the same columns. Otherwise they are written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa

from versioned_catalog.commit.operations import Base
from versioned_catalog.commit.schema_rules import SchemaConflictError
from versioned_catalog.commit.segment_rules import is_done
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
)
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.arrow import from_arrow_type, scalar_of
from versioned_catalog.model.keys import duration_of
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import Column, DataType, Struct, children, with_children
from versioned_catalog.read.metadata_columns import DELETE, INSERT
from versioned_catalog.read.planning import record_task
from versioned_catalog.read.tasks import read_segment
from versioned_catalog.storage.store import Store
from versioned_catalog.write.delta_rows import row_fields
from versioned_catalog.write.plan import WritePlan, plan_write
from versioned_catalog.write.row_schema import is_live

BatchLike = Batch | tuple[str, int]
"""A batch as users give it: the application's name, and a number that grows from batch to batch."""

MOST = 2**63 - 1
"""The greatest number of a batch."""


APPLICATION_RETENTION = "application_retention"
"""The property that says after how long ``expire`` forgets an application that writes no batches."""

DEFAULT_APPLICATION_RETENTION = timedelta(days=30)


def application_retention(properties: Mapping[str, str]) -> timedelta:
    """For how long the last batch of an application is known.

    Raises:
        InvalidRequestError: the property is not a duration.
    """
    retention = duration_of(properties, APPLICATION_RETENTION, "use a shorter one")
    return DEFAULT_APPLICATION_RETENTION if retention is None else retention


def batch_of(value: BatchLike | None, table: str) -> Batch | None:
    """The batch that a user names.

    Raises:
        InvalidRequestError: the application has no name, or the number is negative or too large.
    """
    if value is None:
        return None
    batch = value if isinstance(value, Batch) else Batch(*value)
    if not batch.application or not 0 <= batch.id <= MOST:
        raise InvalidRequestError(
            f"{table}: a batch is the name of an application and a number from 0 on, got "
            f"{(batch.application, batch.id)!r}",
            condition="INVALID_OPTION",
        )
    return batch


def once(handle: TableHandle, batch: Batch | None, write: Callable[[], int]) -> int:
    """Write a batch, unless it was committed already.

    Args:
        write: writes and commits the batch.

    Returns:
        The version of the commit; the newest version if the batch was committed already.
    """
    if batch is None:
        return write()
    # Uses the commit's own rule, so that rows of a committed batch are not written again.
    loaded = handle.log.advance(handle.loaded)
    if loaded.state is not None and is_done(loaded.state, batch):
        handle.loaded = loaded
        return loaded.version
    try:
        return write()
    except AlreadyExistsError:
        if not is_done(handle.refresh().state, batch):
            raise
        return handle.state.version


MOST_ATTEMPTS = 32
"""Attempts to commit a write, at most, while other writers keep changing the schema."""

Commit = Callable[[WritePlan, Sequence[SegmentRecord]], int]


def commit_replanned(
    handle: TableHandle, plan: WritePlan, records: Sequence[SegmentRecord], commit: Commit
) -> int:
    """Commit a write; replan it while others change the schema of a live table.

    Args:
        commit: commits segments with their plan.

    Raises:
        CommitConflictError: the table is not live, or the rows do not fit what it became.
    """
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return commit(plan, records)
        except SchemaConflictError:
            if plan.input_schema is None or not is_live(handle.refresh().state.properties):
                raise
            plan, records = _replan(handle, plan, plan.input_schema, records)
    return commit(plan, records)


def _replan(
    handle: TableHandle, old: WritePlan, arrow: pa.Schema, records: Sequence[SegmentRecord]
) -> tuple[WritePlan, Sequence[SegmentRecord]]:
    """The plan of a write on the newest state, and its segments under that plan."""
    state, partial = handle.state, old.spec.patch is not None
    try:
        new = plan_write(
            handle.store,
            state,
            handle.name,
            arrow,
            merge_schema=True,
            partial=partial,
            change_column=old.change_column,
        )
    except InvalidRequestError as error:
        raise CommitConflictError(
            f"{handle.name}: the schema changed since version {old.based_on.version}, on which this "
            f"write was planned, and its rows no longer fit: {error}. Nothing was written"
        ) from error
    # The version of the first plan still decides what the write replaces and conflicts with.
    base = replace(old.based_on, replanned=Base.of(state))
    new = replace(new, base=base, now=old.now, input_schema=arrow)
    if new.spec.schema == old.spec.schema and new.spec.patch == old.spec.patch:
        return new, records
    if old.change_column is None:
        rows = (batch for record in records for batch in _rows(handle.store, old, arrow, record))
        return new, new.write(arrow, rows, handle.store)
    typed, changes = _changes(handle.store, old, old.change_column, arrow, records)
    return new, new.write(typed, changes, handle.store)


def _changes(
    store: Store,
    plan: WritePlan,
    change_column: str,
    arrow: pa.Schema,
    records: Sequence[SegmentRecord],
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The rows and tombstones of written segments, as changes."""
    columns = row_fields(arrow, change_column)
    typed = columns.append(pa.field(change_column, pa.string()))

    def changes() -> Iterator[pa.RecordBatch]:
        for record in records:
            type_ = scalar_of(DELETE if record.delta.deletes_only else INSERT, pa.string())
            for batch in _rows(store, plan, columns, record):
                types = pa.repeat(type_, batch.num_rows)
                yield pa.RecordBatch.from_arrays([*batch.columns, types], schema=typed)

    return typed, changes()


def _rows(
    store: Store, plan: WritePlan, arrow: pa.Schema, record: SegmentRecord
) -> Iterator[pa.RecordBatch]:
    """The rows of a written segment, in the columns and types of the input."""
    schema, total = plan.spec.schema, 0
    by_name = {name_key(column.name): column for column in schema.columns}
    stored = [field for field in arrow if name_key(field.name) in by_name]  # others are untyped
    wanted = [_as_input(by_name[name_key(field.name)], field) for field in stored]
    task = record_task(plan.spec.table_uuid, schema, record, wanted)
    for batch in read_segment(store, task):
        total += batch.num_rows
        arrays = dict(zip([field.name for field in stored], batch.columns, strict=True))
        yield pa.RecordBatch.from_arrays(
            [
                _narrowed(arrays[field.name], field.type)
                if field.name in arrays
                else pa.nulls(batch.num_rows)
                for field in arrow
            ],
            schema=arrow,
        )
    if total != record.rows:
        raise CorruptTableError(
            f"{store.url}/{record.path}: {total} rows were read, and {record.rows} were written; "
            "nothing was committed"
        )


def _as_input(column: Column, field: pa.Field) -> Column:
    """A column of the table with the name and the nested fields of the input."""
    if pa.types.is_null(field.type):
        return replace(column, name=field.name)
    return _shaped(column, field.name, from_arrow_type(field.type))


def _shaped(column: Column, name: str, input_type: DataType) -> Column:
    if type(input_type) is not type(column.type) or not children(input_type):
        return replace(column, name=name)
    below = children(column.type)
    if isinstance(input_type, Struct):
        by_name = {name_key(child.name): child for child in below}
        below = tuple(by_name[name_key(child.name)] for child in children(input_type))
    shaped = tuple(
        _shaped(child, input_child.name, input_child.type)
        for child, input_child in zip(below, children(input_type), strict=True)
    )
    return replace(column, name=name, type=with_children(column.type, shaped))


def _narrowed(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Values in their input type, before they were widened to their column's."""
    if pa.types.is_null(type_):
        return pa.nulls(len(array))
    return array if array.type.equals(type_) else array.cast(type_)
