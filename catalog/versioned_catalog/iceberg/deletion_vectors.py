"""Deletion vectors: row positions as a 64-bit Roaring bitmap in a Puffin file of its own.

The forms are in Iceberg's Puffin specification (``deletion-vector-v1``) and in Roaring's format
specification. DuckDB 1.5 reads the wrong blob of a Puffin file that holds several, so each gets a file.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]

_PUFFIN = b"PFA1"
_VECTOR = b"\xd1\xd3\x39\x64"
_NO_RUNS = 12346
"""Roaring's cookie of a bitmap without run containers."""

_ARRAY_MOST = 4096
"""The most values of a container that lists them; a larger one is a bit set."""


@dataclass(frozen=True)
class PuffinFile:
    """A Puffin file with one deletion vector, and where its blob is."""

    data: bytes
    offset: int
    length: int


def puffin_file(path: str, positions: Positions) -> PuffinFile:
    """Return the file of the deleted positions of a data file.

    Args:
        path: the data file, as manifests name it.
        positions: sorted, without duplicates, not empty.
    """
    body = _VECTOR + _bitmap64(positions)
    blob = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    described: dict[str, Any] = {
        "type": "deletion-vector-v1",
        "fields": [],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": len(_PUFFIN),
        "length": len(blob),
        "properties": {"referenced-data-file": path, "cardinality": str(len(positions))},
    }
    footer = json.dumps({"blobs": [described], "properties": {}}).encode()
    tail = _PUFFIN + footer + struct.pack("<i", len(footer)) + bytes(4) + _PUFFIN
    return PuffinFile(_PUFFIN + blob + tail, len(_PUFFIN), len(blob))


def _bitmap64(positions: Positions) -> bytes:
    """The portable form: the number of 32-bit bitmaps, and each after its high half."""
    highs = positions >> 32
    parts = [struct.pack("<q", len(np.unique(highs)))]
    for first, end in _runs(highs):
        low = (positions[first:end] & 0xFFFFFFFF).astype(np.uint32)
        parts += [struct.pack("<I", int(highs[first])), _bitmap32(low)]
    return b"".join(parts)


def _runs(keys: npt.NDArray[Any]) -> list[tuple[int, int]]:
    """The ranges of equal keys, which are sorted."""
    cuts = (np.flatnonzero(np.diff(keys)) + 1).tolist()
    return list(pairwise([0, *cuts, len(keys)]))


def _bitmap32(values: npt.NDArray[np.uint32]) -> bytes:
    """Roaring's standard form: a description and an offset of each container, then the containers."""
    keys = (values >> 16).astype(np.uint16)
    runs = _runs(keys)
    containers = [_container((values[a:b] & 0xFFFF).astype("<u2")) for a, b in runs]
    described = b"".join(struct.pack("<HH", int(keys[a]), b - a - 1) for a, b in runs)
    head = struct.pack("<II", _NO_RUNS, len(runs)) + described
    first = len(head) + 4 * len(runs)
    offsets = np.cumsum([first, *map(len, containers[:-1])]).astype("<u4").tobytes()
    return head + offsets + b"".join(containers)


def _container(values: npt.NDArray[np.uint16]) -> bytes:
    if len(values) <= _ARRAY_MOST:
        return values.tobytes()
    bits = np.zeros(1 << 16, np.uint8)
    bits[values] = 1
    return np.packbits(bits, bitorder="little").tobytes()
