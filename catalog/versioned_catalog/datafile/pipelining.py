"""Computing the next value of an iterator while the current one is used."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

Value = TypeVar("Value")


def pipelined(values: Iterable[Value]) -> Generator[Value]:
    """Compute each value in another thread while the one before it is used.

    Errors are raised here. Closing the generator waits for the value in progress, and closes the source.
    """
    rest, end = iter(values), object()
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        if isinstance(rest, Generator):
            stack.callback(rest.close)
        following = pool.submit(next, rest, end)
        while (value := following.result()) is not end:
            following = pool.submit(next, rest, end)
            yield value  # type: ignore[misc]
