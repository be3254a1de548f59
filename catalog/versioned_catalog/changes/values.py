"""Identity of values: columns as integers that are equal exactly where the values are.

Arrow compares no nested values, and its hash join takes none. So a struct is the tuple of the numbers of
its fields, and a list the text of the numbers of its elements; both are numbered again.

Nulls are equal to each other, and so are NaNs; -0.0 differs from 0.0, since it is another stored value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.merge_on_read.codes import packed
from versioned_catalog.projection.arrays import list_values, struct_child
from versioned_catalog.types.arrow_values import FALSE, TRUE, scalar_of

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

    Everything of a fixed width up to 64 bits becomes an integer, and all NaNs the same one.
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
    found = groups_of(columns, len(values))
    return pc.if_else(values.is_null(), _NULL, found) if values.null_count else found


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
    found = _encoded(texts)
    return found if nulls is None else pc.if_else(nulls, _NULL, found)


def groups_of(columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """Number the rows of int64 columns from 0 on: two have one number if they are equal."""
    zeros = pa.repeat(scalar_of(0, pa.int64()), rows)
    if not rows or not columns:
        return zeros
    found = zeros
    for at, column in enumerate(packed(columns)):
        encoded = column.dictionary_encode()
        codes = encoded.indices.cast(pa.int64())
        if at:
            width = scalar_of(len(encoded.dictionary), pa.int64())
            codes = pc.add(pc.multiply(found, width), codes)
            codes = codes.dictionary_encode().indices.cast(pa.int64())
        found = codes
    return found


def integers(column: pa.Array) -> npt.NDArray[np.int64]:
    """The elements of an int64 array without nulls; ``to_numpy`` would import pandas."""
    found: npt.NDArray[np.int64] = np.frombuffer(
        column.buffers()[1], np.int64, len(column), column.offset * 8
    )
    return found


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
    """The same of lists: element by element if both arrays have lists of the same lengths."""
    if not len(left):
        return pa.nulls(0, pa.bool_())
    (offsets, one, nulls), (others, other, other_nulls) = list_values(left), list_values(right)
    if nulls is not None or other_nulls is not None or not offsets.equals(others):
        return _unequal_codes(left, right)
    differ = unequal(one, other)
    places = pc.indices_nonzero(differ) if len(one) else pa.nulls(0, pa.uint64())
    at = np.searchsorted(
        integers(offsets.cast(pa.int64())), integers(places.cast(pa.int64())), "right"
    )
    found = np.zeros(len(left), np.int64)
    found[at - 1] = 1
    return indices(found).cast(pa.bool_())
