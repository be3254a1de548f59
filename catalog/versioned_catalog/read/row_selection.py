"""Which rows of a file are read, by position: those that no mark deletes, or only some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from versioned_catalog.log.bitmaps import Positions
from versioned_catalog.log.marks import Mark, marked_rows
from versioned_catalog.model.arrow import from_numpy
from versioned_catalog.read.apply_plan import batch_of_nothing
from versioned_catalog.storage.store import Store


@dataclass(frozen=True, eq=False)
class RowSelection:
    """The rows of a file to read.

    Args:
        positions: positions in the file.
        skipped: whether the rows there are left out, or the only ones that are read.
    """

    positions: Positions
    skipped: bool

    def count(self, first: int, rows: int) -> int:
        """How many of some rows are read, of which the first is at the position ``first``."""
        named = 0
        if len(self.positions):
            low, high = np.searchsorted(self.positions, (first, first + rows))
            named = int(high - low)
        return rows - named if self.skipped else named

    def of(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """The rows of a batch that are read; its first row is at the position ``first``."""
        kept = self.count(first, batch.num_rows)
        if kept == batch.num_rows:
            return batch
        if not batch.num_columns:
            return batch_of_nothing(kept)
        low, high = np.searchsorted(self.positions, (first, first + batch.num_rows))
        mask = np.full(batch.num_rows, self.skipped)
        mask[self.positions[low:high] - first] = not self.skipped
        return batch.filter(from_numpy(mask))


EVERY_ROW = RowSelection(np.empty(0, np.int64), skipped=True)


def selection_of(
    store: Store, path: str, rows: int, mark: Mark | None, only: Mark | None
) -> RowSelection:
    """The rows of a segment to read: those of ``only``, or all, without those of ``mark``.

    Args:
        rows: the number of rows of the segment.

    Raises:
        CorruptTableError: a mark is damaged, or its file is missing.
    """
    if mark is None and only is None:
        return EVERY_ROW
    marked = marked_rows(store, mark, path, rows)
    if only is None:
        return RowSelection(marked, skipped=True)
    wanted = marked_rows(store, only, path, rows)
    return RowSelection(np.setdiff1d(wanted, marked, assume_unique=True), skipped=False)
