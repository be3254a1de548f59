"""Entries that begin and end incarnations, alter the table, or mark versions, once all rules pass."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from versioned_catalog.commit.attempt import Attempt, once
from versioned_catalog.commit.operations import (
    Alter,
    Consume,
    Create,
    Drop,
    DropLapsedTags,
    Expire,
    Fence,
    Purge,
    Replace,
    Tag,
    Undrop,
)
from versioned_catalog.log.entry import WRITER, Commit, Head
from versioned_catalog.log.features import (
    ADOPTIONS,
    APPLICATION_RETENTION,
    CONSUMERS,
    DEFAULT_EXPRESSIONS,
    EXTERNAL_ROOTS,
    HIDDEN,
    ID_MAP,
    IMPORTS,
    KEYED,
    MARKS,
    NARROWED,
    NULL_ORDER,
    PATCH,
    PINS,
    RESOLVED,
    TAG_RETENTION,
    UNDROP,
    WITH_CHECKSUMS,
    Features,
)
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState, remembered
from versioned_catalog.log.times import UNIX_EPOCH, settled_time
from versioned_catalog.model.bound_changes import apply_all, rebase
from versioned_catalog.model.changes import SetProperty
from versioned_catalog.model.column_ids import new_schema, schema_with_ids
from versioned_catalog.model.constants import rekey_defaults
from versioned_catalog.model.evolution import BoundChange, Evolution, used_physical_names
from versioned_catalog.model.keys import hides_rows, is_maintained, with_ttl_floor
from versioned_catalog.model.narrowing import narrowed_columns
from versioned_catalog.model.pins import Pin
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import FIRST_INTERNAL_ID, Evaluated, NestedType, walk
from versioned_catalog.storage.store import split_root

_Mark = TypeVar("_Mark")


def next_head(attempt: Attempt[Any], operation: str, base_version: int | None = None) -> Head:
    """The head of an attempt's entry; ``base_version`` is that of the operation's base by default."""
    base = attempt.operation.base.version if base_version is None else base_version
    return head_after(attempt.newest, attempt.commit_id, operation, base)


def head_after(state: TableState | None, commit_id: str, operation: str, base_version: int) -> Head:
    """The head of the entry that follows a state; the log dates it."""
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


def create_entry(attempt: Attempt[Create]) -> Commit:
    """The entry that creates a table."""
    base_version = -1 if attempt.newest is None else attempt.newest.version
    head = next_head(attempt, "create", base_version)
    return _first_commit(attempt.operation, attempt.newest, head)


def features_of_tags(kept: Mapping[str, timedelta]) -> Features:
    """The features that tags need which are kept for a time."""
    names = frozenset({TAG_RETENTION} if kept else ())
    return Features(names, names)


def replace_entry(attempt: Attempt[Replace]) -> Commit:
    """The entry that replaces a table."""
    operation = attempt.operation
    head = next_head(attempt, "replace", operation.base_version)
    entry = _first_commit(operation.creation, attempt.newest, head)
    # Tags survive.
    needed = features_of_tags(attempt.state.tags_kept)
    return replace(entry, head=replace(entry.head, features=entry.head.features | needed))


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


def features_of(
    schema: Schema, records: Iterable[SegmentRecord], marked: Collection[str] = ()
) -> Features:
    """The features that a schema, segments and the marks of some need of readers and writers."""
    records = tuple(records)
    names = {KEYED} if schema.row_key else set()
    if any(column.hidden for column, _ in walk(schema.columns)):
        names.add(HIDDEN)
    if narrowed_columns(schema):
        names.add(NARROWED)
    names |= _features_of_types(schema)
    if any(isinstance(column.write_default, Evaluated) for column, _ in walk(schema.columns)):
        names.add(DEFAULT_EXPRESSIONS)
    if marked:
        names |= {MARKS, RESOLVED} if schema.is_keyed else {MARKS}
    if any(record.delta.patch is not None for record in records):
        names.add(PATCH)
    if any(record.id_map is not None for record in records):
        names.add(ID_MAP)
    paths = [path for record in records if (path := split_root(record.path)) is not None]
    if paths:
        names.add(EXTERNAL_ROOTS)
    if any(path.adoption for path in paths):
        names.add(ADOPTIONS)
    # A writer that does not count adoptions would use a path again, and forget what was imported.
    for_writers = names | {IMPORTS} if paths else names
    if any(field.direction.moves_nulls for field in schema.sort_by):
        for_writers = for_writers | {NULL_ORDER}
    return Features(frozenset(names), frozenset(for_writers))


def _features_of_types(schema: Schema) -> set[str]:
    """The features of the types of a schema's columns, those inside other columns too."""
    leaves = (c.type.leaf for c, _ in walk(schema.columns) if not isinstance(c.type, NestedType))
    return {leaf.feature for leaf in leaves if leaf.feature}


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


def change_details(changes: tuple[BoundChange, ...]) -> dict[str, Any]:
    """The member ``details`` of an entry that changes the schema, without maintained properties."""
    shown = [
        change.request.describe()
        for change in changes
        if not (isinstance(change.request, SetProperty) and is_maintained(change.request.key))
    ]
    return {"changes": shown} if shown else {}


@once
def altered(attempt: Attempt[Alter]) -> Evolution:
    """The table after the changes of an ALTER, which are bound to column IDs (section 11, note 6).

    Raises:
        CommitConflictError: a change is not legal after what others committed.
    """
    operation, state = attempt.operation, attempt.state
    moved = state.version != operation.base.version
    version = state.schemas.newest.version + 1
    return (rebase if moved else apply_all)(operation.changes, state.evolution, version)


def _features(pins: Mapping[str, Pin]) -> Features:
    return Features(write=frozenset({PINS})) if pins else Features()


def is_altered(attempt: Attempt[Alter]) -> bool:
    """Whether the schema and the properties are already those after the ALTER."""
    before, after = attempt.state.evolution, altered(attempt)
    return (
        after.schema == before.schema
        and after.properties == before.properties
        and after.pins == before.pins
        and after.comment == before.comment
    )


def alter_entry(attempt: Attempt[Alter]) -> Commit:
    """The entry of an ALTER."""
    after, state = altered(attempt), attempt.state
    properties = dict(after.properties)
    if hides_rows(state.properties):
        time = settled_time(attempt.log.store, state.version, state.time)
        properties = with_ttl_floor(state.properties, time, properties)
    head = next_head(attempt, "alter")
    pins = {label: pinned.pin for label, pinned in after.pins.items()}
    return Commit(
        replace(head, features=head.features | features_of(after.schema, ()) | _features(pins)),
        after.next_column_id,
        schema=None if after.schema == state.schema else after.schema,
        properties=properties if properties != dict(state.properties) else None,
        comment=after.comment if after.comment != state.comment else None,
        sets_comment=after.comment != state.comment,
        pins=pins if pins != dict(state.pins) else None,
        details=change_details(attempt.operation.changes),
    )


def is_tagged(attempt: Attempt[Tag]) -> bool:
    """Whether the tag names the version already."""
    operation = attempt.operation
    state, name = attempt.state, operation.name
    return (operation.version, operation.keep) == (state.tags.get(name), state.tags_kept.get(name))


def tag_entry(attempt: Attempt[Tag]) -> Commit:
    """The entry that sets or drops a tag."""
    operation, state = attempt.operation, attempt.state
    tags = _marked(state.tags, operation.name, operation.version)
    return _tags_entry(attempt, tags, _marked(state.tags_kept, operation.name, operation.keep))


def has_no_lapsed_tags(attempt: Attempt[DropLapsedTags]) -> bool:
    """Whether all the tags are gone, or were set again."""
    return not _lapsed(attempt)


def drop_lapsed_tags_entry(attempt: Attempt[DropLapsedTags]) -> Commit:
    """The entry that drops tags which were not to be kept longer."""
    state, lapsed = attempt.state, _lapsed(attempt)
    tags = {name: version for name, version in state.tags.items() if name not in lapsed}
    kept = {name: keep for name, keep in state.tags_kept.items() if name not in lapsed}
    return _tags_entry(attempt, tags, kept)


def _lapsed(attempt: Attempt[DropLapsedTags]) -> frozenset[str]:
    state = attempt.state
    return frozenset(
        name
        for name, (version, keep) in attempt.operation.tags.items()
        if state.tags.get(name) == version and state.tags_kept.get(name) == keep
    )


def _tags_entry(
    attempt: Attempt[Any], tags: Mapping[str, int], kept: Mapping[str, timedelta]
) -> Commit:
    head, state = next_head(attempt, "tag"), attempt.state
    needed = features_of_tags(kept)
    return Commit(
        replace(head, features=head.features | needed),
        state.next_column_id,
        tags=tags if tags != state.tags else None,
        tags_kept=kept if kept != state.tags_kept else None,
    )


def consumer_entry(attempt: Attempt[Consume]) -> Commit:
    """The entry that moves or drops a consumer."""
    head, operation, state = next_head(attempt, "tag"), attempt.operation, attempt.state
    return Commit(
        replace(head, features=head.features | Features(write=frozenset({CONSUMERS}))),
        state.next_column_id,
        consumers=_marked(state.consumers, operation.name, operation.consumer),
        details={"consumer": operation.name},
    )


def _marked(marks: Mapping[str, _Mark], name: str, mark: _Mark | None) -> dict[str, _Mark]:
    """Tags or consumers, with another value for a name, or without it (None)."""
    if mark is not None:
        return {**marks, name: mark}
    return {other: value for other, value in marks.items() if other != name}


def drop_entry(attempt: Attempt[Drop]) -> Commit:
    """The entry that drops a table."""
    head = next_head(attempt, "drop")
    return Commit(
        replace(head, features=head.features | _CAN_BE_UNDROPPED), attempt.state.next_column_id
    )


_CAN_BE_UNDROPPED = Features(frozenset({UNDROP}), frozenset({UNDROP}))


def is_undropped(attempt: Attempt[Undrop]) -> bool:
    """Whether the table exists already."""
    return not attempt.state.dropped


def undrop_entry(attempt: Attempt[Undrop]) -> Commit:
    """The entry that makes a dropped table exist again."""
    state = attempt.state
    return Commit(next_head(attempt, "undrop", state.version), state.next_column_id)


def is_purged(attempt: Attempt[Purge]) -> bool:
    """Whether the table can't be undropped any more."""
    return attempt.state.purged


def purge_entry(attempt: Attempt[Purge]) -> Commit:
    """The entry after which a dropped table can't be undropped, and all its versions are expired."""
    state, head = attempt.state, next_head(attempt, "purge", attempt.state.version)
    features = head.features | _CAN_BE_UNDROPPED
    return Commit(
        replace(head, features=features),
        state.next_column_id,
        floor=state.version,
        tags={},
        tags_kept={} if state.tags_kept else None,
    )


def is_fenced(attempt: Attempt[Fence]) -> bool:
    """Whether the fence is as high already."""
    return attempt.operation.fence <= attempt.state.fence


def fence_entry(attempt: Attempt[Fence]) -> Commit:
    """The entry that raises the fence."""
    head = next_head(attempt, "fence")
    return Commit(head, attempt.state.next_column_id, fence=attempt.operation.fence)


def is_expired(attempt: Attempt[Expire]) -> bool:
    """Whether the oldest retained version is as high already, and no application is to be forgotten."""
    operation, state = attempt.operation, attempt.state
    return (
        operation.floor <= state.floor
        and not starts_to_forget(state)
        and not _forgets(operation, state)
    )


def _forgets(operation: Expire, state: TableState) -> bool:
    """Whether it forgets an application: not if another commit changed how long they are kept."""
    left = remembered(state.applications, operation.forget)
    return len(left) < len(state.applications) and operation.properties == state.properties


def starts_to_forget(state: TableState) -> bool:
    """Whether an expiry adds the feature: the state then knows which commits wrote last batches."""
    return bool(state.applications) and APPLICATION_RETENTION not in state.features.read


def expire_entry(attempt: Attempt[Expire]) -> Commit:
    """The entry that raises the oldest retained version, and forgets applications."""
    head, operation, state = next_head(attempt, "expire"), attempt.operation, attempt.state
    if starts_to_forget(state):
        names = frozenset({APPLICATION_RETENTION})
        head = replace(head, features=head.features | Features(names, names))
    return Commit(
        head,
        state.next_column_id,
        floor=operation.floor if operation.floor > state.floor else None,
        forget=operation.forget if _forgets(operation, state) else None,
    )
