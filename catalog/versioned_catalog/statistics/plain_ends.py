"""The least and the greatest value of a column chunk, decoded without Arrow for the common types.

An import asks for the bounds of each column of each file: arrays of one value cost many times more than
the values. What this module does not decode is left to ``chunk_bounds``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

from versioned_catalog.statistics.extremes import Key
from versioned_catalog.storage.footer import Chunk

_LAYOUTS: dict[tuple[pa.DataType, int], struct.Struct] = {
    (pa.int32(), 1): struct.Struct("<i"),
    (pa.date32(), 1): struct.Struct("<i"),
    (pa.int64(), 2): struct.Struct("<q"),
    (pa.timestamp("us"), 2): struct.Struct("<q"),
    (pa.timestamp("us", "UTC"), 2): struct.Struct("<q"),
    (pa.float32(), 4): struct.Struct("<f"),
    (pa.float64(), 5): struct.Struct("<d"),
}
"""By the type in the file and the physical type."""

_BYTES = {(pa.string(), 6), (pa.binary(), 6)}


def plain_ends(chunks: Sequence[Chunk], held: pa.DataType) -> tuple[Key, Key] | None:
    """The ends of the only chunk of a column; None if they are to be found otherwise, if at all.

    >>> plain_ends([Chunk(1, 0, b"\\x02\\0\\0\\0", b"\\x07\\0\\0\\0")], pa.int32())
    (2, 7)
    """
    if len(chunks) != 1:
        return None
    (chunk,) = chunks
    if chunk.min is None or chunk.max is None:
        return None
    if (held, chunk.physical_type) in _BYTES:
        return chunk.min, chunk.max
    layout = _LAYOUTS.get((held, chunk.physical_type))
    if layout is None or not len(chunk.min) == len(chunk.max) == layout.size:
        return None
    (low,), (high,) = layout.unpack(chunk.min), layout.unpack(chunk.max)
    is_ordered = low <= high  # false for NaN
    return (low, high) if is_ordered else None
