"""Bind, apply and rebase the changes of one ALTER, and render them as SQL."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.model.changes import AddColumn, Change, append
from versioned_catalog.model.checks import check_columns_stay
from versioned_catalog.model.evolution import BoundChange, Evolution, SchemaChange
from versioned_catalog.model.generated import without_dropped
from versioned_catalog.model.hidden_columns import visible
from versioned_catalog.model.iceberg import check_publishable, check_registration
from versioned_catalog.model.identifiers import check_identifiers_stay
from versioned_catalog.model.identity import check_identities, without_dropped_identities
from versioned_catalog.model.keys import check_ttl
from versioned_catalog.model.logical_columns import check_logical, without_dropped_logical
from versioned_catalog.model.pin_changes import check_pins
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Struct, walk


def utc_now() -> dt.datetime:
    """The current time, in UTC."""
    return dt.datetime.now(dt.UTC)


def plan_changes(
    requests: Iterable[Change],
    evolution: Evolution,
    new_version: int,
    clock: Callable[[], dt.datetime] = utc_now,
) -> tuple[tuple[BoundChange, ...], Evolution]:
    """Bind the changes of one ALTER, each to the result of those before it, and apply them.

    ``new_version`` is the schema version after the ALTER, if it changes the schema. The result is the
    bound changes, which a rebase applies again, and the table after them.

    Raises:
        InvalidRequestError: a change is not legal.
        NotFoundError: a named column does not exist.
    """
    time = clock()
    current = evolution.begin()
    bound: list[BoundChange] = []
    for appended, group in itertools.groupby(requests, _is_appended):
        if appended:
            added = [request.bind(current, time) for request in group]
            bound += added
            current = append([change.target for change in added], current)
            continue
        for request in group:
            bound.append(request.bind(current, time))
            current = bound[-1].apply(current)
    return tuple(bound), finish(evolution, current, new_version)


def apply_all(changes: Iterable[BoundChange], evolution: Evolution, new_version: int) -> Evolution:
    """Apply the changes of one ALTER, in order. ``new_version`` is for a changed schema.

    Raises:
        InvalidRequestError: one of them is not legal on that table.
    """
    current = evolution.begin()
    groups = itertools.groupby(changes, lambda change: _is_appended(change.request))
    for appended, group in groups:
        if appended:
            current = append([change.target for change in group], current)
            continue
        for change in group:
            current = change.apply(current)
    return finish(evolution, current, new_version)


def _is_appended(request: SchemaChange[Any]) -> bool:
    return isinstance(request, AddColumn) and request.is_appended


def rebase(changes: Iterable[BoundChange], evolution: Evolution, new_version: int) -> Evolution:
    """``apply_all`` for a table that was changed since the changes were planned.

    Raises:
        CommitConflictError: the changes are no longer legal.
    """
    changes = tuple(changes)
    try:
        return apply_all(changes, evolution, new_version)
    except InvalidRequestError as error:
        requested = "; ".join(change.request.describe() for change in changes)
        raise CommitConflictError(
            f"can't apply {requested}: a concurrent commit changed the table, and {error}. Nothing was "
            "changed; refresh the table and repeat the change"
        ) from None


def finish(before: Evolution, after: Evolution, new_version: int) -> Evolution:
    """Finish an ALTER: check the result as a whole and set its schema version.

    Raises:
        InvalidRequestError: the table or a struct has no columns left.
    """
    if not visible(after.schema.columns) and visible(before.schema.columns):
        raise InvalidRequestError(
            "the last column can't be dropped; add another one in the same ALTER, or drop the table",
            condition="NOT_SUPPORTED",
        )
    for column, _ in walk(after.schema.columns):
        if isinstance(column.type, Struct) and not visible(column.type.fields):
            where = after.schema.path_text(column.id)
            raise InvalidRequestError(
                f"the last field of {where} can't be dropped; drop {where}, or add another field "
                "in the same ALTER",
                condition="NOT_SUPPORTED",
            )
    check_ttl(after.properties, after.schema)
    check_publishable(after.properties, before.schema, after.schema)
    check_registration(after.properties)
    check_pins(before, after)
    check_columns_stay(after.properties, before.schema.visible, after.schema.visible)
    check_identifiers_stay(after.properties, before.schema.visible, after.schema.visible)
    properties = without_dropped(after.properties, before.schema, after.schema)
    properties = without_dropped_identities(properties, after.schema)
    check_identities(properties, after.schema)
    properties = without_dropped_logical(properties, after.schema)
    check_logical(properties, after.schema)
    same = after.schema.same_but_version(before.schema)
    version = before.schema.version if same else new_version
    return replace(
        after, schema=after.schema.numbered(version), properties=properties, first_new_id=0
    )


def newly_not_null(old: Schema, new: Schema) -> frozenset[int]:
    """The IDs of the columns of both schemas that are nullable in the old one only."""
    return frozenset(
        column_id
        for column_id in old.ids & new.ids
        if old.column(column_id).nullable and not new.column(column_id).nullable
    )


def render_changes(requests: Iterable[Change], evolution: Evolution, table: str) -> list[str]:
    """The ALTER TABLE statements that make the same changes, one after the other.

    Args:
        requests: the changes.
        evolution: the table before them.
        table: the table's name as SQL.

    Raises:
        InvalidRequestError: a change is not legal.
        NotFoundError: a named column does not exist.
    """
    current, time = evolution.begin(), utc_now()
    statements: list[str] = []
    for request in requests:
        before, current = current, request.bind(current, time).apply(current)
        statements += request.statements(table, before, current)
    return statements
