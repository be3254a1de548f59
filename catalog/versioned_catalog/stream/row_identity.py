"""Rows of two sets matched by their IDs, in bounded memory, in tables with row IDs.

Rows that are the same in both sets, with the same ID, are left out first, most of them batch by batch as
they are read. The rest is split by ID, so that each part is matched in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from versioned_catalog.model.arrow import integers
from versioned_catalog.read.row_hashes import indices
from versioned_catalog.stream.keyed_changes import NOTHING, Pairs, Places
from versioned_catalog.stream.row_difference import NEW, OLD, ranks, surplus, without_pairs
from versioned_catalog.write.writer import Spill


@dataclass(frozen=True)
class Matched:
    """Rows before and after a commit.

    Args:
        rows: of both sets, with all their columns.
        pairs: by their places in these rows.
    """

    rows: pa.RecordBatch
    pairs: Pairs


def matched(
    old: Iterable[pa.RecordBatch], new: Iterable[pa.RecordBatch], schema: pa.Schema, parts: int
) -> Iterator[Matched]:
    """Match the rows of two sets by their last column, an ID; most of those that are equal are left out.

    Args:
        schema: of the rows of both.
        parts: as ``row_difference.parts_of`` returns it.

    Raises:
        StorageError: the local disk is full, or fails.
    """
    with closing(without_pairs(old, new)) as sided:
        # Where pairs were looked for, a hash follows the columns.
        rows = ((side, batch.select(range(len(schema)))) for side, batch in sided)
        if parts == 1:
            sides: tuple[list[pa.RecordBatch], ...] = [], []
            for side, batch in rows:
                sides[side].append(batch)
            yield from _of_part(sides[OLD], sides[NEW], schema)
            return
        with ExitStack() as stack:
            spills = [stack.enter_context(Spill[int](keys=range(parts))) for _ in (OLD, NEW)]
            for side, batch in rows:
                for part, of_part in _split(batch, parts):
                    spills[side].add(part, of_part)
            drained = zip(*(spill.drain() for spill in spills), strict=True)
            for (_, before), (_, after) in drained:
                yield from _of_part(before, after, schema)


def _split(batch: pa.RecordBatch, parts: int) -> Iterator[tuple[int, pa.Table]]:
    numbers = integers(batch.columns[-1]) % parts
    for part in np.unique(numbers).tolist():
        rows = batch.take(indices(np.flatnonzero(numbers == part)))
        yield part, pa.Table.from_batches([rows])


def _of_part(
    old: Iterable[pa.RecordBatch], new: Iterable[pa.RecordBatch], schema: pa.Schema
) -> Iterator[Matched]:
    """The rows of one part, which are in memory."""
    before, after = (list(batches) for batches in (old, new))
    count = sum(batch.num_rows for batch in before)
    columns = [
        pa.concat_arrays([pa.nulls(0, field.type), *(b.column(at) for b in (*before, *after))])
        for at, field in enumerate(schema)
    ]
    rows = pa.RecordBatch.from_arrays(columns, schema=schema)
    if rows.num_rows and _is_repeated(integers(rows.columns[-1]), count):
        kept = surplus(rows.columns, count, rows.num_rows - count)
        rows, count = (
            rows.take(indices(np.concatenate([kept[OLD], kept[NEW] + count]))),
            len(kept[OLD]),
        )
    if rows.num_rows:
        yield Matched(rows, _pairs(integers(rows.columns[-1]), count))


def _is_repeated(ids: Places, count: int) -> bool:
    """Whether an ID is in one set several times: a range of commits may change a row again and again.

    Each version of such a row but the first and the last is in both sets, and has to be left out: else
    rows would be matched that do not follow each other.
    """
    return any(len(np.unique(side)) < len(side) for side in (ids[:count], ids[count:]))


def _pairs(ids: Places, count: int) -> Pairs:
    """Pairs of rows with the same ID, of which the first ``count`` are the old ones."""
    turns = np.concatenate([ranks(ids[:count]), ranks(ids[count:])])
    order = np.lexsort((np.arange(len(ids)), turns, ids))
    same = (ids[order][1:] == ids[order][:-1]) & (turns[order][1:] == turns[order][:-1])
    partner = np.full(len(ids), NOTHING)
    first, second = order[:-1][same], order[1:][same]
    partner[first], partner[second] = second, first
    added = np.flatnonzero(partner[count:] == NOTHING) + count
    places = np.concatenate([np.arange(count), np.full(len(added), NOTHING)])
    after = np.concatenate([partner[:count], added])
    return Pairs(places, after, np.zeros(len(places), np.int64))
