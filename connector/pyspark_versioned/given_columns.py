"""The columns of rows, matched with those of a table by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from versioned_catalog.model.schema import name_key
from versioned_catalog.model.types import Column, children, with_children


def bound(row_columns: Sequence[Column], table_columns: Sequence[Column]) -> tuple[Column, ...]:
    """Columns with the IDs of the table's columns that they name. Each name must exist."""
    columns = []
    for column in row_columns:
        target = named(column.name, table_columns)
        inner = bound(children(column.type), children(target.type))
        columns.append(replace(column, id=target.id, type=with_children(column.type, inner)))
    return tuple(columns)


def named(name: str, columns: Sequence[Column]) -> Column:
    """The column of a name."""
    return next(column for column in columns if name_key(column.name) == name_key(name))
