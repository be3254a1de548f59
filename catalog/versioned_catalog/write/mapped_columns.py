"""What a table's columns are in files of one ID map: worked out once for all files that share it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from versioned_catalog.schema.id_map import IdMap, file_columns, id_map_from_text
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import (
    Column,
    Constant,
    Map,
    children,
    is_nested,
    walk,
)


@dataclass(frozen=True)
class MappedColumns:
    """The columns of a schema beside an ID map.

    Args:
        id_map: one object for all files that are alike.
        absent: the top-level columns that are not in the map.
        hidden: constants of absent columns that only earlier schemas see: their write defaults.
        not_null: the NOT NULL columns of which statistics must say that a file holds no null.
    """

    id_map: IdMap
    absent: tuple[Column, ...]
    hidden: Mapping[int, str | None]
    not_null: tuple[int, ...]

    @staticmethod
    def of(schema: Schema, id_map: IdMap) -> MappedColumns:
        """Work out what a map means for a schema.

        Raises:
            CorruptTableError: it does not fit the schema.
        """
        file_columns(schema, id_map)
        absent = tuple(one for one in schema.columns if one.id not in id_map.columns)
        hidden = {one.id: _write_default(one) for one in absent if one.hidden and _is_plain(one)}
        not_null = tuple(
            column.id
            for column, above in walk(schema.columns)
            if not column.nullable and _needs_proof(column, above, id_map)
        )
        return MappedColumns(id_map_from_text(id_map.text), absent, hidden, not_null)


def _is_plain(column: Column) -> bool:
    return not is_nested(column.type)


def _write_default(column: Column) -> str | None:
    default = column.write_default
    if not isinstance(default, Constant):
        return None
    text: str = json.loads(default.json)
    return text


def _needs_proof(column: Column, above: tuple[Column, ...], id_map: IdMap) -> bool:
    """Whether statistics must say that a NOT NULL column holds no null. Keys of maps never do."""
    if column.id in id_map.columns:
        parent = above[-1].type if above else None
        return not (isinstance(parent, Map) and column == children(parent)[0])
    held = not above or above[-1].id in id_map.columns
    return held and column.read_default is None
