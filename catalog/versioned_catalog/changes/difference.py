"""The multiset difference of two sets of rows, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from versioned_catalog.changes.cancelling import (
    HASH,
    NEW,
    OLD,
    Places,
    hashes_of,
    unpaired,
    without_pairs,
)
from versioned_catalog.changes.hashing import split
from versioned_catalog.changes.values import groups_of, indices, integers, numbered
from versioned_catalog.datafile.spilling import Spill
from versioned_catalog.types.arrow_values import scalar_of

ROWS_IN_MEMORY = 1_000_000
BYTES_IN_MEMORY = 128 * 1024 * 1024
"""The rows, and the bytes of files, beyond which rows are split by hash and spilled."""

SIDE = "__side"
"""The column of spilled rows with ``OLD`` or ``NEW``, which comes last."""


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
    sided = without_pairs(old, new)
    if parts == 1:
        yield from _unmatched(list(sided), schema)
        return
    with Spill[int]() as spill:
        for side, batch in sided:
            for part, rows in split(batch, hashes_of(batch), parts):
                spill.add(part, pa.Table.from_batches([_with_side(side, rows)]))
        for _, batches in spill.drain():
            yield from _unmatched(list(map(_without_side, batches)), schema)


def _with_side(side: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    column = pa.repeat(scalar_of(side, pa.int8()), batch.num_rows)
    fields = batch.schema.append(pa.field(SIDE, pa.int8(), nullable=False))
    return pa.RecordBatch.from_arrays([*batch.columns, column], schema=fields)


def _without_side(batch: pa.RecordBatch) -> tuple[int, pa.RecordBatch]:
    """The side of rows that are all of one side, and the other columns."""
    *columns, sides = batch.columns
    return sides[0].as_py(), batch.select(range(len(columns)))


def _unmatched(
    sided: list[tuple[int, pa.RecordBatch]], schema: pa.Schema
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows in memory that have no equal row on the other side."""
    old, new = (_of_side(sided, schema, side) for side in (OLD, NEW))
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
            yield side, part.select(range(len(schema))).take(indices(kept_rows))


def _of_side(
    sided: list[tuple[int, pa.RecordBatch]], schema: pa.Schema, side: int
) -> pa.RecordBatch:
    """The rows of a side with their hashes."""
    fields = schema.append(HASH)
    own = [batch for at, batch in sided if at == side]
    columns = [
        pa.concat_arrays([pa.nulls(0, type_), *(batch.column(at) for batch in own)])
        for at, type_ in enumerate(fields.types)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=fields)


def _ranks(groups: Places) -> Places:
    """The number of earlier elements that equal each element."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    sizes = np.diff(np.r_[begins, len(ordered)])
    found = np.empty(len(groups), np.int64)
    found[order] = np.arange(len(groups)) - np.repeat(begins, sizes)
    return found
