"""Requests to storage as spans and counts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from versioned_catalog.observe import tracing

Kind = Literal["read", "put", "write", "list", "stat", "delete"]
"""What a request does. A ``put`` is a put-if-absent; ``stat`` asks for a date or the clock."""

P = ParamSpec("P")
R = TypeVar("R")


def request(
    kind: Kind, size: Callable[[Any, tuple[Any, ...]], int] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a method of a store that makes a request.

    Args:
        size: the bytes that were transferred, of the result and the arguments; None for none.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def traced(*args: P.args, **kwargs: P.kwargs) -> R:
            if not tracing.is_used():
                return method(*args, **kwargs)
            store, *given = args
            path = given[0] if given and isinstance(given[0], str) else None
            url, transferred = getattr(store, "url", None), 0
            try:
                with tracing.span(f"versioned.storage.{kind}", store=url, path=path) as span:
                    result = method(*args, **kwargs)
                    if size is not None:
                        transferred = size(result, args)
                        span.set(bytes=transferred)
                    return result
            finally:
                tally(kind, transferred)

        return traced

    return decorate


class Sink(Protocol):
    """A file being written."""

    def write(self, data: Any, /) -> int: ...


class _Counting:
    """A sink that counts what is written."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.bytes = 0

    def write(self, data: Any, /) -> int:
        """Append bytes."""
        written = self._sink.write(data)
        self.bytes += written
        return written


@contextmanager
def writing(store: str, path: str) -> Iterator[Callable[[Sink], Sink]]:
    """Trace the writing of a large file in a block; yields what counts the bytes of its sink."""
    if not tracing.is_used():
        yield lambda sink: sink
        return
    counting: list[_Counting] = []

    def counted(sink: Sink) -> Sink:
        counting.append(_Counting(sink))
        return counting[-1]

    try:
        # Whoever writes the file may read others meanwhile, so the span is nobody's parent.
        with tracing.detached("versioned.storage.write", store=store, path=path) as span:
            yield counted
            span.set(bytes=sum(sink.bytes for sink in counting))
    finally:
        tally("write", sum(sink.bytes for sink in counting))


def tally(kind: Kind, transferred: int) -> None:
    """Count a request and its bytes."""
    tracing.count("versioned.storage.requests", kind=kind)
    if transferred:
        tracing.count("versioned.storage.bytes", transferred, kind=kind)


def of_result(result: Any, args: tuple[Any, ...]) -> int:
    """The bytes of a result: of a file, of several, or none if there is no file."""
    match result:
        case bytes():
            return len(result)
        case list() | tuple():
            return sum(len(part) for part in result if isinstance(part, bytes))
        case _:
            return 0


def of_data(result: Any, args: tuple[Any, ...]) -> int:
    """The bytes of the argument after the path, which are written."""
    return len(args[2]) if len(args) > 2 else 0
