"""Deletion vectors, decoded by the Roaring library that PyIceberg uses, and by PyIceberg."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from pyiceberg.table.puffin import PuffinFile as Reader
from pyroaring import BitMap

from log.test_bitmaps import POSITIONS
from versioned_catalog.log.bitmaps import blob_of, puffin_file


@pytest.mark.parametrize("positions", POSITIONS, ids=lambda one: f"{len(one)} of {one[-1]}")
def test_positions_come_back(positions: list[int]) -> None:
    blob = blob_of(np.array(positions, np.int64))
    file = puffin_file("file:///a/b.parquet", blob, len(positions))
    assert file.data[file.offset : file.offset + file.length] == blob
    size, magic = struct.unpack(">i4s", blob[:8])
    assert (size, magic) == (len(blob) - 8, b"\xd1\xd3\x39\x64")
    assert zlib.crc32(blob[4:-4]) == struct.unpack(">I", blob[-4:])[0]
    assert decoded(blob[8:-4]) == positions
    (vector,) = Reader(file.data).to_vector().values()
    if positions[-1] < 2**32:
        assert vector.to_pylist() == positions


def decoded(data: bytes) -> list[int]:
    """The positions of a 64-bit bitmap in the portable form."""
    (count,) = struct.unpack_from("<q", data)
    found, at = list[int](), 8
    for _ in range(count):
        (high,) = struct.unpack_from("<I", data, at)
        low = BitMap.deserialize(data[at + 4 :])
        found += [(high << 32) + position for position in low]
        at += 4 + len(low.serialize())
    assert at == len(data)
    return found
