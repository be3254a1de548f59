"""The column chunks of a Parquet file, decoded from its footer (Thrift) without PyArrow.

PyArrow ends the process when it is asked for a chunk whose metadata is inconsistent, and to check a
whole footer first takes many times longer than to parse it. So a chunk is found by the path of its
column, which the footer repeats in each row group. If other bytes look like that path, it occurs more
often than there are row groups, and the column counts as unknown. A forged footer can only state wrong
bounds, as any footer can.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeGuard

import pyarrow as pa
import pyarrow.parquet as pq

MAX_DEPTH = 24
"""How deep structures may be nested."""

_LONG_FORM = 15
"""The length in a list header that means that the length follows as a number."""


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
    return b"\x19" + header + b"".join(_varint_bytes(len(string)) + string for string in strings)


def _varint_bytes(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


Path = tuple[str, ...]
"""The names that lead to a leaf column inside a file."""

_PATH, _SIZE, _DATA_PAGE, _DICTIONARY_PAGE, _STATISTICS = 3, 7, 9, 11, 12
"""Fields of ``ColumnMetaData``."""

_NULLS, _MAX, _MIN = 3, 5, 6
"""Fields of ``Statistics``."""

_CODEC_FIELD = 0x15
"""How the field after a path begins: the codec."""

_CODECS = {
    0: "none",
    1: "snappy",
    2: "gzip",
    3: "lzo",
    4: "brotli",
    5: "lz4",
    6: "zstd",
    7: "lz4_raw",
}

_TYPE_FIELD, _LIST_FIELD = 0x15, b"\x19"
"""How the fields begin before a path: the physical type, and the list of encodings. Encodings are even
and below 0x19 as Thrift writes them, so that the last 0x19 before the path begins their list."""

_NUMBER = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_BEFORE_STATISTICS = re.compile(rb"\x15%b(?:\x16%b){3}\x26%b(?:\x26%b\x1c|\x3c)" % ((_NUMBER,) * 4))
"""The fields between a path and the statistics, as most writers write them: the codec, three sizes, and
the places of the data and dictionary pages."""

_ENCODINGS_BYTES = 24
"""The longest list of encodings."""

_SIGNATURE_BYTES = 28
"""The length of the nonce and tag that sign a plain footer (Parquet's modular encryption)."""


class Chunk(NamedTuple):
    """One column of one row group; ``min`` and ``max`` are in Parquet's plain encoding."""

    physical_type: int
    nulls: int | None
    min: bytes | None
    max: bytes | None


class Footer:
    """The footer of an open Parquet file.

    Args:
        file: the file. Of its metadata only the schema and the numbers of rows are safe to ask for.
    """

    def __init__(self, data: bytes, file: pq.ParquetFile) -> None:
        self._data = data
        self._file = file
        self._metadata = file.metadata

    @property
    def is_signed(self) -> bool:
        """Whether a signature follows the footer: its columns are encrypted, and itself is not."""
        return len(self._data) - int(self._metadata.serialized_size) == _SIGNATURE_BYTES

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the file."""
        return self._file.schema_arrow

    @cached_property
    def rows(self) -> list[int]:
        """The number of rows in each row group."""
        groups = range(self._metadata.num_row_groups)
        return [self._metadata.row_group(group).num_rows for group in groups]

    def chunks(self, path: Path) -> list[Chunk] | None:
        """The chunks of a leaf column, one a row group; None if they are not certain."""
        places = self._places(path)
        try:
            return None if places is None else [self._chunk(path, place) for place in places]
        except Damaged:
            return None

    def leaves(self, paths: Sequence[str]) -> list[Path]:
        """The leaf columns of dotted paths, in their order; a nested column stands for all below it."""
        wanted, below = {*paths}, tuple(f"{path}." for path in paths)
        schema: Any = self._metadata.schema
        leaves = [schema.column(at) for at in range(len(schema))]
        return [
            (leaf.name,) if leaf.path == leaf.name else tuple(leaf.path.split("."))
            for leaf in leaves
            if leaf.path in wanted or leaf.path.startswith(below)
        ]

    def leaves_at(self, indices: Sequence[int]) -> list[Path]:
        """The leaf columns of some indices; a name with dots is read as a nested path and not found."""
        schema: Any = self._metadata.schema
        return [tuple(schema.column(at).path.split(".")) for at in indices]

    def codecs(self) -> set[str]:
        """The names of the codecs of the column chunks, as far as the chunks are found."""
        schema: Any = self._metadata.schema
        leaves = [schema.column(at) for at in range(len(schema))]
        paths = [
            (leaf.name,) if leaf.path == leaf.name else tuple(leaf.path.split("."))
            for leaf in leaves
        ]
        codecs, at = set[str](), 0
        for _ in self.rows:
            for path in paths:
                place = self._data.find(_marker(path), at)
                if place < 0:
                    continue
                at = place + len(_marker(path))
                if self._data[at] == _CODEC_FIELD:
                    codecs.add(_CODECS.get(self._data[at + 1] >> 1, "unknown"))
        return codecs

    def ranges(self, group: int, leaves: Sequence[Path]) -> list[tuple[int, int]]:
        """The byte ranges of the pages of some columns of a row group, to fetch them ahead.

        Pages that are not found are left out, and read when they are needed.
        """
        places = self._places(leaves[0]) if leaves else None
        ranges: list[tuple[int, int]] = []
        at = -1 if places is None else places[group]
        for path in leaves:
            at = self._data.find(_marker(path), at) if at >= 0 else at
            if at >= 0:
                with suppress(Damaged):
                    ranges.append(self._range(at + len(_marker(path))))
        return ranges

    def _places(self, path: Path) -> list[int] | None:
        """The positions of a path, one a row group; None if it occurs more or less often."""
        marker = _marker(path)
        places: list[int] = []
        at = self._data.find(marker)
        while at >= 0 and len(places) <= len(self.rows):
            places.append(at)
            at = self._data.find(marker, at + 1)
        return places if len(places) == len(self.rows) else None

    def _chunk(self, path: Path, place: int) -> Chunk:
        encodings = self._data.rfind(_LIST_FIELD, max(2, place - _ENCODINGS_BYTES), place)
        if encodings < 0 or self._data[encodings - 2] != _TYPE_FIELD:
            raise Damaged("a path is not that of a column chunk")
        physical_type = self._data[encodings - 1] >> 1
        statistics = self._statistics(place + len(_marker(path)))
        nulls, low, high = (statistics.get(field) for field in (_NULLS, _MIN, _MAX))
        bounded = isinstance(low, bytes) and isinstance(high, bytes)
        return Chunk(
            physical_type,
            nulls if _is_count(nulls) else None,
            low if bounded else None,
            high if bounded else None,
        )

    def _statistics(self, at: int) -> dict[int, Any]:
        """The statistics of the chunk whose path ends at a place; empty if it has none."""
        usual = _BEFORE_STATISTICS.match(self._data, at)
        if usual is not None:
            return Reader(self._data, usual.end(), strings=True).struct()
        stats = Reader(self._data, at, strings=True).struct(_PATH, _STATISTICS).get(_STATISTICS)
        return stats if isinstance(stats, dict) else {}

    def _range(self, at: int) -> tuple[int, int]:
        """The byte range of the pages of the chunk whose path ends at a place."""
        fields = Reader(self._data, at).struct(_PATH, _DICTIONARY_PAGE)
        first, dictionary = fields.get(_DATA_PAGE), fields.get(_DICTIONARY_PAGE)
        size = fields.get(_SIZE)
        if not (_is_count(first) and _is_count(size) and _is_count(dictionary or 0)):
            raise Damaged("a column chunk has no place in the file")
        first = min(first, dictionary or first)
        return first, first + size


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**62


@lru_cache(maxsize=1024)
def _marker(path: Path) -> bytes:
    """The field that holds a path in the metadata of a chunk."""
    return string_list_field([name.encode() for name in path])
