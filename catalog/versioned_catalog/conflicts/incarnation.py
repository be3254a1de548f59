"""How a life of a table begins: by ``create``, or by ``replace``, which ends another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from versioned_catalog.conflicts.operations import Create, Replace
from versioned_catalog.errors import AlreadyExistsError, CommitConflictError, NotFoundError
from versioned_catalog.evolution.evolution import Evolution, used_physical_names
from versioned_catalog.log.entry import (
    KEYED,
    NEW_LIFE,
    PATCH,
    UNIX_EPOCH,
    Commit,
    Features,
    Head,
    Stub,
    check_writable,
)
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.schema.column_ids import new_schema, rekey_defaults
from versioned_catalog.schema.schema import Schema

WRITER = "versioned/0.1.0"


def propose_create(
    operation: Create, state: TableState | None, commit_id: str, table: str
) -> Commit:
    """The entry that makes a table after a state. See ``proposing.propose``."""
    if state is not None and not state.dropped:
        raise AlreadyExistsError(
            f"there is a table at {table} already", condition="TABLE_ALREADY_EXISTS"
        )
    base_version = -1 if state is None else state.version
    return _begin(operation, state, head_after(state, commit_id, "create", base_version), table)


def propose_replace(
    operation: Replace, state: TableState | None, commit_id: str, table: str, log: TableTimeline
) -> Commit:
    """The entry that replaces a table after a state. See ``proposing.propose``."""
    if state is None:
        raise NotFoundError(f"there is no table at {table}", condition="TABLE_NOT_FOUND")
    if state.dropped or state.created_uuid != operation.created_uuid:
        raise CommitConflictError(
            f"{table} was dropped since its replacement was planned (on version "
            f"{operation.base_version}); run it again"
        )
    check_writable(state.features, table)
    if state.table_uuid == operation.creation.table_uuid:
        raise AlreadyExistsError(
            f"{table}: this replacement was committed already, by version {state.created_version}"
        )
    if operation.creation.records:
        check_fence(operation.base_version, state, table)
    if operation.read_version is not None:
        _check_read(operation.read_version, state, log, table)
    head = head_after(state, commit_id, "replace", operation.base_version)
    return _begin(operation.creation, state, head, table)


def _check_read(version: int, state: TableState, log: TableTimeline, table: str) -> None:
    """Refuse to take away rows that came since the table was read to make the new ones."""
    for entry in log.since(version, state.version):
        if isinstance(entry, Stub):
            raise _changed_since(version, entry.version, "an expired commit", table)
        begins = entry.head.operation in NEW_LIFE
        if begins or (entry.head.operation != "compact" and (entry.added or entry.removed)):
            raise _changed_since(version, entry.head.version, entry.head.operation, table)


def _changed_since(read: int, version: int, what: str, table: str) -> CommitConflictError:
    return CommitConflictError(
        f"{table}: version {version} ({what}) added or removed rows since version {read}, whose rows "
        "this replacement was made of; refresh() the table and run it again"
    )


def _begin(operation: Create, state: TableState | None, head: Head, table: str) -> Commit:
    arranged = first_evolution(operation, state)
    _check_planned(operation, state, arranged.schema.version, table)
    return Commit(
        replace(
            head,
            table_uuid=operation.table_uuid,
            features=features_of(arranged.schema, operation.records),
        ),
        arranged.next_column_id,
        schema=arranged.schema,
        properties=dict(arranged.properties) or None,
        comment=operation.comment,
        sets_comment=operation.comment is not None,
        added=operation.records,
    )


def _check_planned(
    operation: Create, state: TableState | None, schema_version: int, table: str
) -> None:
    """Refuse rows that say another schema, or other column IDs, than they would be given now."""
    planned = operation.first_column_id in (None, first_column_id(state))
    if operation.records and not (
        planned and all(record.schema_version == schema_version for record in operation.records)
    ):
        raise CommitConflictError(
            f"the schema of {table} changed, or a table was made and dropped there, since this was "
            "planned; run it again"
        )


def features_of(schema: Schema, records: Iterable[SegmentRecord]) -> Features:
    """What readers and writers need because of a schema and segments."""
    names = {KEYED} if schema.row_key else set()
    if any(record.delta.patch is not None for record in records):
        names.add(PATCH)
    return Features(frozenset(names), frozenset(names))


def first_column_id(state: TableState | None) -> int:
    """The first ID of a table that begins after a state."""
    return 1 if state is None else state.next_column_id


def first_evolution(operation: Create, state: TableState | None) -> Evolution:
    """What a new table begins with, at a place where there was none, or another one."""
    version = 0 if state is None else state.schemas.newest.version + 1
    bare, next_id = new_schema(operation.columns, first_column_id(state), version)
    # Constants of structs name fields by ID, which there are only now.
    columns = map(rekey_defaults, operation.columns, bare.columns)
    schema = replace(bare, columns=tuple(columns))
    used = used_physical_names([schema])
    arranged = operation.arrange(Evolution(schema, next_id, operation.properties, used))
    return replace(arranged, schema=arranged.schema.numbered(version))


def evolution_of(state: TableState) -> Evolution:
    """A state as changes of schema see it."""
    return Evolution(
        state.schema,
        state.next_column_id,
        state.properties,
        state.schemas.used_names(state.first_schema_version),
    )


def check_fence(base_version: int, state: TableState, table: str) -> None:
    """Refuse segments that may have been cleaned away since they were written."""
    if base_version < state.fence:
        raise CommitConflictError(
            f"{table}: this write was planned on version {base_version} and outlived the retention of a "
            f"vacuum (fence {state.fence}), so its segments may be deleted already; refresh() the table "
            "and write it again, or vacuum with a longer retention"
        )


def head_after(state: TableState | None, commit_id: str, operation: str, base_version: int) -> Head:
    """The head of the entry that follows a state; ``Timeline.commit`` dates it."""
    return Head(
        table_uuid="" if state is None else state.table_uuid,
        version=0 if state is None else state.version + 1,
        commit_id=commit_id,
        base_version=base_version,
        time=UNIX_EPOCH,
        operation=operation,
        writer=WRITER,
        features=Features() if state is None else state.features,
    )
