"""What is merged: runs of sorted rows, and how a row is laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.merge_on_read.keys import Key


@dataclass(frozen=True)
class Shape:
    """How a batch is laid out: the row key, the values, ``__sequence`` (int64), ``__op_type`` (int8).

    Args:
        keys: how many leading columns are the row key, in its order. None of them holds a null, and
            none is nested or a float.
        values: how many columns follow before the last two.
    """

    keys: int
    values: int

    @property
    def sequence(self) -> int:
        """Where ``__sequence`` is."""
        return self.keys + self.values

    @property
    def op(self) -> int:
        """Where ``__op_type`` is."""
        return self.keys + self.values + 1


@dataclass(frozen=True)
class Run:
    """Rows sorted by row key, those of one key by ``__sequence`` and position: a segment, mostly.

    Args:
        order: sequence and ordinal. Rows of one key go by (the row's ``__sequence``, this ordinal,
            position).
        sequences: the least and the greatest ``__sequence`` of its rows.
        patched: which value columns, counted from 0 among the values, its PATCH rows assign; None if
            it has no such rows.
        lower: no row's key is less; None if that is not known.
        rows: how many rows it has, at least about.
        open: begins to read it, in batches of at most so many rows. All runs give one schema.
    """

    order: tuple[int, int]
    sequences: tuple[int, int]
    patched: frozenset[int] | None
    lower: Key | None
    rows: int
    open: Callable[[int], Iterator[pa.RecordBatch]]
