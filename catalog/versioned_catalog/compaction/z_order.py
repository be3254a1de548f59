"""A Z-order curve over a few columns: rows that are near each other in all of them are near on it.

The bits of the ranks of a row's values, one of each column in turn (Morton, 1966). Ranks, not values,
so that each column counts for the same however its values are spread; Delta Lake ranks by sampling
for its OPTIMIZE ZORDER, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.merge_on_read.keys import comparable

MOST_BITS = 10
"""Bits of a rank: a column's values fall into about a thousand ranges."""
MOST_COLUMNS = 6
"""Columns whose ranks fit into 64 bits. With more of them, each tells next to nothing."""

Places = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Curve:
    """Where rows are on a curve.

    Args:
        cuts: for each column, values that part it into ranges, in order; one that is frequent, often.
    """

    cuts: tuple[pa.Array, ...]

    @staticmethod
    def of(sample: Sequence[pa.Array]) -> Curve:
        """The curve for rows like some.

        Args:
            sample: their columns, of plain values.
        """
        return Curve(tuple(_cuts(comparable(column)) for column in sample))

    def places(self, columns: Sequence[pa.Array]) -> Places:
        """Where each of some rows is; nulls come last, as NaN does before them.

        Args:
            columns: as for ``of``.
        """
        ranks = [
            _ranks(cuts, comparable(column))
            for cuts, column in zip(self.cuts, columns, strict=True)
        ]
        found = np.zeros(len(columns[0]), np.uint64)
        for bit in reversed(range(MOST_BITS)):
            for rank in ranks:
                found = (found << np.uint64(1)) | ((rank >> np.uint64(bit)) & np.uint64(1))
        return found


def _cuts(column: pa.Array) -> pa.Array:
    valid = column.drop_null()
    most = min(2**MOST_BITS - 1, len(valid))
    at = (np.arange(1, most + 1) * len(valid)) // (most + 1)
    return valid.take(pc.array_sort_indices(valid).take(pa.array(at)))


def _ranks(cuts: pa.Array, column: pa.Array) -> Places:
    """Where each value is among the cuts, of all that a rank can be; the middle of those that it is."""
    order = pc.array_sort_indices(pa.concat_arrays([cuts, column])).to_numpy()
    is_cut = order < len(cuts)  # the sort is stable: a cut comes before the values that it is
    above = np.empty(len(column), np.int64)
    above[order[~is_cut] - len(cuts)] = np.cumsum(is_cut)[~is_cut]
    twice = above + _below(cuts, column, above)
    ranks: Places = (twice * 2**MOST_BITS // (2 * len(cuts) + 1)).astype(np.uint64)
    return ranks


def _below(cuts: pa.Array, column: pa.Array, above: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How many cuts are less than each value, where it is known how many are not above it."""
    if not len(cuts):
        return above
    again = pc.equal(cuts.slice(1), cuts.slice(0, len(cuts) - 1)).to_numpy(zero_copy_only=False)
    first = np.arange(len(cuts))
    first[1:][again] = 0
    first = np.maximum.accumulate(first)
    last = np.maximum(above - 1, 0)
    is_one = pc.fill_null(pc.equal(column, cuts.take(pa.array(last))), False)
    return np.where(is_one.to_numpy(zero_copy_only=False), first[last], above)
