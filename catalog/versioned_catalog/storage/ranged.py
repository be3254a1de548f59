"""A file far away, read by ranges: many at once, before they are asked for one by one."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence

Range = tuple[int, int]
"""First byte, and the one after the last."""

Fetch = Callable[[Sequence[Range]], Sequence[bytes]]

GAP = 64 * 1024
"""Bytes between two ranges that are rather read than asked about again."""

PIECE = 8 * 1024 * 1024
"""The longest range of one request: longer ones are read in parallel pieces."""


class RangedFile(io.RawIOBase):
    """A file for PyArrow over requests for ranges.

    Args:
        fetch: gets ranges, in parallel.
        size: how long the file is, in bytes.
        tail: its last bytes, if they are here already.
    """

    def __init__(self, fetch: Fetch, size: int, tail: bytes = b"") -> None:
        self._fetch = fetch
        self._size = size
        self._at = 0
        self._tail = (size - len(tail), tail)
        self._parts: list[tuple[int, bytes]] = []

    def prefetch(self, ranges: Sequence[Range]) -> None:
        """Get ranges, in as few requests as make sense, and forget those that were got before."""
        here = self._tail[0]
        inside = [(first, min(end, self._size)) for first, end in ranges]
        pieces = _pieces([one for one in joined(inside) if one[0] < here])
        self._parts = []
        found = self._fetch(pieces)
        parts: list[tuple[int, list[bytes]]] = []
        for (first, _), data in zip(pieces, found, strict=True):
            if parts and parts[-1][0] + sum(map(len, parts[-1][1])) == first:
                parts[-1][1].append(data)
            else:
                parts.append((first, [data]))
        self._parts = [(first, b"".join(datas)) for first, datas in parts]

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
        for start, data in (*self._parts, self._tail):
            if start <= first and end <= start + len(data):
                return memoryview(data)[first - start : end - start]
        (data,) = self._fetch([(first, end)])
        return data


def joined(ranges: Sequence[Range]) -> list[Range]:
    """Ranges in order, those that touch or nearly touch as one."""
    out: list[Range] = []
    for first, end in sorted(ranges):
        if out and first - out[-1][1] <= GAP:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((first, end))
    return out


def _pieces(ranges: Sequence[Range]) -> list[Range]:
    return [
        (start, min(start + PIECE, end))
        for first, end in ranges
        for start in range(first, end, PIECE)
    ]
