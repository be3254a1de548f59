"""Row identity: integers that are equal where values are, and hashes.

Arrow compares no nested values, and its hash join takes none. So a struct is the tuple of the numbers of
its fields, and a list the text of the numbers of its elements; both are numbered again.

Nulls are equal to each other, and so are NaNs; -0.0 differs from 0.0, since it is another stored value.

Equal rows have equal hashes. Lists and maps count by their lengths only, which suffices for splitting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import FALSE, TRUE, integers, scalar_of
from versioned_catalog.model.transform_values import hash_slices
from versioned_catalog.read.arrays import list_values, struct_child
from versioned_catalog.read.row_keys import packed

_FLOAT_BITS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_NULL = scalar_of(-1, pa.int64())


def numbered(values: pa.Array) -> pa.Array:
    """An int64 array without nulls, whose elements are equal where those of ``values`` are."""
    type_ = values.type
    if pa.types.is_null(type_):
        return pa.repeat(_NULL, len(values))
    if pa.types.is_struct(type_):
        children = [struct_child(values, at) for at in range(type_.num_fields)]
        return _tuples(values, list(map(numbered, children)))
    if is_repeated(type_):
        return _lists(values)
    plain = canonical(values)
    if pa.types.is_integer(plain.type) and not plain.null_count:
        return plain.cast(pa.int64())
    return _encoded(plain)


def is_repeated(type_: pa.DataType) -> bool:
    """Whether a type is a list or a map."""
    return bool(pa.types.is_list(type_) or pa.types.is_map(type_))


def canonical(values: pa.Array) -> pa.Array:
    """Values that are not nested, in a type that compares them as this module does.

    Everything of a fixed width up to 64 bits becomes an integer, and all NaNs the same integer.
    """
    type_ = values.type
    if pa.types.is_boolean(type_):
        return values.cast(pa.int8())
    if pa.types.is_floating(type_):
        nan = scalar_of(float("nan"), type_)
        return pc.if_else(pc.is_nan(values), nan, values).view(_FLOAT_BITS[type_.bit_width])
    if pa.types.is_temporal(type_):
        return values.view(_INTEGERS[type_.bit_width])
    return values.view(pa.binary()) if pa.types.is_string(type_) else values


def _encoded(values: pa.Array) -> pa.Array:
    codes = values.dictionary_encode().indices.cast(pa.int64())
    return pc.fill_null(codes, _NULL) if codes.null_count else codes


def _tuples(values: pa.StructArray, columns: Sequence[pa.Array]) -> pa.Array:
    """Number the structs by the numbers of their fields; those of a null struct do not count."""
    codes = groups_of(columns, len(values))
    return pc.if_else(values.is_null(), _NULL, codes) if values.null_count else codes


def _lists(values: pa.Array) -> pa.Array:
    """Number lists and maps by the bytes of the numbers of their elements, in order."""
    if not len(values):
        return pa.nulls(0, pa.int64())
    offsets, elements, nulls = list_values(values)
    if pa.types.is_map(values.type):
        parts = [numbered(struct_child(elements, at)) for at in range(2)]
        codes = groups_of(parts, len(elements))
    else:
        codes = numbered(elements)
    ends = pc.multiply(offsets.cast(pa.int64()), scalar_of(8, pa.int64()))
    data = pa.py_buffer(integers(codes).tobytes())
    texts = pa.Array.from_buffers(
        pa.large_binary(), len(values), [None, ends.buffers()[1], data], offset=ends.offset
    )
    numbers = _encoded(texts)
    return numbers if nulls is None else pc.if_else(nulls, _NULL, numbers)


def groups_of(columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """Number the rows of int64 columns from 0 on: equal rows have the same number."""
    zeros = pa.repeat(scalar_of(0, pa.int64()), rows)
    if not rows or not columns:
        return zeros
    groups = zeros
    for at, column in enumerate(packed(columns)):
        encoded = column.dictionary_encode()
        codes = encoded.indices.cast(pa.int64())
        if at:
            width = scalar_of(len(encoded.dictionary), pa.int64())
            codes = pc.add(pc.multiply(groups, width), codes)
            codes = codes.dictionary_encode().indices.cast(pa.int64())
        groups = codes
    return groups


def indices(places: npt.NDArray[np.int64]) -> pa.Array:
    """NumPy's integers as an Arrow array; ``pa.array`` would import pandas."""
    data = np.ascontiguousarray(places, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(data), [None, pa.py_buffer(data)])


def unequal(left: pa.Array, right: pa.Array) -> pa.BooleanArray:
    """Whether the elements of two arrays of one type differ."""
    if pa.types.is_list(left.type):
        return _unequal_lists(left, right)
    if pa.types.is_nested(left.type) or pa.types.is_null(left.type):
        return _unequal_codes(left, right)
    left, right = canonical(left), canonical(right)
    differ = pc.not_equal(left, right)
    if not differ.null_count:
        return differ
    both_null = pc.and_(left.is_null(), right.is_null())
    return pc.if_else(both_null, FALSE, pc.fill_null(differ, TRUE))


def _unequal_codes(left: pa.Array, right: pa.Array) -> pa.BooleanArray:
    codes = numbered(pa.concat_arrays([left, right]))
    return pc.not_equal(codes.slice(0, len(left)), codes.slice(len(left)))


def _unequal_lists(left: pa.Array, right: pa.Array) -> pa.BooleanArray:
    """``unequal`` for lists: by element if both arrays have lists of the same lengths."""
    if not len(left):
        return pa.nulls(0, pa.bool_())
    offsets, left_values, left_nulls = list_values(left)
    right_offsets, right_values, right_nulls = list_values(right)
    if left_nulls is not None or right_nulls is not None or not offsets.equals(right_offsets):
        return _unequal_codes(left, right)
    differ = unequal(left_values, right_values)
    places = pc.indices_nonzero(differ) if len(left_values) else pa.nulls(0, pa.uint64())
    at = np.searchsorted(
        integers(offsets.cast(pa.int64())), integers(places.cast(pa.int64())), "right"
    )
    flags = np.zeros(len(left), np.int64)
    flags[at - 1] = 1
    return indices(flags).cast(pa.bool_())


Hashes = npt.NDArray[np.uint64]

_ZERO = scalar_of(0, pa.int64())
# 2**64 divided by the golden ratio, as in Fibonacci hashing.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def row_hashes(columns: Sequence[pa.Array], rows: int) -> Hashes:
    """A hash of 64 bits for each row."""
    hashes = np.zeros(rows, np.uint64)
    for column in columns:
        hashes ^= _hashes(column)
        _mix(hashes)
    _mix(hashes)
    return hashes


def _mix(hashes: Hashes) -> None:
    """Let each bit change about half of the bits, in place."""
    hashes += _FACTOR
    hashes *= _FACTOR
    hashes ^= hashes >> _HALF


def split_by_hash(
    batch: pa.RecordBatch, columns: Sequence[pa.Array], parts: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch by the hash of some columns, in their order; equal rows share a part."""
    yield from split(batch, row_hashes(columns, batch.num_rows), parts)


def split(
    batch: pa.RecordBatch, hashes: Hashes, parts: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a batch by their hashes, in their order: slices of one copy of the batch."""
    part = (hashes >> _HALF) * np.uint64(parts) >> _HALF
    if parts < 2**16:
        part = part.astype(np.uint16)  # which NumPy sorts by radix
    rows = batch.take(indices(np.argsort(part, kind="stable")))
    ends = np.cumsum(np.bincount(part, minlength=parts)).tolist()
    for at, end in enumerate(ends):
        start = ends[at - 1] if at else 0
        if end > start:
            yield at, rows.slice(start, end - start)


def _hashes(values: pa.Array) -> Hashes:
    type_ = values.type
    if pa.types.is_null(type_):
        return np.zeros(len(values), np.uint64)
    if pa.types.is_struct(type_):
        children = [struct_child(values, at) for at in range(type_.num_fields)]
        return _of_valid(values, row_hashes(children, len(values)))
    if is_repeated(type_):
        is_list = pa.types.is_list(type_)
        lists = values if is_list else values.cast(pa.list_(type_.field(0)))
        return _longs(pc.list_value_length(lists))
    if pa.types.is_dictionary(type_):
        return _of_encoded(values)
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


def _low_limbs(values: pa.Array) -> npt.NDArray[np.int64]:
    """The low 64 bits of decimals."""
    width = values.type.byte_width
    data = np.frombuffer(
        values.buffers()[1], np.int64, len(values) * width // 8, values.offset * width
    )
    return data[:: width // 8]


def _of_texts(values: pa.Array) -> Hashes:
    """Each different text is hashed once."""
    return _of_encoded(values.dictionary_encode())


def _of_encoded(values: pa.DictionaryArray) -> Hashes:
    """The hashes of the texts of a dictionary, which are those of the same texts without one."""
    if not len(values.dictionary):
        return np.zeros(len(values), np.uint64)
    codes = integers(pc.fill_null(values.indices.cast(pa.int64()), _ZERO))
    return _of_valid(values, _of_bytes(canonical(values.dictionary))[codes])


def _of_bytes(values: pa.Array) -> Hashes:
    values = values.cast(pa.large_binary())
    _, ends, data = values.buffers()
    offsets = np.frombuffer(ends, np.int64, len(values) + 1, values.offset * 8)
    starts = offsets[:-1]
    raw = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return hash_slices(raw, starts, offsets[1:] - starts).astype(np.uint64)
