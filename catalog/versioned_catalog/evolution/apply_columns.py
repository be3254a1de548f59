"""Bound changes of the list of columns: add, drop, rename and move, nullability and comment.

A change that is not legal on the table raises InvalidRequestError.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution import actions
from versioned_catalog.evolution.apply_pins import hide_or_remove
from versioned_catalog.evolution.evolution import Evolution, locate, used_below
from versioned_catalog.schema.column_ids import assign_ids, rekey_defaults
from versioned_catalog.schema.schema import Schema, check_new_name, name_key
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.types import Column, children


def is_appended(action: actions.Action) -> bool:
    """Whether an action adds a column after all others at the top level."""
    return (
        isinstance(action, actions.Add)
        and action.parent is None
        and isinstance(action.position, actions.Last)
    )


def append(added_columns: Iterable[actions.Action], evolution: Evolution) -> Evolution:
    """Apply several actions of which each ``is_appended``, building one schema for all of them.

    Raises:
        InvalidRequestError: a name is taken.
    """
    schema, next_id = evolution.schema, evolution.next_column_id
    names = {name_key(column.name): column.name for column in schema.columns}
    used, below = (
        set(evolution.used_names.get(None, frozenset())),
        dict[int | None, frozenset[str]](),
    )
    added: list[Column] = []
    for action in added_columns:
        assert isinstance(action, actions.Add)
        key = name_key(action.column.name)
        if key in names:
            raise _taken((names[key],))
        bare, next_id = assign_ids(action.column, next_id, used)
        added.append(rekey_defaults(action.column, bare))
        names[key] = action.column.name
        used.add(name_key(bare.physical_name))
        below |= used_below(bare)
    return replace(
        evolution,
        schema=replace(schema, columns=(*schema.columns, *added)),
        next_column_id=next_id,
        used_names={**below, **evolution.used_names, None: frozenset(used)},
    )


def add_column(action: actions.Add, evolution: Evolution) -> Evolution:
    """Add a column, unless its name is taken or its parent no longer exists."""
    schema = evolution.schema
    parent = None if action.parent is None else locate(evolution, action.parent)
    above = () if parent is None else schema.path(parent)
    siblings = schema.columns if parent is None else children(schema.column(parent).type)
    _check_free(siblings, action.column.name, above)
    used = evolution.used_names.get(parent, frozenset())
    column, next_id = assign_ids(action.column, evolution.next_column_id, set(used))
    column = rekey_defaults(action.column, column)
    changed = schema.edit_children(
        parent, lambda columns: _insert(columns, column, action.position, evolution)
    )
    names = {**used_below(column), **evolution.used_names}
    names[parent] = used | {name_key(column.physical_name)}
    return replace(evolution, schema=changed, next_column_id=next_id, used_names=names)


def _check_free(siblings: Iterable[Column], name: str, above: ColumnPath) -> None:
    for column in siblings:
        if name_key(column.name) == name_key(name):
            raise _taken((*above, column.name))


def _taken(path: ColumnPath) -> InvalidRequestError:
    return InvalidRequestError(
        f"there is a column {render_path(path)} already; choose another name, or drop or rename "
        "that column first",
        condition="COLUMN_ALREADY_EXISTS",
    )


def _insert(
    siblings: tuple[Column, ...], column: Column, position: actions.Position, evolution: Evolution
) -> tuple[Column, ...]:
    match position:
        case actions.First():
            return (column, *siblings)
        case actions.Last():
            return (*siblings, column)
        case actions.After(sibling):
            anchor = locate(evolution, sibling)
            at = next(i for i, other in enumerate(siblings) if other.id == anchor) + 1
            return (*siblings[:at], column, *siblings[at:])


def _siblings(schema: Schema, column_id: int) -> tuple[Column, ...]:
    above = schema.ancestors(column_id)
    return children(above[-1].type) if above else schema.columns


def drop_column(action: actions.Drop, evolution: Evolution) -> Schema:
    """Drop a column, unless the row key, the partitioning or the sort order needs it.

    A column that a schema pin needs is hidden instead.
    """
    schema, column_id = evolution.schema, locate(evolution, action.column)
    if column_id in schema.row_key:
        raise InvalidRequestError(
            f"{schema.path_text(column_id)} can't be dropped, since it is in the row key, which never "
            "changes; create another table and copy the rows",
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
    return hide_or_remove(column_id, evolution)


def rename_column(action: actions.Rename, evolution: Evolution) -> Schema:
    """Rename a column, unless the name is taken."""
    check_new_name(action.name)
    schema, column_id = evolution.schema, locate(evolution, action.column)
    others = [column for column in _siblings(schema, column_id) if column.id != column_id]
    _check_free(others, action.name, schema.path(column_id)[:-1])
    return schema.replace_column(column_id, lambda column: replace(column, name=action.name))


def move_column(action: actions.Move, evolution: Evolution) -> Schema:
    """Move a column among its siblings."""
    schema, column_id = evolution.schema, locate(evolution, action.column)
    if (
        isinstance(action.position, actions.After)
        and locate(evolution, action.position.sibling) == column_id
    ):
        raise InvalidRequestError(
            f"{schema.path_text(column_id)} can't be moved after itself; name another column"
        )
    moved = schema.column(column_id)
    return schema.edit_siblings(
        column_id,
        lambda columns: _insert(
            tuple(column for column in columns if column.id != column_id),
            moved,
            action.position,
            evolution,
        ),
    )


def set_comment(action: actions.Recomment, evolution: Evolution) -> Schema:
    """Set or remove a column's comment."""
    return evolution.schema.replace_column(
        locate(evolution, action.column), lambda column: replace(column, comment=action.text)
    )


def set_nullable(action: actions.Renull, evolution: Evolution) -> Schema:
    """Allow or forbid nulls in a column; columns of the row key stay NOT NULL."""
    schema, column_id = evolution.schema, locate(evolution, action.column)
    if action.nullable and column_id in schema.row_key:
        raise InvalidRequestError(
            f"{schema.path_text(column_id)} must stay NOT NULL, since it is in the row key"
        )
    return schema.replace_column(
        column_id, lambda column: replace(column, nullable=action.nullable)
    )
