"""Row-level operations: evaluate DELETE, UPDATE and REPLACE WHERE, and commit the result.

A table without a primary key marks affected rows, or copies their segments; a table with one gets new
rows and tombstones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

import pyarrow as pa

from versioned_catalog.commit.effects import since
from versioned_catalog.commit.operations import Append, Effect, KeyCheck, Rewrite
from versioned_catalog.commit.row_rules import KeyConflictError
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.features import DELETE_ROW
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.types import Column
from versioned_catalog.read.filters import BoundFilter
from versioned_catalog.read.planning import record_task
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.scan_columns import bind_filters
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.read.tasks import read_segment
from versioned_catalog.storage.store import Store
from versioned_catalog.write.copy_on_write import Rewritten, with_updates, without_matches
from versioned_catalog.write.delta_rows import key_schema, tombstones, with_op
from versioned_catalog.write.numbering import check_assigns_no_number
from versioned_catalog.write.plan import (
    WritePlan,
    check_changes_rows,
    plan_delta,
    plan_now,
    rows_of,
)
from versioned_catalog.write.row_schema import RowConverter
from versioned_catalog.write.segment_writer import WriteSpec, key_columns
from versioned_catalog.write.unseen import updater_of
from versioned_catalog.write.update import RowUpdater
from versioned_catalog.write.writer import write_segments

MOST_KEYS = 5_000_000
"""The most keys held in memory; beyond, segments with overlapping key ranges count as conflicting."""


def key_check(
    store: Store, state: TableState, written: Schema, records: Sequence[SegmentRecord]
) -> KeyCheck:
    """Return the check of written row keys against those of other commits.

    ``written`` is the schema of the commit; segments of other versions have the table's schemas.
    """
    return KeyCheck(state.version, tuple(records), _Keys(store, written, records).meet)


def share_keys(store: Store, spec: WriteSpec, parts: Sequence[Sequence[SegmentRecord]]) -> bool:
    """Whether two parts of a write share a row key; the keys of each part are distinct.

    Beyond ``MOST_KEYS`` rows they count as sharing one.
    """
    records = [record for part in parts for record in part]
    if len(parts) < 2 or sum(record.rows for record in records) > MOST_KEYS:
        return len(parts) > 1
    wanted = tuple(map(spec.schema.column, spec.schema.row_key))
    keys = pa.concat_tables(
        _keys_of(store, record_task(spec.table_uuid, spec.schema, record, wanted), wanted)
        for record in records
    )
    return bool(keys.group_by(keys.column_names).aggregate([]).num_rows < keys.num_rows)


class _Keys:
    """The row keys of written segments, read when they are first needed."""

    def __init__(self, store: Store, written: Schema, records: Sequence[SegmentRecord]) -> None:
        self._store = store
        self._written = written
        self._records = records
        self._disjoint: set[str] = set()

    def meet(self, others: Sequence[SegmentRecord], state: TableState) -> bool:
        """Whether other segments hold one of the written keys; each is read once."""
        if sum(record.rows for record in self._records) > MOST_KEYS:
            return True
        written_keys: pa.Table | None = None
        for other in others:
            if other.path in self._disjoint:
                continue
            written_keys = self._written_keys(state) if written_keys is None else written_keys
            other_keys = self._read(other, state.schemas[other.schema_version], state)
            names = other_keys.column_names
            if other_keys.join(written_keys, names, join_type="left semi").num_rows:
                return True
            self._disjoint.add(other.path)
        return False

    def _written_keys(self, state: TableState) -> pa.Table:
        # The schema of a segment is one of the table, or the new one of its commit.
        new = self._written
        versions = (record.schema_version for record in self._records)
        schemas = (new if v == new.version else state.schemas[v] for v in versions)
        return pa.concat_tables(
            self._read(record, schema, state)
            for record, schema in zip(self._records, schemas, strict=True)
        )

    def _read(self, record: SegmentRecord, schema: Schema, state: TableState) -> pa.Table:
        wanted = tuple(map(state.schema.column, state.schema.row_key))
        task = record_task(state.table_uuid, schema, record, wanted)
        return _keys_of(self._store, task, wanted)


def _keys_of(store: Store, task: SegmentTask, wanted: tuple[Column, ...]) -> pa.Table:
    """The row keys of a segment, in columns that kernels compare."""
    key = Schema(wanted, primary_key=tuple(column.id for column in wanted))
    rows = pa.Table.from_batches(read_segment(store, task), to_arrow_schema(wanted))
    columns = key_columns(rows, key)
    return pa.table(columns, names=[f"k{at}" for at in range(len(columns))])


def delete_rows(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec
) -> list[SegmentRecord]:
    """Write tombstones for the rows that match a filter; if ``bound`` is None, for every row."""
    keys = [column for column in state.schema.columns if column.id in state.schema.row_key]

    def deleted() -> Iterator[pa.RecordBatch]:
        for batch in Scan(store, state, keys, bound).to_batches():
            yield with_op(tombstones(batch, state.schema), DELETE_ROW)

    return write_segments(store, replace(spec, ops=True), deleted())


def update_rows(
    store: Store, state: TableState, bound: BoundFilter | None, spec: WriteSpec, updater: RowUpdater
) -> list[SegmentRecord]:
    """Write the rows that match a filter with new values; if ``bound`` is None, every row.

    Raises:
        InvalidRequestError: a new value does not fit its column.
    """

    def changed() -> Iterator[pa.RecordBatch]:
        for batch in Scan(store, state, state.schema.columns, bound).to_batches():
            yield updater.update(batch)

    return write_segments(store, spec, changed())


def check_assigns_no_key(assignments: object, schema: Schema, table: str) -> None:
    """Refuse assignments to the row key, as Kudu does.

    Raises:
        InvalidRequestError: a column of the row key is assigned to.
    """
    keys = {name_key(schema.column(column_id).name) for column_id in schema.row_key}
    for path in assignments if isinstance(assignments, dict) else ():
        parts = parse_path(path)
        if name_key(parts[0]) in keys:
            raise InvalidRequestError(
                f"{table}: {render_path(parts)} is part of the row key and cannot be updated; "
                "delete the rows, and write them with their new keys",
                condition="KEY_NOT_UPDATABLE",
            )


MOST_ATTEMPTS = 32
"""Evaluations of a statement, at most, while other writers keep writing the same row keys."""


def delete(handle: TableHandle, filters: Any, commit_id: str | None) -> int:
    """Delete the rows that match a filter. See ``Table.delete``."""
    state = handle.state
    check_changes_rows(state, handle.name)
    bound = bind_filters(filters, state.known, state)
    if state.schema.is_keyed and bound is not None:
        return _commit_deltas(handle, "delete", bound, commit_id, delete_rows)
    return _commit_rewritten(handle, "delete", bound, commit_id, without_matches)


def update(
    handle: TableHandle, assignments: Mapping[str, Any], filters: Any, commit_id: str | None
) -> int:
    """Assign new values in the rows that match a filter. See ``Table.update``."""
    state = handle.state
    check_changes_rows(state, handle.name)
    bound, plan = (
        bind_filters(filters, state.known, state),
        plan_now(handle.store, state, handle.name),
    )
    check_assigns_no_number(assignments, plan.identities, state.seen.schema, handle.name)
    updater = updater_of(assignments, state.seen, handle.name, plan.now, plan.generated)
    if state.schema.is_keyed:
        check_assigns_no_key(assignments, state.seen.schema, handle.name)
        write = partial(update_rows, updater=updater)
        return _commit_deltas(handle, "update", bound, commit_id, write)
    rewrite = partial(with_updates, updater=updater)
    return _commit_rewritten(handle, "update", bound, commit_id, rewrite)


def _commit_deltas(
    handle: TableHandle,
    kind: str,
    bound: BoundFilter | None,
    commit_id: str | None,
    write: Callable[[Store, TableState, BoundFilter | None, WriteSpec], list[SegmentRecord]],
) -> int:
    """Write the changed rows or tombstones of a table with a primary key, and commit them."""

    def attempt(read: TableHandle) -> int:
        began = monotonic()
        plan = plan_now(read.store, read.state, read.name)
        records = write(read.store, read.state, bound, plan.spec)
        effect = Effect(milliseconds=since(began))
        return commit_delta(handle, plan, records, kind, bound, commit_id, effect)

    return _retry_on_key_conflict(handle, handle, attempt)


def _commit_rewritten(
    handle: TableHandle,
    kind: str,
    bound: BoundFilter | None,
    commit_id: str | None,
    rewrite: Callable[[Store, TableState, BoundFilter | None, WriteSpec], Rewritten],
) -> int:
    """Mark the changed rows, or write their segments again, and commit that."""
    began = monotonic()
    plan = plan_now(handle.store, handle.state, handle.name)
    written = rewrite(handle.store, handle.state, bound, plan.spec)
    operation = Rewrite(
        plan.based_on,
        written.records,
        (),
        written.removed,
        kind=kind,
        reads=bound,
        marks=written.marks,
        effect=Effect(updated=written.updated, milliseconds=since(began)),
    )
    return handle.commit(operation, commit_id)


def delete_keys(handle: TableHandle, keys: Any, commit_id: str | None) -> int:
    """Delete rows by row key. See ``Table.delete_keys``."""
    plan = plan_delta(handle.store, handle.state, handle.name)
    arrow, batches = rows_of(keys, handle.state)
    schema = plan.spec.schema
    convert = RowConverter(arrow, key_schema(plan.seen), plan.table, plan.now).convert
    rows = (with_op(tombstones(convert(batch), schema), DELETE_ROW) for batch in batches)
    records = write_segments(handle.store, plan.spec, rows)
    return handle.commit(Append(plan.based_on, tuple(records)), commit_id)


def overwrite_where(
    handle: TableHandle,
    plan: WritePlan,
    records: Sequence[SegmentRecord],
    filters: Any,
    own_rows: bool,
    commit_id: str | None,
) -> int:
    """Replace the rows that match a filter. See ``Transaction.commit_overwrite_where``.

    If another commit wrote the same row keys meanwhile, the filter is evaluated again and the commit is
    retried. With ``own_rows`` it is a conflict: the rows to write were computed from rows that changed.
    """
    check_changes_rows(handle.planned_on(plan.based_on), handle.name)

    def commit(
        rewritten: Rewritten, bound: BoundFilter | None, keys: KeyCheck | None = None
    ) -> int:
        operation = Rewrite(
            plan.based_on,
            rewritten.records,
            plan.changes,
            rewritten.removed,
            kind="overwrite",
            reads=None if own_rows else bound,
            keys=keys,
            marks=rewritten.marks,
            effect=Effect(inserted=sum(record.rows for record in records)),
        )
        return handle.commit(operation, commit_id)

    def attempt(read: TableHandle) -> int:
        store, state = read.store, read.state
        bound = bind_filters(filters, state.known, state)
        spec = plan_now(store, state, handle.name).spec
        if not state.schema.is_keyed:
            others = without_matches(store, state, bound, spec)
            return commit(replace(others, records=(*records, *others.records)), bound)
        deleted = delete_rows(store, state, bound, spec)
        added = (*deleted, *records)
        written = added if own_rows else deleted
        check = key_check(store, state, plan.spec.schema, written)
        return commit(Rewritten((), added), bound, check)

    planned = handle.pinned(plan.based_on.version)
    return attempt(planned) if own_rows else _retry_on_key_conflict(handle, planned, attempt)


def commit_delta(
    handle: TableHandle,
    plan: WritePlan,
    records: Sequence[SegmentRecord],
    kind: str,
    bound: BoundFilter | None,
    commit_id: str | None,
    effect: Effect | None = None,
) -> int:
    """Commit rows and tombstones, tombstones first. See ``Transaction.commit_delta``."""
    state = handle.planned_on(plan.based_on)
    written = tuple(sorted(records, key=lambda record: not record.delta.deletes_only))
    check = key_check(handle.store, state, plan.spec.schema, written)
    operation = Rewrite(
        plan.based_on, written, plan.changes, kind=kind, reads=bound, keys=check, effect=effect
    )
    return handle.commit(operation, commit_id)


def _retry_on_key_conflict(
    handle: TableHandle, first: TableHandle, attempt: Callable[[TableHandle], int]
) -> int:
    """Evaluate and commit; repeat on the newest state while others write the same row keys.

    ``attempt`` reads from a handle and commits: ``first``, then ``handle``, refreshed each time.
    """
    read, schema = first, first.state.schema
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return attempt(read)
        except KeyConflictError:
            read = handle.refresh()
            if read.state.schema != schema:
                raise  # the names in the statement may mean other columns now
    return attempt(read)
