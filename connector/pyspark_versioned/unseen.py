"""Unseen columns: what a statement does not see of the rows that it changes.

Spark passes it along in metadata columns: a whole column that is not seen, or the parts of a nested one.
A part of an array comes with the whole array, since its elements have no identity.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.pins import Overflow, Seen, loosened_column
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.types import (
    Array,
    Column,
    DataType,
    Struct,
    children,
    is_nested,
    walk,
    with_children,
)
from versioned_catalog.read.arrays import cut_array
from versioned_catalog.read.metadata_columns import ROW_ID_METADATA_COLUMNS

_PREFIX = "__unseen_"


def unseen_columns(seen: Seen) -> tuple[Column, ...]:
    """The metadata columns that hold what is not seen of a row, under names that no column has."""
    if seen.is_whole:
        return ()
    taken = {name_key(name) for name in seen.schema.names}
    columns = []
    for column in seen.stored.columns:
        part = _unseen_part(column, seen.schema)
        if part is not None:
            name = f"{_PREFIX}{column.id}"
            while name_key(name) in taken:
                name += "_"
            columns.append(replace(part, name=name, nullable=True, hidden=False, comment=None))
    return tuple(columns)


def carried_columns(state: TableState) -> tuple[Column, ...]:
    """The metadata columns that go with each row that a statement changes: what is not seen of it, and
    its ID and version, under names that no column has."""
    taken = {name_key(name) for name in state.seen.schema.names}
    ids = ROW_ID_METADATA_COLUMNS if state.has_row_ids else ()
    return (*unseen_columns(state.seen), *(_carried(column, taken) for column in ids))


def _carried(column: Column, taken: Container[str]) -> Column:
    name = f"__unseen{column.name}"
    while name_key(name) in taken:
        name += "_"
    return replace(column, name=name, nullable=True, comment=None)


def _unseen_part(column: Column, seen: Schema) -> Column | None:
    if column.id not in seen.ids:
        return column
    match column.type:
        case Struct(fields):
            parts = [_unseen_part(field, seen) for field in fields]
            kept = tuple(part for part in parts if part is not None)
            return replace(column, type=Struct(kept)) if kept else None
        case Array() if any(inner.id not in seen.ids for inner, _ in walk((column,))):
            return as_seen(column, seen)
        case _:
            return None


def as_seen(column: Column, seen: Schema) -> Column:
    """A stored column with the types in which its parts are seen, where they are."""
    if is_nested(column.type):
        inner = tuple(as_seen(child, seen) for child in children(column.type))
        return replace(column, type=with_children(column.type, inner))
    return replace(column, type=seen.column(column.id).type) if column.id in seen.ids else column


@dataclass(frozen=True)
class Shared:
    """Columns of which several may show parts of one stored column.

    Args:
        wanted: the columns.
        read: the columns to read: each stored column once, with at least the fields that they show.
    """

    wanted: tuple[Column, ...]
    read: tuple[Column, ...]

    @staticmethod
    def of(wanted: Sequence[Column]) -> Shared:
        """Merge the columns that are parts of one stored column."""
        merged: dict[int, Column] = {}
        for column in wanted:
            merged_column = merged.get(column.id)
            merged[column.id] = column if merged_column is None else _merged(merged_column, column)
        return Shared(tuple(wanted), tuple(merged.values()))

    @property
    def is_plain(self) -> bool:
        """Whether each column is read for itself, with all of its fields and nothing else."""
        return self.read == self.wanted

    def split(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The wanted columns of a batch of those that are read."""
        if self.is_plain:
            return batch
        places = {column.id: at for at, column in enumerate(self.read)}
        arrays = [
            cut_array(batch.column(places[column.id]), self.read[places[column.id]], column)
            for column in self.wanted
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(self.wanted))


def _merged(left: Column, right: Column) -> Column:
    """A column with the fields of both, whose common parts have the same types."""
    return replace(left, nullable=left.nullable or right.nullable, type=_merged_type(left, right))


def _merged_type(left: Column, right: Column) -> DataType:
    first, second = children(left.type), children(right.type)
    by_id = {column.id: column for column in second}
    kept = tuple(
        _merged(column, by_id.pop(column.id)) if column.id in by_id else column for column in first
    )
    return with_children(left.type, (*kept, *by_id.values())) if is_nested(left.type) else left.type


def shown_columns(
    state: TableState, columns: tuple[Column, ...] | None = None
) -> tuple[Column, ...]:
    """Columns as a reader sees them: nullable where null is shown for values that do not fit."""
    seen = state.seen
    columns = seen.schema.columns if columns is None else columns
    if state.lens is None or state.lens.overflow is Overflow.ERROR:
        return columns
    return tuple(loosened_column(column, seen) for column in columns)
