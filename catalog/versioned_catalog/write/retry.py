"""Writes that are planned again after a change of schema, or repeated until they happened once.

The log holds the last batch of each application (FORMAT.md, section 5, ``batch``), as Delta's
transactions of applications do.

The segments of a write that adds columns name column IDs, and a schema version, that another commit may
have got meanwhile. If the table is live, the write is planned again on the newest state from the columns
that its rows had when they were given. Its segments are committed as they are if the schema is now
the planned one, because the other commit added the same columns. Otherwise they are written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from versioned_catalog.commit.handle import TableHandle
from versioned_catalog.commit.operations import Base
from versioned_catalog.commit.schema import SchemaConflictError
from versioned_catalog.commit.segments import is_done
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CorruptTableError,
    InvalidRequestError,
)
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.arrow import from_arrow_type, scalar_of
from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import Column, DataType, Struct, children, with_children
from versioned_catalog.read.columns import DELETE, INSERT
from versioned_catalog.read.planning import record_task
from versioned_catalog.read.reader import read_segment
from versioned_catalog.storage.store import Store
from versioned_catalog.write.delta_rows import row_fields
from versioned_catalog.write.plan import WritePlan, plan_write
from versioned_catalog.write.row_schema import is_live

BatchLike = Batch | tuple[str, int]
"""A batch as users give it: the application's name, and a number that grows from batch to batch."""

MOST = 2**63 - 1
"""The greatest number of a batch."""


def batch_of(given: BatchLike | None, table: str) -> Batch | None:
    """The batch that a user names.

    Raises:
        InvalidRequestError: the application has no name, or the number is negative or too large.
    """
    if given is None:
        return None
    batch = given if isinstance(given, Batch) else Batch(*given)
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
        The version of the commit; if there is nothing left to do, the newest version.
    """
    if batch is None:
        return write()
    # By the function of the rule, so that rows which are there already are not written again.
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
"""How often a write is committed while other writers keep changing the schema."""

Commit = Callable[[WritePlan, Sequence[SegmentRecord]], int]


def commit_replanned(
    handle: TableHandle, plan: WritePlan, records: Sequence[SegmentRecord], commit: Commit
) -> int:
    """Commit a write, planned again for as long as others change the schema of a live table.

    Args:
        commit: commits segments with their plan.

    Raises:
        CommitConflictError: the table is not live, or the rows do not fit what it became.
    """
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return commit(plan, records)
        except SchemaConflictError:
            if plan.given is None or not is_live(handle.refresh().state.properties):
                raise
            plan, records = _again(handle, plan, plan.given, records)
    return commit(plan, records)


def _again(
    handle: TableHandle, old: WritePlan, given: pa.Schema, records: Sequence[SegmentRecord]
) -> tuple[WritePlan, Sequence[SegmentRecord]]:
    """The plan of a write on the newest state, and its segments under that plan."""
    state, partial = handle.state, old.spec.patch is not None
    try:
        new = plan_write(
            handle.store,
            state,
            handle.name,
            given,
            merge_schema=True,
            partial=partial,
            change_column=old.change_column,
        )
    except InvalidRequestError as error:
        raise CommitConflictError(
            f"{handle.name}: the schema changed since version {old.based_on.version}, on which this "
            f"write was planned, and its rows no longer fit: {error}. Nothing was written"
        ) from error
    # What it replaces, and what it conflicts with, is still decided by the version it was planned on.
    base = replace(old.based_on, replanned=Base.of(state))
    new = replace(new, base=base, now=old.now, given=given)
    if new.spec.schema == old.spec.schema and new.spec.patch == old.spec.patch:
        return new, records
    if old.change_column is None:
        rows = (batch for record in records for batch in _rows(handle.store, old, given, record))
        return new, new.write(given, rows, handle.store)
    typed, changes = _changes(handle.store, old, old.change_column, given, records)
    return new, new.write(typed, changes, handle.store)


def _changes(
    store: Store,
    plan: WritePlan,
    change_column: str,
    given: pa.Schema,
    records: Sequence[SegmentRecord],
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The rows and tombstones of written segments, as changes."""
    columns = row_fields(given, change_column)
    typed = columns.append(pa.field(change_column, pa.string()))

    def changes() -> Iterator[pa.RecordBatch]:
        for record in records:
            type_ = scalar_of(DELETE if record.delta.deletes_only else INSERT, pa.string())
            for batch in _rows(store, plan, columns, record):
                types = pa.repeat(type_, batch.num_rows)
                yield pa.RecordBatch.from_arrays([*batch.columns, types], schema=typed)

    return typed, changes()


def _rows(
    store: Store, plan: WritePlan, given: pa.Schema, record: SegmentRecord
) -> Iterator[pa.RecordBatch]:
    """The rows of a written segment, with the columns and types that they were given with."""
    schema, total = plan.spec.schema, 0
    by_name = {name_key(column.name): column for column in schema.columns}
    stored = [field for field in given if name_key(field.name) in by_name]  # others are untyped
    wanted = [_as_given(by_name[name_key(field.name)], field) for field in stored]
    task = record_task(plan.spec.table_uuid, schema, record, wanted)
    for batch in read_segment(store, task):
        total += batch.num_rows
        arrays = dict(zip([field.name for field in stored], batch.columns, strict=True))
        yield pa.RecordBatch.from_arrays(
            [
                _narrowed(arrays[field.name], field.type)
                if field.name in arrays
                else pa.nulls(batch.num_rows)
                for field in given
            ],
            schema=given,
        )
    if total != record.rows:
        raise CorruptTableError(
            f"{store.url}/{record.path}: {total} rows were read, and {record.rows} were written; "
            "nothing was committed"
        )


def _as_given(column: Column, field: pa.Field) -> Column:
    """A column of the table with the name, and the nested fields, that were given."""
    if pa.types.is_null(field.type):
        return replace(column, name=field.name)
    return _shaped(column, field.name, from_arrow_type(field.type))


def _shaped(column: Column, name: str, given: DataType) -> Column:
    if type(given) is not type(column.type) or not children(given):
        return replace(column, name=name)
    below = children(column.type)
    if isinstance(given, Struct):
        by_name = {name_key(child.name): child for child in below}
        below = tuple(by_name[name_key(child.name)] for child in children(given))
    shaped = tuple(
        _shaped(child, as_given.name, as_given.type)
        for child, as_given in zip(below, children(given), strict=True)
    )
    return replace(column, name=name, type=with_children(column.type, shaped))


def _narrowed(array: pa.Array, given: pa.DataType) -> pa.Array:
    """Values in the type that they had before they were widened to their column's."""
    if pa.types.is_null(given):
        return pa.nulls(len(array))
    return array if array.type.equals(given) else array.cast(given)
