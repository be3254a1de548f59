"""The multiset difference of two sets of rows, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from versioned_catalog.changes.cancelling import NEW, OLD, Places, unpaired, without_pairs
from versioned_catalog.changes.hashing import split_by_hash
from versioned_catalog.changes.values import groups_of, indices, integers, numbered
from versioned_catalog.datafile.spilling import Spill
from versioned_catalog.types.arrow_values import scalar_of

ROWS_IN_MEMORY = 1_000_000
BYTES_IN_MEMORY = 128 * 1024 * 1024
"""The rows, and the bytes of files, beyond which rows are split by hash and spilled."""

SIDE = "__side"
"""The column with ``OLD`` or ``NEW``, which comes after the compared ones."""


def parts_of(rows: int, size: int) -> int:
    """Into how many parts rows are split that are read from files of some bytes; 1 for none."""
    return max(rows // ROWS_IN_MEMORY, size // BYTES_IN_MEMORY) + 1


def difference(
    old: Iterable[pa.RecordBatch], new: Iterable[pa.RecordBatch], schema: pa.Schema, parts: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows that occur more often in one set than in the other, with ``OLD`` or ``NEW``.

    Args:
        schema: of the rows of both.
        parts: as ``parts_of`` returns it.

    Raises:
        StorageError: the local disk is full, or fails.
    """
    sided = _sided(old, new, schema)
    if parts == 1:
        yield from _unmatched(list(sided), schema)
        return
    with Spill[int]() as spill:
        for batch in sided:
            for part, rows in split_by_hash(batch, batch.columns[: len(schema)], parts):
                spill.add(part, pa.Table.from_batches([rows]))
        for _, batches in spill.drain():
            yield from _unmatched(list(batches), schema)


def _sided(
    old: Iterable[pa.RecordBatch], new: Iterable[pa.RecordBatch], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    fields = schema.append(pa.field(SIDE, pa.int8(), nullable=False))
    for side, batch in without_pairs(old, new):
        column = pa.repeat(scalar_of(side, pa.int8()), batch.num_rows)
        yield pa.RecordBatch.from_arrays([*batch.columns, column], schema=fields)


def _unmatched(
    batches: list[pa.RecordBatch], schema: pa.Schema
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows in memory that have no equal row on the other side."""
    old, new = _by_side(batches, schema)
    if old.num_rows and new.num_rows:
        kept = unpaired(old, new)
        old, new = (part.take(indices(at)) for part, at in zip((old, new), kept, strict=True))
    rows = old.num_rows + new.num_rows
    if not rows:
        return
    columns = [pa.concat_arrays([old.column(at), new.column(at)]) for at in range(len(schema))]
    groups = integers(groups_of([numbered(column) for column in columns], rows))
    ours, theirs = groups[: old.num_rows], groups[old.num_rows :]
    counts = [np.bincount(one, minlength=groups.max() + 1) for one in (ours, theirs)]
    for side, part, own in ((OLD, old, ours), (NEW, new, theirs)):
        surplus = counts[side] - counts[1 - side]
        kept_rows = np.flatnonzero(_ranks(own) < surplus[own])
        if len(kept_rows):
            yield side, part.take(indices(kept_rows))


def _by_side(
    batches: list[pa.RecordBatch], schema: pa.Schema
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The rows of each side, without the column that says which it is."""
    columns = [
        pa.concat_arrays([pa.nulls(0, type_), *(batch.column(at) for batch in batches)])
        for at, type_ in enumerate([*schema.types, pa.int8()])
    ]
    side = integers(columns.pop().cast(pa.int64()))
    whole = pa.RecordBatch.from_arrays(columns, schema=schema)
    old, new = (whole.take(indices(np.flatnonzero(side == one))) for one in (OLD, NEW))
    return old, new


def _ranks(groups: Places) -> Places:
    """The number of earlier elements that equal each element."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    sizes = np.diff(np.r_[begins, len(ordered)])
    found = np.empty(len(groups), np.int64)
    found[order] = np.arange(len(groups)) - np.repeat(begins, sizes)
    return found
