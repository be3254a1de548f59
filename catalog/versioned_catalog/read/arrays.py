"""Nested Arrow arrays rebuilt around other children, without copying values."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import repeat, scalar_of, to_arrow_type
from versioned_catalog.model.types import Array, Column, Map, Struct


def struct_of(source: pa.StructArray, children: list[pa.Array], type_: pa.DataType) -> pa.Array:
    """A struct array of other children, as long as ``source`` and null where that is null."""
    mask = source.is_null() if source.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)


def struct_child(source: pa.StructArray, index: int) -> pa.Array:
    """A field of a struct array, without applying the parent's nulls."""
    return source.field(index)


def list_values(source: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array | None]:
    """The offsets from 0, the values and the null mask of a list or map array."""
    offsets = source.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    values = source.values.slice(first, last - first)
    # Arrow accepts no mask together with sliced offsets, so these are copied.
    offsets = pc.subtract(offsets, offsets[0])
    return offsets, values, source.is_null() if source.null_count else None


def list_of(
    offsets: pa.Array, values: pa.Array, mask: pa.Array | None, type_: pa.DataType
) -> pa.Array:
    """A list array of type ``type_``."""
    return pa.ListArray.from_arrays(offsets, values, type=type_, mask=mask)


def map_of(
    offsets: pa.Array, keys: pa.Array, values: pa.Array, mask: pa.Array | None, type_: pa.DataType
) -> pa.Array:
    """A map array of type ``type_``."""
    if mask is not None:
        # MapArray accepts nulls only as null offsets.
        hidden = pa.concat_arrays([mask, repeat(False, 1)])
        offsets = pc.if_else(hidden, scalar_of(None, offsets.type), offsets)
    return pa.MapArray.from_arrays(offsets, keys, values, type=type_)


def cut_array(array: pa.Array, column: Column, cut: Column) -> pa.Array:
    """The values of a column with only the fields of ``cut``, matched by ID and under its names."""
    if column.type == cut.type:
        return array
    type_ = to_arrow_type(cut.type)
    match column.type, cut.type:
        case Struct(fields), Struct(kept):
            places = {field.id: at for at, field in enumerate(fields)}
            parts = [
                cut_array(struct_child(array, places[field.id]), fields[places[field.id]], field)
                for field in kept
            ]
            return struct_of(array, parts, type_)
        case Array(element), Array(other):
            offsets, values, mask = list_values(array)
            return list_of(offsets, cut_array(values, element, other), mask, type_)
        case Map(key, value), Map(other_key, other_value):
            offsets, entries, mask = list_values(array)
            keys = cut_array(struct_child(entries, 0), key, other_key)
            values = cut_array(struct_child(entries, 1), value, other_value)
            return map_of(offsets, keys, values, mask, type_)
        case _:
            return array


def recast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast an array to another type of the same shape, leaf by leaf; fields are matched by name.

    Arrow can't cast a struct that is null in a row if one of its fields is NOT NULL, as a variant's are,
    even if the field's type stays the same. Where it can, it drops fields and fills missing fields with
    nulls.

    Raises:
        ArrowInvalid: a value does not fit.
        ArrowTypeError: a struct has other fields.
    """
    source = array.type
    if source.equals(type_):
        return array
    if pa.types.is_struct(source) and pa.types.is_struct(type_):
        places = {field.name: at for at, field in enumerate(source)}
        if len(places) < source.num_fields or places.keys() != {field.name for field in type_}:
            raise pa.ArrowTypeError(f"{source} does not have the fields of {type_}")
        inner = [recast(struct_child(array, places[field.name]), field.type) for field in type_]
        return struct_of(array, inner, type_)
    if pa.types.is_map(source) and pa.types.is_map(type_):
        offsets, entries, mask = list_values(array)
        keys = recast(struct_child(entries, 0), type_.key_type)
        return map_of(offsets, keys, recast(struct_child(entries, 1), type_.item_type), mask, type_)
    if pa.types.is_list(source) and pa.types.is_list(type_):
        offsets, values, mask = list_values(array)
        return list_of(offsets, recast(values, type_.value_type), mask, type_)
    return array.cast(type_)


def without_nulls(array: pa.Array) -> pa.Array:
    """The array with an arbitrary value in place of each null; nulls of children stay."""
    if not array.null_count:
        return array
    if pa.types.is_struct(array.type):
        inner = [array.field(i) for i in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(inner, fields=list(array.type))
    if pa.types.is_map(array.type):
        offsets, entries, _ = list_values(array)
        return map_of(offsets, entries.field(0), entries.field(1), None, array.type)
    if pa.types.is_list(array.type):
        offsets, values, _ = list_values(array)
        return list_of(offsets, values, None, array.type)
    buffers = [None, *array.buffers()[1:]]
    return pa.Array.from_buffers(array.type, len(array), buffers, 0, array.offset)


def own_nulls(array: pa.Array, path: Sequence[Column]) -> int:
    """The number of nulls of a nested column, without those whose parent is null.

    ``path`` leads from the column at the top level, whose values are ``array``, to the counted column.
    """
    if len(path) == 1:
        return int(array.null_count)
    column, rest = path[0], path[1:]
    match column.type:
        case Struct(fields):
            present = array.filter(pc.is_valid(array))
            at = next(i for i, field in enumerate(fields) if field.id == rest[0].id)
            return own_nulls(struct_child(present, at), rest)
        case Array():
            _, values, _ = list_values(array)
            return own_nulls(values, rest)
        case Map(key, _):
            _, entries, _ = list_values(array)
            return own_nulls(struct_child(entries, 0 if rest[0].id == key.id else 1), rest)
        case _:
            return 0
