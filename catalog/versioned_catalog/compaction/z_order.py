"""Z-order curves over a few columns: rows with similar values in all of them are close on the curve.

A position interleaves the bits of the ranks of a row's values (Morton, 1966). Ranks from a sample, as
in Delta Lake's OPTIMIZE ZORDER, give every column equal weight whatever its distribution.
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
"""Bits of a rank: the values of a column fall into about a thousand ranges."""
MOST_COLUMNS = 6
"""The most columns: their ranks fit into 64 bits, and with more, each would hardly count."""

Positions = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Curve:
    """A curve: for each column, sorted values that split it into ranges of equal size.

    Frequent values repeat.
    """

    cuts: tuple[pa.Array, ...]

    @staticmethod
    def of(sample: Sequence[pa.Array]) -> Curve:
        """Return the curve for rows that are distributed as the columns of a sample, of plain values."""
        return Curve(tuple(_cuts(comparable(column)) for column in sample))

    def positions(self, columns: Sequence[pa.Array]) -> Positions:
        """Return the positions of rows on the curve; NaN ranks after all numbers, and null last."""
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


def _ranks(cuts: pa.Array, column: pa.Array) -> Positions:
    """Ranks of values by the cuts; a value that equals several cuts ranks in their middle."""
    order = pc.array_sort_indices(pa.concat_arrays([cuts, column])).to_numpy()
    is_cut = order < len(cuts)  # the sort is stable: a cut comes before the values equal to it
    above = np.empty(len(column), np.int64)
    above[order[~is_cut] - len(cuts)] = np.cumsum(is_cut)[~is_cut]
    twice = above + _below(cuts, column, above)
    ranks: Positions = (twice * 2**MOST_BITS // (2 * len(cuts) + 1)).astype(np.uint64)
    return ranks


def _below(cuts: pa.Array, column: pa.Array, above: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Count the cuts less than each value, given the count of cuts not greater."""
    if not len(cuts):
        return above
    again = pc.equal(cuts.slice(1), cuts.slice(0, len(cuts) - 1)).to_numpy(zero_copy_only=False)
    first = np.arange(len(cuts))
    first[1:][again] = 0
    first = np.maximum.accumulate(first)
    last = np.maximum(above - 1, 0)
    is_one = pc.fill_null(pc.equal(column, cuts.take(pa.array(last))), False)
    return np.where(is_one.to_numpy(zero_copy_only=False), first[last], above)
