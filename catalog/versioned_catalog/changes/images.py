"""From the images of keys to changes: what each key was before and after each commit.

Paimon's changelog producers compare the row of a key before and after a compaction in the same way, and
store what they find; here nothing is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.changes.columns import DELETE, INSERT, POSTIMAGE, PREIMAGE, TYPES
from versioned_catalog.changes.tasks import Output
from versioned_catalog.changes.values import indices, integers, unequal
from versioned_catalog.log.op_types import DELETE_OP
from versioned_catalog.merge_on_read.chunks import keys_of
from versioned_catalog.merge_on_read.ordering import last_of_keys
from versioned_catalog.merge_on_read.runs import Shape

Places = npt.NDArray[np.int64]
NOTHING = -1
"""The place of an image that does not exist."""


@dataclass(frozen=True)
class Pairs:
    """The rows of keys before and after commits, by their places in a batch; ``NOTHING`` for no row.

    Args:
        before, after: the places.
        sequences: the version of each commit.
    """

    before: Places
    after: Places
    sequences: Places

    def where(self, mask: npt.NDArray[np.bool_]) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.before[mask], self.after[mask], self.sequences[mask])


@dataclass(frozen=True)
class Changed:
    """Changed rows, by their places in a batch, in order.

    Args:
        places: of the rows.
        types: their places in ``TYPES``.
        sequences: the version of each commit.
    """

    places: Places
    types: Places
    sequences: Places


def pairs_of_commits(batch: pa.RecordBatch, shape: Shape, since: int) -> Pairs:
    """The images of each key to which a commit from version ``since`` on wrote, and those before them.

    Args:
        batch: the images of ``merge_images``.
    """
    sequences = integers(batch.column(shape.sequence))
    after = np.flatnonzero(sequences >= since)
    return _alive(Pairs(_previous(batch, shape)[after], after, sequences[after]), batch, shape)


def pairs_of_states(batch: pa.RecordBatch, shape: Shape) -> Pairs:
    """The rows of all keys in two states, of which the first has the sequence 0 and the second has 1."""
    is_new = integers(batch.column(shape.sequence)) == 1
    previous = _previous(batch, shape)
    new = np.flatnonzero(is_new)
    continued = np.zeros(batch.num_rows, bool)
    continued[previous[previous != NOTHING]] = True
    gone = np.flatnonzero(~is_new & ~continued)
    before = np.concatenate([previous[new], gone])
    after = np.concatenate([new, np.full(len(gone), NOTHING)])
    return Pairs(before, after, np.zeros(len(before), np.int64))


def _previous(batch: pa.RecordBatch, shape: Shape) -> Places:
    """The place of the previous image of each row's key."""
    last = last_of_keys(keys_of(batch, shape), batch.num_rows)
    begins = np.roll(integers(last.cast(pa.int64())), 1).astype(bool)
    return np.where(begins, NOTHING, np.arange(batch.num_rows) - 1)


def _alive(pairs: Pairs, batch: pa.RecordBatch, shape: Shape) -> Pairs:
    """The pairs in which DELETEs are no rows, without those of two such images."""
    deleted = integers(pc.equal(batch.column(shape.op), DELETE_OP).cast(pa.int64())).astype(bool)
    before, after = (
        np.where((places != NOTHING) & ~deleted[places], places, NOTHING)
        for places in (pairs.before, pairs.after)
    )
    found = Pairs(before, after, pairs.sequences)
    return found.where((before != NOTHING) | (after != NOTHING))


def without_equal(pairs: Pairs, rows: Sequence[pa.Array]) -> Pairs:
    """The pairs whose rows differ in a column."""
    both = np.flatnonzero((pairs.before != NOTHING) & (pairs.after != NOTHING))
    if not len(both):
        return pairs
    left, right = indices(pairs.before[both]), indices(pairs.after[both])
    differ = np.zeros(len(both), bool)
    for column in rows:
        found = unequal(column.take(left), column.take(right))
        differ |= integers(found.cast(pa.int64())).astype(bool)
    kept = np.ones(len(pairs.before), bool)
    kept[both] = differ
    return pairs.where(kept)


def changed_rows(pairs: Pairs, output: Output) -> Changed:
    """The rows of pairs with their types, the row before a commit ahead of the one after it."""
    is_update = (pairs.before != NOTHING) & (pairs.after != NOTHING) & output.updates
    old = np.where(is_update, TYPES.index(PREIMAGE), TYPES.index(DELETE))
    new = np.where(is_update, TYPES.index(POSTIMAGE), TYPES.index(INSERT))
    places = np.stack([pairs.before, pairs.after], axis=1).reshape(-1)
    types = np.stack([old, new], axis=1).reshape(-1)
    shown = places != NOTHING
    return Changed(places[shown], types[shown], np.repeat(pairs.sequences, 2)[shown])
