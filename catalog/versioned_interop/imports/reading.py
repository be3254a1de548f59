"""Files of each format: their schemas, their calendars, and their rows in batches.

Hive and Spark, of all versions, write dates of the hybrid Julian and Gregorian calendar, and leave out
the field; other writers of Java that use the Gregorian calendar say so.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.model.types import Atom
from versioned_catalog.read.foreign_file import ForeignFile, open_foreign
from versioned_catalog.read.foreign_values import julian_leaves
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.store import Store
from versioned_interop.imports.conforming import BATCH_ROWS, Conforming, Target, conformed
from versioned_interop.imports.file_schema import (
    FileColumn,
    FileSchema,
    LeafRules,
    interning_key,
    schema_of,
    schema_of_arrow,
)

_COMPRESSION, _BLOCK_SIZE = 2, 3
"""Fields of the message ``PostScript``."""

_CALENDAR = 11
"""A field of the message ``Footer``."""

_JULIAN_GREGORIAN, _GREGORIAN = 1, 2
_MOST_BLOCK = 1 << 26


def is_julian(source: Any, file: Any) -> bool:
    """Whether old dates of a file are of the Julian calendar.

    Args:
        source: a path, or an open file.
        file: the same as an ``ORCFile``.

    Raises:
        InvalidRequestError: its footer can't be read.
    """
    try:
        calendar = footer_numbers(source, file).get(_CALENDAR, 0)
    except (IndexError, ValueError, OverflowError, OSError, zlib.error, pa.ArrowException) as error:
        raise InvalidRequestError(f"it is not a whole ORC file: {error}") from None
    if calendar in (_JULIAN_GREGORIAN, _GREGORIAN):
        return calendar == _JULIAN_GREGORIAN
    return str(file.writer) == "ORC_JAVA"


def footer_numbers(source: Any, file: Any) -> dict[int, int]:
    """The fields of the footer of an ORC file that are numbers."""
    footer, script = int(file.file_footer_length), int(file.file_postscript_length)
    tail = _tail(source, footer + script + 1)
    postscript = dict(_numbers(tail[footer:-1]))
    block = min(postscript.get(_BLOCK_SIZE, 1 << 18), _MOST_BLOCK)
    text = _decompressed(tail[:footer], postscript.get(_COMPRESSION, 0), block)
    return dict(_numbers(text))


def _tail(source: Any, length: int) -> bytes:
    if isinstance(source, str):
        with open(source, "rb") as file:
            return _tail(file, length)
    source.seek(-length, 2)
    return bytes(source.read(length))


def _decompressed(data: bytes, compression: int, block: int) -> bytes:
    """The content of a stream of chunks, each with a header of 3 bytes."""
    if compression == 0:
        return data
    chunks, at = list[bytes](), 0
    while at < len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        length, is_original = header >> 1, header & 1
        chunk = data[at + 3 : at + 3 + length]
        chunks.append(chunk if is_original else _inflated(chunk, compression, block))
        at += 3 + length
    return b"".join(chunks)


def _inflated(chunk: bytes, compression: int, block: int) -> bytes:
    match compression:
        case 1:
            return zlib.decompressobj(-15).decompress(chunk, block)
        case 2:
            size, _ = _varint(chunk, 0)
            return bytes(pa.Codec("snappy").decompress(chunk, min(size, _MOST_BLOCK)))
        case 4:
            framed = _LZ4_FRAME + len(chunk).to_bytes(4, "little") + chunk + bytes(4)
            return _streamed(framed, "lz4", block)
        case 5:
            return _streamed(chunk, "zstd", block)
        case _:
            raise ValueError(f"it has the compression {compression}")


def _streamed(data: bytes, codec: str, most: int) -> bytes:
    return bytes(pa.CompressedInputStream(pa.BufferReader(data), codec).read(most))


_LZ4_FRAME = b"\x04\x22\x4d\x18\x60\x70\x73"
"""The header of a frame of blocks of up to 4 MiB without checksums; ORC stores bare blocks."""


def _numbers(message: bytes) -> Iterator[tuple[int, int]]:
    """The fields of a message of Protocol Buffers that are numbers."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                value, at = _varint(message, at)
                yield key >> 3, value
            case 1:
                at += 8
            case 2:
                length, at = _varint(message, at)
                at += length
            case 5:
                at += 4
            case other:
                raise ValueError(f"its footer has a field of the kind {other}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("its footer has a number of more than 64 bits")


class Reader(Protocol):
    """Reads files of one format."""

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        """The schemas of a file: several if its rows disagree.

        Raises:
            VersionedError: it can't be read; the message says why.
        """

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a file, as rows of a table.

        Raises:
            VersionedError: it can't be read, or a value does not fit.
        """


@dataclass(frozen=True)
class ParquetReader:
    """Reads Parquet files; files with the same columns share one schema object."""

    rules: LeafRules
    interned: dict[tuple[object, ...], FileSchema] = field(default_factory=dict, init=False)

    def schema(self, opened: Any) -> FileSchema:
        """The schema of an open file."""
        julian = julian_leaves(opened.parquet, opened.footer)
        key = (*interning_key(opened), tuple(julian.items()))
        if key not in self.interned:
            self.interned[key] = schema_of(opened, self.rules, julian)
        return self.interned[key]

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        return [self.schema(open_foreign(store, path))]

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        opened = open_foreign(store, path)
        conforming = Conforming.of(self.schema(opened), target)
        file, needed = ForeignFile(opened.parquet, path), conforming.needed
        groups = range(opened.parquet.num_row_groups)
        read = (file.read(group, needed, conforming.id_map, BATCH_ROWS) for group in groups)
        yield from conformed(conforming, chain.from_iterable(read), constants, _row)


@dataclass(frozen=True)
class OrcReader:
    """Reads ORC files, a stripe at a time."""

    rules: LeafRules

    def schemas(self, store: Store, path: str) -> list[FileSchema]:
        return [self._open(store, path)[1]]

    def _open(self, store: Store, path: str) -> tuple[Any, FileSchema]:
        from pyarrow import orc

        source = open_file(store, path)
        try:
            file = orc.ORCFile(source)
        except (pa.ArrowException, OSError) as error:
            raise InvalidRequestError(f"it is not a whole ORC file: {error}") from None
        columns = schema_of_arrow(file.schema, self.rules)
        return file, _with_julian_dates(columns) if is_julian(source, file) else columns

    def batches(
        self, store: Store, path: str, target: Target, constants: dict[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        file, columns = self._open(store, path)
        conforming = Conforming.of(columns, target)
        batches = map(file.read_stripe, range(file.nstripes))
        read = ((batch.num_rows, conforming.needed_arrays(batch)) for batch in batches)
        yield from conformed(conforming, read, constants, _row)


def _row(row: int) -> str:
    return f"row {row + 1}"


def _with_julian_dates(columns: FileSchema) -> FileSchema:
    """The columns of a file whose dates are of the Julian calendar."""

    def marked(column: FileColumn) -> FileColumn:
        form = Form.JULIAN if column.type is Atom.DATE else column.form
        return replace(column, form=form, fields=_with_julian_dates(column.fields))

    return tuple(map(marked, columns))
