"""Application of bound changes, by column ID.

The same code applies them to the table that they were planned for and, at a rebase, to a newer one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.evolution import (
    actions,
    apply_arrangement,
    apply_columns,
    apply_pins,
    apply_types,
)
from versioned_catalog.evolution.changes import describe
from versioned_catalog.evolution.evolution import BoundChange, Evolution
from versioned_catalog.iceberg.property import check_publishable
from versioned_catalog.schema.hidden import visible
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.ttl import check_ttl
from versioned_catalog.types.types import Struct, walk


def apply_all(changes: Iterable[BoundChange], evolution: Evolution, new_version: int) -> Evolution:
    """Apply the changes of one ALTER, in order. ``new_version`` is for a changed schema.

    Raises:
        InvalidRequestError: one of them is not legal on that table.
    """
    current = evolution.begin()
    for appended, group in itertools.groupby(
        changes, lambda change: apply_columns.is_appended(change.action)
    ):
        if appended:
            current = apply_columns.append([change.action for change in group], current)
            continue
        for change in group:
            current = apply(change, current)
    return finish(evolution, current, new_version)


def rebase(changes: Iterable[BoundChange], evolution: Evolution, new_version: int) -> Evolution:
    """``apply_all`` for a table that was changed since the changes were planned.

    Raises:
        CommitConflictError: the changes are no longer legal.
    """
    changes = tuple(changes)
    try:
        return apply_all(changes, evolution, new_version)
    except InvalidRequestError as error:
        requested = "; ".join(describe(change.request) for change in changes)
        raise CommitConflictError(
            f"can't apply {requested}: a concurrent commit changed the table, and {error}. Nothing was "
            "changed; refresh the table and repeat the change"
        ) from None


def finish(before: Evolution, after: Evolution, new_version: int) -> Evolution:
    """Finish an ALTER: check the result as a whole and set its schema version.

    Raises:
        InvalidRequestError: the table or a struct has no columns left.
    """
    if visible(before.schema.columns) and not visible(after.schema.columns):
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
    apply_pins.check_pins(before, after)
    same = after.schema.same_but_version(before.schema)
    version = before.schema.version if same else new_version
    return replace(after, schema=after.schema.numbered(version), first_new_id=0)


def newly_not_null(old: Schema, new: Schema) -> frozenset[int]:
    """The IDs of the columns of both schemas that are nullable in the old one only."""
    return frozenset(
        column_id
        for column_id in old.ids & new.ids
        if old.column(column_id).nullable and not new.column(column_id).nullable
    )


def apply(change: BoundChange, evolution: Evolution) -> Evolution:
    """Apply one change of an ALTER that was started by ``Evolution.begin``.

    Raises:
        InvalidRequestError: it is not legal on that table.
    """
    match change.action:
        case actions.Add() as action:
            return apply_columns.add_column(action, evolution)
        case actions.Property() as action:
            return apply_arrangement.set_property(action, evolution)
        case actions.SetPin() as action:
            return apply_pins.set_pin(action, evolution)
        case other:
            return replace(evolution, schema=_changed_schema(other, evolution))


def _changed_schema(action: actions.SchemaAction, evolution: Evolution) -> Schema:
    match action:
        case actions.Drop():
            return apply_columns.drop_column(action, evolution)
        case actions.Rename():
            return apply_columns.rename_column(action, evolution)
        case actions.Move():
            return apply_columns.move_column(action, evolution)
        case actions.Retype():
            return apply_types.change_type(action, evolution)
        case actions.Redefault():
            return apply_types.set_default(action, evolution)
        case actions.Renull():
            return apply_columns.set_nullable(action, evolution)
        case actions.Recomment():
            return apply_columns.set_comment(action, evolution)
        case actions.Partition():
            return apply_arrangement.set_partitioning(action, evolution)
        case actions.Sort():
            return apply_arrangement.set_sort_order(action, evolution)
