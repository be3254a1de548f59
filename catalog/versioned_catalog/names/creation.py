"""Creation of tables: at once, or planned and committed with their first rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from versioned_catalog.alteration import transform_texts
from versioned_catalog.commit.matrix import propose
from versioned_catalog.commit.operations import Create, Replace
from versioned_catalog.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidRequestError,
    NotFoundError,
)
from versioned_catalog.interop import interop
from versioned_catalog.log.commit_log import table_log
from versioned_catalog.model.bound_changes import plan_changes
from versioned_catalog.model.changes import AddCheck, Change, SetPartitioning, SetProperty
from versioned_catalog.model.checks import Condition
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.identity import (
    check_identities,
    declared_identities,
    numbering_columns,
)
from versioned_catalog.model.keys import COMMENT, KeyNames, key_names, render_sort_by, take_key
from versioned_catalog.model.logical_arrow import declared_logical
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.schema_json import schema_from_arrow
from versioned_catalog.model.table_text import Definition
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.types import Column
from versioned_catalog.model.value_clauses import Identity
from versioned_catalog.names.folders import (
    Mode,
    Placement,
    create_at,
    discard_at,
    load_at,
    plan_creation_at,
    timeline_at,
)
from versioned_catalog.names.locations import check_empty, check_same_folder, external_location
from versioned_catalog.names.names import Names, check_free, head_of, safe_folder
from versioned_catalog.names.names_log import (
    Name,
    TableName,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.read.checks import parse_checks
from versioned_catalog.read.computed import declared
from versioned_catalog.storage.store import Store, split_root
from versioned_catalog.table import Table
from versioned_catalog.write.properties import check_properties

Columns = str | Schema | Any
"""A schema argument: Spark DDL, a Schema, or a pyarrow Schema."""


def creation(
    schema: Columns,
    partitioned_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    primary_key: Sequence[str] = (),
    time_index: str | None = None,
    *,
    table_uuid: str | None = None,
    checks: Mapping[str, str] | Sequence[tuple[str, Condition]] | None = None,
    generated: Mapping[str, str] | None = None,
    zone: str = "UTC",
    identity: Mapping[str, Identity] | None = None,
) -> Create:
    """Return the operation that creates a table; equal arguments give equal operations in any process.

    Args:
        schema, partitioned_by, properties, comment, primary_key, time_index: as in
            ``Catalog.create_table``.
        table_uuid: the table UUID; generated if omitted.
        checks: names and conditions of CHECK constraints, as text or parsed; see
            ``Alteration.add_check``.
        generated: the expressions of generated columns, by the paths of the columns.
        identity: the columns that number rows, by their names, which become NOT NULL.
        zone: the time zone in which these take parts of a TIMESTAMP.

    Raises:
        InvalidRequestError: the schema, key, partitioning or a property is invalid.
    """
    if not isinstance(properties, Mapping | None) or not isinstance(comment, str | None):
        raise InvalidRequestError(
            "properties must be a mapping of text to text, and a comment must be text"
        )
    new_properties = dict(properties or {})
    if isinstance(schema, pa.Schema):
        schema, logical = declared_logical(schema)
        new_properties = logical | new_properties
    comment = take_comment(new_properties, comment)
    key = take_key(new_properties, primary_key, time_index)
    if isinstance(schema, Schema) and key == KeyNames():
        key = key_names(schema)
    check_properties(new_properties, keyed=bool(key.primary_key))
    columns, kept_by, kept_sort = _declared(schema)
    columns = numbering_columns(columns, identity or {})
    partitions = transform_texts(partitioned_by) or kept_by
    requests: list[Change] = [SetPartitioning(partitions)] if partitions else []
    requests += [SetProperty(key, value) for key, value in {**kept_sort, **new_properties}.items()]
    requests += [AddCheck(name, condition) for name, condition in _parsed(checks)]

    def arrange(evolution: Evolution) -> Evolution:
        after = replace(evolution, schema=key.apply(evolution.schema))
        if requests:
            _, after = plan_changes(requests, after, after.schema.version)
        if not generated and not identity:
            return after
        computed = declared(after.schema, generated or {}, zone)
        numbered = declared_identities(after.schema, identity or {})
        properties = {**after.properties, **computed, **numbered}
        check_identities(properties, after.schema)
        return replace(after, properties=properties)

    if not columns:
        raise InvalidRequestError("a table needs at least one column")
    return Create(table_uuid or str(uuid.uuid4()), columns, arrange, comment=comment)


def _parsed(
    checks: Mapping[str, str] | Sequence[tuple[str, Condition]] | None,
) -> Iterable[tuple[str, Condition]]:
    return parse_checks(checks).items() if isinstance(checks, Mapping | None) else checks


def creation_as_declared(table: Definition) -> Create:
    """Return the operation that creates a table as CREATE TABLE declares it.

    Raises:
        InvalidRequestError: a clause of it is invalid.
        NotFoundError: a clause names a column that does not exist.
    """
    return creation(
        table.schema,
        **table.creation_arguments(),
        checks=table.checks,
        zone=table.zone or "UTC",
    )


def check_creation(operation: Create, table: str, store: Store) -> None:
    """Check an operation that creates a table, without its name and folder; nothing is written.

    Args:
        operation: the operation.
        table: the name of the table in errors.
        store: any storage.

    Raises:
        VersionedError: the table can't be created so.
    """
    propose(operation, None, "", table, table_log(store), looks_at_rows=False)


def take_comment(properties: dict[str, str], comment: str | None) -> str | None:
    """Take the comment of a table from its properties, where it may be instead.

    Raises:
        InvalidRequestError: both say something else.
    """
    other = properties.pop(COMMENT, comment)
    if comment is not None and other != comment:
        raise InvalidRequestError(
            f"the comment is {comment!r}, and the property {COMMENT} is {other!r}; leave one out",
            condition="INVALID_OPTION",
        )
    return other


def _declared(schema: Columns) -> tuple[tuple[Column, ...], tuple[str, ...], dict[str, str]]:
    """Return the columns, partitioning and sort order of a declared schema."""
    match schema:
        case str():
            return Schema.parse(schema).columns, (), {}
        case pa.Schema():
            return _declared(schema_from_arrow(schema))
        case Schema():
            partitions = tuple(partition_fields(schema))
            sort_by = render_sort_by(schema)
            return schema.columns, partitions, {"sort_by": sort_by} if sort_by else {}
        case _:
            raise InvalidRequestError(
                f"a schema must be Spark DDL, a Schema or a pyarrow Schema, got {type(schema).__name__}"
            )


_TRIES = 16
"""How often CREATE OR REPLACE checks again whether the table exists."""


def shown_name(name: str | Name) -> str:
    """Render a table's name for errors, even if it is malformed."""
    return name if isinstance(name, str) else render_path(name)


def plan_creation(
    names: Names,
    name: str | Name,
    mode: Mode,
    table_uuid: str | None = None,
    location: str | None = None,
) -> Placement:
    """Determine the folder of a new table. See ``Catalog.plan_creation``."""
    parts, state = parse_path(name), names.state()
    identity, shown = table_uuid or str(uuid.uuid4()), render_path(parts)
    wanted = None if location is None else external_location(names.store, location, shown)
    if mode == "replace" or (mode != "create" and full_key(parts) in state.tables):
        replaced = names.find(state, parts)
        store = names.folder(replaced.location)
        if wanted is not None:
            check_same_folder(store, names.folder(wanted), shown)
        return plan_creation_at(store, replaced.location, identity, mode, replaced.table_uuid)
    check_free(state, parts)
    if wanted is not None:
        check_empty(names.folder(wanted), shown)
    folder = wanted or _free_folder(names.store, parts, identity)
    return plan_creation_at(names.folder(folder), folder, identity, mode)


def _free_folder(store: Store, name: Name, table_uuid: str) -> str:
    """The folder of a name; with a suffix if it holds a renamed table, or one that can be undropped."""
    folder = safe_folder(name)
    try:
        state = timeline_at(store.child(folder)).load().state
    except InvalidRequestError:
        return f"{folder}-{table_uuid[:8]}"  # the folder is another warehouse
    is_free = state is None or (state.dropped and not state.can_be_undropped)
    return folder if is_free else f"{folder}-{table_uuid[:8]}"


def commit_creation(
    names: Names, name: str | Name, placement: Placement, operation: Create, commit_id: str
) -> Table:
    """Create or replace a table. See ``Catalog.commit_creation``."""
    parts = parse_path(name)
    for _ in range(_TRIES):
        try:
            return _create(names, parts, placement, operation, commit_id)
        except (AlreadyExistsError, CommitConflictError) as error:
            if placement.mode != "create or replace":
                raise
            if operation.records or placement.read_version is not None:
                raise CommitConflictError(
                    f"{render_path(parts)} was created, dropped or changed by another commit since "
                    "this was planned; run it again"
                ) from error
        chosen = placement.folder if placement.replaced_uuid is None else None
        location = chosen if chosen is not None and split_root(chosen) is not None else None
        placement = plan_creation(names, parts, placement.mode, location=location)
    raise CommitConflictError(
        f"others created and dropped {render_path(parts)} {_TRIES} times meanwhile; try again later"
    )


def _create(
    names: Names, name: Name, placement: Placement, creation: Create, commit_id: str
) -> Table:
    store, operation = names.folder(placement.folder), placement.operation(creation)
    since, shown = placement.base_version, render_path(name)
    if isinstance(operation, Replace):
        check = partial(_check_still_named, names, name, placement)
        return create_at(store, operation, shown, commit_id, since=since, check=check)
    attempts: list[None] = []
    count = partial(attempts.append, None)
    table = create_at(store, operation, shown, commit_id, since=since, check=count)
    _withdraw_dropped(names.store, name, placement.folder)
    named = TableName(name, placement.folder, operation.table_uuid)
    add_name(names, named, table, commit_id, again=not attempts)
    return table


def _withdraw_dropped(store: Store, name: Name, folder: str) -> None:
    """Withdraw what a dropped table published, if a new one takes its name in another folder."""
    former = store.child(safe_folder(name))
    if folder == safe_folder(name):
        return
    with suppress(InvalidRequestError):  # it is the folder of another warehouse
        state = timeline_at(former).load().state
        if state is not None and state.dropped:
            interop("unpublish")(former)


def _check_still_named(names: Names, name: Name, placement: Placement) -> None:
    """Refuse to replace a table that was dropped or renamed since the plan."""
    current = names.state().tables.get(full_key(name))
    wanted = (placement.folder, placement.replaced_uuid)
    if current is None or (current.location, current.table_uuid) != wanted:
        raise CommitConflictError(
            f"{render_path(name)} was dropped or renamed since its replacement was planned (on "
            f"version {placement.base_version}); run it again"
        )


def name_commit(commit_id: str) -> str:
    """The commit ID of the warehouse's entry that names a table, by that of the table's creation."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"the name of {commit_id}"))


def add_name(
    names: Names, named: TableName, table: Table, commit_id: str, *, again: bool = False
) -> None:
    """Name a created table in the warehouse: the second commit of CREATE.

    Args:
        named: the name.
        table: the table.
        commit_id: idempotency key of the first commit; that of the second is derived from it.
        again: whether an earlier attempt made the first commit. It may have added the name, too,
            which may have been dropped since and must not come back.
    """
    own_id = name_commit(commit_id)
    if again and names.has_landed(own_id):
        return

    def change(state: WarehouseState) -> WarehouseEntry | None:
        other = state.name_of(named.table_uuid)
        if other is not None and named.is_external and full_key(other) != full_key(named.name):
            raise AlreadyExistsError(
                f"{render_path(named.name)}: somebody has given the new table at {table.location} the "
                f"name {render_path(other)} meanwhile; use that, or rename it",
                condition="TABLE_ALREADY_EXISTS",
            )
        if other is not None:
            return None  # an earlier attempt added the name
        check_free(state, named.name)
        if again:
            load_at(table.store, table.name, named.table_uuid)
        return WarehouseEntry(head_of("create_table"), set_tables=(named,))

    try:
        names.commit(change, own_id)
    except (AlreadyExistsError, NotFoundError):
        # Others can find the folder of an external table, give it a name of theirs, and write to it.
        if not named.is_external:
            discard_at(table.store, named.table_uuid, table.name)
        raise
