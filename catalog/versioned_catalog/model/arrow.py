"""Conversion between types and values of the model and those of Arrow.

Where pandas is installed, the first call of ``pa.array`` or ``pa.scalar`` imports it, and so does a
kernel that is given a Python value: 0.8 s of CPU in each worker or command that only filters.
"""

from __future__ import annotations

import decimal
import itertools
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.types import (
    Array,
    Atom,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Struct,
    Time,
    children,
    is_compared,
)


def to_arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type that values of ``type_`` have in memory, with logical names inside."""
    match type_:
        case Atom():
            return type_.leaf.arrow
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Geometry(srid) | Geography(srid):
            return _shape_type(type_.leaf.name, srid)
        case Struct(fields):
            return pa.struct([to_arrow_field(f) for f in fields])
        case Array(element):
            return pa.list_(to_arrow_field(element))
        case Map(key, value):
            return pa.map_(to_arrow_field(key), to_arrow_field(value))
        case _:
            return type_.leaf.arrow


def _shape_type(name: str, srid: int) -> pa.DataType:
    # PySpark recognizes shapes in Arrow data by these names and this metadata.
    meta = {b"srid": str(srid).encode(), name.encode(): b"true"}
    return pa.struct(
        [
            pa.field("srid", pa.int32(), nullable=False),
            pa.field("wkb", pa.binary(), nullable=False, metadata=meta),
        ]
    )


def to_arrow_field(column: Column) -> pa.Field:
    """The Arrow field of a column: name, type and nullability, nothing else."""
    return pa.field(column.name, to_arrow_type(column.type), column.nullable)


def to_arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of rows of these columns."""
    return pa.schema([to_arrow_field(column) for column in columns])


def column_from_field(field: pa.Field, *, nulls: bool = False) -> Column:
    """A column without ID from an Arrow field; see ``from_arrow_type`` for ``nulls``.

    Raises:
        InvalidRequestError: the type of the field can't be stored.
    """
    try:
        type_ = from_arrow_type(field.type, nulls=nulls)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"column {field.name}: {error}") from None
    return Column(0, field.name, type_, field.nullable)


def from_arrow_type(arrow: pa.DataType, *, nulls: bool = False) -> DataType:
    """The column type for an Arrow type, of the stored width and unit.

    Args:
        arrow: the Arrow type.
        nulls: whether Arrow's null type is VOID.

    Raises:
        InvalidRequestError: no column type can store it.
    """
    simple = None if pa.types.is_nested(arrow) else _simple(arrow)
    if simple is not None:
        return simple
    if nulls and pa.types.is_null(arrow):
        return Atom.VOID
    if pa.types.is_decimal(arrow):
        return _decimal(arrow)
    if pa.types.is_dictionary(arrow):
        return from_arrow_type(arrow.value_type, nulls=nulls)
    if pa.types.is_struct(arrow):
        return _struct(arrow, nulls)
    if pa.types.is_map(arrow):
        return Map(
            _inner("key", arrow.key_field, nulls, nullable=False),
            _inner("value", arrow.item_field, nulls, nullable=arrow.item_field.nullable),
        )
    if _is_list(arrow):
        return Array(
            _inner("element", arrow.value_field, nulls, nullable=arrow.value_field.nullable)
        )
    raise InvalidRequestError(
        f"the Arrow type {arrow} can't be stored; cast it to a type that can, such as string"
    )


_OF_ARROW: dict[pa.DataType, DataType] = {
    **{atom.leaf.arrow: atom for atom in reversed(Atom) if is_compared(atom)},
    pa.uint8(): Atom.SHORT,
    pa.uint16(): Atom.INT,
    pa.uint32(): Atom.LONG,
    pa.uint64(): Decimal(20, 0),
    pa.float16(): Atom.FLOAT,
    **dict.fromkeys((pa.large_string(), pa.string_view()), Atom.STRING),
    **dict.fromkeys((pa.large_binary(), pa.binary_view()), Atom.BINARY),
    pa.date64(): Atom.DATE,
}


def _simple(arrow: pa.DataType) -> DataType | None:
    t = pa.types
    if arrow in _OF_ARROW:
        return _OF_ARROW[arrow]
    if t.is_timestamp(arrow):
        return Atom.TIMESTAMP_NTZ if arrow.tz is None else Atom.TIMESTAMP
    if t.is_time(arrow):
        return Time(6)
    if t.is_duration(arrow):
        return DayTimeInterval()
    return Atom.BINARY if t.is_fixed_size_binary(arrow) else None


def _decimal(arrow: Any) -> Decimal:
    if arrow.precision > 38 or arrow.scale < 0 or arrow.scale > arrow.precision:
        raise InvalidRequestError(f"{arrow} can't be stored; decimals have up to 38 digits")
    return Decimal(arrow.precision, arrow.scale)


def _struct(arrow: Any, nulls: bool) -> DataType:
    fields = [arrow.field(i) for i in range(arrow.num_fields)]
    marks: dict[bytes, bytes] = {}
    for f in fields:
        marks.update(f.metadata or {})
    if b"variant" in marks:
        return Atom.VARIANT
    if b"geometry" in marks or b"geography" in marks:
        srid = int(marks.get(b"srid", b"0"))
        return Geometry(srid) if b"geometry" in marks else Geography(srid)
    if not fields:
        raise InvalidRequestError("a struct without fields can't be stored; leave the column out")
    return Struct(tuple(column_from_field(f, nulls=nulls) for f in fields))


def _is_list(arrow: pa.DataType) -> bool:
    # No list views: PyArrow 26 loses values when it casts them to lists.
    t = pa.types
    return bool(t.is_list(arrow) or t.is_large_list(arrow) or t.is_fixed_size_list(arrow))


def _inner(name: str, field: pa.Field, nulls: bool, *, nullable: bool) -> Column:
    return Column(0, name, from_arrow_type(field.type, nulls=nulls), nullable)


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
ZERO, ONE = array_of([0, 1], pa.int64())


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


def integers(column: pa.Array) -> npt.NDArray[np.int64]:
    """The elements of an int64 array without nulls; ``to_numpy`` would import pandas."""
    if not len(column):
        return np.empty(0, np.int64)
    values: npt.NDArray[np.int64] = np.frombuffer(
        column.buffers()[1], np.int64, len(column), column.offset * 8
    )
    return values


def truths(values: pa.Array) -> npt.NDArray[np.bool_]:
    """The elements of a Boolean array without nulls."""
    return integers(values.cast(pa.int64())).astype(bool)


def extreme_of(values: pa.Array, greatest: bool) -> pa.Scalar:
    """The greatest or the least value, NaN and null left out."""
    end = "max" if greatest else "min"
    if pa.types.is_duration(values.type):  # Arrow has no kernel for intervals
        return pc.min_max(values.cast(pa.int64()))[end].cast(values.type)
    return pc.min_max(values)[end]


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    if isinstance(column, pa.Array):
        return column
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if not chunks:  # for which PyArrow would import pandas
        return pa.nulls(0, column.type)
    # Arrow would copy a single chunk that has empty chunks beside it.
    return chunks[0] if len(chunks) == 1 else column.combine_chunks()


def nested_values(array: pa.Array, line: Sequence[Column]) -> pa.Array:
    """All values of a nested column, one after another, without those whose parent is null.

    Args:
        array: the values of the column at the top level.
        line: the columns from there to the nested one.
    """
    for parent, child in pairwise(line):
        present = array.filter(array.is_valid()) if array.null_count else array
        at = [inner.id for inner in children(parent.type)].index(child.id)
        if isinstance(parent.type, Struct):
            array = present.field(at)
            continue
        first, last = present.offsets[0].as_py(), present.offsets[-1].as_py()
        array = present.values.slice(first, last - first)
        if isinstance(parent.type, Map):
            array = array.field(at)
    return array
