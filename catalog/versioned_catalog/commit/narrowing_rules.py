"""Rules about narrowed columns: notes 8 and 29 of FORMAT.md, section 11."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import Alter
from versioned_catalog.commit.table_entries import altered
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.segment_table import parse_texts
from versioned_catalog.log.state import TableState
from versioned_catalog.model.constants import fitting
from versioned_catalog.model.narrowing import newly_narrowed
from versioned_catalog.model.types import (
    Column,
    DataType,
    Decimal,
    NestedType,
    Struct,
    children,
    is_integer,
    is_repeated,
    with_children,
)
from versioned_catalog.model.widening import type_name
from versioned_catalog.read.apply_plan import lost_values
from versioned_catalog.read.bounds import SegmentBounds
from versioned_catalog.read.checks import with_all_rows
from versioned_catalog.read.scan import Scan
from versioned_catalog.storage.store import Store


def values_fit(attempt: Attempt[Alter]) -> None:
    """Refuse to narrow a column if a value does not fit: by statistics, and else by the data.

    Raises:
        InvalidRequestError: naming the column, both types and the number of such values.
    """
    state, schema = attempt.state, altered(attempt).schema
    narrowed = newly_narrowed(state.schema, schema) if attempt.looks_at_rows else frozenset()
    for column_id in sorted(narrowed):
        column, new = state.schema.column(column_id), schema.column(column_id).type
        if _is_proven(state, column, new):
            continue
        misfits = _misfits(attempt.log.store, with_all_rows(state, None), column, new)
        if misfits:
            raise InvalidRequestError(
                f"{attempt.table}: the column {state.schema.path_text(column_id)} can't be narrowed "
                f"from {type_name(column.type)} to {type_name(new)}, since {misfits} of its values "
                f"{'does' if misfits == 1 else 'do'} not fit; correct them first",
                condition="INVALID_VALUE",
            )


def _is_proven(state: TableState, column: Column, new: DataType) -> bool:
    """Whether statistics prove that all values of a column fit a narrower type."""
    if not _is_decided_by_ends(column.type, new) or is_repeated(state.schema.ancestors(column.id)):
        return False
    bounds = SegmentBounds(state, state.known)(column.id)
    if bounds is None:
        return False
    rows = state.segments.column("rows")
    all_null = pc.fill_null(pc.equal(bounds.nulls, rows), False)  # pc.all skips nulls
    for ends in (bounds.min, bounds.max):
        known = _fit(ends, state.known.column(column.id).type, new)
        if not pc.all(pc.or_(all_null, pc.fill_null(known, False))).as_py():
            return False
    return True


def record_fits(record: SegmentRecord, column_id: int, old: DataType, new: DataType) -> bool:
    """Whether the statistics of a segment prove that its values, of type ``old``, fit ``new``."""
    stats = record.columns.get(column_id)
    if stats is None:
        return False
    if stats.nulls == record.rows:
        return True
    if not _is_decided_by_ends(old, new) or stats.min is None or stats.max is None:
        return False
    ends = parse_texts([stats.min, stats.max], old)
    return bool(pc.all(pc.fill_null(_fit(ends, old, new), False)).as_py())


def _is_decided_by_ends(old: DataType, new: DataType) -> bool:
    """Whether all values between two that fit do: not where digits or characters are lost."""
    if is_integer(old):
        return True
    return isinstance(old, Decimal) and isinstance(new, Decimal) and old.scale == new.scale


def _fit(array: pa.Array, old: DataType, new: DataType) -> pa.Array:
    """Whether each value fits the new type; null for a null."""
    assert not isinstance(old, NestedType), "a nested type is not narrowed"
    assert not isinstance(new, NestedType), "a nested type is not narrowed"
    kept = pc.is_valid(fitting(array, old, new))
    return pc.if_else(pc.is_valid(array), kept, pa.scalar(None, pa.bool_()))


def _misfits(store: Store, state: TableState, column: Column, new: DataType) -> int:
    """How many values of a column do not fit a narrower type, by reading it."""
    above = state.schema.ancestors(column.id)
    path = (*above, column)
    wide = _only(path, column.type)
    narrow = _only(path, new)
    batches = Scan(store, state, (wide,)).to_batches()
    return sum(lost_values(batch.column(0), wide, narrow) for batch in batches)


def _only(path: tuple[Column, ...], type_: DataType) -> Column:
    """The column at the top of a path, cut to what leads to the last column, which has a type."""
    column, below = path[0], path[1:]
    if not below:
        return replace(column, type=type_)
    inner = _only(below, type_)
    if isinstance(column.type, Struct):
        return replace(column, type=Struct((inner,)))
    parts = (inner if child.id == inner.id else child for child in children(column.type))
    return replace(column, type=with_children(column.type, tuple(parts)))
