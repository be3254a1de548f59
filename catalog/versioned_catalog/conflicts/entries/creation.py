"""Entries that begin an incarnation of a table: ``create`` and ``replace``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.entries.heads import next_head
from versioned_catalog.conflicts.operations import Create, Replace
from versioned_catalog.evolution.evolution import Evolution, used_physical_names
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import (
    ADOPTIONS,
    EXTERNAL_ROOTS,
    HIDDEN,
    ID_MAP,
    IMPORTS,
    KEYED,
    PATCH,
    WITH_CHECKSUMS,
    Features,
)
from versioned_catalog.log.head import Head
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.column_ids import (
    new_schema,
    rekey_defaults,
    schema_with_ids,
)
from versioned_catalog.schema.schema import Schema
from versioned_catalog.storage.root_paths import split_root
from versioned_catalog.types.types import FIRST_INTERNAL_ID, walk


def create_entry(attempt: Attempt[Create]) -> Commit:
    """The entry that creates a table."""
    base_version = -1 if attempt.newest is None else attempt.newest.version
    head = next_head(attempt, "create", base_version)
    return _first_commit(attempt.operation, attempt.newest, head)


def replace_entry(attempt: Attempt[Replace]) -> Commit:
    """The entry that replaces a table."""
    operation = attempt.operation
    head = next_head(attempt, "replace", operation.base_version)
    return _first_commit(operation.creation, attempt.newest, head)


def _first_commit(operation: Create, state: TableState | None, head: Head) -> Commit:
    arranged = first_evolution(operation, state)
    features = features_of(arranged.schema, operation.records) | WITH_CHECKSUMS
    return Commit(
        replace(head, table_uuid=operation.table_uuid, features=features),
        arranged.next_column_id,
        schema=arranged.schema,
        properties=dict(arranged.properties) or None,
        comment=operation.comment,
        sets_comment=operation.comment is not None,
        added=operation.records,
    )


def features_of(schema: Schema, records: Iterable[SegmentRecord]) -> Features:
    """The features that a schema and segments need of readers and writers."""
    records = tuple(records)
    names = {KEYED} if schema.row_key else set()
    if any(column.hidden for column, _ in walk(schema.columns)):
        names.add(HIDDEN)
    if any(record.delta.patch is not None for record in records):
        names.add(PATCH)
    if any(record.id_map is not None for record in records):
        names.add(ID_MAP)
    places = [place for record in records if (place := split_root(record.path)) is not None]
    if places:
        names.add(EXTERNAL_ROOTS)
    if any(place.adoption for place in places):
        names.add(ADOPTIONS)
    # A writer that does not count adoptions would use a path again, and forget what was imported.
    for_writers = names | {IMPORTS} if places else names
    return Features(frozenset(names), frozenset(for_writers))


def first_column_id(state: TableState | None) -> int:
    """The first column ID of a table that is created or replaced after a state."""
    return 1 if state is None else state.next_column_id


def first_schema_version(state: TableState | None) -> int:
    """The schema version of a table that is created or replaced after a state."""
    return 0 if state is None else state.schemas.newest.version + 1


def _first_schema(operation: Create, first_id: int, version: int) -> tuple[Schema, int]:
    ids = [column.id for column, _ in walk(operation.columns)]
    if operation.keeps_ids and first_id <= min(ids) and max(ids) < FIRST_INTERNAL_ID:
        return schema_with_ids(operation.columns, version)
    return new_schema(operation.columns, first_id, version)


def first_evolution(operation: Create, state: TableState | None) -> Evolution:
    """The schema and properties of a table that is created or replaced after a state."""
    version = first_schema_version(state)
    bare, next_id = _first_schema(operation, first_column_id(state), version)
    # Constants of structs name fields by ID, and the IDs are known only now.
    columns = map(rekey_defaults, operation.columns, bare.columns)
    schema = replace(bare, columns=tuple(columns))
    used = used_physical_names([schema])
    arranged = operation.arrange(Evolution(schema, next_id, operation.properties, used))
    return replace(arranged, schema=arranged.schema.numbered(version))
