"""The k-way merge of sorted runs, round by round, in bounded memory.

A round merges the rows below the watermark, which is the least of the last keys read from the open runs:
no row that is read later is below it. A run is opened when the watermark reaches its least key.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import pyarrow as pa

from versioned_catalog.read.newest_rows import RunRows, bounded_chunks, images, keys_of, newest_rows
from versioned_catalog.read.row_keys import Key, Run, Shape, count_below, key_at


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
            if bound is None or key_at(buffered.keys, -1) < bound:
                below = count
            else:
                below = count_below(buffered.keys, bound)
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


__all__ = ["Run", "Shape", "merge", "merge_images"]

ROUND_ROWS = 1 << 18
"""The approximate number of rows of a round."""

MIN_STEP = 4096
"""The least number of rows of a run to read at a time."""

Waiting = deque[tuple[Key, Run]]
"""The runs that are not open yet, in order, each with a lower bound of its keys."""


def merge(
    runs: Sequence[Run], shape: Shape, *, tombstones: bool = False
) -> Iterator[pa.RecordBatch]:
    """Merge runs into the newest row of each key, sorted by row key.

    A row that results from PATCH rows has the ``__sequence`` of the last of them, and ``__op_type`` PUT.
    With ``tombstones``, a key whose newest row is a DELETE has that row.
    """
    return _resolved(runs, shape, partial(newest_rows, shape=shape, tombstones=tombstones))


def merge_images(
    runs: Sequence[Run], shape: Shape, since: int, *, each: bool
) -> Iterator[pa.RecordBatch]:
    """Merge runs into the images of each key, sorted by row key and ``__sequence``.

    They are its newest row below the sequence ``since``, and its newest row of each sequence from there
    on, or, unless ``each``, of all of these. A DELETE is an image of its own; PATCH rows are PUTs of all
    values. All images of a key are in one batch. A run holds rows of a key of at most one sequence
    from ``since`` on.
    """
    return _resolved(runs, shape, partial(images, shape=shape, since=since, each=each))


def _resolved(
    runs: Sequence[Run],
    shape: Shape,
    resolve: Callable[[Sequence[RunRows]], Sequence[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    # No reference keeps the rows of a round while those of the next are read.
    for batch in chain.from_iterable(map(resolve, _rounds(runs, shape))):
        if batch.num_rows:
            yield batch


def _rounds(runs: Sequence[Run], shape: Shape) -> Iterator[Sequence[RunRows]]:
    """Read the runs in rounds of ascending keys; all rows of a key are in one round."""
    waiting = deque(sorted(((run.lower or (), run) for run in runs), key=lambda entry: entry[0]))
    cursors: list[Cursor] = []
    while waiting or cursors:
        if due := _due(waiting, cursors):
            cursors += _opened(due, cursors, shape)
        else:
            yield from bounded_chunks(_taken(cursors, _watermark(waiting, cursors)), shape)
        for cursor in cursors:
            cursor.fill()
        cursors = [cursor for cursor in cursors if not cursor.is_done]


def _due(waiting: Waiting, cursors: Sequence[Cursor]) -> list[Run]:
    """The runs to open: those that may hold a key up to the last key read from every open run."""
    reach = min((cursor.reach for cursor in cursors), default=waiting[0][0] if waiting else ())
    due: list[Run] = []
    while waiting and waiting[0][0] <= reach:
        due.append(waiting.popleft()[1])
    return due


def _opened(due: Sequence[Run], cursors: Sequence[Cursor], shape: Shape) -> list[Cursor]:
    """Open runs. Each reads in steps by its share of all rows, so that a round has rows of all runs."""
    total = sum(cursor.run.rows for cursor in cursors) + sum(run.rows for run in due)
    steps = [max(MIN_STEP, ROUND_ROWS * run.rows // max(total, 1)) for run in due]
    return [Cursor(run, shape, step) for run, step in zip(due, steps, strict=True)]


def _watermark(waiting: Waiting, cursors: Sequence[Cursor]) -> Key | None:
    """A lower bound of the keys not yet read; None if all are read."""
    ahead = [cursor.reach for cursor in cursors if not cursor.ended]
    return min(ahead + [start for start, _ in waiting][:1], default=None)


def _taken(cursors: Sequence[Cursor], bound: Key | None) -> list[RunRows]:
    taken = [(cursor.run, cursor.take_below(bound)) for cursor in cursors]
    return [RunRows(run, batches) for run, batches in taken if batches]
