"""Binding of changes: names become column IDs, so that the changes can be applied again later."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution import actions, changes
from versioned_catalog.evolution.apply import apply, finish
from versioned_catalog.evolution.apply_columns import append
from versioned_catalog.evolution.evolution import BoundChange, Evolution, refer
from versioned_catalog.evolution.references import (
    check_not_in_key,
    field_reference,
    find,
    parent_reference,
    position,
    reference,
)
from versioned_catalog.schema.column_ids import rekey_defaults
from versioned_catalog.schema.hidden import visible, with_hidden_defaults
from versioned_catalog.schema.keying import check_not_key
from versioned_catalog.schema.pins import check_pinned
from versioned_catalog.schema.sorting import SORT_BY, parse_sort_by
from versioned_catalog.schema.transforms import parse_partitioning
from versioned_catalog.types import types
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.widening import type_name
from versioned_catalog.values.literals import constant


def utc_now() -> dt.datetime:
    """The current time, in UTC."""
    return dt.datetime.now(dt.UTC)


def plan_changes(
    requests: Iterable[changes.Change],
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
            added = [bind(request, current, time) for request in group]
            bound += added
            current = append([change.action for change in added], current)
            continue
        for request in group:
            bound.append(bind(request, current, time))
            current = apply(bound[-1], current)
    return tuple(bound), finish(evolution, current, new_version)


def _is_appended(request: changes.Change) -> bool:
    """Whether it adds a column after all others at the top level, and so depends on none of them."""
    if not isinstance(request, changes.AddColumn) or len(request.path) > 1:
        return False
    return not request.first and request.after is None


def bind(request: changes.Change, evolution: Evolution, time: dt.datetime) -> BoundChange:
    """Bind one change to the columns that currently have the names in it."""
    return BoundChange(request, _action(request, evolution, time))


def _action(request: changes.Change, evolution: Evolution, time: dt.datetime) -> actions.Action:
    match request:
        case changes.AddColumn():
            return _bind_add(request, evolution, time)
        case changes.DropColumn(path):
            return actions.Drop(field_reference(evolution, path, "dropped", "drop"))
        case changes.RenameColumn(path, new_name):
            return actions.Rename(field_reference(evolution, path, "renamed"), new_name)
        case changes.MoveColumn():
            return _bind_move(request, evolution)
        case changes.ChangeType(path, type_):
            return _bind_type(evolution, path, type_)
        case changes.SetDefault(path, value):
            return _bind_default(evolution, path, value)
        case changes.DropDefault(path):
            return _bind_default(evolution, path, changes.UNSET)
        case changes.SetNotNull(path):
            return actions.Renull(reference(evolution, path), False)
        case changes.DropNotNull(path):
            return _bind_nullable(evolution, path)
        case changes.SetComment(path, text):
            return actions.Recomment(reference(evolution, path), text or None)
        case changes.SetProperty(key, value):
            return _bind_property(evolution, key, value)
        case changes.UnsetProperty(key):
            check_not_key(key)
            return actions.Sort(()) if key == SORT_BY else actions.Property(key, None)
        case changes.SetPartitioning(texts):
            fields = parse_partitioning(texts)
            return actions.Partition(tuple((reference(evolution, path), t) for path, t in fields))
        case changes.PinSchema(label, pin):
            return actions.SetPin(label, pin)
        case changes.RetirePin(label):
            check_pinned(evolution.pins, label)
            return actions.SetPin(label, None)


def _bind_add(request: changes.AddColumn, evolution: Evolution, time: dt.datetime) -> actions.Add:
    parent, where = request.path[:-1], render_path(request.path)
    ref = parent_reference(evolution, request.path) if parent else None
    value = None if request.default is changes.UNSET else request.default
    default = _default(value, request.type, where)
    requested = types.Column(
        types.UNASSIGNED,
        request.path[-1],
        request.type,
        request.nullable,
        read_default=_evaluate(default, request.type, time)
        if isinstance(default, types.Now)
        else default,
        write_default=default,
        comment=request.comment,
    )
    without_ids = partial(replace, id=types.UNASSIGNED, physical_name="")
    column = rekey_defaults(requested, types.map_columns(requested, without_ids))
    if not column.nullable and default is None:
        raise InvalidRequestError(_needs_default(column, where))
    return actions.Add(ref, column, position(evolution, parent, request.first, request.after))


def _needs_default(column: types.Column, where: str) -> str:
    if types.is_opaque(column.type):
        return (
            f"the column {where} can't be added NOT NULL, since {type_name(column.type)} can't "
            "have a default; add it nullable, fill it, then set NOT NULL"
        )
    return (
        f"the column {where} can't be added NOT NULL without a default, since existing rows would be "
        "null; give a default that is not null, or add it nullable"
    )


def _bind_move(request: changes.MoveColumn, evolution: Evolution) -> actions.Move:
    if not request.first and request.after is None:
        raise InvalidRequestError(
            f"the new position of {render_path(request.path)} is missing; give FIRST, or AFTER and a "
            "column"
        )
    ref = field_reference(evolution, request.path, "moved")
    return actions.Move(ref, position(evolution, request.path[:-1], request.first, request.after))


def _bind_type(evolution: Evolution, path: ColumnPath, type_: types.DataType) -> actions.Retype:
    column = find(evolution.schema, path)
    if column.type != type_ and not isinstance(column.type, types.Char | types.Varchar):
        check_not_in_key(evolution, column.id, "change the type of")
    return actions.Retype(refer(evolution, column.id), type_)


def _bind_default(evolution: Evolution, path: ColumnPath, value: object) -> actions.Redefault:
    ref = field_reference(evolution, path, "given a default")
    column = find(evolution.schema, path)
    (shown,) = visible((column,))
    default = None if value is changes.UNSET else _default(value, shown.type, render_path(path))
    if isinstance(default, types.Constant) and shown != column:
        default = with_hidden_defaults(default, column.type)
    if value is not changes.UNSET and default is None and not column.nullable:
        raise InvalidRequestError(
            f"the default of {render_path(path)} can't be NULL, since the column is NOT NULL; "
            "drop its default instead, so that every write must give a value"
        )
    return actions.Redefault(ref, default, column.type, evolution.first_new_id)


def _bind_nullable(evolution: Evolution, path: ColumnPath) -> actions.Renull:
    column = find(evolution.schema, path)
    above = evolution.schema.ancestors(column.id)
    if above and isinstance(above[-1].type, types.Map) and above[-1].type.key.id == column.id:
        raise InvalidRequestError(f"{render_path(path)} is the key of a map, which is never null")
    return actions.Renull(refer(evolution, column.id), True)


def _bind_property(evolution: Evolution, key: str, value: str) -> actions.Property | actions.Sort:
    if not isinstance(key, str) or not isinstance(value, str) or not key:
        raise InvalidRequestError(
            f"the property {key!r} = {value!r} is not text; give both key and value as str"
        )
    check_not_key(key)
    if key != SORT_BY:
        return actions.Property(key, value)
    fields = parse_sort_by(value)
    return actions.Sort(
        tuple((reference(evolution, path), descending) for path, descending in fields)
    )


def _default(value: object, type_: types.DataType, where: str) -> types.WriteDefault | None:
    """The stored form of a default that fits the type."""
    if value is not None and types.is_opaque(type_):
        raise InvalidRequestError(
            f"the column {where} is {type_name(type_)}, which can't have a default; leave it out"
        )
    if isinstance(value, types.Now):
        if value.type is not type_:
            raise InvalidRequestError(
                f"the column {where} is {type_name(type_)}, but {value.value} is "
                f"{type_name(value.type)}; give a constant"
            )
        return value
    if isinstance(value, types.Constant):
        return value
    try:
        return constant(value, type_)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {where}: {error}", condition="INVALID_VALUE") from None


def _evaluate(now: types.Now, type_: types.DataType, time: dt.datetime) -> types.Constant | None:
    """The value of ``now`` at a time, in UTC."""
    moment = time.astimezone(dt.UTC)
    return constant(moment.date() if now is types.Now.DATE else moment, type_)
