"""Null counts of nested Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.projection.arrays import list_values, struct_child
from versioned_catalog.types.types import Array, Column, Map, Struct


def own_nulls(array: pa.Array, path: Sequence[Column]) -> int:
    """The number of nulls of a nested column, without those whose parent is null.

    ``path`` leads from the column at the top level, whose values are given, to the counted one.
    """
    if len(path) == 1:
        return int(array.null_count)
    column, rest = path[0], path[1:]
    match column.type:
        case Struct(fields):
            present = array.filter(pc.is_valid(array))
            at = next(i for i, field in enumerate(fields) if field.id == rest[0].id)
            return own_nulls(struct_child(present, at), rest)
        case Array():
            _, values, _ = list_values(array)
            return own_nulls(values, rest)
        case Map(key, _):
            _, entries, _ = list_values(array)
            return own_nulls(struct_child(entries, 0 if rest[0].id == key.id else 1), rest)
        case _:
            return 0
