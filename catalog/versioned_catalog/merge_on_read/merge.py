"""The k-way merge of sorted runs, round by round, in bounded memory.

A round takes the rows below the watermark: the least of the last keys read of the open runs. No row
that is read later can be below it. A run is opened when the watermark reaches its least key.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import pyarrow as pa

from versioned_catalog.merge_on_read.chunks import Part, in_pieces
from versioned_catalog.merge_on_read.cursor import Cursor
from versioned_catalog.merge_on_read.keys import Key
from versioned_catalog.merge_on_read.runs import Run, Shape
from versioned_catalog.merge_on_read.survivors import resolve

__all__ = ["Run", "Shape", "merge"]

ROWS = 1 << 18
"""How many rows a round has, about."""

LEAST_STEP = 4096
"""How many rows of a run are read at a time, at least."""

Waiting = deque[tuple[Key, Run]]
"""The runs that are not open yet, the least first, each with what no key of it is less than."""


def merge(
    runs: Sequence[Run], shape: Shape, *, tombstones: bool = False
) -> Iterator[pa.RecordBatch]:
    """The rows that count, sorted by row key, one a key.

    Of a row made by PATCH rows, ``__sequence`` is that of the last one and ``__op_type`` is PUT.

    Args:
        runs: what is merged.
        shape: how their rows are laid out, and those that come out.
        tombstones: whether a key whose last row is a DELETE comes out, as that row; else it does not.
    """
    resolved = partial(resolve, shape=shape, tombstones=tombstones)
    # Nothing here holds the rows of a round while those of the next are read.
    for batch in chain.from_iterable(map(resolved, _rounds(runs, shape))):
        if batch.num_rows:
            yield batch


def _rounds(runs: Sequence[Run], shape: Shape) -> Iterator[Sequence[Part]]:
    """The rows of the runs: of each key all in one round, the keys of a round less than of the next."""
    waiting = deque(sorted(((_start(run), run) for run in runs), key=lambda one: one[0]))
    cursors: list[Cursor] = []
    while waiting or cursors:
        if due := _due(waiting, cursors):
            cursors += _opened(due, cursors, shape)
        else:
            yield from in_pieces(_taken(cursors, _watermark(waiting, cursors)), shape)
        for cursor in cursors:
            cursor.fill()
        cursors = [cursor for cursor in cursors if not cursor.is_done]


def _start(run: Run) -> Key:
    """What no key of a run is less than."""
    return () if run.lower is None else run.lower


def _due(waiting: Waiting, cursors: Sequence[Cursor]) -> list[Run]:
    """The runs to open: those that may hold keys among the ones that each open run has read."""
    reach = min((cursor.reach for cursor in cursors), default=waiting[0][0] if waiting else ())
    due: list[Run] = []
    while waiting and waiting[0][0] <= reach:
        due.append(waiting.popleft()[1])
    return due


def _opened(due: Sequence[Run], cursors: Sequence[Cursor], shape: Shape) -> list[Cursor]:
    """Each reads at a time by its share of all rows, so that those of a round are of all runs."""
    total = sum(cursor.run.rows for cursor in cursors) + sum(run.rows for run in due)
    steps = [max(LEAST_STEP, ROWS * run.rows // max(total, 1)) for run in due]
    return [Cursor(run, shape, step) for run, step in zip(due, steps, strict=True)]


def _watermark(waiting: Waiting, cursors: Sequence[Cursor]) -> Key | None:
    """What no key that is yet to be read is less than; None if all is read."""
    ahead = [cursor.reach for cursor in cursors if not cursor.ended]
    return min(ahead + [start for start, _ in waiting][:1], default=None)


def _taken(cursors: Sequence[Cursor], bound: Key | None) -> list[Part]:
    taken = [(cursor.run, cursor.take_below(bound)) for cursor in cursors]
    return [Part(run, batches) for run, batches in taken if batches]
