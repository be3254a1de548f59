"""Whether an operation can still be committed: one matrix, one function (FORMAT.md, 10 and 11)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.arrow_values import array_of
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
)
from versioned_catalog.log.beginning import (
    check_fence,
    evolution_of,
    head_after,
    propose_create,
    propose_replace,
)
from versioned_catalog.log.entry import Batch, Commit, check_writable
from versioned_catalog.log.operations import (
    Alter,
    Append,
    Base,
    Create,
    Drop,
    Operation,
    Overwrite,
    Replace,
)
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.applying import apply_all, newly_not_null, rebase
from versioned_catalog.schema.changes import describe
from versioned_catalog.schema.evolution import BoundChange
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.types import Column, is_repeated


def propose(operation: Operation, state: TableState | None, commit_id: str, table: str) -> Commit:
    """The entry that carries out an operation after a state.

    Args:
        operation: what was planned.
        state: the newest state; None where there is no table yet.
        commit_id: who this commit is.
        table: the table, for errors.

    Raises:
        CommitConflictError: something was committed that it can't follow.
        AlreadyExistsError, NotFoundError, InvalidRequestError, UnsupportedFeatureError: it can't be.
    """
    if isinstance(operation, Create):
        return propose_create(operation, state, commit_id, table)
    if isinstance(operation, Replace):
        return propose_replace(operation, state, commit_id, table)
    known = _same_table(operation.base, state, table)
    check_writable(known.features, table)
    match operation:
        case Append(base, records, changes, batch):
            _check_batch(batch, known, table)
            return _write("append", base, records, changes, known, commit_id, table, batch=batch)
        case Overwrite(base, records, changes):
            removed = _removed(operation, known, table)
            return _write(
                "overwrite", base, records, changes, known, commit_id, table, removed=removed
            )
        case Alter():
            return _alter(operation, known, commit_id, table)
        case Drop(base):
            head = head_after(known, commit_id, "drop", base.version)
            return Commit(head, known.next_column_id)


def _same_table(base: Base, state: TableState | None, table: str) -> TableState:
    if state is None:
        raise NotFoundError(f"there is no table at {table}")
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
        check_fence(base.version, state, table)
    schema, next_id = _grown(base, changes, state, table)
    _check_not_null(base, schema or state.schema, records, table)
    return Commit(
        head_after(state, commit_id, operation, base.version),
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
    after = apply_all(changes, evolution_of(state), max(state.schemas) + 1)
    return after.schema, after.next_column_id


def _check_not_null(
    base: Base, schema: Schema, records: tuple[SegmentRecord, ...], table: str
) -> None:
    for column_id in newly_not_null(base.schema, schema) | _never_null(base.schema, schema):
        for record in records:
            stats = record.columns.get(column_id)
            if stats is None or stats.nulls is None or stats.nulls > 0:
                raise CommitConflictError(
                    f"{table}: the column {schema.path_text(column_id)} was made NOT NULL since this "
                    "write was planned, and it holds nulls there; fill them and write again, or "
                    f"alter().drop_not_null({schema.path_text(column_id)!r})"
                )


def _never_null(old: Schema, new: Schema) -> frozenset[int]:
    """NOT NULL columns made since, in which rows of the old schema would show null."""
    made = [c for c in map(new.column, new.ids - old.ids) if not c.nullable]
    return frozenset(
        column.id
        for column in made
        if column.read_default is None and {c.id for c in new.ancestors(column.id)} <= old.ids
    )


def _removed(operation: Overwrite, state: TableState, table: str) -> tuple[str, ...]:
    """The segments that an overwrite removes, if all of them are still live."""
    base, core = operation.base, state.segments.core
    if operation.removed is None:
        paths = core["path"].filter(pc.less_equal(core["sequence"], base.version))
        wanted = base.segments
    else:
        wanted = len(operation.removed)
        named = array_of(operation.removed, pa.string())
        paths = core["path"].filter(pc.is_in(core["path"], named))
    if len(paths) != wanted:
        raise CommitConflictError(
            f"{table}: rows that this write replaces were removed by another commit since version "
            f"{base.version}; refresh() the table and run it again"
        )
    return tuple(paths.to_pylist())


def _check_batch(batch: Batch | None, state: TableState, table: str) -> None:
    if batch is not None and state.applications.get(batch.application, -1) >= batch.id:
        raise AlreadyExistsError(
            f"{table}: batch {batch.id} of {batch.application} was committed already"
        )


def _alter(operation: Alter, state: TableState, commit_id: str, table: str) -> Commit:
    before = evolution_of(state)
    version = max(state.schemas) + 1
    moved = state.version != operation.base.version
    after = (rebase if moved else apply_all)(operation.changes, before, version)
    _check_nulls(operation, state, after.schema, table)
    return Commit(
        head_after(state, commit_id, "alter", operation.base.version),
        after.next_column_id,
        schema=after.schema if after.schema != state.schema else None,
        properties=after.properties if dict(after.properties) != dict(state.properties) else None,
        details=_details(operation.changes),
    )


def _check_nulls(operation: Alter, state: TableState, schema: Schema, table: str) -> None:
    """Refuse SET NOT NULL over nulls: by statistics, and by the data where they do not say."""
    for column_id in _never_null(state.schema, schema):
        raise InvalidRequestError(
            f"{table}: the column {schema.path_text(column_id)} is added and made NOT NULL at once, and "
            "the rows that are there would show null; give it a default when it is added"
        )
    for column_id in newly_not_null(state.schema, schema):
        column, above = state.schema.column(column_id), state.schema.ancestors(column_id)
        nulls = _known_nulls(state, column) if not is_repeated(above) else None
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
