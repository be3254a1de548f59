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

from versioned_catalog.merging.keys import comparable

MOST_BITS = 10
"""Bits of a rank: a column's values fall into about a thousand ranges."""
MOST_COLUMNS = 6
"""Columns whose ranks fit into 64 bits. With more of them, each tells next to nothing."""

Places = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Curve:
    """Where rows are on a curve.

    Args:
        cuts: for each column, the values that end its ranges, in order; one that is frequent, often.
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
    """How many cuts are not above each value, of all that a rank can be."""
    order = pc.array_sort_indices(pa.concat_arrays([cuts, column])).to_numpy()
    is_cut = order < len(cuts)  # the sort is stable: a cut comes before the values that it is
    ranks = np.empty(len(column), np.uint64)
    below = np.cumsum(is_cut)[~is_cut]
    ranks[order[~is_cut] - len(cuts)] = below * (2**MOST_BITS - 1) // max(len(cuts), 1)
    return ranks
