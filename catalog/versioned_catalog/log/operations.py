"""What can be committed to a table, and whether it still can be: one matrix, one function.

An operation is a value made when it is planned. ``propose`` makes the entry that carries it out after
a given state, or refuses (FORMAT.md, sections 10 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc

from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
)
from versioned_catalog.log.entry import Batch, Commit, Features, Head, check_writable, next_time
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.applying import apply_all, newly_not_null, rebase, rekeyed
from versioned_catalog.schema.changes import describe
from versioned_catalog.schema.evolution import BoundChange, Evolution, used_physical_names
from versioned_catalog.schema.schema import Schema, new_schema
from versioned_catalog.schema.types import Column, is_repeated

WRITER = "versioned/0.1.0"


@dataclass(frozen=True)
class Base:
    """The snapshot that an operation was planned on.

    Args:
        table_uuid, version: which one.
        schema: its schema.
        segments: how many were live.
    """

    table_uuid: str
    version: int
    schema: Schema
    segments: int

    @staticmethod
    def of(state: TableState) -> Base:
        """The snapshot of a state."""
        return Base(state.table_uuid, state.version, state.schema, state.segments.count)


@dataclass(frozen=True)
class Append:
    """Add segments, and before them the columns that they brought along."""

    base: Base
    records: tuple[SegmentRecord, ...]
    changes: tuple[BoundChange, ...] = ()
    batch: Batch | None = None


@dataclass(frozen=True)
class Overwrite:
    """Put segments in the place of all those of the base."""

    base: Base
    records: tuple[SegmentRecord, ...]
    changes: tuple[BoundChange, ...] = ()


@dataclass(frozen=True)
class Alter:
    """Change the schema or properties. ``null_counts`` tells how often a column is null of itself.

    Args:
        base: what the changes were bound on.
        changes: in order.
        count_nulls: looks into the data of a state for a column's nulls, where statistics don't say.
    """

    base: Base
    changes: tuple[BoundChange, ...]
    count_nulls: Callable[[TableState, Column], int] = field(compare=False)


@dataclass(frozen=True)
class Create:
    """Begin a table where there is none, or where one was dropped.

    Args:
        table_uuid: who the new table is.
        columns: its columns, without IDs.
        changes: makes partitioning, sort order and the like of the schema with IDs.
        properties, comment: for users.
        records: rows that the table is made with; their segments say the schema of ``first_schema``.
    """

    table_uuid: str
    columns: tuple[Column, ...]
    arrange: Callable[[Evolution], Evolution] = field(compare=False)
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    records: tuple[SegmentRecord, ...] = ()


@dataclass(frozen=True)
class Drop:
    """End the table."""

    base: Base


Operation = Append | Overwrite | Alter | Create | Drop


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
        return _create(operation, state, commit_id, table)
    known = _same_table(operation.base, state, table)
    check_writable(known.features, table)
    match operation:
        case Append(base, records, changes, batch):
            _check_batch(batch, known, table)
            return _write("append", base, records, changes, known, commit_id, table, batch=batch)
        case Overwrite(base, records, changes):
            removed = _segments_of(base, known, table)
            return _write(
                "overwrite", base, records, changes, known, commit_id, table, removed=removed
            )
        case Alter():
            return _alter(operation, known, commit_id, table)
        case Drop(base):
            head = _head(known, commit_id, "drop", base.version)
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
    if records and base.version < state.fence:
        raise CommitConflictError(
            f"{table}: this write was planned on version {base.version}, and what such writes left on "
            f"storage may have been cleaned away (fence {state.fence}); write it again"
        )
    schema, next_id = _grown(base, changes, state, table)
    _check_not_null(base, schema or state.schema, records, table)
    return Commit(
        _head(state, commit_id, operation, base.version),
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
    if state.schema.version != base.schema.version:
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


def _segments_of(base: Base, state: TableState, table: str) -> tuple[str, ...]:
    """The segments of the base, if all of them are still live."""
    core = state.segments.core
    mine = core.filter(pc.less_equal(core["sequence"], base.version))
    if mine.num_rows != base.segments:
        raise CommitConflictError(
            f"{table}: rows that this write replaces were removed by another commit since version "
            f"{base.version}; refresh() the table and run it again"
        )
    return tuple(mine["path"].to_pylist())


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
        _head(state, commit_id, "alter", operation.base.version),
        after.next_column_id,
        schema=after.schema if after.schema != state.schema else None,
        properties=after.properties if dict(after.properties) != dict(state.properties) else None,
        details=_details(operation.changes),
    )


def _check_nulls(operation: Alter, state: TableState, schema: Schema, table: str) -> None:
    """Refuse SET NOT NULL over nulls: by statistics, and by the data where they do not say."""
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


def _create(operation: Create, state: TableState | None, commit_id: str, table: str) -> Commit:
    if state is not None and not state.dropped:
        raise AlreadyExistsError(f"there is a table at {table} already")
    arranged = first_evolution(operation, state)
    version = arranged.schema.version
    if any(record.schema_version != version for record in operation.records):
        raise CommitConflictError(
            f"{table} was made and dropped since this was planned; run it again"
        )
    head = replace(
        _head(state, commit_id, "create", -1 if state is None else state.version),
        table_uuid=operation.table_uuid,
        features=Features(),
    )
    return Commit(
        head,
        arranged.next_column_id,
        schema=arranged.schema,
        properties=dict(arranged.properties) or None,
        comment=operation.comment,
        sets_comment=operation.comment is not None,
        added=operation.records,
    )


def first_evolution(operation: Create, state: TableState | None) -> Evolution:
    """What a new table begins with, at a place where there was none, or one that was dropped."""
    first_id = 1 if state is None else state.next_column_id
    version = 0 if state is None else max(state.schemas) + 1
    bare, next_id = new_schema(operation.columns, first_id, version)
    # Constants of structs name fields by ID, which there are only now.
    columns = map(rekeyed, operation.columns, bare.columns)
    schema = replace(bare, columns=tuple(columns))
    used = used_physical_names([schema])
    arranged = operation.arrange(Evolution(schema, next_id, operation.properties, used))
    return replace(arranged, schema=replace(arranged.schema, version=version))


def evolution_of(state: TableState) -> Evolution:
    """A state as changes of schema see it."""
    return Evolution(
        state.schema,
        state.next_column_id,
        state.properties,
        used_physical_names(state.own_schemas),
    )


def _head(state: TableState | None, commit_id: str, operation: str, base_version: int) -> Head:
    now = datetime.now(UTC)
    return Head(
        table_uuid="" if state is None else state.table_uuid,
        version=0 if state is None else state.version + 1,
        commit_id=commit_id,
        base_version=base_version,
        time=next_time(None if state is None else state.time, now),
        operation=operation,
        writer=WRITER,
        features=Features() if state is None else state.features,
    )


def _details(changes: tuple[BoundChange, ...]) -> dict[str, Any]:
    return {"changes": [describe(change.request) for change in changes]} if changes else {}
