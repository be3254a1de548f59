"""The binary encoding of VARIANT: a dictionary of names, and values that refer to it by number.

Variants are put together as Spark does it, byte for byte, so that a row has the same bytes whoever reads
it: names are numbered in the order in which values name them, and widths are the least that suffice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise

NULL = b"\0"
"""The value null, which differs from a variant that is null."""

_VERSION = 1
_OBJECT, _ARRAY = 2, 3
"""Basic types; those below are of scalars."""

_SIZES = {
    **dict.fromkeys((0, 1, 2), 1),
    **dict.fromkeys((5, 11, 14), 5),
    **dict.fromkeys((6, 7, 12, 13, 17, 18, 19), 9),
    **{3: 2, 4: 3, 8: 6, 9: 10, 10: 18, 20: 17},
}
"""The bytes of values of primitive types, by number, the header included."""

_BINARY, _STRING = 15, 16
"""Primitive types whose header is followed by a length of four bytes."""

Field = tuple[bytes, int, bytes]
"""A field of an object: its name, the number of that, and the value."""


class MalformedVariantError(ValueError):
    """Bytes are not a variant; the message says why."""


@lru_cache(maxsize=256)
def names_of(metadata: bytes) -> tuple[bytes, ...]:
    """The names in a dictionary, as UTF-8, by number.

    Raises:
        MalformedVariantError: it is no dictionary.
    """
    if not metadata or metadata[0] & 15 != _VERSION:
        raise MalformedVariantError("its metadata is not of version 1")
    width = (metadata[0] >> 6) + 1
    count = _number(metadata, 1, width)
    start = 1 + width * (count + 2)
    if start > len(metadata):
        raise MalformedVariantError("its metadata ends too early")
    ends = [_number(metadata, 1 + width * at, width) for at in range(1, count + 2)]
    if any(left > right for left, right in pairwise(ends)) or start + ends[-1] > len(metadata):
        raise MalformedVariantError("its metadata has names out of order")
    return tuple(metadata[start + left : start + right] for left, right in pairwise(ends))


@lru_cache(maxsize=256)
def metadata_of(names: tuple[bytes, ...]) -> bytes:
    """The dictionary of some names.

    >>> metadata_of((b"a", b"bc"))
    b'\\x01\\x02\\x00\\x01\\x03abc'
    """
    ends = list(accumulate(map(len, names), initial=0))
    width = _width(max(ends[-1], len(names)))
    header = bytes([_VERSION | (width - 1) << 6])
    return header + _numbers([len(names), *ends], width) + b"".join(names)


@dataclass(slots=True)
class VariantBuilder:
    """Puts one variant together.

    Args:
        stored: the dictionary of the stored values that go into it.
    """

    stored: bytes
    _ids: dict[bytes, int] = field(default_factory=dict)

    def number(self, name: bytes) -> int:
        """The number of a name in the new dictionary."""
        return self._ids.setdefault(name, len(self._ids))

    def metadata(self) -> bytes:
        """The dictionary of all that was put together."""
        return metadata_of(tuple(self._ids))

    def copied(self, value: bytes) -> bytes:
        """A stored value, with the numbers of the new dictionary.

        Raises:
            MalformedVariantError: it is no value.
        """
        if value and value[0] & 3 < _OBJECT:
            return value
        return _Copy(self, value, names_of(self.stored), len(value)).value(0)

    def fields(self, value: bytes) -> Iterator[Field]:
        """The fields of a stored object.

        Raises:
            MalformedVariantError: it is no object.
        """
        if not value or value[0] & 3 != _OBJECT:
            raise MalformedVariantError("it has shredded fields, and a value that is no object")
        yield from _Copy(self, value, names_of(self.stored), len(value)).fields(0)


@dataclass(slots=True)
class _Copy:
    """Copies parts of a stored value.

    Args:
        left: the bytes that are not copied yet. Else, objects could refer to a value twice, which no
            writer does, and grow beyond all bounds.
    """

    builder: VariantBuilder
    stored: bytes
    names: Sequence[bytes]
    left: int

    def value(self, at: int) -> bytes:
        """The value at a place."""
        kind = _number(self.stored, at, 1) & 3
        if kind == _OBJECT:
            return object_of(list(self.fields(at)))
        if kind == _ARRAY:
            header = self.stored[at] >> 2
            starts = self._starts(at, header >> 2 & 1, 0, (header & 3) + 1)
            return array_of([self.value(start) for start in starts])
        size = _scalar_size(self.stored, at)
        if at + size > len(self.stored):
            raise MalformedVariantError("a value in it ends too early")
        self._spend(size)
        return self.stored[at : at + size]

    def fields(self, at: int) -> Iterator[Field]:
        """The fields of the object at a place, in their order."""
        header = self.stored[at] >> 2
        width, is_large = (header >> 2 & 3) + 1, header >> 4 & 1
        starts = self._starts(at, is_large, width, (header & 3) + 1)
        first = at + (5 if is_large else 2)
        for place, start in enumerate(starts):
            number = _number(self.stored, first + place * width, width)
            if number >= len(self.names):
                raise MalformedVariantError(f"it has no name of the number {number}")
            name = self.names[number]
            yield name, self.builder.number(name), self.value(start)

    def _starts(self, at: int, is_large: int, id_width: int, width: int) -> list[int]:
        """Where the values in the object or array at a place begin."""
        count = _number(self.stored, at + 1, 4 if is_large else 1)
        offsets = at + (5 if is_large else 2) + count * id_width
        data = offsets + (count + 1) * width
        self._spend(data - at)
        return [data + _number(self.stored, offsets + n * width, width) for n in range(count)]

    def _spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise MalformedVariantError("values in it overlap, or end too early")


def object_of(fields: Sequence[Field]) -> bytes:
    """An object of fields, whose values are stored in this order.

    Raises:
        MalformedVariantError: two have the same name.
    """
    ends = list(accumulate((len(value) for _, _, value in fields), initial=0))
    order = sorted(range(len(fields)), key=lambda at: fields[at][0])
    if any(fields[left][0] == fields[right][0] for left, right in pairwise(order)):
        raise MalformedVariantError("an object in it has two fields of one name")
    numbers = [fields[at][1] for at in order]
    id_width, width = _width(max(numbers, default=0)), _width(ends[-1])
    is_large = len(fields) > 255
    parts = [
        bytes([_OBJECT | (width - 1) << 2 | (id_width - 1) << 4 | is_large << 6]),
        len(fields).to_bytes(4 if is_large else 1, "little"),
        _numbers(numbers, id_width),
        _numbers([*(ends[at] for at in order), ends[-1]], width),
    ]
    return b"".join((*parts, *(value for _, _, value in fields)))


def array_of(values: Sequence[bytes]) -> bytes:
    """An array of values.

    >>> array_of([NULL, b"\\x0c\\x07"])
    b'\\x03\\x02\\x00\\x01\\x03\\x00\\x0c\\x07'
    """
    ends = list(accumulate(map(len, values), initial=0))
    width, is_large = _width(ends[-1]), len(values) > 255
    header = bytes([_ARRAY | (width - 1) << 2 | is_large << 4])
    count = len(values).to_bytes(4 if is_large else 1, "little")
    return b"".join((header, count, _numbers(ends, width), *values))


def _scalar_size(stored: bytes, at: int) -> int:
    """The bytes of the scalar at a place."""
    kind, details = stored[at] & 3, stored[at] >> 2
    if kind == 1:
        return 1 + details  # a short string
    if details in (_BINARY, _STRING):
        return 5 + _number(stored, at + 1, 4)
    if details not in _SIZES:
        raise MalformedVariantError(f"it has a value of the unknown type {details}")
    return _SIZES[details]


def _number(stored: bytes, at: int, width: int) -> int:
    if at + width > len(stored):
        raise MalformedVariantError("it ends too early")
    return int.from_bytes(stored[at : at + width], "little")


def _numbers(values: Sequence[int], width: int) -> bytes:
    if width == 1:
        return bytes(values)
    return b"".join(value.to_bytes(width, "little") for value in values)


def _width(most: int) -> int:
    """The bytes for numbers up to one."""
    return max(1, (most.bit_length() + 7) // 8)
