"""Ordered parallel map with bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

THREADS = 8


def in_parallel(do: Callable[[A], B], items: Iterable[A], threads: int = THREADS) -> Iterator[B]:
    """Map items in threads, and yield the results in order; at most two per thread are waiting.

    Items are consumed as needed; exceptions of ``do`` are raised here.
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[B]] = deque()
        for item in items:
            waiting.append(pool.submit(do, item))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
