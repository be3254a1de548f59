"""The number of distinct values of a column, estimated from the least of their hashes.

If the ``k`` least hashes of the values reach up to a share ``s`` of all numbers, there are about
``(k - 1) / s`` values. With less than ``k`` values, the number is exact. See Bar-Yossef and others,
Counting Distinct Elements in a Data Stream, 2002, and for the estimator Beyer and others, On Synopses
for Distinct-Value Estimation Under Multiset Operations, 2007.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from versioned_catalog.read.row_hashes import Hashes, row_hashes

KEPT = 1024
"""The hashes that are kept. The standard error is 1 / sqrt(1024), or 3%."""

_NUMBERS = 2.0**64


@dataclass(frozen=True, eq=False)
class Sketch:
    """The least hashes of the distinct values of a column.

    Args:
        hashes: at most ``KEPT``, in ascending order.
    """

    hashes: Hashes

    @property
    def count(self) -> int:
        """The estimated number of distinct values, nulls left out."""
        if len(self.hashes) < KEPT:
            return len(self.hashes)
        return round((KEPT - 1) / (float(self.hashes[-1]) / _NUMBERS))

    def with_values(self, values: pa.Array) -> Sketch:
        """The sketch of these values, too."""
        known = values.drop_null()
        hashes = row_hashes([known], len(known))
        if len(self.hashes) == KEPT:
            hashes = hashes[hashes < self.hashes[-1]]
        return self.merged(Sketch(np.unique(hashes)[:KEPT]))

    def merged(self, other: Sketch) -> Sketch:
        """The sketch of the values of both."""
        return Sketch(np.union1d(self.hashes, other.hashes)[:KEPT])

    def text(self) -> str:
        """The sketch as text."""
        return base64.b64encode(self.hashes.astype("<u8").tobytes()).decode()

    @staticmethod
    def of_text(text: str) -> Sketch:
        """The sketch that a text holds."""
        return Sketch(np.frombuffer(base64.b64decode(text), "<u8").astype(np.uint64))


EMPTY = Sketch(np.empty(0, np.uint64))
"""Of no values."""
