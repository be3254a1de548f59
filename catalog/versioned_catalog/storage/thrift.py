"""Thrift's compact protocol, in which Parquet writes its footers and the headers of its pages.

It is read here to look at what a file says of itself before PyArrow does, which takes memory by it, and
ends the process over some of what can't be.
"""

from __future__ import annotations

from typing import Any

_DEEPEST = 24


class Damaged(ValueError):
    """The bytes are no structure, or one with more parts than are believed."""


class Length(int):
    """How long a text is, in the place of it."""


class Reader:
    """Reads structures, one after another.

    Args:
        data: the bytes.
        at: where the first one begins; after each, where it ended.
        most: how many structures, those inside of others too, are believed.
    """

    def __init__(self, data: bytes | memoryview, at: int = 0, most: int = 1000) -> None:
        self.at = at
        self._data = data
        self._left = most

    def struct(self) -> dict[int, Any]:
        """The fields of a structure by number: ints, bools, structures, lists, and of
        texts the length.

        Raises:
            Damaged: there is none.
        """
        try:
            return self._struct(0)
        except IndexError:
            raise Damaged("it ends in the middle") from None

    def _struct(self, depth: int) -> dict[int, Any]:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise Damaged("it has more parts than are believed")
        data, number = self._data, 0
        fields: dict[int, Any] = {}
        while True:
            byte = data[self.at]
            self.at += 1
            if byte == 0:
                return fields
            number = number + (byte >> 4) if byte >> 4 else self._number()
            kind = byte & 15
            fields[number] = kind == 1 if kind < 3 else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 5 | 6 | 4:
                return self._number()
            case 8:
                length = self._varint()
                self.at += length
                return Length(length)
            case 12:
                return self._struct(depth + 1)
            case 9 | 10:
                return self._list(depth)
            case 1 | 2 | 3:  # in a list a flag has a byte of its own
                self.at += 1
                return self._data[self.at - 1]
            case 7:
                self.at += 8
                return None
            case _:
                raise Damaged("it has a part of no kind")

    def _list(self, depth: int) -> list[Any]:
        byte = self._data[self.at]
        self.at += 1
        size = byte >> 4 if byte >> 4 != 15 else self._varint()
        if size > len(self._data):  # each takes a byte at least
            raise Damaged("it has more parts than are believed")
        return [self._value(byte & 15, depth) for _ in range(size)]

    def _varint(self) -> int:
        value = shift = 0
        while shift <= 63:
            byte = self._data[self.at]
            self.at += 1
            if byte < 128:
                return value | byte << shift
            value |= (byte & 127) << shift
            shift += 7
        raise Damaged("it has a number that is too long")

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
