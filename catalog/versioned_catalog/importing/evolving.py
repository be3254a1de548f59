"""The schema changes after which a table holds the columns of an import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from versioned_catalog.evolution.changes import UNSET, AddColumn, ChangeType
from versioned_catalog.schema.schema import name_key
from versioned_catalog.types.paths import ColumnPath
from versioned_catalog.types.types import Column, children, is_nested


def changes_to(
    columns: Sequence[Column], wanted: Sequence[Column], above: ColumnPath = ()
) -> Iterator[AddColumn | ChangeType]:
    """The columns to add and the types to widen, at any depth."""
    known = {name_key(one.name): one for one in columns}
    for one in wanted:
        column, path = known.get(name_key(one.name)), (*above, one.name)
        if column is None:
            default = UNSET if one.write_default is None else one.write_default
            yield AddColumn(path, one.type, default, one.nullable, one.comment)
        elif is_nested(column.type):
            yield from changes_to(children(column.type), children(one.type), path)
        elif column.type != one.type:
            yield ChangeType(path, one.type)
