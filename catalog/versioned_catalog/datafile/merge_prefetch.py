"""Prefetching the small segments of a merge from remote storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from versioned_catalog.datafile.reader import BATCH_ROWS, read_segment
from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.storage.store import Store

PREFETCH_SEGMENTS = 16
"""The most segments that are prefetched."""

PREFETCH_ROWS = 2 * BATCH_ROWS
"""The most rows that these hold together, so that large segments are read batch by batch."""


class MergePrefetch:
    """Reads the segments of a merge, in about the given order, and prefetches the next small ones."""

    def __init__(
        self, store: Store, tasks: Sequence[SegmentTask], pool: ThreadPoolExecutor
    ) -> None:
        self._store = store
        self._tasks = tasks
        self._pool = pool
        self._next = 0
        self._held = 0
        self._running: dict[int, Future[list[pa.RecordBatch]]] = {}

    def read(self, at: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Read a segment by its place, once, in batches of at most ``batch_rows`` rows."""
        self._start(at)
        running = self._running.pop(at, None)
        if running is None:
            yield from read_segment(self._store, self._tasks[at], batch_rows)
            return
        for batch in running.result():
            for first in range(0, batch.num_rows, batch_rows):
                yield batch.slice(first, batch_rows)
        self._held -= self._tasks[at].rows

    def _start(self, at: int) -> None:
        self._next = max(self._next, at)
        while self._next < len(self._tasks):
            rows = self._tasks[self._next].rows
            if self._held + rows > PREFETCH_ROWS or len(self._running) >= PREFETCH_SEGMENTS:
                return
            task = self._tasks[self._next]
            self._running[self._next] = self._pool.submit(_all, self._store, task)
            self._held += rows
            self._next += 1


def _all(store: Store, task: SegmentTask) -> list[pa.RecordBatch]:
    return list(read_segment(store, task))
