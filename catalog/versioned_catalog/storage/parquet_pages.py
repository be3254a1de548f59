"""What the headers and footers of Parquet files say, read without believing them.

PyArrow takes memory by a page's header, and for every part of a footer, before it looks at what is
there. Both are written in Thrift's compact protocol, of which this reads no more than is needed.
"""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq

_DEEPEST = 16


class _Compact:
    """Bytes of Thrift's compact protocol, read one after another; beyond the end is an IndexError.

    Args:
        data: the bytes.
        at: where to begin.
        most: how many structures are read at most.
    """

    def __init__(self, data: bytes | memoryview, at: int = 0, most: int = 1000) -> None:
        self._data = data
        self.at = at
        self.structs = 0
        self._most = most

    def struct(self, wanted: tuple[int, ...] = (), depth: int = 0) -> dict[int, int]:
        """Read a structure to its end; gives the numbers in those of its fields that are wanted."""
        self.structs += 1
        if depth > _DEEPEST or self.structs > self._most:
            raise ValueError("the file says of itself more than is believed")
        found: dict[int, int] = {}
        field = 0
        while (byte := self._byte()) != 0:
            field = field + (byte >> 4) if byte >> 4 else self._number()
            if byte & 15 in (4, 5, 6) and field in wanted:
                found[field] = self._number()
            else:
                self._skip(byte & 15, depth)
        return found

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte

    def _varint(self) -> int:
        value = shift = 0
        while shift <= 63:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("a number is too long")

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int, depth: int) -> None:
        match kind:
            case 1 | 2:  # a flag, which is its own value
                pass
            case 3:
                self.at += 1
            case 4 | 5 | 6:
                self._varint()
            case 7:
                self.at += 8
            case 8:
                length = self._varint()
                self.at += length
            case 9 | 10:
                self._skip_list(depth)
            case 12:
                self.struct(depth=depth + 1)
            case _:
                raise ValueError("a file says of itself what it can't")

    def _skip_list(self, depth: int) -> None:
        byte = self._byte()
        size = byte >> 4 if byte >> 4 != 15 else self._varint()
        for _ in range(size):
            # In a list a flag has a byte of its own.
            self._skip(3 if byte & 15 in (1, 2) else byte & 15, depth + 1)


def count_structs(footer: bytes, most: int) -> int:
    """How many parts a footer is made of.

    Raises:
        ValueError, IndexError: it is damaged, or there are more than ``most``.
    """
    compact = _Compact(footer, most=most)
    compact.struct()
    return compact.structs


def page_bytes(data: bytes | memoryview, footer: pq.FileMetaData) -> int:
    """How many bytes all pages of a file are together when they are uncompressed.

    Args:
        data: the whole file.
        footer: what it says of itself.

    Raises:
        ValueError, IndexError: the headers are damaged.
    """
    groups = (footer.row_group(group) for group in range(footer.num_row_groups))
    chunks = (group.column(at) for group in groups for at in range(footer.num_columns))
    return sum(_chunk_bytes(data, chunk) for chunk in chunks)


def _chunk_bytes(data: bytes | memoryview, chunk: Any) -> int:
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end = at + chunk.total_compressed_size
    if not 0 <= at <= end <= len(data):
        raise ValueError("a column is outside of the file")
    total = 0
    while at < end:
        header = _Compact(data, at)
        # uncompressed_page_size and compressed_page_size
        sizes = header.struct((2, 3))
        size, compressed = sizes.get(2, 0), sizes.get(3, 0)
        if size < 0 or compressed < 0:
            raise ValueError("a page has a negative size")
        total += size
        at = header.at + compressed
    return total
