"""Bitmaps of positions, byte by byte as FORMAT.md, section 6.4, says, and as PyIceberg reads them."""

from __future__ import annotations

import random
import struct
import zlib

import numpy as np
import pytest
from pyiceberg.table.puffin import PuffinFile as Reader

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.bitmaps import (
    blob_of,
    merged,
    positions_in,
    puffin_file,
    referenced_file,
)

ROW_0 = bytes.fromhex(
    "00000022 d1d33964 0100000000000000 00000000 3a300000 01000000 00000000 10000000 0000 f7a6b4b5"
)
"""Position 0 alone: the example of FORMAT.md."""

POSITIONS = [
    [0],
    [5, 7, 65535, 65536],
    list(range(4096)),
    list(range(4097)),
    list(range(0, 200_000, 3)),
    [1, 2**32 - 1, 2**32, 2**33 + 7],
]


def framed(bitmap: bytes) -> bytes:
    """The blob of a bitmap."""
    body = b"\xd1\xd3\x39\x64" + bitmap
    return struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def container(low: list[int]) -> bytes:
    """A container of the low 16 bits of positions."""
    if len(low) <= 4096:
        return struct.pack(f"<{len(low)}H", *low)
    bits = bytearray(8192)
    for value in low:
        bits[value // 8] |= 1 << value % 8
    return bytes(bits)


def written_by_hand(positions: list[int]) -> bytes:
    """The blob of positions, by the words of FORMAT.md alone."""
    highs = sorted({position >> 32 for position in positions})
    out = struct.pack("<q", len(highs))
    for high in highs:
        values = [position & 0xFFFFFFFF for position in positions if position >> 32 == high]
        keys = sorted({value >> 16 for value in values})
        parts = [[v & 0xFFFF for v in values if v >> 16 == key] for key in keys]
        out += struct.pack("<I", high) + bytes.fromhex("3a300000") + struct.pack("<I", len(keys))
        for key, part in zip(keys, parts, strict=True):
            out += struct.pack("<HH", key, len(part) - 1)
        at = 8 + 8 * len(keys)
        for part in parts:
            out += struct.pack("<I", at)
            at += len(container(part))
        out += b"".join(map(container, parts))
    return framed(out)


@pytest.mark.parametrize("positions", POSITIONS, ids=lambda one: f"{len(one)} to {one[-1]}")
def test_the_bytes_are_those_of_the_format(positions: list[int]) -> None:
    blob = blob_of(np.array(positions, np.int64))
    assert blob == written_by_hand(positions)
    found = positions_in(blob, positions[-1] + 1)
    assert (found.tolist(), found.dtype) == (positions, np.int64)


def test_the_example() -> None:
    assert blob_of(np.array([0], np.int64)) == ROW_0
    assert positions_in(ROW_0, 1).tolist() == [0]


@pytest.mark.parametrize("positions", POSITIONS[:-1], ids=lambda one: f"{len(one)} to {one[-1]}")
def test_pyiceberg_reads_the_file(positions: list[int]) -> None:
    file = puffin_file(
        "file:///a/b.parquet", blob_of(np.array(positions, np.int64)), len(positions)
    )
    with pytest.deprecated_call():
        vectors = Reader(file.data).to_vector()
    assert {path: rows.to_pylist() for path, rows in vectors.items()} == {
        "file:///a/b.parquet": positions
    }
    assert file.data[file.offset : file.offset + file.length] == written_by_hand(positions)
    assert referenced_file(file.data) == "file:///a/b.parquet"


@pytest.mark.parametrize("positions", [[0], [5, 7, 65535, 65536], list(range(0, 20_000, 4))])
def test_every_flipped_bit_is_found(positions: list[int]) -> None:
    blob = blob_of(np.array(positions, np.int64))
    places = range(8 * len(blob)) if len(blob) < 200 else range(0, 8 * len(blob), 97)
    for place in places:
        damaged = bytearray(blob)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(CorruptTableError, match="a bitmap of marked rows"):
            positions_in(bytes(damaged), 2**40)
    for cut in (b"", blob[:8], blob[:-1], blob + b"\0"):
        with pytest.raises(CorruptTableError, match="a bitmap of marked rows"):
            positions_in(cut, 2**40)


def test_positions_beyond_the_segment_are_refused() -> None:
    blob = blob_of(np.array([3, 9], np.int64))
    assert positions_in(blob, 10).tolist() == [3, 9]
    with pytest.raises(CorruptTableError, match="row 9 is marked in a segment of 9 rows"):
        positions_in(blob, 9)


def test_runs_are_refused() -> None:
    """A run of 65,536 positions has 4 bytes: a small file could fill the memory."""
    run = bytes.fromhex("3b300000 01 0000ffff 0100 0000ffff")
    count = struct.pack("<q", 1)
    with pytest.raises(CorruptTableError, match="the portable form of Roaring"):
        positions_in(framed(count + bytes(4) + run), 2**40)


def test_other_bytes_with_a_right_checksum_are_refused() -> None:
    """Bitmaps that no writer of the format writes: damaged ones must not crash the process."""
    random_ = random.Random(7)
    valid = [blob_of(np.array(one, np.int64))[8:-4] for one in POSITIONS[:4]]
    for _ in range(2000):
        data = bytearray(random_.choice(valid))
        for _ in range(random_.choice([1, 2, 5])):
            at = random_.randrange(min(len(data), 60))
            match random_.randrange(3):
                case 0:
                    data[at] = random_.randrange(256)
                case 1:
                    del data[at : at + random_.randrange(1, 8)]
                case _:
                    data[at:at] = random_.randbytes(3)
        try:
            found = positions_in(framed(bytes(data)), 2**40)
        except CorruptTableError:
            continue
        assert framed(bytes(data)) == (blob_of(found) if len(found) else framed(bytes(8)))


@pytest.mark.parametrize("data", [b"", b"PFA1", b"\0" * 40, b"PFA1[]\2\0\0\0\0\0\0\0PFA1"])
def test_other_files_name_no_segment(data: bytes) -> None:
    assert referenced_file(data) is None


def test_merged_positions() -> None:
    first, second = np.array([1, 5, 9]), np.array([2, 5])
    assert merged(first, second).tolist() == [1, 2, 5, 5, 9]
    assert merged(first[:0], second).tolist() == [2, 5]
