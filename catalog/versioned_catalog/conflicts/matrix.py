"""Whether an operation can still be committed: one matrix, one function (FORMAT.md, 10 and 11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.conflicts.expiry import propose_expire, propose_fence
from versioned_catalog.conflicts.incarnation import (
    check_fence,
    evolution_of,
    features_of,
    head_after,
    propose_create,
    propose_replace,
)
from versioned_catalog.conflicts.isolation import check_reads
from versioned_catalog.conflicts.operations import (
    Alter,
    Append,
    Base,
    Compact,
    Create,
    Drop,
    Expire,
    Fence,
    Operation,
    Overwrite,
    Replace,
    Rewrite,
    Rollback,
    Tag,
)
from versioned_catalog.conflicts.recommit import check_new, oldest_base
from versioned_catalog.conflicts.rollback import propose_rollback
from versioned_catalog.conflicts.row_keys import check_keys
from versioned_catalog.conflicts.schema_fit import check_copies, check_fits, never_null
from versioned_catalog.conflicts.tags import propose_tag
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
)
from versioned_catalog.evolution.apply import apply_all, newly_not_null, rebase
from versioned_catalog.evolution.changes import describe
from versioned_catalog.evolution.evolution import BoundChange
from versioned_catalog.log.commit_times import settled_time
from versioned_catalog.log.entry import NEW_LIFE, Batch, Commit, Stub, check_writable
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.ttl import hides_rows, with_ttl_floor, without_false_floor
from versioned_catalog.types.arrow_values import array_of
from versioned_catalog.types.types import Column, is_repeated


def propose(
    operation: Operation,
    state: TableState | None,
    commit_id: str,
    table: str,
    log: TableTimeline,
) -> Commit | None:
    """The entry that carries out an operation after a state, or None if that changes nothing.

    Args:
        operation: what was planned.
        state: the newest state; None where there is no table yet.
        commit_id: who this commit is.
        table: the table, for errors.
        log: where the state comes from.

    Raises:
        CommitConflictError: something was committed that it can't follow.
        AlreadyExistsError, NotFoundError, InvalidRequestError, UnsupportedFeatureError: it can't be.
    """
    commit = _proposed(operation, state, commit_id, table, log)
    return commit if commit is None or state is None else _mended(commit, state, log)


def _mended(commit: Commit, state: TableState, log: TableTimeline) -> Commit:
    """A commit that takes away a floor of ``ttl`` that a clock which was ahead has left."""
    kept = {} if commit.head.operation in NEW_LIFE else state.properties
    properties = kept if commit.properties is None else commit.properties
    if not hides_rows(properties):
        return commit
    sound = without_false_floor(properties, settled_time(log.store, state.version, state.time))
    return commit if sound == dict(properties) else replace(commit, properties=sound)


def _proposed(
    operation: Operation,
    state: TableState | None,
    commit_id: str,
    table: str,
    log: TableTimeline,
) -> Commit | None:
    if isinstance(operation, Create):
        return propose_create(operation, state, commit_id, table)
    if isinstance(operation, Replace):
        return propose_replace(operation, state, commit_id, table, log)
    if isinstance(operation, Tag):
        return propose_tag(operation, state, commit_id, table)
    known = _same_table(operation.base, state, table)
    check_writable(known.features, table)
    match operation:
        case Append(base, records, changes, batch):
            _check_batch(batch, known, table)
            check_new(base, records, known, log, table)
            return _write("append", base, records, changes, known, commit_id, table, batch=batch)
        case Overwrite(base, records, changes):
            removed = _removed(base, operation.removed, known, table)
            check_new(base, records, known, log, table)
            return _write(
                "overwrite", base, records, changes, known, commit_id, table, removed=removed
            )
        case Rewrite(base, kind, records, removed, _, changes, keys):
            if not (records or removed or changes):
                return None
            gone = _removed(base, removed, known, table)
            check_new(base, records, known, log, table)
            check_copies(base, known.schema, records, table)
            check_reads(operation, known, log, table)
            if keys is not None:
                # Vacuum may have deleted segments of who planned on a version below the fence.
                check_fence(base.version, known, table)
                check_keys(keys, base.schema, known, log, table)
            return _write(kind, base, records, changes, known, commit_id, table, removed=gone)
        case Compact(base, records, removed):
            if not (records or removed):
                return None
            gone = _removed(base, removed, known, table)
            _check_not_rolled_back(base, known, log, table)
            return _write("compact", base, records, (), known, commit_id, table, removed=gone)
        case Rollback():
            return propose_rollback(operation, known, commit_id, table, log)
        case Alter():
            return _alter(operation, known, commit_id, table, log)
        case Drop(base):
            head = head_after(known, commit_id, "drop", base.version)
            return Commit(head, known.next_column_id)
        case Fence():
            return propose_fence(operation, known, commit_id)
        case Expire():
            return propose_expire(operation, known, commit_id, table)


def _same_table(base: Base, state: TableState | None, table: str) -> TableState:
    if state is None:
        raise NotFoundError(f"there is no table at {table}", condition="TABLE_NOT_FOUND")
    if state.table_uuid != base.table_uuid:
        raise CommitConflictError(
            f"{table} was replaced since this was planned (on version {base.version}); nothing was "
            "written to the new table: load it and do it again"
        )
    if state.dropped:
        raise CommitConflictError(
            f"{table} was dropped since this was planned (on version {base.version})"
        )
    return state


def _write(
    operation: str,
    base: Base,
    records: tuple[SegmentRecord, ...],
    changes: tuple[BoundChange, ...],
    state: TableState,
    commit_id: str,
    table: str,
    *,
    removed: tuple[str, ...] = (),
    batch: Batch | None = None,
) -> Commit:
    if records:
        check_fence(oldest_base(base, records), state, table)
    schema, next_id = _grown(base, changes, state, table)
    check_fits(base, schema or state.schema, records, table)
    head = head_after(state, commit_id, operation, base.version)
    features = head.features | features_of(schema or state.schema, records)
    return Commit(
        replace(head, features=features),
        next_id,
        schema=schema,
        added=records,
        removed=removed,
        batch=batch,
        details=_details(changes),
    )


def _grown(
    base: Base, changes: tuple[BoundChange, ...], state: TableState, table: str
) -> tuple[Schema | None, int]:
    """The schema with the columns that a write brings along, as its segments already say."""
    if not changes:
        return None, state.next_column_id
    same = state.schema.version == base.schema.version
    if not same or state.next_column_id != base.next_column_id:
        raise CommitConflictError(
            f"{table}: the schema changed since this write, which adds columns, was planned (on "
            f"version {base.version}); refresh() the table and run it again"
        )
    after = apply_all(changes, evolution_of(state), state.schemas.newest.version + 1)
    return after.schema, after.next_column_id


def _removed(
    base: Base, removed: tuple[str, ...] | None, state: TableState, table: str
) -> tuple[str, ...]:
    """The segments that an operation removes (None: all of the base), if all are still live."""
    core = state.segments.core
    if removed is None:
        paths = core["path"].filter(pc.less_equal(core["sequence"], base.version))
        wanted = base.segments
    else:
        wanted = len(removed)
        named = array_of(removed, pa.string())
        paths = core["path"].filter(pc.is_in(core["path"], named))
    if len(paths) != wanted:
        raise CommitConflictError(
            f"{table}: rows that this write replaces were removed by another commit since version "
            f"{base.version}; refresh() the table and run it again"
        )
    return tuple(paths.to_pylist())


def _check_not_rolled_back(base: Base, state: TableState, log: TableTimeline, table: str) -> None:
    """Refuse a compaction that took no heed of older rows which are there again."""
    for entry in log.since(base.version, state.version):
        if isinstance(entry, Stub) or entry.head.operation == "rollback":
            raise CommitConflictError(
                f"{table}: it was rolled back since this compaction was planned (on version "
                f"{base.version}); run it again"
            )


def _check_batch(batch: Batch | None, state: TableState, table: str) -> None:
    if batch is not None and state.applications.get(batch.application, -1) >= batch.id:
        raise AlreadyExistsError(
            f"{table}: batch {batch.id} of {batch.application} was committed already"
        )


def _alter(
    operation: Alter, state: TableState, commit_id: str, table: str, log: TableTimeline
) -> Commit | None:
    before = evolution_of(state)
    version = state.schemas.newest.version + 1
    moved = state.version != operation.base.version
    after = (rebase if moved else apply_all)(operation.changes, before, version)
    if after.schema == before.schema and after.properties == before.properties:
        return None
    _check_nulls(operation, state, after.schema, table)
    properties = dict(after.properties)
    if hides_rows(state.properties):
        time = settled_time(log.store, state.version, state.time)
        properties = with_ttl_floor(state.properties, time, properties)
    return Commit(
        head_after(state, commit_id, "alter", operation.base.version),
        after.next_column_id,
        schema=None if after.schema == state.schema else after.schema,
        properties=properties if properties != dict(state.properties) else None,
        details=_details(operation.changes),
    )


def _check_nulls(operation: Alter, state: TableState, schema: Schema, table: str) -> None:
    """Refuse SET NOT NULL over nulls: by statistics, and by the data where they do not say."""
    for column_id in never_null(state.schema, schema):
        raise InvalidRequestError(
            f"{table}: the column {schema.path_text(column_id)} is added and made NOT NULL at once, and "
            "the rows that are there would show null; give it a default when it is added"
        )
    for column_id in newly_not_null(state.schema, schema):
        column, above = state.schema.column(column_id), state.schema.ancestors(column_id)
        # Rows that are replaced or hidden count nothing, and statistics have them all.
        countable = not is_repeated(above) and not state.schema.row_key
        nulls = _known_nulls(state, column) if countable else None
        if nulls is None:
            nulls = operation.count_nulls(state, column)
        if nulls:
            raise InvalidRequestError(
                f"{table}: the column {state.schema.path_text(column_id)} can't be NOT NULL, since "
                f"{nulls} of its values are null; fill them first"
            )


def _known_nulls(state: TableState, column: Column) -> int | None:
    """How many values of a column are null of themselves, or None where statistics don't tell."""
    total = 0
    counts = state.segments.statistic("nulls", column, state.schemas).to_pylist()
    versions = state.segments.core["schema_version"].to_pylist()
    rows = state.segments.core["rows"].to_pylist()
    top = column.id in {c.id for c in state.schema.columns}
    for count, version, size in zip(counts, versions, rows, strict=True):
        if column.id in state.schemas[version].ids:
            if count is None:
                return None
            total += count
        elif column.read_default is None:
            if not top:
                return None
            total += size
    return total


def _details(changes: tuple[BoundChange, ...]) -> dict[str, Any]:
    return {"changes": [describe(change.request) for change in changes]} if changes else {}
