"""Convert users' values to the value text of a column's type, exactly or not at all."""

from __future__ import annotations

import decimal
import json
import math
import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model import types
from versioned_catalog.model.calendars import NO_OFFSET, check_precision, temporal
from versioned_catalog.model.type_text import render_type
from versioned_catalog.model.types import DAY_TIME_UNITS, Family
from versioned_catalog.model.value_text import (
    ValueText,
    as_fields,
    as_items,
    as_pairs,
    decode,
    decode_raw,
    field_key,
    in_range,
    leaf_text,
    wrong_kind,
)
from versioned_catalog.model.widening import widens

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Typed:
    """A value that names its type, as ``DATE '2020-01-31'`` does."""

    text: ValueText
    type: types.DataType


def misfit(source: str, type_: types.DataType, reason: object) -> InvalidRequestError:
    """The error for a default that does not fit its type."""
    return InvalidRequestError(
        f"DEFAULT {source} does not fit {render_type(type_)}: {reason}", condition="INVALID_VALUE"
    )


def fit(value: object, type_: types.DataType) -> ValueText:
    """The value text of a user's value.

    Args:
        value: a Python value (see ``value_text``). Dates, times and timestamps may also be ISO text;
            decimals text, int or float; floats int or Decimal; anything a ``Typed``, an Arrow scalar
            or a NumPy scalar.
        type_: the type that it must fit.

    Raises:
        ValueError: it does not fit exactly; the message is the reason.
    """
    value = _plain(value)
    if value is None:
        return None
    if isinstance(value, Typed):
        return _fit_typed(value, type_)
    match type_:
        case types.Struct(fields):
            values = as_fields(value, fields)
            return {field_key(f): _fit_child(values.get(f.name), f) for f in fields}
        case types.Array(element):
            return [_fit_child(item, element) for item in as_items(value)]
        case types.Map(key, item):
            return _fit_map([[_fit_child(k, key), _fit_child(v, item)] for k, v in as_pairs(value)])
        case _:
            return check_precision(leaf_text(_coerce(value, type_), type_), type_)


def _plain(value: object) -> Any:
    if isinstance(value, pa.Scalar):
        try:
            return value.as_py()
        except OverflowError:
            raise ValueError("it is beyond Python's years; give it as text") from None
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # NumPy's scalars
        return value.item()
    return value


def _fit_child(value: object, child: types.Column) -> ValueText:
    text = fit(value, child.type)
    if text is None and not child.nullable:
        raise ValueError(f"{child.name} is null, but NOT NULL")
    return text


def _fit_map(pairs: list[list[Any]]) -> ValueText:
    keys = [json.dumps(key) for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError("a key occurs twice")
    return pairs


def _fit_typed(value: Typed, type_: types.DataType) -> ValueText:
    source = value.type
    if isinstance(source, types.NestedType) or source.leaf.family is not Family.TEMPORAL:
        return fit(decode(value.text, source), type_)
    if types.is_stored_alike(source, type_):
        return check_precision(str(value.text), type_)
    if type_ is types.Atom.TIMESTAMP and source in (types.Atom.DATE, types.Atom.TIMESTAMP_NTZ):
        raise ValueError(NO_OFFSET)
    return widen_text(value.text, source, type_)


def _coerce(value: Any, type_: types.LeafType) -> object:
    """Convert a user's value to one that ``leaf_text`` takes."""
    match type_.leaf.family, value:
        case Family.INTEGER, decimal.Decimal():
            return _whole_number(value)
        case Family.FLOAT, int() | decimal.Decimal():
            return _float(value, type_)
        case Family.DECIMAL, str() | int() | float():
            return _decimal(value)
        case Family.TEXT, str() if isinstance(type_, types.Char | types.Varchar):
            if len(value) > type_.length:
                raise ValueError(f"it has {len(value)} characters")
            return value.ljust(type_.length) if isinstance(type_, types.Char) else value
        case Family.TEMPORAL, str():
            return temporal(type_).parse(value)
        case Family.TEMPORAL, int() if isinstance(type_, types.YearMonthInterval):
            return value
        case Family.TEMPORAL, int():
            # ``leaf_text`` takes the stored integer; from a user, an int is a mistake.
            raise wrong_kind(value, type_)
        case _:
            return value


def _whole_number(value: decimal.Decimal) -> int:
    # By the exponent first: 1e999999999 must not be written out.
    if not value.is_finite() or value.adjusted() > 40:
        raise ValueError("it is out of range")
    if value != value.to_integral_value():
        raise ValueError("it is not a whole number")
    return int(value)


def _float(value: int | decimal.Decimal, type_: types.LeafType) -> float:
    if isinstance(value, bool):
        raise ValueError("a bool is not a number")
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf
    if isinstance(value, decimal.Decimal) and not value.is_finite():
        raise ValueError("give it as a float")
    if math.isinf(nearest):
        raise ValueError("it is out of range")
    exact = 2 ** (24 if type_ is types.Atom.FLOAT else 53)
    if isinstance(value, int) and abs(value) > exact and not _holds(value, type_):
        raise ValueError("digits would be lost; give it as a float to have it rounded")
    return nearest


def _holds(value: int, type_: types.LeafType) -> bool:
    read = decode(leaf_text(float(value), type_), type_)
    return isinstance(read, float) and int(read) == value


def _decimal(value: str | int | float) -> decimal.Decimal:
    if isinstance(value, bool):
        raise ValueError("a bool is not a number")
    if isinstance(value, int) and abs(value) >= 10**38:
        raise ValueError("it has more than 38 digits")
    text = (
        str(value) if isinstance(value, int) else repr(value) if isinstance(value, float) else value
    )
    if not _NUMBER.fullmatch(text) or len(text) > 1000:
        raise ValueError("decimals are written as '12.50'")
    return decimal.Decimal(text)


def widen_text(text: ValueText, old: types.DataType, new: types.DataType) -> ValueText:
    """Value text of a wider type. Struct fields are matched by ID; the result has the fields of both.

    Raises:
        ValueError: the type is not wider, or the value does not fit it.
    """
    match old, new:
        case _ if text is None or old == new:
            return text
        case types.Struct(before), types.Struct(after) if isinstance(text, dict):
            olds = {field_key(f): f for f in before}
            return {
                key: widen_text(text[key], olds[key].type, field.type)
                for field in after
                if (key := field_key(field)) in olds and key in text
            }
        case types.Array(a), types.Array(b) if isinstance(text, list):
            return [widen_text(item, a.type, b.type) for item in text]
        case types.Map(key, value), types.Map(new_key, new_value) if isinstance(text, list):
            return [
                [widen_text(k, key.type, new_key.type), widen_text(v, value.type, new_value.type)]
                for k, v in text
            ]
        case _ if not widens(old, new):
            raise ValueError(f"{render_type(old)} does not widen to {render_type(new)}")
        case types.Atom.DATE, _:
            days = decode_raw(text, old)
            assert isinstance(days, int)
            return str(in_range(days * DAY_TIME_UNITS["day"], new))
        case _:
            return fit(decode(text, old), new)
