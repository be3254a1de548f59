"""The multiset difference of two sets of rows, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from versioned_catalog.changes.cancelling import NEW, OLD, ranks, without_pairs
from versioned_catalog.changes.hashing import row_hashes
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
            for part, rows in _split(batch, len(schema), parts):
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


def _split(batch: pa.RecordBatch, columns: int, parts: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch by hash: equal rows are in one part."""
    part = row_hashes(batch.columns[:columns], batch.num_rows) % np.uint32(parts)
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=parts))
    for at, end in enumerate(ends):
        start = ends[at - 1] if at else 0
        if end > start:
            yield at, batch.take(indices(order[start:end]))


def _unmatched(
    batches: list[pa.RecordBatch], schema: pa.Schema
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows in memory that have no equal row on the other side."""
    rows = sum(batch.num_rows for batch in batches)
    if not rows:
        return
    columns = [
        pa.concat_arrays([batch.column(at) for batch in batches]) for at in range(len(schema) + 1)
    ]
    groups = integers(groups_of([numbered(column) for column in columns[:-1]], rows))
    side = integers(columns[-1].cast(pa.int64()))
    whole = pa.RecordBatch.from_arrays(columns[:-1], schema=schema)
    counts = [np.bincount(groups[side == one], minlength=groups.max() + 1) for one in (OLD, NEW)]
    for one in (OLD, NEW):
        surplus = counts[one] - counts[1 - one]
        places = np.flatnonzero(side == one)
        kept = places[ranks(groups[places]) < surplus[groups[places]]]
        if len(kept):
            yield one, whole.take(indices(kept))
