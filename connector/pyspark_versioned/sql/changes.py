"""Changes of ALTER TABLE as the jar sends them, as changes of the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pyspark_versioned.sql import neighbour_properties
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.values import column_in_errors, parse_default, parse_type
from versioned_catalog import InvalidRequestError
from versioned_catalog.errors import naming_table
from versioned_catalog.model.changes import (
    UNSET,
    AddCheck,
    AddColumn,
    Change,
    ChangeType,
    DropCheck,
    DropColumn,
    DropDefault,
    DropNotNull,
    MoveColumn,
    RenameColumn,
    SetComment,
    SetDefault,
    SetNotNull,
    SetProperty,
    UnsetProperty,
)
from versioned_catalog.model.checks import Condition
from versioned_catalog.model.ddl import unenforced
from versioned_catalog.model.diff import replace_columns
from versioned_catalog.model.evolution import Evolution
from versioned_catalog.model.keys import SORT_BY
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import UNASSIGNED, Column
from versioned_catalog.read.checks import parse_check

_RESERVED = ("provider", "location", "owner", "external", "is_managed_location", "table_type")


def parse_changes(requested: Sequence[messages.Change], schema: Schema, table: str) -> list[Change]:
    """The changes of one ALTER TABLE.

    Raises:
        InvalidRequestError: a change is not allowed.
    """
    _check_properties(requested, table)
    return [change for sent in requested for change in _parse(sent, schema, table)]


def _properties(
    requested: Sequence[messages.Change], table: str
) -> tuple[dict[str, str], list[str]]:
    """The properties that a statement sets, in our terms, and what is to be said about them."""
    given = {c.key: c.value for c in requested if isinstance(c, messages.SetProperty)}
    return neighbour_properties.translated(given, table)


def _check_properties(requested: Sequence[messages.Change], table: str) -> None:
    """Refuse a statement that sets one of our properties twice, or sets and unsets it."""
    kept, _ = _properties(requested, table)
    for change in requested:
        if isinstance(change, messages.UnsetProperty):
            key = neighbour_properties.key_of(change.key)
            if key in kept:
                raise InvalidRequestError(
                    f"{table}: the statement sets the property {key} and unsets it; leave out one"
                )


def notes(requested: Sequence[messages.Change], table: str) -> list[str]:
    """What is to be said about properties of other formats."""
    _, said = _properties(requested, table)
    for change in requested:
        if isinstance(change, messages.UnsetProperty):
            key = neighbour_properties.key_of(change.key)
            if key is None:
                said.append(f"{table}: {change.key} can't be unset, since every table is so")
            elif key != change.key:
                said.append(f"{table}: {change.key} is kept as {key}, which is unset")
    return said


def replaced_columns(
    requested: Sequence[messages.Change], evolution: Evolution, table: str
) -> list[Change] | None:
    """The changes of REPLACE COLUMNS, which arrives as a drop of every column and new ones.

    None for other statements.

    Raises:
        InvalidRequestError: a column can't become what the statement says.
    """
    dropped = {name_key(c.path[0]) for c in requested if isinstance(c, messages.DropColumn)}
    added = [c for c in requested if isinstance(c, messages.AddColumn)]
    if not added or not dropped >= {name_key(c.name) for c in evolution.schema.visible.columns}:
        return None
    return replace_columns(evolution, [_declared(add, table) for add in added])


def _declared(add: messages.AddColumn, table: str) -> Column:
    path = tuple(add.path)
    type_ = parse_type(add.type, path)
    default = parse_default(add.default_value, type_, column_in_errors(table, path))
    return Column(
        *(UNASSIGNED, path[-1], type_, add.nullable), write_default=default, comment=add.comment
    )


def _parse(requested: messages.Change, schema: Schema, table: str) -> list[Change]:
    match requested:
        case messages.AddColumn():
            return [_add(requested, table)]
        case messages.DropColumn(path, if_exists):
            is_absent = if_exists and schema.find(tuple(path)) is None
            return [] if is_absent else [DropColumn(tuple(path))]
        case messages.RenameColumn(path, new_name):
            return [RenameColumn(tuple(path), new_name)]
        case messages.ChangeType(path, type_):
            return [ChangeType(tuple(path), parse_type(type_, tuple(path)), narrows=True)]
        case messages.MoveColumn(path, first, after):
            return [MoveColumn(tuple(path), first, after)]
        case messages.SetNullable(path, nullable):
            return [DropNotNull(tuple(path)) if nullable else SetNotNull(tuple(path))]
        case messages.SetComment(path, comment):
            return [SetComment(tuple(path), comment)]
        case messages.SetDefault(path, default):
            column = schema.get(tuple(path))
            value = parse_default(default, column.type, column_in_errors(table, path))
            return [SetDefault(tuple(path), value)]
        case messages.DropDefault(path):
            return [DropDefault(tuple(path))]
        case messages.SetProperty(key, value):
            found = neighbour_properties.here(key, value, table)
            if found is None:
                return [SetProperty(_property(key, table), value)]
            return [] if found.key is None else [SetProperty(found.key, found.value)]
        case messages.UnsetProperty(key):
            ours = neighbour_properties.key_of(key)
            return [] if ours is None else [UnsetProperty(_property(ours, table))]
        case messages.ClusterBy(columns):
            if not columns:
                return [UnsetProperty(SORT_BY)]
            return [SetProperty(SORT_BY, ", ".join(render_path(tuple(path)) for path in columns))]
        case messages.AddConstraint(constraint):
            if constraint.check is not None:
                return [AddCheck(constraint.check.name, condition_of(constraint, table))]
            primary_key_columns(constraint, table)
            raise _unchangeable_key(table)
        case messages.DropConstraint(name, if_exists):
            return [DropCheck(name, if_exists)]
        case messages.OtherChange(name):
            raise InvalidRequestError(
                f"{table}: {name} is not supported; docs/sql.md lists what ALTER TABLE can do",
                condition="NOT_SUPPORTED",
            )


def _add(add: messages.AddColumn, table: str) -> AddColumn:
    path = tuple(add.path)
    type_ = parse_type(add.type, path)
    value = add.default_value
    default = UNSET if value is None else parse_default(value, type_, column_in_errors(table, path))
    return AddColumn(
        path, type_, default, add.nullable, add.comment, first=add.first, after=add.after
    )


def _property(key: str, table: str) -> str:
    if key in _RESERVED:
        raise InvalidRequestError(
            f"{table}: the property {key} is Spark's own and can't be changed here",
            condition="NOT_SUPPORTED",
        )
    return key


def _unchangeable_key(table: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"{table}: a primary key is set when a table is created and can't be changed; create another "
        "table with the PRIMARY KEY that you want, and write the rows of this one to it",
        condition="NOT_SUPPORTED",
    )


def condition_of(constraint: messages.Constraint, table: str) -> Condition:
    """The condition of a CHECK constraint.

    Raises:
        InvalidRequestError: it does not parse, or is not to be enforced.
    """
    check = constraint.check
    assert check is not None
    if not check.enforced:
        with naming_table(table):
            raise unenforced(check.name)
    return parse_check(check.condition, _zone(constraint.time_zone, table))


def _zone(name: str, table: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ValueError, ZoneInfoNotFoundError):
        pass
    try:
        offset = datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
    except ValueError:
        offset = None
    if offset is None:
        raise InvalidRequestError(
            f"{table}: the session's time zone {name} is unknown here; set spark.sql.session.timeZone "
            "to UTC or to a zone such as Europe/Berlin for this statement",
            condition="NOT_SUPPORTED",
        )
    return offset


def primary_key_columns(constraint: messages.Constraint, table: str) -> Sequence[Sequence[str]]:
    """The columns of a PRIMARY KEY.

    Raises:
        InvalidRequestError: it is another constraint.
    """
    if constraint.primary_key is None:
        raise InvalidRequestError(
            f"{table} can't enforce {constraint.ddl}; leave it out: a versioned table has PRIMARY KEY, "
            "NOT NULL and CHECK only",
            condition="NOT_SUPPORTED",
        )
    return constraint.primary_key
