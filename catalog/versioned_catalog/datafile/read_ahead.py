"""Reading segments in order, with read-ahead on remote storage."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

import pyarrow as pa

from versioned_catalog.datafile.merge_prefetch import PREFETCH_ROWS, PREFETCH_SEGMENTS
from versioned_catalog.datafile.tasks import Task, read_task
from versioned_catalog.storage.store import Store


class Readable(Protocol):
    """Something that is read in a store."""

    @property
    def rows(self) -> int:
        """The number of rows to read, at most."""


Reads = TypeVar("Reads", bound=Readable)
Read = Callable[[Store, Reads], Iterator[pa.RecordBatch]]


def read_segments(store: Store, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of tasks, in order.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    return read_ahead(store, tasks, PREFETCH_SEGMENTS if store.is_remote else 0, read_task)


def read_ahead(
    store: Store, tasks: Iterable[Reads], threads: int, read: Read[Reads]
) -> Iterator[pa.RecordBatch]:
    """Read tasks in order, with threads that read small ones ahead; 0 for none."""
    if not threads:
        for task in tasks:
            yield from read(store, task)
        return

    with ThreadPoolExecutor(threads) as pool:
        yield from _ahead(store, deque(tasks), pool, read)


def _ahead(
    store: Store, tasks: deque[Reads], pool: ThreadPoolExecutor, read: Read[Reads]
) -> Iterator[pa.RecordBatch]:
    running: deque[tuple[int, Future[list[pa.RecordBatch]]]] = deque()
    try:
        while tasks or running:
            rows = sum(held for held, _ in running)
            while (
                tasks and len(running) < PREFETCH_SEGMENTS and rows + tasks[0].rows <= PREFETCH_ROWS
            ):
                task = tasks.popleft()
                rows += task.rows
                running.append((task.rows, pool.submit(_listed, read, store, task)))
            if running:
                yield from running.popleft()[1].result()
            else:
                yield from read(store, tasks.popleft())
    finally:
        for _, future in running:
            future.cancel()


def _listed(read: Read[Reads], store: Store, task: Reads) -> list[pa.RecordBatch]:
    return list(read(store, task))
