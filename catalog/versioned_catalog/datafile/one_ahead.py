"""Making the next value while this one is used: reading and merging beside writing."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

Value = TypeVar("Value")


def one_ahead(values: Iterable[Value]) -> Generator[Value]:
    """The values, each made by another thread while the one before it is used.

    What making them raises is raised here. It is closed like any generator, then waits for the value
    that is being made, and closes what makes them.
    """
    rest, end = iter(values), object()
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        if isinstance(rest, Generator):
            stack.callback(rest.close)
        coming = pool.submit(next, rest, end)
        while (value := coming.result()) is not end:
            coming = pool.submit(next, rest, end)
            yield value  # type: ignore[misc]
