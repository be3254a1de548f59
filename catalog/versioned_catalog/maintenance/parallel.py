"""Many files at once, in order, and only so many in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

THREADS = 8


def in_parallel(do: Callable[[A], B], items: Iterable[A], threads: int = THREADS) -> Iterator[B]:
    """What is made of each item, in order; no more than twice as many as threads wait to be taken.

    Args:
        do: is called in a thread; what it raises is raised here.
        items: taken as they are needed.
        threads: how many at once.
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[B]] = deque()
        for item in items:
            waiting.append(pool.submit(do, item))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
