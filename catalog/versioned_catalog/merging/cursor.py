"""An open run: the rows of it that were read and not yet merged."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.merging.keys import Key, comparable, count_below, key_at
from versioned_catalog.merging.runs import Run, Shape


@dataclass(frozen=True)
class _Piece:
    """Some rows, at least one, and the comparable columns of their keys."""

    batch: pa.RecordBatch
    keys: list[pa.Array]

    def slice(self, start: int, rows: int) -> _Piece:
        keys = [column.slice(start, rows) for column in self.keys]
        return _Piece(self.batch.slice(start, rows), keys)


class Cursor:
    """Reads a run in order.

    Args:
        run: what is read.
        shape: how its rows are laid out.
        step: how many rows are read at a time.
    """

    def __init__(self, run: Run, shape: Shape, step: int) -> None:
        self.run = run
        self._shape = shape
        self._step = step
        self._batches = run.open(step)
        self._pieces: deque[_Piece] = deque()
        self._rows = 0
        self.ended = False

    @property
    def is_done(self) -> bool:
        """Whether all of its rows were taken."""
        return self.ended and not self._pieces

    @property
    def reach(self) -> Key:
        """The last key read, of a run that is not done."""
        return key_at(self._pieces[-1].keys, -1)

    def fill(self) -> None:
        """Read on until there is a step's worth of rows, and a key less than the last."""
        while not self.ended and (self._rows < self._step or self._is_one_key()):
            self._read()

    def take_below(self, bound: Key | None) -> list[pa.RecordBatch]:
        """Give away the rows whose key is less than a bound; all of them if it is None."""
        taken: list[pa.RecordBatch] = []
        while self._pieces:
            piece = self._pieces.popleft()
            count = piece.batch.num_rows
            below = count if bound is None else count_below(piece.keys, bound)
            if below:
                taken.append(piece.batch.slice(0, below))
            if below < count:
                self._pieces.appendleft(piece.slice(below, count - below))
                break
        self._rows -= sum(batch.num_rows for batch in taken)
        return taken

    def _is_one_key(self) -> bool:
        return key_at(self._pieces[0].keys, 0) == self.reach

    def _read(self) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self.ended = True
        elif batch.num_rows:
            keys = [comparable(column) for column in batch.columns[: self._shape.keys]]
            self._pieces.append(_Piece(batch, keys))
            self._rows += batch.num_rows
