"""Shredded VARIANT columns: which forms there are, and variants put together from them.

A shredded group has, beside ``metadata`` and ``value``, a ``typed_value`` with the values of one type,
or with fields and elements that are shredded in turn (Parquet's *Variant Shredding*, FORMAT.md, section
6.2). Where that is null, a variant is stored whole.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.limits import TYPE_DEPTH
from versioned_catalog.model.arrow import array_of as arrow_array
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.parquet_forms import Form
from versioned_catalog.model.types import Array, Atom, Column, Map, Struct, children
from versioned_catalog.read.arrays import child_types, rebuilt, struct_of
from versioned_catalog.read.projection import leaf_paths
from versioned_catalog.read.variant_encoding import (
    NULL,
    Field,
    MalformedVariantError,
    VariantBuilder,
    array_of,
    object_of,
)

METADATA, VALUE, TYPED = "metadata", "value", "typed_value"

_SPARKS = (
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()),
    *(pa.binary_view(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")),
)
"""The types of typed values that Spark reads, beside decimals."""

_OTHERS = (*(pa.time64("us"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")),)
"""Those that Parquet defines and Spark does not read, beside UUIDs."""


def shredded_form(group: pa.DataType) -> Form | None:
    """The form of a VARIANT, by the type that PyArrow gives its group; None if it is stored whole.

    Raises:
        InvalidRequestError: it is no such group; the message is the reason.

    >>> kinds = {"metadata": pa.binary(), "value": pa.binary(), "typed_value": pa.int64()}
    >>> shredded_form(pa.struct(kinds))
    <Form.SHREDDED: 'shredded'>
    """
    parts = _parts(group)
    if METADATA not in parts or len(parts) == 1:
        raise InvalidRequestError("it is a VARIANT without a value")
    del parts[METADATA]
    forms = _forms(parts, 1)
    if not forms:
        return None
    return Form.SHREDDED_OTHER if Form.SHREDDED_OTHER in forms else Form.SHREDDED


def _forms(parts: dict[str, Any], depth: int) -> set[Form]:
    """The forms of a group and of all groups inside it; empty if it is stored whole."""
    if depth > TYPE_DEPTH:
        raise InvalidRequestError(f"it is a VARIANT that is shredded more than {TYPE_DEPTH} deep")
    if not parts or not parts.keys() <= {VALUE, TYPED}:
        raise _undefined("with other fields than Parquet defines")
    if VALUE in parts and not _is_binary(_plain(parts[VALUE])):
        raise _undefined(f"with values of {parts[VALUE]}")
    if TYPED not in parts:
        return set()
    typed = _plain(parts[TYPED])
    if pa.types.is_struct(typed):
        inner = [forms for field in typed for forms in _forms(_parts(field.type), depth + 1)]
        if not typed.num_fields or len(set(typed.names)) < typed.num_fields:
            raise _undefined("with fields that can't be told apart")
        return {Form.SHREDDED, *inner}
    if pa.types.is_list(typed) or pa.types.is_large_list(typed):
        return {Form.SHREDDED, *_forms(_parts(typed.value_type), depth + 1)}
    if typed in _SPARKS or (pa.types.is_decimal128(typed) and 0 <= typed.scale <= typed.precision):
        return {Form.SHREDDED}
    if typed in _OTHERS or _is_uuid(parts[TYPED]):
        return {Form.SHREDDED_OTHER}
    raise _undefined(f"as {parts[TYPED]}")


def _parts(group: Any) -> dict[str, Any]:
    """The types of the fields of a group, by name."""
    if not pa.types.is_struct(group) or len(set(group.names)) < group.num_fields:
        raise _undefined("without a group of its own for each value")
    return {field.name: field.type for field in group}


def _undefined(how: str) -> InvalidRequestError:
    return InvalidRequestError(f"it is a VARIANT shredded {how}, which Parquet does not define")


def _plain(type_: Any) -> Any:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _is_binary(type_: Any) -> bool:
    t = pa.types
    return bool(t.is_binary(type_) or t.is_large_binary(type_) or t.is_binary_view(type_))


def _is_uuid(type_: Any) -> bool:
    return isinstance(type_, pa.BaseExtensionType) and type_.extension_name == "arrow.uuid"


def whole_variants(group: pa.StructArray, name: str) -> pa.StructArray:
    """The variants of a group, whole.

    Args:
        group: of a type of which ``shredded_form`` knows the form.
        name: the column in errors.

    Raises:
        MalformedVariantError: a variant is malformed.
    """
    metadata, value, typed = (_part(group, part) for part in (METADATA, VALUE, TYPED))
    stored = pa.nulls(len(group), pa.binary()) if value is None else _binary(value)
    dictionaries = _binary(metadata)
    target = to_arrow_type(Atom.VARIANT)
    if typed is not None and typed.null_count < len(typed):
        mask = pc.and_(typed.is_valid(), group.is_valid())
        try:
            values, names = _assembled(group.filter(mask))
        except (MalformedVariantError, RecursionError) as error:
            raise MalformedVariantError(
                f"the column {name} holds a malformed VARIANT: {error}"
            ) from error
        stored = pc.replace_with_mask(stored, mask, arrow_array(values, pa.binary()))
        dictionaries = pc.replace_with_mask(dictionaries, mask, arrow_array(names, pa.binary()))
    if stored.null_count > group.null_count:
        missing = pc.and_(stored.is_null(), group.is_valid())
        stored = pc.if_else(missing, pa.scalar(NULL, pa.binary()), stored)
    return struct_of(group, [stored, dictionaries], target)


def is_shredded(stored: Any, column: Column) -> bool:
    """Whether a variant of a column, or inside it, is not stored as a whole one is.

    Args:
        stored: the type of the column in the file.
    """
    if column.type is Atom.VARIANT:
        return [field.name for field in stored] != [VALUE, METADATA]
    return any(is_shredded(*pair) for pair in _inside(stored, column))


def typed_paths(column: Column) -> list[str]:
    """The dotted paths of the typed values of variants, of a column and inside it."""
    leaves = [path for path, type_ in leaf_paths(column) if type_ is Atom.VARIANT]
    return [path.removesuffix(VALUE) + TYPED for path in leaves if path.endswith(f".{VALUE}")]


def with_whole_variants(array: pa.Array, column: Column) -> pa.Array:
    """The values of a column of a segment, with variants that are whole.

    Raises:
        MalformedVariantError: a variant is malformed.
    """
    if not is_shredded(array.type, column):
        return array
    if column.type is Atom.VARIANT:
        return whole_variants(array, column.name)
    columns = [child for _, child in _inside(array.type, column)]
    return rebuilt(
        array,
        _whole_type(array.type, column),
        lambda parts: list(map(with_whole_variants, parts, columns)),
    )


def _whole_type(stored: Any, column: Column) -> pa.DataType:
    """The type of a column with variants that are whole."""
    if column.type is Atom.VARIANT:
        return to_arrow_type(column.type)
    types = [_whole_type(*pair) for pair in _inside(stored, column)]
    match column.type:
        case Struct():
            fields = zip(stored, types, strict=True)
            return pa.struct([field.with_type(type_) for field, type_ in fields])
        case Array():
            return pa.list_(stored.value_field.with_type(types[0]))
        case Map():
            key, item = stored.key_field.with_type(types[0]), stored.item_field.with_type(types[1])
            return pa.map_(key, item)
        case _:
            return stored


def _inside(stored: Any, column: Column) -> list[tuple[Any, Column]]:
    """The types in a segment of the columns inside a column, in the order of the type."""
    inner = children(column.type)
    if isinstance(column.type, Struct):
        by_name = {child.physical_name: child for child in inner}
        return [(field.type, by_name[field.name]) for field in stored if field.name in by_name]
    return list(zip(child_types(stored), inner, strict=True)) if inner else []


def _part(group: pa.StructArray, name: str) -> Any:
    """A field of a group, to which the nulls of that are not applied; None if it has none."""
    at = group.type.get_field_index(name)
    return None if at < 0 else group.field(at)


def _binary(array: Any) -> pa.Array:
    return array if array.type == pa.binary() else array.cast(pa.binary())


_Read = Callable[[int, VariantBuilder], bytes | None]
"""Reads the value of a row of a group; None if it is missing."""


def _assembled(group: pa.StructArray) -> tuple[list[bytes], list[bytes]]:
    """The values and the dictionaries of variants, none of which is null."""
    read = _reader(group)
    values, names = list[bytes](), list[bytes]()
    for row, stored in enumerate(_binary(_part(group, METADATA)).to_pylist()):
        builder = VariantBuilder(stored)
        values.append(read(row, builder) or NULL)
        names.append(builder.metadata())
    return values, names


def _reader(group: pa.StructArray) -> _Read:
    """How the values of a group are read: its typed value if it has one, and else the stored value."""
    typed, stored = _part(group, TYPED), _part(group, VALUE)
    values = [None] * len(group) if stored is None else _binary(stored).to_pylist()
    typed_reader = _typed_reader(typed, values)

    def read(row: int, builder: VariantBuilder) -> bytes | None:
        found = typed_reader(row, builder)
        if found is not None:
            return found
        value = values[row]
        return None if value is None else builder.copied(value)

    return read


def _typed_reader(typed: Any, values: Sequence[bytes | None]) -> _Read:
    """How typed values are read, None where they are null.

    Args:
        values: the stored values beside them; beside a typed value, only an object has one.
    """
    if typed is None:
        return lambda row, builder: None
    if pa.types.is_struct(typed.type):
        return _object_reader(typed, values)
    if pa.types.is_list(typed.type) or pa.types.is_large_list(typed.type):
        read = _array_reader(typed)
    else:
        scalars = _scalars(typed)

        def read(row: int, builder: VariantBuilder) -> bytes | None:
            return scalars[row]

    def alone(row: int, builder: VariantBuilder) -> bytes | None:
        found = read(row, builder)
        if found is not None and values[row] is not None:
            raise MalformedVariantError("it has both a value and a typed value")
        return found

    return alone


def _object_reader(typed: pa.StructArray, values: Sequence[bytes | None]) -> _Read:
    names = [field.name.encode() for field in typed.type]
    shredded = frozenset(names)
    groups = [typed.field(at) for at in range(typed.type.num_fields)]
    if any(group.filter(typed.is_valid()).null_count for group in groups):
        raise MalformedVariantError("a shredded field has no group")
    readers = list(zip(names, map(_reader, groups), map(_present, groups), strict=True))
    valid = typed.is_valid().to_pylist()

    def read(row: int, builder: VariantBuilder) -> bytes | None:
        if not valid[row]:
            return None
        fields = list[Field]()
        for name, reader, present in readers:
            if present[row]:
                number = builder.number(name)
                fields.append((name, number, reader(row, builder) or NULL))
        left = values[row]
        if left is not None:
            for one in builder.fields(left):
                if one[0] in shredded:
                    raise MalformedVariantError("a shredded field stands in its value, too")
                fields.append(one)
        return object_of(fields)

    return read


def _present(group: pa.StructArray) -> list[bool]:
    """Whether the values of a group are not missing."""
    parts = [part for part in (_part(group, VALUE), _part(group, TYPED)) if part is not None]
    valid = parts[0].is_valid()
    present = valid if len(parts) == 1 else pc.or_(valid, parts[1].is_valid())
    return list(present.to_pylist())


def _array_reader(typed: Any) -> _Read:
    if typed.values.null_count:
        raise MalformedVariantError("an element of a shredded array has no group")
    reader, ends = _reader(typed.values), typed.offsets.to_pylist()
    valid = typed.is_valid().to_pylist()

    def read(row: int, builder: VariantBuilder) -> bytes | None:
        if not valid[row]:
            return None
        places = range(ends[row], ends[row + 1])
        return array_of([reader(place, builder) or NULL for place in places])

    return read


def _scalars(array: Any) -> list[bytes | None]:
    """Encoded scalars; None for nulls."""
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    encode, values = _encoding(array)
    return [None if value is None else encode(value) for value in values]


def _encoding(array: Any) -> tuple[Callable[[Any], bytes], list[Any]]:
    """How the values of an array are encoded, and these as Python has them."""
    t, type_ = pa.types, array.type
    if t.is_integer(type_):
        return _integer, array.to_pylist()
    if t.is_boolean(type_):
        return (lambda value: b"\x04" if value else b"\x08"), array.to_pylist()
    if t.is_float32(type_):
        return _packing(14, "f"), _with_one_nan(array)
    if t.is_float64(type_):
        return _packing(7, "d"), _with_one_nan(array)
    if t.is_decimal(type_):
        return (lambda value: _decimal(value, type_.scale)), _unscaled(array)
    if t.is_date32(type_):
        return _packing(11, "i"), array.view(pa.int32()).to_pylist()
    if t.is_time(type_):
        return _packing(17, "q"), array.view(pa.int64()).to_pylist()
    if t.is_timestamp(type_):
        kinds = {("us", True): 12, ("us", False): 13, ("ns", True): 18, ("ns", False): 19}
        kind = kinds[type_.unit, type_.tz is not None]
        return _packing(kind, "q"), array.view(pa.int64()).to_pylist()
    if t.is_fixed_size_binary(type_):
        return (lambda value: bytes([20 << 2]) + value), array.to_pylist()
    if _is_binary(type_):
        return _sized(15), array.to_pylist()
    return _text, array.cast(pa.large_binary()).to_pylist()


def _packing(kind: int, layout: str) -> Callable[[Any], bytes]:
    packer = struct.Struct(f"<B{layout}")
    return lambda value: packer.pack(kind << 2, value)


def _sized(kind: int) -> Callable[[bytes], bytes]:
    return lambda value: struct.pack("<BI", kind << 2, len(value)) + value


def _text(value: bytes) -> bytes:
    if len(value) < 64:
        return bytes([len(value) << 2 | 1]) + value
    return _sized(16)(value)


_INTEGERS = tuple(
    (bits, struct.Struct(f"<B{layout}"), kind)
    for bits, layout, kind in ((8, "b", 3), (16, "h", 4), (32, "i", 5), (64, "q", 6))
)


def _integer(value: int) -> bytes:
    """An integer in the least width that it fits."""
    for bits, packer, kind in _INTEGERS:
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return packer.pack(kind << 2, value)
    raise MalformedVariantError(f"{value} has more than 64 bits")


def _with_one_nan(array: pa.Array) -> list[float | None]:
    """Floats, with one of the many NaNs."""
    nan = float("nan")
    return [nan if value is not None and isnan(value) else value for value in array.to_pylist()]


def _unscaled(array: Any) -> list[int | None]:
    """The unscaled values of decimals of 128 bits."""
    data, start = array.buffers()[1], array.offset * 16
    raw = b"" if data is None else data.to_pybytes()[start : start + 16 * len(array)]
    return [
        int.from_bytes(raw[at * 16 : at * 16 + 16], "little", signed=True) if valid else None
        for at, valid in enumerate(array.is_valid().to_pylist())
    ]


def _decimal(unscaled: int, scale: int) -> bytes:
    """A decimal in the least width that holds its digits."""
    digits = max(len(str(abs(unscaled))), scale)
    kind, width = (8, 4) if digits <= 9 else (9, 8) if digits <= 18 else (10, 16)
    return bytes([kind << 2, scale]) + unscaled.to_bytes(width, "little", signed=True)
