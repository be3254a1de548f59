"""The calendar of an ORC file, from its footer, which PyArrow does not show.

Hive and Spark, of all versions, write dates of the hybrid Julian and Gregorian calendar, and leave out
the field; other writers of Java that use the Gregorian calendar say so.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError

_COMPRESSION, _BLOCK_SIZE = 2, 3
"""Fields of the message ``PostScript``."""

_CALENDAR = 11
"""A field of the message ``Footer``."""

_JULIAN_GREGORIAN, _GREGORIAN = 1, 2
_CODECS = {2: "snappy", 4: "lz4", 5: "zstd"}
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
    known = dict(_numbers(tail[footer:-1]))
    block = min(known.get(_BLOCK_SIZE, 1 << 18), _MOST_BLOCK)
    text = _decompressed(tail[:footer], known.get(_COMPRESSION, 0), block)
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
    found, at = list[bytes](), 0
    while at < len(data):
        header = int.from_bytes(data[at : at + 3], "little")
        length, is_original = header >> 1, header & 1
        chunk = data[at + 3 : at + 3 + length]
        found.append(chunk if is_original else _inflated(chunk, compression, block))
        at += 3 + length
    return b"".join(found)


def _inflated(chunk: bytes, compression: int, block: int) -> bytes:
    if compression == 1:
        return zlib.decompressobj(-15).decompress(chunk, block)
    match _CODECS.get(compression):
        case "zstd":
            return bytes(pa.CompressedInputStream(pa.BufferReader(chunk), "zstd").read(block))
        case "snappy":
            size, _ = _varint(chunk, 0)
            return bytes(pa.Codec("snappy").decompress(chunk, min(size, _MOST_BLOCK)))
        case "lz4":
            return _inflated_lz4(chunk, block)
        case _:
            raise ValueError(f"it has the compression {compression}")


def _inflated_lz4(chunk: bytes, block: int) -> bytes:
    """The content of a block of LZ4; PyArrow has to know its length."""
    found, at = bytearray(), 0
    while at < len(chunk) and len(found) <= block:
        token = chunk[at]
        literals, at = _lz4_length(chunk, at + 1, token >> 4)
        found += chunk[at : at + literals]
        at += literals
        if at >= len(chunk):
            break
        distance = int.from_bytes(chunk[at : at + 2], "little")
        length, at = _lz4_length(chunk, at + 2, token & 15)
        if not 0 < distance <= len(found):
            raise ValueError("a match of LZ4 begins before the data")
        for _ in range(min(length + 4, block)):
            found.append(found[-distance])
    return bytes(found)


def _lz4_length(chunk: bytes, at: int, start: int) -> tuple[int, int]:
    length = start
    if start == 15:
        while True:
            byte = chunk[at]
            length, at = length + byte, at + 1
            if byte < 255:
                break
    return length, at


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
