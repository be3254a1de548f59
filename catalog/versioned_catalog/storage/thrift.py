"""Thrift's compact protocol, in which Parquet writes its footers and page headers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MAX_DEPTH = 24
"""How deep structures may be nested."""

_LONG_FORM = 15
"""In the header of a list, stands for a length that follows as a number."""


class Damaged(ValueError):
    """The bytes are not a structure, or one with more parts than are allowed."""


class Length(int):
    """The length of a string, in its place."""


class Reader:
    """Reads structures, one after another.

    Args:
        at: where the first one begins; after each, where it ended.
        most: how many structures are allowed, nested ones too.
        strings: whether strings are read as bytes; otherwise as their ``Length``.
    """

    def __init__(
        self, data: bytes | memoryview, at: int = 0, most: int = 1000, *, strings: bool = False
    ) -> None:
        self.at = at
        self._data = data
        self._left = most
        self._strings = strings

    def struct(self, after: int = 0, last: int | None = None) -> dict[int, Any]:
        """The fields of a structure by number: numbers, booleans, strings, structures and lists.

        Reading begins after the field ``after``, inside the structure, and ends with the field ``last``;
        None reads all.

        Raises:
            Damaged: the bytes are not a structure.
        """
        try:
            return self._struct(0, after, last)
        except IndexError:
            raise Damaged("it ends in the middle") from None

    def _struct(self, depth: int, number: int = 0, last: int | None = None) -> dict[int, Any]:
        self._left -= 1
        if self._left < 0:
            raise Damaged("it has more structures than are allowed")
        if depth > MAX_DEPTH:
            raise Damaged("its structures are nested too deep")
        data = self._data
        fields: dict[int, Any] = {}
        while number != last:
            byte = data[self.at]
            self.at += 1
            if byte == 0:
                break
            number = number + (byte >> 4) if byte >> 4 else self._number()
            kind = byte & 15
            if kind in {5, 6}:
                fields[number] = self._number()
            else:
                fields[number] = kind == 1 if kind < 3 else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 5 | 6 | 4:
                return self._number()
            case 8:
                return self._string()
            case 12:
                return self._struct(depth + 1)
            case 9 | 10:
                return self._list(depth)
            case 1 | 2 | 3:  # in a list a boolean has a byte of its own
                self.at += 1
                return self._data[self.at - 1]
            case 7:
                self.at += 8
                return None
            case _:
                raise Damaged("it has a part of an unknown kind")

    def _string(self) -> Any:
        length = self._varint()
        first, self.at = self.at, self.at + length
        if not self._strings:
            return Length(length)
        if self.at > len(self._data):
            raise Damaged("it ends in the middle")
        return bytes(self._data[first : self.at])

    def _list(self, depth: int) -> list[Any]:
        byte = self._data[self.at]
        self.at += 1
        size = byte >> 4 if byte >> 4 != _LONG_FORM else self._varint()
        if size > len(self._data):  # each takes a byte at least
            raise Damaged("it has more parts than are allowed")
        return [self._value(byte & 15, depth) for _ in range(size)]

    def _varint(self) -> int:
        data, at = self._data, self.at
        value = shift = 0
        while shift <= 63:
            byte = data[at]
            at += 1
            if byte < 128:
                self.at = at
                return value | byte << shift
            value |= (byte & 127) << shift
            shift += 7
        raise Damaged("it has a number that is too long")

    def _number(self) -> int:
        value = self._data[self.at]
        if value < 128:
            self.at += 1
        else:
            value = self._varint()
        return (value >> 1) ^ -(value & 1)


def string_list_field(strings: Sequence[bytes]) -> bytes:
    """A field that is a list of strings and follows the field before it without a gap, as bytes."""
    count = len(strings)
    header = bytes([count << 4 | 8]) if count < _LONG_FORM else b"\xf8" + _varint_bytes(count)
    return b"\x19" + header + b"".join(_varint_bytes(len(one)) + one for one in strings)


def _varint_bytes(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
