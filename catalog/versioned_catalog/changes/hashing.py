"""Hashes of rows that depend on their values only, to split rows that do not fit in memory.

Equal rows have equal hashes. Lists and maps count by their lengths only, which suffices for splitting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.changes.values import canonical, indices, integers, is_repeated
from versioned_catalog.projection.arrays import struct_child
from versioned_catalog.schema.murmur import hash_slices
from versioned_catalog.types.arrow_values import scalar_of

Hashes = npt.NDArray[np.uint64]

_ZERO = scalar_of(0, pa.int64())
_FACTOR = np.uint64(
    0x9E3779B97F4A7C15
)  # 2**64 divided by the golden ratio, as in Fibonacci hashing
_HALF = np.uint64(32)


def row_hashes(columns: Sequence[pa.Array], rows: int) -> Hashes:
    """One hash of 64 bits for each row."""
    found = np.zeros(rows, np.uint64)
    for column in columns:
        found ^= _hashes(column)
        _mix(found)
    _mix(found)
    return found


def _mix(hashes: Hashes) -> None:
    """Let each bit change about half of the bits, in place."""
    hashes += _FACTOR
    hashes *= _FACTOR
    hashes ^= hashes >> _HALF


def split_by_hash(
    batch: pa.RecordBatch, columns: Sequence[pa.Array], parts: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch by the hash of some columns, in their order: equal ones are in one part."""
    yield from split(batch, row_hashes(columns, batch.num_rows), parts)


def split(
    batch: pa.RecordBatch, hashes: Hashes, parts: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch by their hashes, in their order."""
    part = (hashes >> _HALF) * np.uint64(parts) >> _HALF
    if parts < 2**16:
        part = part.astype(np.uint16)  # which NumPy sorts by radix
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=parts))
    for at, end in enumerate(ends):
        start = ends[at - 1] if at else 0
        if end > start:
            yield at, batch.take(indices(order[start:end]))


def _hashes(values: pa.Array) -> Hashes:
    type_ = values.type
    if pa.types.is_null(type_):
        return np.zeros(len(values), np.uint64)
    if pa.types.is_struct(type_):
        children = [struct_child(values, at) for at in range(type_.num_fields)]
        return _of_valid(values, row_hashes(children, len(values)))
    if is_repeated(type_):
        lengths = pc.list_value_length(values) if pa.types.is_list(type_) else _map_lengths(values)
        return _longs(lengths)
    plain = canonical(values)
    if pa.types.is_integer(plain.type):
        return _longs(plain)
    if pa.types.is_decimal(plain.type):
        return _of_valid(plain, _low_limbs(plain).view(np.uint64))
    return _of_texts(plain)


def _of_valid(values: pa.Array, hashes: Hashes) -> Hashes:
    """The hashes, 0 for null, whose bytes are undefined."""
    if not values.null_count:
        return hashes
    valid = integers(values.is_valid().cast(pa.int64()))
    return hashes * valid.view(np.uint64)


def _longs(values: pa.Array) -> Hashes:
    return integers(pc.fill_null(values.cast(pa.int64()), _ZERO)).view(np.uint64)


def _map_lengths(values: pa.MapArray) -> pa.Array:
    return pc.list_value_length(values.cast(pa.list_(values.type.field(0))))


def _low_limbs(values: pa.Array) -> npt.NDArray[np.int64]:
    """The low 64 bits of decimals."""
    width = values.type.byte_width
    data = np.frombuffer(
        values.buffers()[1], np.int64, len(values) * width // 8, values.offset * width
    )
    return data[:: width // 8]


def _of_texts(values: pa.Array) -> Hashes:
    """Each different text is hashed once."""
    encoded = values.dictionary_encode()
    if not len(encoded.dictionary):
        return np.zeros(len(values), np.uint64)
    codes = integers(pc.fill_null(encoded.indices.cast(pa.int64()), _ZERO))
    return _of_valid(values, _of_bytes(encoded.dictionary)[codes])


def _of_bytes(values: pa.Array) -> Hashes:
    values = values.cast(pa.large_binary())
    _, ends, data = values.buffers()
    offsets = np.frombuffer(ends, np.int64, len(values) + 1, values.offset * 8)
    starts = offsets[:-1]
    found = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return hash_slices(found, starts, offsets[1:] - starts).astype(np.uint64)
