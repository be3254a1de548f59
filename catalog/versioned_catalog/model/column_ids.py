"""IDs and physical names of new columns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace

from versioned_catalog.model.schema import INTERNAL_NAMES, Schema, check_new_name, name_key
from versioned_catalog.model.types import Column, children, with_children


def _physical_candidates(name: str, column_id: int) -> Iterable[str]:
    """Physical names for a new column, the preferred one first (FORMAT.md, section 4.3)."""
    safe = re.sub(r"\W", "_", name)
    yield safe
    while True:
        safe = f"{safe}_{column_id}"
        yield safe


def assign_ids(
    column: Column, next_id: int, used: set[str], *, with_id: bool = False
) -> tuple[Column, int]:
    """Assign IDs and physical names to a new column and all below it; return it and the next free ID.

    Args:
        used: the physical names, as ``name_key``, that its siblings have or ever had.
        with_id: whether its physical name holds the ID in any case.

    Raises:
        InvalidRequestError: a name holds control characters.
    """
    check_new_name(column.name)
    candidates = itertools.islice(_physical_candidates(column.name, next_id), with_id, None)
    physical = next(name for name in candidates if name_key(name) not in used)
    inner, after = _assign_all(children(column.type), next_id + 1, set())
    type_ = with_children(column.type, inner)
    return replace(column, id=next_id, physical_name=physical, type=type_), after


def _assign_all(
    columns: Iterable[Column], next_id: int, used: set[str]
) -> tuple[tuple[Column, ...], int]:
    """``assign_ids`` for siblings, in order."""
    done, used = list[Column](), set(used)
    for column in columns:
        assigned, next_id = assign_ids(column, next_id, used)
        used.add(name_key(assigned.physical_name))
        done.append(assigned)
    return tuple(done), next_id


def new_schema(columns: Iterable[Column], next_id: int, version: int) -> tuple[Schema, int]:
    """The first schema of an incarnation, with IDs and physical names, and the next free ID."""
    assigned, after = _assign_all(columns, next_id, {name_key(name) for name in INTERNAL_NAMES})
    return Schema(assigned, version), after


def schema_with_ids(columns: Iterable[Column], version: int) -> tuple[Schema, int]:
    """A first schema whose columns have their IDs already, and the next free ID.

    This is how a converted table keeps the IDs of its source (FORMAT.md, section 2).

    Raises:
        InvalidRequestError: a name holds control characters.
    """
    kept = tuple(columns)
    used = {name_key(name) for name in INTERNAL_NAMES}
    schema = Schema(_with_physical_names(kept, used), version)
    return schema, max(schema.ids) + 1


def _with_physical_names(columns: Iterable[Column], used: set[str]) -> tuple[Column, ...]:
    done, used = list[Column](), set(used)
    for column in columns:
        check_new_name(column.name)
        candidates = _physical_candidates(column.name, column.id)
        physical = next(name for name in candidates if name_key(name) not in used)
        inner = _with_physical_names(children(column.type), set())
        type_ = with_children(column.type, inner)
        done.append(replace(column, physical_name=physical, type=type_))
        used.add(name_key(physical))
    return tuple(done)
