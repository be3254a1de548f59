"""From names to IDs: changes as they were asked for become changes that can be applied again."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.evolution.apply import append, apply, finish, rekeyed
from versioned_catalog.evolution.changes import (
    UNSET,
    AddColumn,
    Change,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    MoveColumn,
    RenameColumn,
    SetComment,
    SetDefault,
    SetNotNull,
    SetPartitioning,
    SetProperty,
    UnsetProperty,
)
from versioned_catalog.evolution.evolution import (
    Action,
    Add,
    After,
    BoundChange,
    Drop,
    Evolution,
    First,
    Last,
    Move,
    Partition,
    Place,
    Property,
    Recomment,
    Redefault,
    Ref,
    Rename,
    Renull,
    Retype,
    Sort,
    refer,
)
from versioned_catalog.schema.keying import check_not_key
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.schema.sorting import SORT_BY, parse_sort_by
from versioned_catalog.schema.transforms import parse_partitioning
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.types import (
    UNASSIGNED,
    Array,
    Char,
    Column,
    Constant,
    DataType,
    Map,
    Now,
    Struct,
    Varchar,
    WriteDefault,
    children,
    is_nested,
    is_opaque,
    map_columns,
)
from versioned_catalog.types.widening import type_name
from versioned_catalog.values.literals import constant

Clock = Callable[[], dt.datetime]


def utc_now() -> dt.datetime:
    """The time, with its zone."""
    return dt.datetime.now(dt.UTC)


def plan(
    requests: Iterable[Change], evolution: Evolution, new_version: int, clock: Clock = utc_now
) -> tuple[tuple[BoundChange, ...], Evolution]:
    """Bind the changes of one ALTER, each to what those before it make, and apply them.

    Args:
        requests: the changes, in order.
        evolution: the table they were asked for on.
        new_version: the schema version to give, if the schema changes.
        clock: what is now; looked at once an ALTER.

    Returns:
        The bound changes, to be applied again at a rebase, and the table after them.

    Raises:
        InvalidRequestError: a change is not legal.
        NotFoundError: a column that is named is not there.
    """
    now = clock()
    current = evolution.begin()
    bounds: list[BoundChange] = []
    for together, group in itertools.groupby(requests, _is_appended):
        if together:
            made = [bind(request, current, lambda: now) for request in group]
            bounds += made
            current = append([bound.action for bound in made], current)
            continue
        for request in group:
            bounds.append(bind(request, current, lambda: now))
            current = apply(bounds[-1], current)
    return tuple(bounds), finish(evolution, current, new_version)


def _is_appended(request: Change) -> bool:
    """Whether it adds a column after all others at the top, and so is bound alike whatever they are."""
    if not isinstance(request, AddColumn) or len(request.path) > 1:
        return False
    return not request.first and request.after is None


def bind(request: Change, evolution: Evolution, clock: Clock = utc_now) -> BoundChange:
    """Bind one change to the columns that its names mean now.

    Raises:
        InvalidRequestError: the change makes no sense, whatever else the table holds.
        NotFoundError: a column that is named is not there.
    """
    return BoundChange(request, _action(request, evolution, clock))


def _action(request: Change, evolution: Evolution, clock: Clock) -> Action:
    match request:
        case AddColumn():
            return _bind_add(request, evolution, clock)
        case DropColumn(path):
            return Drop(_field(evolution, path, "dropped", "drop"))
        case RenameColumn(path, new_name):
            return Rename(_field(evolution, path, "renamed"), new_name)
        case MoveColumn():
            return _bind_move(request, evolution)
        case ChangeType(path, type_):
            return _bind_type(evolution, path, type_)
        case SetDefault(path, value):
            return _bind_default(evolution, path, value)
        case DropDefault(path):
            return _bind_default(evolution, path, UNSET)
        case SetNotNull(path):
            return Renull(_ref(evolution, path), False)
        case DropNotNull(path):
            return _bind_nullable(evolution, path)
        case SetComment(path, text):
            return Recomment(_ref(evolution, path), text)
        case SetProperty(key, value):
            return _bind_property(evolution, key, value)
        case UnsetProperty(key):
            check_not_key(key)
            return Sort(()) if key == SORT_BY else Property(key, None)
        case SetPartitioning(texts):
            fields = parse_partitioning(texts)
            return Partition(tuple((_ref(evolution, path), t) for path, t in fields))


# --- finding columns ----------------------------------------------------------------------------


def _find(schema: Schema, path: ColumnPath) -> Column:
    """The column at a path.

    Raises:
        NotFoundError: there is none; if the path forgets a list or map on its way, that is told.
    """
    found = schema.find(path)
    if found is not None:
        return found
    for length in range(len(path) - 1, 0, -1):
        parent = schema.find(path[:length])
        if parent is not None:
            _check_holds(parent, path, length)
            break
    return schema.get(path)


def _check_holds(parent: Column, path: ColumnPath, length: int) -> None:
    here, asked = render_path(path[:length]), render_path(path)
    if isinstance(parent.type, Struct):
        return  # the list of its fields says more
    if is_nested(parent.type):
        way_out = render_path((*path[:length], _inside(parent.type), *path[length:]))
        hint = f"so write {way_out}"
    else:
        hint = "which has no columns inside"
    raise NotFoundError(
        f"there is no column {asked}; {here} is {type_name(parent.type)}, {hint}",
        condition="COLUMN_NOT_FOUND",
    )


def _inside(type_: DataType) -> str:
    """By what name a path goes on below a list or map."""
    return "element" if isinstance(type_, Array) else "value"


def _ref(evolution: Evolution, path: ColumnPath) -> Ref:
    return refer(evolution, _find(evolution.schema, path).id)


def _field(evolution: Evolution, path: ColumnPath, done: str, in_key: str = "") -> Ref:
    """A column of the table or a field of a struct, no element, key or value.

    Args:
        evolution, path: where it is.
        done: what is to be done to it, for the message.
        in_key: the same, if it must not be done inside of a map's key.
    """
    column = _find(evolution.schema, path)
    above = evolution.schema.ancestors(column.id)
    if above and not isinstance(above[-1].type, Struct):
        raise InvalidRequestError(
            f"{render_path(path)} can't be {done}, it belongs to the type of "
            f"{render_path(path[:-1])}; change that column instead",
            condition="NOT_SUPPORTED",
        )
    if in_key:
        _check_not_in_key(evolution, column.id, in_key)
    return refer(evolution, column.id)


def _check_not_in_key(evolution: Evolution, column_id: int, verb: str) -> None:
    chain = (*evolution.schema.ancestors(column_id), evolution.schema.column(column_id))
    for outer, inner in itertools.pairwise(chain):
        if isinstance(outer.type, Map) and outer.type.key.id == inner.id:
            raise InvalidRequestError(
                f"can't {verb} {evolution.schema.path_text(column_id)}, since it is in the key of "
                "a map and keys that were different could become equal; add a new map, copy and "
                "drop the old one",
                condition="NOT_SUPPORTED",
            )


def _place(evolution: Evolution, parent: ColumnPath, first: bool, after: str | None) -> Place:
    if first and after is not None:
        raise InvalidRequestError("FIRST and AFTER are named both; name one of them")
    if first:
        return First()
    if after is None:
        return Last()
    schema = evolution.schema
    siblings = children(_find(schema, parent).type) if parent else schema.columns
    for sibling in siblings:
        if name_key(sibling.name) == name_key(after):
            return After(refer(evolution, sibling.id))
    names = ", ".join(render_path((column.name,)) for column in siblings)
    raise NotFoundError(
        f"there is no column {render_path((*parent, after))} to come after; AFTER names one of "
        f"the same level: {names or 'there are none yet'}",
        condition="COLUMN_NOT_FOUND",
    )


# --- changes ------------------------------------------------------------------------------------


def _bind_add(request: AddColumn, evolution: Evolution, clock: Clock) -> Add:
    parent, where = request.path[:-1], render_path(request.path)
    ref = _bind_parent(evolution, request.path) if parent else None
    value = None if request.default is UNSET else request.default
    default = _default(value, request.type, where)
    asked = Column(
        UNASSIGNED,
        request.path[-1],
        request.type,
        request.nullable,
        read_default=_at(default, request.type, clock) if isinstance(default, Now) else default,
        write_default=default,
        comment=request.comment,
    )
    column = rekeyed(asked, map_columns(asked, _forget))
    if not column.nullable and default is None:
        raise InvalidRequestError(_needs_default(column, where))
    return Add(ref, column, _place(evolution, parent, request.first, request.after))


def _forget(column: Column) -> Column:
    return replace(column, id=UNASSIGNED, physical_name="")


def _needs_default(column: Column, where: str) -> str:
    if is_opaque(column.type):
        return (
            f"the column {where} can't be added NOT NULL, since {type_name(column.type)} can't "
            "have a default; add it nullable, fill it, then set NOT NULL"
        )
    return (
        f"the column {where} can't be added NOT NULL without a default, since rows that are there "
        "would be null; give a default that is not null, or add it nullable"
    )


def _bind_parent(evolution: Evolution, path: ColumnPath) -> Ref:
    parent = _find(evolution.schema, path[:-1])
    where = render_path(path)
    if isinstance(parent.type, Struct):
        _check_not_in_key(evolution, parent.id, f"add {where} to")
        return refer(evolution, parent.id)
    if is_nested(parent.type):
        name = "x" if path[-1] in ("element", "key", "value") else path[-1]
        inside = render_path((*path[:-1], _inside(parent.type), name))
        hint = f"add a field to the structs inside it as {inside}"
    else:
        hint = "it has no fields; add to a struct, or at the top"
    raise InvalidRequestError(
        f"can't add {where}: {render_path(path[:-1])} is {type_name(parent.type)}, {hint}"
    )


def _bind_move(request: MoveColumn, evolution: Evolution) -> Move:
    if not request.first and request.after is None:
        raise InvalidRequestError(
            f"where {render_path(request.path)} is to be moved is not said; "
            "say first, or after which column"
        )
    ref = _field(evolution, request.path, "moved")
    return Move(ref, _place(evolution, request.path[:-1], request.first, request.after))


def _bind_type(evolution: Evolution, path: ColumnPath, type_: DataType) -> Retype:
    column = _find(evolution.schema, path)
    if column.type != type_ and not isinstance(column.type, Char | Varchar):
        _check_not_in_key(evolution, column.id, "change the type of")
    return Retype(refer(evolution, column.id), type_)


def _bind_default(evolution: Evolution, path: ColumnPath, value: object) -> Redefault:
    ref = _field(evolution, path, "given a default")
    column = _find(evolution.schema, path)
    default = None if value is UNSET else _default(value, column.type, render_path(path))
    if value is not UNSET and default is None and not column.nullable:
        raise InvalidRequestError(
            f"the default of {render_path(path)} can't be NULL, since the column is NOT NULL; "
            "drop its default instead, so that every write must give a value"
        )
    return Redefault(ref, default, column.type, evolution.first_new_id)


def _bind_nullable(evolution: Evolution, path: ColumnPath) -> Renull:
    column = _find(evolution.schema, path)
    above = evolution.schema.ancestors(column.id)
    if above and isinstance(above[-1].type, Map) and above[-1].type.key.id == column.id:
        raise InvalidRequestError(f"{render_path(path)} is the key of a map, which is never null")
    return Renull(refer(evolution, column.id), True)


def _bind_property(evolution: Evolution, key: str, value: str) -> Property | Sort:
    if not isinstance(key, str) or not isinstance(value, str) or not key:
        raise InvalidRequestError(
            f"the property {key!r} = {value!r} is no text; give both key and value as str"
        )
    check_not_key(key)
    if key != SORT_BY:
        return Property(key, value)
    fields = parse_sort_by(value)
    return Sort(tuple((_ref(evolution, path), descending) for path, descending in fields))


# --- defaults -----------------------------------------------------------------------------------


def _default(value: object, type_: DataType, where: str) -> WriteDefault | None:
    """A default as it is stored.

    Raises:
        InvalidRequestError: it does not fit; the message names the column.
    """
    if value is not None and is_opaque(type_):
        raise InvalidRequestError(
            f"the column {where} is {type_name(type_)}, which can't have a default; leave it out"
        )
    if isinstance(value, Now):
        if value.type is not type_:
            raise InvalidRequestError(
                f"the column {where} is {type_name(type_)}, but {value.value} is "
                f"{type_name(value.type)}; give a constant"
            )
        return value
    if isinstance(value, Constant):
        return value
    try:
        return constant(value, type_)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {where}: {error}", condition="INVALID_VALUE") from None


def _at(now: Now, type_: DataType, clock: Clock) -> Constant | None:
    """What ``now`` is at this moment, in UTC."""
    moment = clock().astimezone(dt.UTC)
    return constant(moment.date() if now is Now.DATE else moment, type_)
