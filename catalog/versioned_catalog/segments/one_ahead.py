"""Making the next value while this one is used: reading and merging beside writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Value = TypeVar("Value")


def one_ahead(values: Iterable[Value]) -> Iterator[Value]:
    """The values, each made by another thread while the one before it is used.

    What making them raises is raised here. It is ended like any generator, and then waits for the value
    that is being made.
    """
    rest, end = iter(values), object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, rest, end)
        while (value := coming.result()) is not end:
            coming = pool.submit(next, rest, end)
            yield value  # type: ignore[misc]
