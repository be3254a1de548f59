"""What is merged at once: some rows of each run, all that it has of their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.merge_on_read.keys import Key, comparable, count_below, key_at
from versioned_catalog.merge_on_read.runs import Run, Shape

MOST_BYTES = 1 << 30
"""How much is merged at once, where it is of more than one key: Arrow's text ends at 2 GiB."""


@dataclass(frozen=True)
class Part:
    """Sorted rows of one run, at least one."""

    run: Run
    batches: Sequence[pa.RecordBatch]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(batch.num_rows for batch in self.batches)


def keys_of(batch: pa.RecordBatch, shape: Shape) -> list[pa.Array]:
    """The comparable columns of a batch's keys."""
    return [comparable(column) for column in batch.columns[: shape.keys]]


def in_pieces(parts: Sequence[Part], shape: Shape) -> Iterator[Sequence[Part]]:
    """The same rows in pieces that are small enough, in order; no key is in two of them."""
    batches = [batch for part in parts for batch in part.batches]
    if sum(batch.nbytes for batch in batches) <= MOST_BYTES:
        yield parts
        return
    largest = max(batches, key=lambda batch: batch.nbytes)
    middle = key_at(keys_of(largest, shape), largest.num_rows // 2)
    below, others = _split(parts, middle, shape)
    if below:
        yield from in_pieces(below, shape)
        yield from in_pieces(others, shape)
    else:
        yield parts


def _split(
    parts: Sequence[Part], bound: Key, shape: Shape
) -> tuple[Sequence[Part], Sequence[Part]]:
    """The rows below a bound, and the others."""
    below: list[Part] = []
    others: list[Part] = []
    for part in parts:
        counts = [count_below(keys_of(batch, shape), bound) for batch in part.batches]
        counted = list(zip(part.batches, counts, strict=True))
        below += _part(part.run, [batch.slice(0, count) for batch, count in counted])
        others += _part(part.run, [batch.slice(count) for batch, count in counted])
    return below, others


def _part(run: Run, batches: Sequence[pa.RecordBatch]) -> list[Part]:
    filled = [batch for batch in batches if batch.num_rows]
    return [Part(run, filled)] if filled else []
