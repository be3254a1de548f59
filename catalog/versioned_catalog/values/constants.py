"""Constants: built from users' values, converted to Python and Arrow, widened with their columns."""

from __future__ import annotations

import struct
from typing import Any, cast

import pyarrow as pa

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import Stored, scalar_of
from versioned_catalog.types.leaves import Family
from versioned_catalog.types.tokens import clip_repr
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import Array, Constant, DataType, Map, Struct, is_nested
from versioned_catalog.values.fitting import fit, misfit, widen_text
from versioned_catalog.values.leaf_text import leaf_text
from versioned_catalog.values.value_text import (
    ValueText,
    constant_of,
    decode,
    decode_raw,
    field_key,
    parse_json,
    rekey,
)


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
            is_temporal = type_.leaf.family is Family.TEMPORAL
            return leaf_text(scalar.value if is_temporal else scalar.as_py(), type_)


def rekey_constant(constant_: Constant, old: DataType, new: DataType) -> Constant:
    """The same constant after its type's fields got other IDs; both types have the same shape."""
    return constant_of(rekey(parse_json(constant_.json), old, new))


def widen(constant_: Constant, old: DataType, new: DataType) -> Constant:
    """The same value in a wider type (see ``fitting.widen_text``).

    Raises:
        InvalidRequestError: the type is not wider, or the value does not fit it.
    """
    try:
        return constant_of(widen_text(parse_json(constant_.json), old, new))
    except ValueError as error:
        raise misfit(constant_.json, new, error) from None
