"""Registration of external tables: a name for a table that exists (FORMAT.md, section 12)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from versioned_catalog.commit.matrix import propose
from versioned_catalog.commit.operations import Create
from versioned_catalog.errors import AlreadyExistsError, InvalidRequestError, NotFoundError
from versioned_catalog.log.commit_log import TableLog
from versioned_catalog.log.state import TableState, apply
from versioned_catalog.model.checks import shown_checks
from versioned_catalog.model.generated import generated_of
from versioned_catalog.model.identifiers import shown_properties
from versioned_catalog.model.identity import identities_of
from versioned_catalog.model.keys import (
    COMMENT,
    SORT_BY,
    key_properties,
    render_sort_by,
)
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.value_clauses import Identity
from versioned_catalog.names.creation import creation, name_commit
from versioned_catalog.names.folders import load_at, timeline_at
from versioned_catalog.names.locations import external_location, missing_table
from versioned_catalog.names.names import Names, check_free, head_of
from versioned_catalog.names.names_log import Name, TableName, WarehouseEntry, WarehouseState
from versioned_catalog.table import Table


def has_table(names: Names, name: str | Name, location: str) -> bool:
    """Whether there is a table in a folder. See ``Catalog.has_table_at``."""
    folder = external_location(names.store, location, render_path(parse_path(name)))
    state = timeline_at(names.folder(folder)).load().state
    return state is not None and not state.dropped


def register(
    names: Names, name: str | Name, location: str, declared: Create | None, commit_id: str | None
) -> Table:
    """Give a table that exists a name. See ``Catalog.register_table``."""
    parts = parse_path(name)
    shown, own_id = render_path(parts), name_commit(commit_id or str(uuid.uuid4()))
    folder = external_location(names.store, location, shown)
    store = names.folder(folder)
    try:
        table = load_at(store, shown)
    except NotFoundError:
        raise missing_table(store, shown) from None
    if UNFINISHED in table.state.properties:
        raise InvalidRequestError(
            f"{shown}: files are missing in the table at {store.url}, since its conversion did not "
            "finish; delete its folder _versioned, and convert it again",
            condition="NOT_SUPPORTED",
        )
    if declared is not None:
        check_declared(table, declared)
    named = TableName(parts, folder, table.state.created_uuid)

    def change(state: WarehouseState) -> WarehouseEntry:
        check_free(state, parts)
        other = state.name_of(named.table_uuid)
        if other is not None:
            raise AlreadyExistsError(
                f"{shown}: the table at {store.url} has the name {render_path(other)} in this "
                "warehouse; rename that, or make a clone",
                condition="TABLE_ALREADY_EXISTS",
            )
        return WarehouseEntry(head_of("create_table"), set_tables=(named,))

    if commit_id is None or not names.has_landed(own_id):
        names.commit(change, own_id)
    return table


UNFINISHED = "convert.unfinished"
"""The property of a table whose files are being taken in, which is not to be used before."""


def finish(table: Table) -> int:
    """Take the property from a table that has all its files, and return the newest version."""
    table = table.refresh()
    if UNFINISHED not in table.state.properties:
        return table.version
    return table.alter().unset_property(UNFINISHED).commit()


def taken_by(table: Table, *, external: bool) -> AlreadyExistsError:
    """The error if a table that is to be created of files has the name of another one."""
    folder = f", delete its folder {table.location}" if external else ""
    reason = (
        "an earlier call that was to create it of files did not finish, so files are missing; unless "
        f"that is running still, drop the table{folder} and run this again"
        if UNFINISHED in table.state.properties
        else "there is a table of that name already; choose another name"
    )
    return AlreadyExistsError(f"{table.name}: {reason}", condition="TABLE_ALREADY_EXISTS")


@dataclass(frozen=True)
class _Described:
    """What a declaration says of a table, by clause, as users write it."""

    columns: str
    partitioned_by: tuple[str, ...]
    primary_key: Mapping[str, str]
    checks: Mapping[str, str]
    generated: Mapping[str, str]
    identity: Mapping[str, Identity]
    comment: str | None
    properties: Mapping[str, str]


def check_declared(table: Table, declared: Create) -> None:
    """Refuse to register a table that is not as a statement declares it.

    Columns, partitioning, key, constraints, generated and identity columns must be the same; of
    properties and the comment, those that are declared.

    Raises:
        InvalidRequestError: naming the first difference.
    """
    wanted = _declared(declared, table.name, table.handle.log)
    existing = _described(table.state)
    for clause, asked, there in _compared(wanted, existing):
        if asked != there:
            raise InvalidRequestError(
                f"{table.name}: {clause} declared as {asked or 'none'}, but the table at "
                f"{table.location} has {there or 'none'}; leave out the columns to register it as it "
                "is, and ALTER it then",
                condition="NOT_SUPPORTED",
            )


def check_options(
    names: Names,
    table: Table,
    partitioned_by: Sequence[str],
    properties: Mapping[str, str] | None,
    location: str | None,
) -> None:
    """Refuse options of a new table for one that exists, unless it is as they say.

    Raises:
        InvalidRequestError: naming the first option that differs.
    """
    if location is not None:
        wanted_folder = names.folder(external_location(names.store, location, table.name))
        if wanted_folder.address != table.store.address:
            raise _unlike(table, f"location is {wanted_folder.url}", table.location, "location")
    if not partitioned_by and not properties:
        return
    declared = creation(Schema(table.schema.columns), partitioned_by, properties)
    wanted = _created(declared, table.name, table.handle.log)
    fields, existing_fields = (
        list(partition_fields(state.schema)) for state in (wanted, table.state)
    )
    if partitioned_by and fields != existing_fields:
        there = f"partitioning {existing_fields or 'none'}"
        raise _unlike(table, f"partitioned_by is {fields}", there, "partitioned_by")
    for key in properties or {}:
        asked, known = (_property(state, key) for state in (wanted, table.state))
        if asked != known:
            there = f"{key} = {known}" if known else f"no property {key}"
            raise _unlike(table, f"{key} is {asked}", there, "properties")


def _property(state: TableState, key: str) -> str | None:
    schema = state.schema
    of_schema = {**key_properties(schema), SORT_BY: render_sort_by(schema)}
    shown = shown_properties(state.properties, schema)
    known = {**of_schema, COMMENT: state.comment, **state.properties, **shown}
    return known.get(key)


def check_comment(table: Table, comment: str | None) -> None:
    """Refuse a comment of a new table for one that has another.

    Raises:
        InvalidRequestError: naming both.
    """
    if comment is not None and comment != table.comment:
        there = f"the comment {table.comment!r}" if table.comment else "no comment"
        raise _unlike(table, f"the comment is {comment!r}", there, "comment")


def _unlike(table: Table, asked: str, there: str, option: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"{table.name} exists, and has {there}, while {asked} in this call: {option} is for a new "
        "table; leave it out, and ALTER the table if it is to change",
        condition="NOT_SUPPORTED",
    )


def _compared(wanted: _Described, existing: _Described) -> Iterator[tuple[str, object, object]]:
    yield "columns are", wanted.columns, existing.columns
    yield "partitioning is", list(wanted.partitioned_by), list(existing.partitioned_by)
    yield "the key is", dict(wanted.primary_key), dict(existing.primary_key)
    yield "constraints are", dict(wanted.checks), dict(existing.checks)
    yield "generated columns are", dict(wanted.generated), dict(existing.generated)
    yield "identity columns are", dict(wanted.identity), dict(existing.identity)
    if wanted.comment is not None:
        yield "the comment is", wanted.comment, existing.comment
    for key, value in wanted.properties.items():
        yield f"the property {key} is", value, existing.properties.get(key)


def _declared(declared: Create, table: str, log: TableLog) -> _Described:
    """What the table would be that the operation creates."""
    return _described(_created(declared, table, log))


def _created(declared: Create, table: str, log: TableLog) -> TableState:
    entry = propose(declared, None, str(uuid.uuid4()), table, log)
    assert entry is not None, "a creation is a commit"
    return apply(None, entry)


def _described(state: TableState) -> _Described:
    schema: Schema = state.schema
    return _Described(
        str(schema),
        tuple(partition_fields(schema)),
        key_properties(schema),
        shown_checks(state.properties, schema),
        {
            schema.path_text(column.column_id): column.shown(schema)
            for column in generated_of(state.properties)
        },
        {
            schema.path_text(column.column_id): column.identity
            for column in identities_of(state.properties)
        },
        state.comment,
        shown_properties(state.properties, schema),
    )
