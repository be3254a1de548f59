"""A remote file that is read by ranges, several in parallel and ahead of use."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence

Range = tuple[int, int]
"""The first byte, and the byte after the last."""

Fetch = Callable[[Sequence[Range]], Sequence[bytes]]

GAP = 64 * 1024
"""Ranges with no more bytes than this between them are fetched as one."""

REQUEST_BYTES = 8 * 1024 * 1024
"""The longest range of one request; longer ones are fetched in parallel requests."""


class RangedFile(io.RawIOBase):
    """A file object for PyArrow that fetches ranges.

    Args:
        fetch: fetches ranges, in parallel.
        size: the length of the file, in bytes.
        tail: its last bytes, if they are known.
    """

    def __init__(self, fetch: Fetch, size: int, tail: bytes = b"") -> None:
        self._fetch = fetch
        self._size = size
        self._at = 0
        self._tail = (size - len(tail), tail)
        self._fetched: list[tuple[int, bytes]] = []

    def prefetch(self, ranges: Sequence[Range]) -> None:
        """Fetch ranges in few requests, and drop those fetched before.

        Bytes beyond the end of the file are ignored.
        """
        tail_start = self._tail[0]
        inside = [(first, min(end, self._size)) for first, end in ranges]
        requests = _requests([one for one in joined(inside) if one[0] < tail_start])
        self._fetched = []
        found = self._fetch(requests)
        fetched: list[tuple[int, list[bytes]]] = []
        for (first, _), data in zip(requests, found, strict=True):
            if fetched and fetched[-1][0] + sum(map(len, fetched[-1][1])) == first:
                fetched[-1][1].append(data)
            else:
                fetched.append((first, [data]))
        self._fetched = [(first, b"".join(datas)) for first, datas in fetched]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        """The length of the file, in bytes."""
        return self._size

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1, /) -> bytes | memoryview:
        end = self._size if size < 0 else min(self._at + size, self._size)
        first, self._at = self._at, max(end, self._at)
        return self._between(first, end) if end > first else b""

    def readall(self) -> bytes:
        return bytes(self.read())

    def _between(self, first: int, end: int) -> bytes | memoryview:
        for start, data in (*self._fetched, self._tail):
            if start <= first and end <= start + len(data):
                return memoryview(data)[first - start : end - start]
        (data,) = self._fetch([(first, end)])
        return data


def joined(ranges: Sequence[Range]) -> list[Range]:
    """Ranges in order; those with at most ``GAP`` bytes between them are joined."""
    out: list[Range] = []
    for first, end in sorted(ranges):
        if out and first - out[-1][1] <= GAP:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((first, end))
    return out


def _requests(ranges: Sequence[Range]) -> list[Range]:
    return [
        (start, min(start + REQUEST_BYTES, end))
        for first, end in ranges
        for start in range(first, end, REQUEST_BYTES)
    ]
