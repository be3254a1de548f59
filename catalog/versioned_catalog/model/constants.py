"""Constants: built from users' values, widened and narrowed with their columns."""

from __future__ import annotations

import decimal
import struct
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.arrow import Stored, scalar_of, to_arrow_type
from versioned_catalog.model.tokens import clip_repr
from versioned_catalog.model.type_text import render_type
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Column,
    Constant,
    DataType,
    Decimal,
    LeafType,
    Map,
    Struct,
    Varchar,
    children,
    is_integer,
    is_nested,
    is_text,
    with_children,
)
from versioned_catalog.model.user_values import fit, misfit, widen_text
from versioned_catalog.model.value_text import (
    ValueText,
    constant_of,
    decode,
    decode_raw,
    field_key,
    integer_range,
    leaf_text,
    parse_json,
    rekey,
)
from versioned_catalog.model.widening import widens


def constant(value: object, type_: DataType) -> Constant | None:
    """The constant of a user's value (see ``fitting.fit``); None gives None.

    Raises:
        InvalidRequestError: the value does not fit exactly; the message gives the reason.
    """
    try:
        return to_constant(fit(value, type_))
    except ValueError as error:
        raise misfit(clip_repr(value), type_, error) from None


def to_constant(text: ValueText) -> Constant | None:
    """The constant of value text; null has none."""
    return None if text is None else constant_of(text)


def to_python(constant_: Constant | None, type_: DataType) -> object:
    """The Python value of a constant (see ``value_text``).

    Raises:
        CorruptTableError: the constant is not of the type.
    """
    return None if constant_ is None else decode(parse_json(constant_.json), type_)


def to_scalar(constant_: Constant | None, type_: DataType) -> pa.Scalar:
    """The Arrow scalar of a constant, of ``to_arrow_type(type_)``; None gives a null.

    Raises:
        CorruptTableError: the constant is not of the type.
    """
    raw = None if constant_ is None else decode_raw(parse_json(constant_.json), type_)
    try:
        if raw is not None and is_nested(type_):
            return pa.scalar(raw, to_arrow_type(type_))
        return scalar_of(cast(Stored, raw), to_arrow_type(type_))
    except (pa.ArrowInvalid, pa.ArrowTypeError, struct.error) as error:
        raise CorruptTableError(
            f"a stored constant can't be a value of {render_type(type_)}: {error}"
        ) from None


def from_scalar(scalar: pa.Scalar, type_: DataType) -> Constant | None:
    """The constant of an Arrow scalar, which is cast if its type is another; null gives None.

    Raises:
        InvalidRequestError: it can't be cast without loss.
    """
    return to_constant(from_scalar_text(scalar, type_))


def from_scalar_text(scalar: pa.Scalar, type_: DataType) -> ValueText:
    """Like ``from_scalar``, but the value text, as bounds and partition values are stored."""
    wanted = to_arrow_type(type_)
    try:
        same = scalar if scalar.type.equals(wanted) else scalar.cast(wanted)
        return _from_arrow(same, type_)
    except (ValueError, pa.ArrowException) as error:
        raise InvalidRequestError(
            f"the {scalar.type} does not fit {render_type(type_)}: {error}",
            condition="INVALID_VALUE",
        ) from None


def _from_arrow(scalar: Any, type_: DataType) -> ValueText:
    if not scalar.is_valid:
        return None
    match type_:
        case Struct(fields):
            return {field_key(f): _from_arrow(scalar[i], f.type) for i, f in enumerate(fields)}
        case Array(element):
            return [_from_arrow(item, element.type) for item in scalar.values]
        case Map(key, value):
            keys, items = scalar.values.field(0), scalar.values.field(1)
            return [
                [_from_arrow(k, key.type), _from_arrow(v, value.type)]
                for k, v in zip(keys, items, strict=True)
            ]
        case _:
            # as_py() of a temporal value fails beyond Python's years.
            is_temporal = pa.types.is_temporal(scalar.type)
            return leaf_text(scalar.value if is_temporal else scalar.as_py(), type_)


def rekey_constant(constant_: Constant, old: DataType, new: DataType) -> Constant:
    """The same constant after its type's fields got other IDs; both types have the same shape."""
    return constant_of(rekey(parse_json(constant_.json), old, new))


def rekey_defaults(before: Column, after: Column) -> Column:
    """A column that got other IDs than ``before``, with the IDs in its defaults changed as well."""
    read, write = before.read_default, before.write_default
    pairs = zip(children(before.type), children(after.type), strict=True)
    return replace(
        after,
        type=with_children(after.type, tuple(rekey_defaults(old, new) for old, new in pairs)),
        read_default=None if read is None else rekey_constant(read, before.type, after.type),
        write_default=(
            rekey_constant(write, before.type, after.type) if isinstance(write, Constant) else write
        ),
    )


def widen(constant_: Constant, old: DataType, new: DataType) -> Constant:
    """The same value in a wider type (see ``fitting.widen_text``).

    Raises:
        InvalidRequestError: the type is not wider, or the value does not fit it.
    """
    try:
        return constant_of(widen_text(parse_json(constant_.json), old, new))
    except ValueError as error:
        raise misfit(constant_.json, new, error) from None


def narrow_array(array: pa.Array, source: LeafType, target: LeafType) -> pa.Array:
    """Narrow values to a type that widens to theirs; null where a value does not fit."""
    if target is Atom.VOID:
        return pa.nulls(len(array))
    return fitting(array, source, target).cast(to_arrow_type(target), safe=False)


def fitting(array: pa.Array, source: LeafType, target: LeafType) -> pa.Array:
    """Replace values that do not fit a narrower type by null.

    A value fits if it is the widening of one of ``target``. Texts fit by their length, and are not
    padded.
    """
    assert widens(target, source), "only the narrowing of a legal widening is defined"
    return pc.if_else(_fits(array, source, target), array, scalar_of(None, array.type))


def narrow(constant: Constant, source: DataType, target: DataType) -> Constant | None:
    """A constant of a column's current type in an earlier type; None if a value in it does not fit.

    Fields of structs are matched by ID. A leaf whose earlier type is wider, as after a
    rollback, is widened.
    """
    try:
        return to_constant(_narrow_text(parse_json(constant.json), source, target))
    except _Misfit:
        return None


class _Misfit(Exception):
    """A value does not fit the earlier type."""


def _narrow_text(text: ValueText, source: DataType, target: DataType) -> ValueText:
    if text is None or source == target:
        return text
    match source, target:
        case Struct(fields), Struct(kept) if isinstance(text, dict):
            types = {field_key(field): field.type for field in fields}
            return {
                key: _narrow_text(text[key], types[key], field.type)
                for field in kept
                if (key := field_key(field)) in types and key in text
            }
        case Array(element), Array(other) if isinstance(text, list):
            return [_narrow_text(item, element.type, other.type) for item in text]
        case Map(key, value), Map(other_key, other_value) if isinstance(text, list):
            return [
                [
                    _narrow_text(k, key.type, other_key.type),
                    _narrow_text(v, value.type, other_value.type),
                ]
                for k, v in text
            ]
        case _ if widens(target, source):
            value = pa.repeat(to_scalar(constant_of(text), source), 1)
            (narrowed,) = narrow_array(value, source, target)  # type: ignore[arg-type]
            if not narrowed.is_valid:
                raise _Misfit
            return from_scalar_text(narrowed, target)
        case _:
            return widen_text(text, source, target)


def _fits(array: pa.Array, source: LeafType, target: LeafType) -> pa.Array:
    """Whether each value fits; null or false for a null."""
    match source, target:
        case _, Atom.VOID:
            return pa.nulls(len(array), pa.bool_())
        case _ if is_text(source):
            assert isinstance(target, Char | Varchar), "every text fits a STRING"
            return pc.less_equal(pc.utf8_length(array), scalar_of(target.length, pa.int32()))
        case Decimal(), Decimal():
            wide = array.cast(pa.decimal256(76, source.scale))
            whole = pc.equal(pc.round(wide, target.scale), wide)
            limit = _number(10 ** (target.precision - target.scale), wide.type)
            return pc.and_(whole, pc.less(pc.abs(wide), limit))
        case Decimal(), _:
            wide = array.cast(pa.decimal256(76, source.scale))
            return pc.and_(pc.equal(pc.floor(wide), wide), _in_range(wide, target))
        case Atom.DOUBLE, Atom.FLOAT:
            back = array.cast(pa.float32(), safe=False).cast(pa.float64())
            return pc.or_(pc.equal(back, array), pc.is_nan(array))
        case Atom.DOUBLE, _:
            return pc.and_(pc.equal(pc.floor(array), array), _in_range(array, target))
        case Atom.TIMESTAMP_NTZ, Atom.DATE:
            return pc.equal(array.cast(pa.date32(), safe=False).cast(array.type), array)
        case _:
            assert is_integer(source), "no other type is widened to"
            return _in_range(array, target)


def _in_range(array: pa.Array, target: LeafType) -> pa.Array:
    """Whether numbers are in the range of an integer type."""
    low, high = (_number(end, array.type) for end in integer_range(target))
    return pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high))


def _number(value: int, type_: pa.DataType) -> pa.Scalar:
    """A number as a scalar of an integer, floating or decimal type."""
    if pa.types.is_decimal(type_):
        return pa.scalar(decimal.Decimal(value), type_)
    return scalar_of(value, pa.int64()).cast(type_, safe=False)
