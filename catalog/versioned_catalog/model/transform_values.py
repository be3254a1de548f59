"""Partition transforms computed a whole array at a time (FORMAT.md, section 4.5).

The loops run over the four-byte blocks of a value, never over the values.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model import transforms
from versioned_catalog.model.arrow import to_arrow_type, truths
from versioned_catalog.model.types import Atom, DataType, Decimal, Family, family, is_text

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


def apply_transform(
    transform: transforms.Transform, source_type: DataType, array: pa.Array | pa.ChunkedArray
) -> pa.Array:
    """The transform's result for each value; null for null.

    Args:
        source_type: the column's type, which matters to hashes: 5 and 5.0 hash differently.
        array: the values, cast to ``to_arrow_type(source_type)`` if they have another type.

    Returns:
        An array of ``to_arrow_type(result_type(transform, source_type))``, as long as the input.

    Raises:
        InvalidRequestError: the transform does not apply to the type, or a result is out of range.
    """
    result = to_arrow_type(transforms.result_type(transform, source_type))
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    if len(chunks) != 1:
        parts = [apply_transform(transform, source_type, chunk) for chunk in chunks]
        return pa.concat_arrays(parts) if parts else pa.array([], result)
    (values,) = chunks
    wanted = to_arrow_type(source_type)
    if values.type != wanted:
        values = values.cast(wanted)
    return _compute(transform, source_type, values)


def _compute(transform: transforms.Transform, source_type: DataType, array: pa.Array) -> pa.Array:
    match transform:
        case transforms.Identity():
            return array
        case transforms.Years():
            return _calendar(array, "Y")
        case transforms.Months():
            return _calendar(array, "M")
        case transforms.Days():
            return _ints(_epoch_days(array), array)
        case transforms.Hours():
            return _hours(array)
        case transforms.Bucket(count):
            hashes = _hash(source_type, array) & np.uint32(0x7FFFFFFF)
            return _ints(hashes % np.uint32(count), array)
        case transforms.Truncate(width):
            return _truncate(source_type, array, width)


def _ints(values: npt.NDArray[Any], like: pa.Array) -> pa.Array:
    """An int32 array of values, null where ``like`` is null."""
    return _with_nulls(pa.array(values.astype(np.int32)), like)


def _with_nulls(values: pa.Array, like: pa.Array) -> pa.Array:
    if like.null_count == 0:
        return values
    return pc.if_else(like.is_valid(), values, pa.scalar(None, values.type))


def _longs(array: pa.Array) -> npt.NDArray[np.int64]:
    """The stored integers as 64 bits; 0 for null."""
    width = array.type.bit_width
    numbers = array.view(pa.int32() if width == 32 else pa.int64()) if width >= 32 else array
    values: npt.NDArray[Any] = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    return values.astype(np.int64)


def _epoch_days(array: pa.Array) -> npt.NDArray[np.int64]:
    values = _longs(array)
    # NumPy's // rounds down, also below zero.
    return values if pa.types.is_date32(array.type) else values // 86_400_000_000


def _calendar(array: pa.Array, unit: str) -> pa.Array:
    # Arrow's year() wraps around beyond the year 32767, NumPy's calendar does not.
    return _ints(
        _epoch_days(array).astype("datetime64[D]").astype(f"datetime64[{unit}]").view(np.int64),
        array,
    )


def _hours(array: pa.Array) -> pa.Array:
    hours = _longs(array) // 3_600_000_000
    if len(hours) and (hours.min() < -(2**31) or hours.max() >= 2**31):
        raise InvalidRequestError(
            "a timestamp is more than 2^31 hours from 1970, which is out of range for hours(); "
            "partition by days(), or do not write such timestamps"
        )
    return _ints(hours, array)


def _hash(source_type: DataType, array: pa.Array) -> npt.NDArray[np.uint32]:
    if isinstance(source_type, Decimal):
        return _hash_decimals(array)
    if family(source_type) in (Family.TEXT, Family.BINARY):
        return _hash_bytes(array)
    return hash_longs(_longs(array))


def _hash_bytes(array: pa.Array) -> npt.NDArray[np.uint32]:
    offsets, data = _var_buffers(array)
    starts = offsets[:-1].astype(np.int64)
    return hash_slices(data, starts, np.diff(offsets).astype(np.int64))


def _var_buffers(array: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """The offsets, one more than values, and the bytes of an array of strings or binaries."""
    _, raw, data = array.buffers()
    if raw is None or raw.size == 0:  # as Arrow allows for an empty array
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    offsets = np.frombuffer(raw, np.int32, len(array) + 1, array.offset * 4)
    return offsets, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def _limbs(array: pa.Array) -> npt.NDArray[np.uint64]:
    """The unscaled values in two's complement, each as a low and a high half; 0 for null."""
    raw = array.buffers()[1]
    if raw is None or not len(array):
        return np.zeros((0, 2), np.uint64)
    halves = np.frombuffer(raw, "<u8", len(array) * 2, array.offset * 16).reshape(-1, 2).copy()
    if array.null_count:
        halves[truths(array.is_null())] = 0
    return halves


def _hash_decimals(array: pa.Array) -> npt.NDArray[np.uint32]:
    # The bytes of the little-endian halves, reversed, are the big-endian number.
    digits = np.ascontiguousarray(_limbs(array).view(np.uint8).reshape(-1, 16)[:, ::-1])
    negative = digits[:, :1] >> 7
    filler = digits == negative * np.uint8(0xFF)
    # A leading byte is redundant if it and the first bit after it only repeat the sign.
    redundant = filler[:, :-1] & ((digits[:, 1:] >> 7) == negative)
    skipped = np.logical_and.accumulate(redundant, axis=1).sum(axis=1)
    starts = np.arange(len(digits)) * 16 + skipped
    return hash_slices(digits.reshape(-1), starts, 16 - skipped)


def _truncate(source_type: DataType, array: pa.Array, width: int) -> pa.Array:
    if isinstance(source_type, Decimal):
        return _truncate_decimals(array, width, source_type.precision)
    if is_text(source_type):
        return pc.utf8_slice_codeunits(array, 0, width)
    if source_type is Atom.BINARY:
        return pc.binary_slice(array, 0, width)
    return _truncate_integers(array, width)


def _truncate_integers(array: pa.Array, width: int) -> pa.Array:
    values = _longs(array)
    excess = values % width
    # The lowest multiple may lie below the type's range. The type's smallest value then stands for it,
    # which keeps the order and keeps multiples distinct.
    least = -(2 ** (array.type.bit_width - 1))
    floored = np.where(values < least + excess, least, values - excess)
    return _with_nulls(pa.array(floored.astype(array.type.to_pandas_dtype())), array)


def _truncate_decimals(array: pa.Array, width: int, precision: int) -> pa.Array:
    halves = _limbs(array)
    low, high = halves[:, 0], halves[:, 1].view(np.int64)
    excess = _modulo(halves, width)
    high = high - (low < excess)
    low = low - excess
    # As for integers: with three digits, -999 stands for -1000.
    least_high, least_low = divmod(-(10**precision - 1), 2**64)
    below = (high < least_high) | ((high == least_high) & (low < np.uint64(least_low)))
    floored = np.empty((len(halves), 2), np.uint64)
    floored[:, 0] = np.where(below, np.uint64(least_low), low)
    floored[:, 1] = np.where(below, np.int64(least_high), high).view(np.uint64)
    result = pa.Array.from_buffers(array.type, len(array), [None, pa.py_buffer(floored)])
    return _with_nulls(result, array)


def _modulo(halves: npt.NDArray[np.uint64], width: int) -> npt.NDArray[np.uint64]:
    """Each 128-bit value, given as two halves, modulo ``width`` (below 2^31); never negative."""
    rest = np.zeros(len(halves), np.uint64)
    for half in (halves[:, 1], halves[:, 0]):
        for limb in (half >> np.uint64(32), half & np.uint64(0xFFFFFFFF)):
            rest = ((rest << np.uint64(32)) | limb) % np.uint64(width)
    # A negative value read as unsigned is 2^128 too large.
    surplus = np.where(halves[:, 1] >> np.uint64(63), 2**128 % width, 0).astype(np.uint64)
    return (rest + np.uint64(width) - surplus) % np.uint64(width)
