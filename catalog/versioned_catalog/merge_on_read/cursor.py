"""An open run, with its rows that are read and not yet merged."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import pyarrow as pa

from versioned_catalog.merge_on_read.chunks import RunRows, keys_of
from versioned_catalog.merge_on_read.keys import Key, count_below, key_at
from versioned_catalog.merge_on_read.resolution import newest_rows
from versioned_catalog.merge_on_read.runs import Run, Shape


@dataclass(frozen=True)
class _Buffered:
    """Buffered rows, at least one, with their key columns in comparable types."""

    batch: pa.RecordBatch
    keys: list[pa.Array]

    def slice(self, start: int, rows: int) -> _Buffered:
        keys = [column.slice(start, rows) for column in self.keys]
        return _Buffered(self.batch.slice(start, rows), keys)


class Cursor:
    """Reads a run in order, ``step`` rows at a time."""

    def __init__(self, run: Run, shape: Shape, step: int) -> None:
        self.run = run
        self._shape = shape
        self._step = step
        self._batches = run.open(step)
        self._buffer: deque[_Buffered] = deque()
        self._rows = 0
        self.ended = False
        """Whether all rows are read."""

    @property
    def is_done(self) -> bool:
        """Whether all rows are taken."""
        return self.ended and not self._buffer

    @property
    def reach(self) -> Key:
        """The last key that was read; only before the run is done."""
        return key_at(self._buffer[-1].keys, -1)

    def fill(self) -> None:
        """Read until a full step of rows with more than one key is buffered."""
        while not self.ended and (self._rows < self._step or self._is_one_key()):
            if self._rows >= self._step and self.run.patched is None:
                self._drop_replaced()
            self._read()

    def take_below(self, bound: Key | None) -> list[pa.RecordBatch]:
        """Take the rows whose key is less than a bound; all rows if it is None."""
        taken: list[pa.RecordBatch] = []
        while self._buffer:
            buffered = self._buffer.popleft()
            count = buffered.batch.num_rows
            below = count if bound is None else count_below(buffered.keys, bound)
            if below:
                taken.append(buffered.batch.slice(0, below))
            if below < count:
                self._buffer.appendleft(buffered.slice(below, count - below))
                break
        self._rows -= sum(batch.num_rows for batch in taken)
        return taken

    def _is_one_key(self) -> bool:
        return key_at(self._buffer[0].keys, 0) == self.reach

    def _drop_replaced(self) -> None:
        """Keep only the newest of buffered rows of one key, since a key may have any number of rows.

        A PUT or a DELETE hides all older rows, also those of other runs.
        """
        part = RunRows(self.run, [buffered.batch for buffered in self._buffer])
        self._buffer.clear()
        self._rows = 0
        for batch in newest_rows([part], self._shape, tombstones=True):
            self._keep(batch)

    def _read(self) -> None:
        batch = next(self._batches, None)
        if batch is None:
            self.ended = True
        elif batch.num_rows:
            self._keep(batch)

    def _keep(self, batch: pa.RecordBatch) -> None:
        self._buffer.append(_Buffered(batch, keys_of(batch, self._shape)))
        self._rows += batch.num_rows
