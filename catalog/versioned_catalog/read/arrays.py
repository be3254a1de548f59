"""Nested Arrow arrays rebuilt around other children, without copying values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import nested_values, repeat, scalar_of, to_arrow_type
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Array, Column, Map, Struct, children


def struct_of(source: pa.StructArray, fields: list[pa.Array], type_: pa.DataType) -> pa.Array:
    """A struct array of other children, as long as ``source`` and null where that is null."""
    mask = source.is_null() if source.null_count else None
    return pa.StructArray.from_arrays(fields, fields=list(type_), mask=mask)


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


def rebuilt(
    source: pa.Array,
    type_: pa.DataType | None,
    change: Callable[[list[pa.Array]], Sequence[pa.Array]],
) -> pa.Array:
    """A struct, list or map array around other children.

    Args:
        type_: its type; None for the type of ``source`` with those of the children.
        change: makes them of the children in order, to which the nulls of the parent are not applied.
    """
    if pa.types.is_struct(source.type):
        fields = list(change([struct_child(source, at) for at in range(source.type.num_fields)]))
        return struct_of(source, fields, type_ or _around(source.type, fields))
    offsets, values, mask = list_values(source)
    if pa.types.is_map(source.type):
        keys, items = change([struct_child(values, 0), struct_child(values, 1)])
        return map_of(offsets, keys, items, mask, type_ or _around(source.type, [keys, items]))
    (elements,) = change([values])
    return list_of(offsets, elements, mask, type_ or _around(source.type, [elements]))


def _around(type_: Any, children: Sequence[pa.Array]) -> pa.DataType:
    """A struct, list or map type with the types of other children."""
    if pa.types.is_struct(type_):
        pairs = zip(type_, children, strict=True)
        return pa.struct([field.with_type(child.type) for field, child in pairs])
    if pa.types.is_map(type_):
        keys, items = children
        return pa.map_(type_.key_field.with_type(keys.type), type_.item_field.with_type(items.type))
    return pa.list_(type_.value_field.with_type(children[0].type))


def child_types(type_: Any) -> list[pa.DataType]:
    """The types of the children of a struct, list or map, in the order of ``rebuilt``."""
    if pa.types.is_struct(type_):
        return [field.type for field in type_]
    return [type_.key_type, type_.item_type] if pa.types.is_map(type_) else [type_.value_type]


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
        case (Array(), Array()) | (Map(), Map()):
            pairs = list(zip(children(column.type), children(cut.type), strict=True))
            return rebuilt(
                array,
                type_,
                lambda inner: [
                    cut_array(part, *pair) for part, pair in zip(inner, pairs, strict=True)
                ],
            )
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
    if any(kind(source) and kind(type_) for kind in (pa.types.is_map, pa.types.is_list)):
        return rebuilt(array, type_, lambda inner: list(map(recast, inner, child_types(type_))))
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
    return int(nested_values(array, path).null_count)


ColumnPath = tuple[Column, ...]
"""A column, preceded by the columns that contain it."""


def column_of(rows: Any, schema: Schema, column_id: int) -> Any:
    """A column of a table or a batch by ID, also inside structs."""
    line = (*schema.ancestors(column_id), schema.column(column_id))
    return column_at(rows, schema.columns, line)


def column_at(rows: Any, columns: Sequence[Column], line: ColumnPath) -> Any:
    """A column of a table or a batch by its path; null where a struct that contains it is null."""
    values = rows.column(next(i for i, c in enumerate(columns) if c.id == line[0].id))
    for parent, child in pairwise(line):
        values = pc.struct_field(values, parent.type.fields.index(child))  # type: ignore[union-attr]
    return values
