"""Bound changes, applied by ID: to the table they were planned on, and at a rebase to a newer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.evolution.changes import describe
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
    Rename,
    Renull,
    Retype,
    Sort,
    locate,
    used_below,
)
from versioned_catalog.schema.schema import (
    PartitionField,
    Schema,
    SortField,
    assign_ids,
    check_new_name,
    name_key,
)
from versioned_catalog.schema.transforms import (
    parse_transform,
    render,
    render_field,
    result_type,
)
from versioned_catalog.schema.ttl import check_ttl
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.types import (
    UNASSIGNED,
    Column,
    Constant,
    DataType,
    Now,
    Struct,
    WriteDefault,
    children,
    is_nested,
    is_opaque,
    map_columns,
    walk,
    with_children,
)
from versioned_catalog.types.widening import check_widens, type_name
from versioned_catalog.values.literals import rekey_constant, widen


def apply_all(bounds: Iterable[BoundChange], evolution: Evolution, new_version: int) -> Evolution:
    """Apply the changes of one ALTER, in order.

    Args:
        bounds: the bound changes.
        evolution: the table, of now.
        new_version: the schema version to give, if the schema changes.

    Raises:
        InvalidRequestError: one of them is not legal on that table.
    """
    current = evolution.begin()
    for together, group in itertools.groupby(bounds, lambda bound: is_appended(bound.action)):
        if together:
            current = append([bound.action for bound in group], current)
            continue
        for bound in group:
            current = apply(bound, current)
    return finish(evolution, current, new_version)


def rebase(bounds: Iterable[BoundChange], evolution: Evolution, new_version: int) -> Evolution:
    """``apply_all``, to a table that others have changed since the changes were planned.

    Raises:
        CommitConflictError: the changes are not legal any more.
    """
    bounds = tuple(bounds)
    try:
        return apply_all(bounds, evolution, new_version)
    except InvalidRequestError as error:
        asked = "; ".join(describe(bound.request) for bound in bounds)
        raise CommitConflictError(
            f"somebody changed the table, and this can't be done to it any more: {asked}. "
            f"The reason: {error}. Nothing was changed; look at the table and plan it again"
        ) from None


def finish(before: Evolution, after: Evolution, new_version: int) -> Evolution:
    """The end of an ALTER: what must hold for the whole, and the schema version.

    Raises:
        InvalidRequestError: the table or a struct is left without columns.
    """
    if before.schema.columns and not after.schema.columns:
        raise InvalidRequestError(
            "the last column can't be dropped; add another one in the same ALTER, or drop the table",
            condition="NOT_SUPPORTED",
        )
    for column, _ in walk(after.schema.columns):
        if isinstance(column.type, Struct) and not column.type.fields:
            where = after.schema.path_text(column.id)
            raise InvalidRequestError(
                f"the last field of {where} can't be dropped; drop {where}, or add another field "
                "in the same ALTER",
                condition="NOT_SUPPORTED",
            )
    check_ttl(after.properties, after.schema)
    same = after.schema.same_but_version(before.schema)
    version = before.schema.version if same else new_version
    return replace(after, schema=after.schema.numbered(version), first_new_id=0)


def newly_not_null(old: Schema, new: Schema) -> frozenset[int]:
    """The IDs of columns in both schemas that may be null in the old one only."""
    return frozenset(
        column_id
        for column_id in old.ids & new.ids
        if old.column(column_id).nullable and not new.column(column_id).nullable
    )


def apply(bound: BoundChange, evolution: Evolution) -> Evolution:
    """Apply one change of the ALTER that is under way: ``Evolution.begin``.

    Raises:
        InvalidRequestError: it is not legal on that table.
    """
    match bound.action:
        case Add() as action:
            return _add(action, evolution)
        case Drop() as action:
            return _with(evolution, _drop(action, evolution))
        case Rename() as action:
            return _with(evolution, _rename(action, evolution))
        case Move() as action:
            return _with(evolution, _move(action, evolution))
        case Retype() as action:
            return _with(evolution, _retype(action, evolution))
        case Redefault() as action:
            return _with(evolution, _redefault(action, evolution))
        case Renull() as action:
            return _with(evolution, _renull(action, evolution))
        case Recomment(column, text):
            return _edit(evolution, locate(evolution, column), comment=text)
        case Property(key, value):
            return _set_property(evolution, key, value)
        case Partition() as action:
            return _with(evolution, _partition(action, evolution))
        case Sort() as action:
            return _with(evolution, _sort(action, evolution))


def _with(evolution: Evolution, schema: Schema) -> Evolution:
    return replace(evolution, schema=schema)


# --- adding -------------------------------------------------------------------------------------


def is_appended(action: Action) -> bool:
    """Whether it adds a column after all others at the top."""
    return isinstance(action, Add) and action.parent is None and isinstance(action.place, Last)


def append(actions: Iterable[Action], evolution: Evolution) -> Evolution:
    """``apply`` for several that ``is_appended`` in a row, in one go: each alone costs a schema.

    Raises:
        InvalidRequestError: a name is taken.
    """
    schema, next_id = evolution.schema, evolution.next_column_id
    names = {name_key(column.name): column.name for column in schema.columns}
    used, below = (
        set(evolution.used_names.get(None, frozenset())),
        dict[int | None, frozenset[str]](),
    )
    made: list[Column] = []
    for action in actions:
        assert isinstance(action, Add)
        key = name_key(action.column.name)
        if key in names:
            raise _taken((names[key],))
        bare, next_id = assign_ids(action.column, next_id, used)
        made.append(rekeyed(action.column, bare))
        names[key] = action.column.name
        used.add(name_key(bare.physical_name))
        below |= used_below(bare)
    return replace(
        evolution,
        schema=replace(schema, columns=(*schema.columns, *made)),
        next_column_id=next_id,
        used_names={**below, **evolution.used_names, None: frozenset(used)},
    )


def _add(action: Add, evolution: Evolution) -> Evolution:
    schema = evolution.schema
    parent = None if action.parent is None else locate(evolution, action.parent)
    above = () if parent is None else schema.path(parent)
    siblings = schema.columns if parent is None else children(schema.column(parent).type)
    _check_free(siblings, action.column.name, above)
    used = evolution.used_names.get(parent, frozenset())
    column, next_id = assign_ids(action.column, evolution.next_column_id, set(used))
    column = rekeyed(action.column, column)
    changed = schema.edit_children(
        parent, lambda columns: _insert(columns, column, action.place, evolution)
    )
    names = {**used_below(column), **evolution.used_names}
    names[parent] = used | {name_key(column.physical_name)}
    return replace(evolution, schema=changed, next_column_id=next_id, used_names=names)


def rekeyed(before: Column, after: Column) -> Column:
    """A column whose IDs were changed from ``before``, its nested defaults by the new IDs too."""

    def fix(default: WriteDefault) -> WriteDefault:
        match default:
            case Constant():
                return rekey_constant(default, before.type, after.type)
            case Now():
                return default

    read, write = before.read_default, before.write_default
    pairs = zip(children(before.type), children(after.type), strict=True)
    return replace(
        after,
        type=with_children(after.type, tuple(rekeyed(old, new) for old, new in pairs)),
        read_default=None if read is None else rekey_constant(read, before.type, after.type),
        write_default=None if write is None else fix(write),
    )


def _check_free(siblings: Iterable[Column], name: str, above: ColumnPath) -> None:
    for column in siblings:
        if name_key(column.name) == name_key(name):
            raise _taken((*above, column.name))


def _taken(path: ColumnPath) -> InvalidRequestError:
    return InvalidRequestError(
        f"there is a column {render_path(path)} already; choose another name, or drop or rename that "
        "one first",
        condition="COLUMN_ALREADY_EXISTS",
    )


def _insert(
    siblings: tuple[Column, ...], column: Column, place: Place, evolution: Evolution
) -> tuple[Column, ...]:
    match place:
        case First():
            return (column, *siblings)
        case Last():
            return (*siblings, column)
        case After(sibling):
            anchor = locate(evolution, sibling)
            at = next(i for i, other in enumerate(siblings) if other.id == anchor) + 1
            return (*siblings[:at], column, *siblings[at:])


# --- columns that are there ---------------------------------------------------------------------


def _siblings(schema: Schema, column_id: int) -> tuple[Column, ...]:
    above = schema.ancestors(column_id)
    return children(above[-1].type) if above else schema.columns


def _drop(action: Drop, evolution: Evolution) -> Schema:
    schema, column_id = evolution.schema, locate(evolution, action.column)
    if column_id in schema.row_key:
        raise InvalidRequestError(
            f"{schema.path_text(column_id)} can't be dropped, since rows are told apart by it: it is "
            "in the row key, which stays what it was made; make another table and copy the rows",
            condition="NOT_SUPPORTED",
        )
    uses = [(field.source, "partitioned", "set_partitioning") for field in schema.partitioning]
    uses += [(field.source, "sorted", "unset the property sort_by") for field in schema.sort_by]
    for source, done, way_out in uses:
        if column_id in (source, *(column.id for column in schema.ancestors(source))):
            raise InvalidRequestError(
                f"{schema.path_text(column_id)} can't be dropped, since the table is {done} by "
                f"{schema.path_text(source)}; change that first ({way_out})",
                condition="NOT_SUPPORTED",
            )
    return schema.edit_siblings(
        column_id, lambda columns: tuple(column for column in columns if column.id != column_id)
    )


def _rename(action: Rename, evolution: Evolution) -> Schema:
    check_new_name(action.name)
    schema, column_id = evolution.schema, locate(evolution, action.column)
    others = [column for column in _siblings(schema, column_id) if column.id != column_id]
    _check_free(others, action.name, schema.path(column_id)[:-1])
    return schema.replace_column(column_id, lambda column: replace(column, name=action.name))


def _move(action: Move, evolution: Evolution) -> Schema:
    schema, column_id = evolution.schema, locate(evolution, action.column)
    if isinstance(action.place, After) and locate(evolution, action.place.sibling) == column_id:
        raise InvalidRequestError(
            f"{schema.path_text(column_id)} can't be moved after itself; name another column"
        )
    moved = schema.column(column_id)
    return schema.edit_siblings(
        column_id,
        lambda columns: _insert(
            tuple(column for column in columns if column.id != column_id),
            moved,
            action.place,
            evolution,
        ),
    )


def _edit(evolution: Evolution, column_id: int, *, comment: str | None) -> Evolution:
    changed = evolution.schema.replace_column(column_id, lambda c: replace(c, comment=comment))
    return _with(evolution, changed)


def _renull(action: Renull, evolution: Evolution) -> Schema:
    schema, column_id = evolution.schema, locate(evolution, action.column)
    if action.nullable and column_id in schema.row_key:
        raise InvalidRequestError(
            f"{schema.path_text(column_id)} must stay NOT NULL, since it is in the row key"
        )
    return schema.replace_column(
        column_id, lambda column: replace(column, nullable=action.nullable)
    )


# --- types and defaults -------------------------------------------------------------------------


def _retype(action: Retype, evolution: Evolution) -> Schema:
    schema, column_id = evolution.schema, locate(evolution, action.column)
    column = schema.column(column_id)
    if column.type == action.type:
        return schema
    check_widens(column.type, action.type, schema.path_text(column_id))
    if isinstance(column.write_default, Now):
        raise InvalidRequestError(
            f"the column {schema.path_text(column_id)} has the default "
            f"{column.write_default.value}, which is {type_name(column.type)}; drop the default "
            "first"
        )
    changed = _widen_defaults(
        schema, schema.replace_column(column_id, lambda c: replace(c, type=action.type))
    )
    _check_arranged(changed)
    return changed


def _widen_defaults(old: Schema, new: Schema) -> Schema:
    """The new schema with the defaults of what was widened, and of all that holds it, widened."""

    def fix(column: Column) -> Column:
        before, after = old.column(column.id).type, column.type
        if before == after:
            return column
        read, write = column.read_default, column.write_default
        return replace(
            column,
            read_default=None if read is None else widen(read, before, after),
            write_default=widen(write, before, after) if isinstance(write, Constant) else write,
        )

    return replace(new, columns=tuple(map_columns(column, fix) for column in new.columns))


def _redefault(action: Redefault, evolution: Evolution) -> Schema:
    schema, column_id = evolution.schema, locate(evolution, action.column)
    type_ = schema.column(column_id).type
    default = action.default
    match default:
        case Constant():
            default = _rebased_constant(default, action, evolution, type_)
        case Now() if type_ != action.type:
            raise InvalidRequestError(
                f"the column {schema.path_text(column_id)} is {type_name(type_)} now, which "
                f"{default.value} does not fit"
            )
        case Now() | None:
            pass
    return schema.replace_column(column_id, lambda c: replace(c, write_default=default))


def _rebased_constant(
    default: Constant, action: Redefault, evolution: Evolution, type_: DataType
) -> Constant:
    """A constant of the type that was planned for, as one of the type there is."""
    shift = evolution.first_new_id - action.first_new_id

    def moved(column: Column) -> Column:
        own = column.id >= action.first_new_id
        return replace(column, id=column.id + shift) if own else column

    planned = map_columns(Column(UNASSIGNED, "planned", action.type), moved).type
    return widen(rekey_constant(default, action.type, planned), planned, type_)


# --- the table ----------------------------------------------------------------------------------


def _set_property(evolution: Evolution, key: str, value: str | None) -> Evolution:
    properties = {name: text for name, text in evolution.properties.items() if name != key}
    if value is not None:
        properties[key] = value
    return replace(evolution, properties=properties)


def _partition(action: Partition, evolution: Evolution) -> Schema:
    fields = tuple(
        PartitionField(locate(evolution, ref), render(transform))
        for ref, transform in action.fields
    )
    _check_once(fields, "partitioned", evolution.schema)
    changed = replace(evolution.schema, partitioning=fields)
    _check_arranged(changed)
    return changed


def _sort(action: Sort, evolution: Evolution) -> Schema:
    fields = tuple(SortField(locate(evolution, ref), down) for ref, down in action.fields)
    _check_once(
        tuple(replace(field, descending=False) for field in fields), "sorted", evolution.schema
    )
    changed = replace(evolution.schema, sort_by=fields)
    _check_arranged(changed)
    return changed


def _check_once(fields: tuple[PartitionField | SortField, ...], done: str, schema: Schema) -> None:
    for index, field in enumerate(fields):
        if field in fields[:index]:
            raise InvalidRequestError(
                f"the table would be {done} twice by {schema.path_text(field.source)}; name it once"
            )


def _check_arranged(schema: Schema) -> None:
    """Check that what the table is arranged by is of types that it can be arranged by."""
    for field in schema.partitioning:
        transform = parse_transform(field.transform)
        try:
            result_type(transform, schema.column(field.source).type)
        except InvalidRequestError as error:
            shown = render_field(schema.path(field.source), transform)
            raise InvalidRequestError(
                f"the table can't be partitioned by {shown}: {error}"
            ) from None
    for sort in schema.sort_by:
        type_ = schema.column(sort.source).type
        if is_nested(type_) or is_opaque(type_):
            raise InvalidRequestError(
                f"the table can't be sorted by {schema.path_text(sort.source)}, which is "
                f"{type_name(type_)}; sort by columns of plain values, such as a struct's fields"
            )
