"""Reading segments in order, with read-ahead on remote storage."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from versioned_catalog.datafile.merge_prefetch import PREFETCH_ROWS, PREFETCH_SEGMENTS
from versioned_catalog.datafile.tasks import Task, read_task
from versioned_catalog.storage.store import Store


def read_segments(store: Store, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of tasks, in order.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    if not store.is_remote:
        for task in tasks:
            yield from read_task(store, task)
        return
    yield from read_ahead(store, tasks, PREFETCH_SEGMENTS)


def read_ahead(store: Store, tasks: Iterable[Task], threads: int) -> Iterator[pa.RecordBatch]:
    """``read_segments`` with threads that read small segments ahead."""
    with ThreadPoolExecutor(threads) as pool:
        yield from _ahead(store, deque(tasks), pool)


def _ahead(store: Store, tasks: deque[Task], pool: ThreadPoolExecutor) -> Iterator[pa.RecordBatch]:
    running: deque[tuple[int, Future[list[pa.RecordBatch]]]] = deque()
    try:
        while tasks or running:
            rows = sum(held for held, _ in running)
            while (
                tasks and len(running) < PREFETCH_SEGMENTS and rows + tasks[0].rows <= PREFETCH_ROWS
            ):
                task = tasks.popleft()
                rows += task.rows
                running.append((task.rows, pool.submit(_read, store, task)))
            if running:
                yield from running.popleft()[1].result()
            else:
                yield from read_task(store, tasks.popleft())
    finally:
        for _, future in running:
            future.cancel()


def _read(store: Store, task: Task) -> list[pa.RecordBatch]:
    return list(read_task(store, task))
