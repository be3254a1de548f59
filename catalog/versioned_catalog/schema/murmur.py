"""Murmur3 (x86, 32 bits, seed 0) of many values at once.

The loops run over the four-byte blocks of a value, never over the values.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Hashes: TypeAlias = npt.NDArray[np.uint32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int64]

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)


def hash_longs(values: npt.NDArray[np.int64]) -> Hashes:
    """The hash of each value's 8 little-endian bytes."""
    blocks = np.ascontiguousarray(values, dtype="<i8").view("<u4").reshape(-1, 2)
    hashes = np.zeros(len(blocks), dtype=np.uint32)
    hashes = _add(hashes, blocks[:, 0])
    hashes = _add(hashes, blocks[:, 1])
    return _finish(hashes, np.full(len(blocks), 8, dtype=np.uint32))


def hash_slices(data: Bytes, starts: Offsets, lengths: Offsets) -> Hashes:
    """The hash of each slice of ``data``, given by its first byte and its number of bytes."""
    # The last block may reach beyond a value, and so beyond the array; the excess is masked.
    padded = np.concatenate([data, np.zeros(4, dtype=np.uint8)])
    hashes = np.zeros(len(starts), dtype=np.uint32)
    live = np.arange(len(starts))
    position = 0
    while True:
        live = live[lengths[live] >= position + 4]
        if not len(live):
            break
        hashes[live] = _add(hashes[live], _blocks(padded, starts[live] + position))
        position += 4
    tails = lengths % 4
    last = _blocks(padded, starts + lengths - tails)
    hashes ^= _scramble(last & ((np.uint32(1) << (8 * tails).astype(np.uint32)) - np.uint32(1)))
    return _finish(hashes, lengths.astype(np.uint32))


def _blocks(data: Bytes, starts: Offsets) -> Hashes:
    """The four bytes at each start, as a little-endian number."""
    blocks: Hashes = data[starts[:, None] + np.arange(4)].view("<u4").reshape(-1)
    return blocks


def _rotate(values: Hashes, bits: int) -> Hashes:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))


def _scramble(block: Hashes) -> Hashes:
    return _rotate(block * _C1, 15) * _C2


def _add(hashes: Hashes, block: Hashes) -> Hashes:
    return _rotate(hashes ^ _scramble(block), 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finish(hashes: Hashes, lengths: Hashes) -> Hashes:
    hashes = hashes ^ lengths
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))
