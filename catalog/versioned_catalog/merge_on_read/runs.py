"""The input of a merge: sorted runs, and the layout of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.merge_on_read.keys import Key


@dataclass(frozen=True)
class Shape:
    """The layout of rows: the row key, the values, ``__sequence`` (int64), ``__op_type`` (int8).

    Args:
        keys: the number of columns of the row key. None holds a null, and none is nested or a float.
        values: the number of columns between them and the last two.
    """

    keys: int
    values: int

    @property
    def sequence(self) -> int:
        """The index of ``__sequence``."""
        return self.keys + self.values

    @property
    def op(self) -> int:
        """The index of ``__op_type``."""
        return self.keys + self.values + 1


@dataclass(frozen=True)
class Run:
    """Rows sorted by row key, and those of one key by ``__sequence`` and position: usually a segment.

    Args:
        order: (sequence, ordinal). The age of a row is its ``__sequence``, this ordinal, and its
            position.
        sequences: the least and the greatest ``__sequence`` of its rows.
        patched: the value columns that its PATCH rows assign, counted from 0; None if it has no such
            rows.
        lower: a lower bound of its keys; None if unknown.
        rows: the approximate number of rows.
        open: reads it in batches of at most the given number of rows. All runs have one schema.
    """

    order: tuple[int, int]
    sequences: tuple[int, int]
    patched: frozenset[int] | None
    lower: Key | None
    rows: int
    open: Callable[[int], Iterator[pa.RecordBatch]]
