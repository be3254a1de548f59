"""References to columns and positions, from the names in a requested change.

A column that does not exist raises NotFoundError, one that can't be changed InvalidRequestError.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.evolution.evolution import Evolution, Ref, locate, refer
from versioned_catalog.schema.hidden import visible
from versioned_catalog.schema.schema import Schema, name_key
from versioned_catalog.spelling import listed
from versioned_catalog.types.paths import ColumnPath, render_path
from versioned_catalog.types.types import Array, Column, DataType, Map, Struct, children, is_nested
from versioned_catalog.types.widening import type_name


@dataclass(frozen=True, slots=True)
class First:
    """Before all siblings."""


@dataclass(frozen=True, slots=True)
class Last:
    """After all siblings."""


@dataclass(frozen=True, slots=True)
class After:
    """Directly after one sibling."""

    sibling: Ref


Position = First | Last | After


def insert(
    siblings: tuple[Column, ...], column: Column, position: Position, evolution: Evolution
) -> tuple[Column, ...]:
    """The siblings with a column at a position among them."""
    match position:
        case First():
            return (column, *siblings)
        case Last():
            return (*siblings, column)
        case After(sibling):
            anchor = locate(evolution, sibling)
            at = next(i for i, other in enumerate(siblings) if other.id == anchor) + 1
            return (*siblings[:at], column, *siblings[at:])


def find(schema: Schema, path: ColumnPath) -> Column:
    """The column at a path of names.

    Raises:
        NotFoundError: it does not exist; the message says so if the path skips the ``element`` of a
            list or the ``value`` of a map.
    """
    found = schema.find(path)
    if found is not None:
        return found
    for length in range(len(path) - 1, 0, -1):
        parent = schema.find(path[:length])
        if parent is not None:
            _check_nests(parent, path, length)
            break
    return schema.get(path)


def _check_nests(parent: Column, path: ColumnPath, length: int) -> None:
    here, wanted = render_path(path[:length]), render_path(path)
    if isinstance(parent.type, Struct):
        return  # the error that lists its fields says more
    if is_nested(parent.type):
        way_out = render_path((*path[:length], inside(parent.type), *path[length:]))
        hint = f"so write {way_out}"
    else:
        hint = "which has no columns inside"
    raise NotFoundError(
        f"there is no column {wanted}; {here} is {type_name(parent.type)}, {hint}",
        condition="COLUMN_NOT_FOUND",
    )


def inside(type_: DataType) -> str:
    """The name that continues a path below a list or map."""
    return "element" if isinstance(type_, Array) else "value"


def reference(evolution: Evolution, path: ColumnPath) -> Ref:
    """A reference to the column at a path; raises NotFoundError if it does not exist."""
    return refer(evolution, find(evolution.schema, path).id)


def field_reference(evolution: Evolution, path: ColumnPath, done: str, in_key: str = "") -> Ref:
    """A reference to a top-level column or a field of a struct.

    Args:
        done: the participle of the change, for the error about an element, key or value.
        in_key: the verb of the change, if it is not allowed inside a map's key.
    """
    column = find(evolution.schema, path)
    above = evolution.schema.ancestors(column.id)
    if above and not isinstance(above[-1].type, Struct):
        raise InvalidRequestError(
            f"{render_path(path)} can't be {done}, it belongs to the type of "
            f"{render_path(path[:-1])}; change that column instead",
            condition="NOT_SUPPORTED",
        )
    if in_key:
        check_not_in_key(evolution, column.id, in_key)
    return refer(evolution, column.id)


def check_not_in_key(evolution: Evolution, column_id: int, verb: str) -> None:
    """Raise InvalidRequestError if a column is inside a map's key."""
    chain = (*evolution.schema.ancestors(column_id), evolution.schema.column(column_id))
    for outer, inner in itertools.pairwise(chain):
        if isinstance(outer.type, Map) and outer.type.key.id == inner.id:
            raise InvalidRequestError(
                f"can't {verb} {evolution.schema.path_text(column_id)}, since it is in the key of "
                "a map, and different keys could become equal; add a new map, copy the values and "
                "drop the old one",
                condition="NOT_SUPPORTED",
            )


def position(evolution: Evolution, parent: ColumnPath, first: bool, after: str | None) -> Position:
    """The position among the columns inside ``parent`` (empty: the top level)."""
    if first and after is not None:
        raise InvalidRequestError("FIRST and AFTER are both given; give one of them")
    if first:
        return First()
    if after is None:
        return Last()
    schema = evolution.schema
    siblings = visible(children(find(schema, parent).type) if parent else schema.columns)
    for sibling in siblings:
        if name_key(sibling.name) == name_key(after):
            return After(refer(evolution, sibling.id))
    names = listed(
        render_path((after,)),
        (render_path((column.name,)) for column in siblings),
        50,
        "there are none yet",
    )
    raise NotFoundError(
        f"there is no column {render_path((*parent, after))} to come after; AFTER names a sibling: "
        f"{names}",
        condition="COLUMN_NOT_FOUND",
    )


def parent_reference(evolution: Evolution, path: ColumnPath) -> Ref:
    """A reference to the struct that a new column at ``path`` is added to."""
    parent = find(evolution.schema, path[:-1])
    where = render_path(path)
    if isinstance(parent.type, Struct):
        check_not_in_key(evolution, parent.id, f"add {where} to")
        return refer(evolution, parent.id)
    if is_nested(parent.type):
        name = "x" if path[-1] in ("element", "key", "value") else path[-1]
        field = render_path((*path[:-1], inside(parent.type), name))
        hint = f"so add a field to the structs inside it, as {field}"
    else:
        hint = "which has no fields; add it to a struct, or at the top level"
    raise InvalidRequestError(
        f"can't add {where}: {render_path(path[:-1])} is {type_name(parent.type)}, {hint}"
    )
