"""Arrow arrays and scalars of Python values, built from buffers.

Where pandas is installed, the first call of ``pa.array`` or ``pa.scalar`` imports it, and so does a
kernel that is given a Python value: 0.8 s of CPU in each worker or command that only filters.
"""

from __future__ import annotations

import decimal
import itertools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Stored = bool | int | float | str | bytes | decimal.Decimal


def array_of(values: Sequence[Stored | None], type_: pa.DataType) -> pa.Array:
    """An array of stored values or nulls, whose type is neither nested nor opaque.

    Temporal values are the stored integers.
    """
    if None not in values:
        return _array_of(values, type_)
    filler: Stored = "" if pa.types.is_string(type_) else b"" if pa.types.is_binary(type_) else 0
    if pa.types.is_decimal(type_):
        filler = decimal.Decimal(0)
    whole = _array_of([filler if value is None else value for value in values], type_)
    valid = _array_of([value is not None for value in values], pa.bool_())
    buffers = [valid.buffers()[1], *whole.buffers()[1:]]
    return pa.Array.from_buffers(type_, len(values), buffers)


def scalar_of(value: Stored | None, type_: pa.DataType) -> pa.Scalar:
    """A scalar of a value; see ``array_of``."""
    return pa.nulls(1, type_)[0] if value is None else array_of([value], type_)[0]


def _array_of(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(type_):
        return _array_of([int(value) for value in values], pa.int8()).cast(type_)
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return _array_of_bytes(values, type_)
    if pa.types.is_decimal(type_):
        data = b"".join(_unscaled(v).to_bytes(16, "little", signed=True) for v in values)
    else:
        code = _FLOATS if pa.types.is_floating(type_) else _INTEGERS
        data = struct.pack(f"={len(values)}{code[type_.bit_width]}", *values)
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(data)])


_INTEGERS = {8: "b", 16: "h", 32: "i", 64: "q"}
_FLOATS = {32: "f", 64: "d"}


def _array_of_bytes(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    parts = [value.encode() if isinstance(value, str) else value for value in values]
    ends = itertools.accumulate(map(len, parts), initial=0)
    offsets = struct.pack(f"={len(parts) + 1}i", *ends)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(type_, len(parts), buffers)


def _unscaled(value: Any) -> int:
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits)))
    return -number if sign else number


TRUE, FALSE = array_of([True, False], pa.bool_())
NULL = pa.nulls(1, pa.bool_())[0]
ZERO = array_of([0], pa.int64())[0]


def repeat(value: bool | None, count: int) -> pa.BooleanArray:
    """An array of the same boolean, or null, ``count`` times."""
    return pa.repeat(NULL if value is None else TRUE if value else FALSE, count)


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """Booleans or 64-bit integers as an Arrow array."""
    if values.dtype == np.bool_:
        packed = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, packed])
    whole = pa.py_buffer(np.ascontiguousarray(values, np.int64))
    return pa.Array.from_buffers(pa.int64(), len(values), [None, whole])


def extreme_of(values: pa.Array, greatest: bool) -> pa.Scalar:
    """The greatest or the least value, NaN and null left out."""
    end = "max" if greatest else "min"
    if pa.types.is_duration(values.type):  # Arrow has no kernel for intervals
        return pc.min_max(values.cast(pa.int64()))[end].cast(values.type)
    return pc.min_max(values)[end]
