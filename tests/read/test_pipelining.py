"""One value is computed ahead of its consumer, and no more."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from versioned_catalog.write.writer import pipelined


def test_values_keep_their_order() -> None:
    assert list(pipelined(range(5))) == [0, 1, 2, 3, 4]
    assert list(pipelined([None, None])) == [None, None]
    assert list(pipelined([])) == []


def test_one_value_is_computed_ahead() -> None:
    computed, more = list[int](), threading.Semaphore(0)

    def values() -> Iterator[int]:
        for number in range(5):
            computed.append(number)
            more.release()
            yield number

    found = pipelined(values())
    assert next(found) == 0
    more.acquire()
    assert more.acquire(timeout=10), "1 is computed while 0 is used"
    assert not more.acquire(timeout=0.2)
    assert computed == [0, 1]
    found.close()  # type: ignore[attr-defined]
    assert computed == [0, 1]


def test_errors_are_raised() -> None:
    def values() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    found = pipelined(values())
    assert next(found) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(found)
