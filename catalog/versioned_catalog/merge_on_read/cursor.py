"""An open run: the rows of it that were read and not yet merged."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.merge_on_read.chunks import Part, keys_of
from versioned_catalog.merge_on_read.keys import Key, count_below, key_at
from versioned_catalog.merge_on_read.runs import Run, Shape
from versioned_catalog.merge_on_read.survivors import resolve


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
        """Whether all of its rows were read."""

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
            if self._rows >= self._step and self.run.patched is None:
                self._forget_shadowed()
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

    def _forget_shadowed(self) -> None:
        """Keep the row that counts, of rows of one key: memory is bounded, duplicates are not.

        A PUT or a DELETE hides all that is older, in other runs too.
        """
        part = Part(self.run, [piece.batch for piece in self._pieces])
        self._pieces.clear()
        self._rows = 0
        for batch in resolve([part], self._shape, tombstones=True):
            self._keep(batch)

    def _read(self) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self.ended = True
        elif batch.num_rows:
            self._keep(batch)

    def _keep(self, batch: pa.RecordBatch) -> None:
        self._pieces.append(_Piece(batch, keys_of(batch, self._shape)))
        self._rows += batch.num_rows
