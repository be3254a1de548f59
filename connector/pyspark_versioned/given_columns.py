"""The columns of given rows, matched with those of a table by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import Column, children, with_children


def bound(given: Sequence[Column], known: Sequence[Column]) -> tuple[Column, ...]:
    """Given columns with the IDs of the known ones that they name. Each must be known."""
    found = []
    for column in given:
        held = named(column.name, known)
        inner = bound(children(column.type), children(held.type))
        found.append(replace(column, id=held.id, type=with_children(column.type, inner)))
    return tuple(found)


def named(name: str, known: Sequence[Column]) -> Column:
    """The column of a name."""
    return next(one for one in known if name_key(one.name) == name_key(name))
