"""Chunks of a merge: for a range of keys, all rows of each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.merge_on_read.keys import Key, comparable, count_below, key_at
from versioned_catalog.merge_on_read.runs import Run, Shape

CHUNK_BYTES = 1 << 30
"""The most bytes of a chunk of more than one key: a string array of Arrow holds up to 2 GiB."""


@dataclass(frozen=True)
class RunRows:
    """Sorted rows of one run; at least one."""

    run: Run
    batches: Sequence[pa.RecordBatch]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.batches)


def keys_of(batch: pa.RecordBatch, shape: Shape) -> list[pa.Array]:
    """The key columns of a batch, in comparable types."""
    return [comparable(column) for column in batch.columns[: shape.keys]]


def bounded_chunks(runs: Sequence[RunRows], shape: Shape) -> Iterator[Sequence[RunRows]]:
    """Split a chunk until each is at most ``CHUNK_BYTES``, in order; no key is in two of them."""
    batches = [batch for part in runs for batch in part.batches]
    if sum(batch.nbytes for batch in batches) <= CHUNK_BYTES:
        yield runs
        return
    largest = max(batches, key=lambda batch: batch.nbytes)
    middle = key_at(keys_of(largest, shape), largest.num_rows // 2)
    below, others = _split(runs, middle, shape)
    if below:
        yield from bounded_chunks(below, shape)
        yield from bounded_chunks(others, shape)
    else:
        yield runs


def _split(
    runs: Sequence[RunRows], bound: Key, shape: Shape
) -> tuple[Sequence[RunRows], Sequence[RunRows]]:
    """Split rows at a key: the rows below it, and the others."""
    below: list[RunRows] = []
    others: list[RunRows] = []
    for part in runs:
        counts = [count_below(keys_of(batch, shape), bound) for batch in part.batches]
        counted = list(zip(part.batches, counts, strict=True))
        below += _non_empty(part.run, [batch.slice(0, count) for batch, count in counted])
        others += _non_empty(part.run, [batch.slice(count) for batch, count in counted])
    return below, others


def _non_empty(run: Run, batches: Sequence[pa.RecordBatch]) -> list[RunRows]:
    filled = [batch for batch in batches if batch.num_rows]
    return [RunRows(run, filled)] if filled else []
