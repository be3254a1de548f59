"""Constants: made from users' values, shown as Python's and Arrow's, widened with their columns."""

from __future__ import annotations

import decimal
import json
import math
import re
import struct
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import Stored, scalar_of
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import (
    Array,
    Atom,
    Char,
    Column,
    Constant,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Struct,
    Time,
    Varchar,
    is_nested,
)
from versioned_catalog.values import calendar_text
from versioned_catalog.values.value_text import (
    ValueText,
    as_fields,
    as_items,
    as_pairs,
    decode,
    decode_raw,
    field_key,
    in_range,
    leaf_text,
    parse_json,
    rekey,
    shown,
    wrong_kind,
)

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Typed:
    """A value that says its type itself, as ``DATE '2020-01-31'`` does."""

    text: ValueText
    type: DataType


def constant(value: object, type_: DataType) -> Constant | None:
    """A constant of a type from a Python value (see ``value_text``); None gives None.

    Besides, dates, times and timestamps may be ISO text; decimals text, int or float; floats int or
    Decimal; and everything may be an Arrow or NumPy scalar.

    Raises:
        InvalidRequestError: the value does not fit exactly; the message says why.
    """
    try:
        text = fit(value, type_)
    except ValueError as error:
        raise InvalidRequestError(
            misfit(shown(value), type_, error), condition="INVALID_VALUE"
        ) from None
    return to_constant(text)


def misfit(what: str, type_: DataType, reason: object) -> str:
    """The message for a default that does not fit."""
    return f"DEFAULT {what} does not fit {render_type(type_)}: {reason}"


def to_constant(text: ValueText) -> Constant | None:
    """The constant of value text; null has none."""
    if text is None:
        return None
    return Constant(json.dumps(text, ensure_ascii=False, separators=(",", ":")))


def fit(value: object, type_: DataType) -> ValueText:
    """The value text of a user's value, checked in and out.

    Raises:
        ValueError: it does not fit exactly; the message is the reason.
    """
    value = _plain(value)
    if value is None:
        return None
    if isinstance(value, Typed):
        return _fit_typed(value, type_)
    match type_:
        case Struct(fields):
            values = as_fields(value, fields)
            return {field_key(f): _fit_child(values.get(f.name), f) for f in fields}
        case Array(element):
            return [_fit_child(item, element) for item in as_items(value)]
        case Map(key, item):
            return _fit_map([[_fit_child(k, key), _fit_child(v, item)] for k, v in as_pairs(value)])
        case (
            Atom()
            | Decimal()
            | Char()
            | Varchar()
            | Time()
            | DayTimeInterval()
            | Geometry()
            | Geography()
        ):
            return _check_steps(leaf_text(_coerce(value, type_), type_), type_)


def _plain(value: object) -> Any:
    if isinstance(value, pa.Scalar):
        try:
            return value.as_py()
        except OverflowError:
            raise ValueError("it is beyond Python's years; give it as text") from None
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # NumPy's scalars
        return value.item()
    return value


def _fit_child(value: object, child: Column) -> ValueText:
    text = fit(value, child.type)
    if text is None and not child.nullable:
        raise ValueError(f"{child.name} is null, but NOT NULL")
    return text


def _fit_map(pairs: list[list[Any]]) -> ValueText:
    keys = [json.dumps(key) for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError("a key is there twice")
    return pairs


def _fit_typed(value: Typed, type_: DataType) -> ValueText:
    match value.type:
        case Atom.DATE | Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ:
            if type_ is Atom.TIMESTAMP and value.type is not type_:
                raise ValueError(_NO_OFFSET)
            return widen_text(value.text, value.type, type_)
        case Time() | DayTimeInterval() if type(value.type) is type(type_):
            return _check_steps(str(value.text), type_)
        case Time() | DayTimeInterval():
            return widen_text(value.text, value.type, type_)
        case _:
            return fit(decode(value.text, value.type), type_)


_NO_OFFSET = "it has no offset from UTC; write one, as in '2020-01-31 12:30:00Z'"


def _check_steps(text: str, type_: DataType) -> str:
    match type_:
        case Time(precision):
            step, what = 10 ** (6 - precision), f"{precision} digits of a second"
        case DayTimeInterval(_, end):
            step = 1 if end == "second" else calendar_text.MICROS[end]
            what = f"whole {end}s"
        case _:
            return text
    if int(text) % step:
        raise ValueError(f"it holds more than {what}")
    return text


def _coerce(value: Any, type_: DataType) -> object:
    """What ``leaf_text`` takes, from what a user gives."""
    match type_, value:
        case ((Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG), decimal.Decimal()):
            return _whole_number(value)
        case ((Atom.FLOAT | Atom.DOUBLE), (int() | decimal.Decimal())):
            return _float(value, type_)
        case Decimal(), (str() | int() | float()):
            return _decimal(value)
        case Char(length) | Varchar(length), str():
            if len(value) > length:
                raise ValueError(f"it has {len(value)} characters")
            return value.ljust(length) if isinstance(type_, Char) else value
        case Atom.DATE, str():
            return calendar_text.parse_date(value)
        case ((Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ), str()):
            return _timestamp(value, type_)
        case Time(), str():
            return calendar_text.parse_time(value)
        case (
            Atom.DATE | Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ | Time() | DayTimeInterval(),
            int(),
        ):
            # ``leaf_text`` takes counts of days and microseconds; a user's int is a mistake.
            raise wrong_kind(value, type_)
        case _:
            return value


def _whole_number(value: decimal.Decimal) -> int:
    # Told by the exponent first: 1e999999999 must not be written out.
    if not value.is_finite() or value.adjusted() > 40:
        raise ValueError("it is out of range")
    if value != value.to_integral_value():
        raise ValueError("it is not a whole number")
    return int(value)


def _float(value: int | decimal.Decimal, type_: DataType) -> float:
    if isinstance(value, bool):
        raise ValueError("a bool is no number")
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf
    if isinstance(value, decimal.Decimal) and not value.is_finite():
        raise ValueError("give it as a float")
    if math.isinf(nearest):
        raise ValueError("it is out of range")
    exact = 2 ** (24 if type_ is Atom.FLOAT else 53)
    if isinstance(value, int) and abs(value) > exact and not _holds(value, type_):
        raise ValueError("its digits would be lost; give it as a float to have it rounded")
    return nearest


def _holds(value: int, type_: DataType) -> bool:
    read = decode(leaf_text(float(value), type_), type_)
    return isinstance(read, float) and int(read) == value


def _decimal(value: str | int | float) -> decimal.Decimal:
    if isinstance(value, bool):
        raise ValueError("a bool is no number")
    if isinstance(value, int) and abs(value) >= 10**38:
        raise ValueError("it has more than 38 digits")
    text = (
        str(value) if isinstance(value, int) else repr(value) if isinstance(value, float) else value
    )
    if not _NUMBER.fullmatch(text) or len(text) > 1000:
        raise ValueError("decimals are written as '12.50'")
    return decimal.Decimal(text)


def _timestamp(text: str, type_: DataType) -> int:
    micros, zoned = calendar_text.parse_timestamp(text)
    if type_ is Atom.TIMESTAMP and not zoned:
        raise ValueError(_NO_OFFSET)
    if type_ is Atom.TIMESTAMP_NTZ and zoned:
        raise ValueError("it has an offset from UTC, but the type has none; leave it out")
    return micros


def to_python(constant_: Constant | None, type_: DataType) -> object:
    """The Python value of a constant (see ``value_text``).

    Raises:
        CorruptTableError: it is none of the type.
    """
    return None if constant_ is None else decode(parse_json(constant_.json), type_)


def to_scalar(constant_: Constant | None, type_: DataType) -> pa.Scalar:
    """The Arrow scalar of a constant, of ``to_arrow_type(type_)``; None gives a null.

    Raises:
        CorruptTableError: it is none of the type.
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
    """The constant of an Arrow scalar, cast to the type where it has another; null gives None.

    Raises:
        InvalidRequestError: it can't be cast without loss.
    """
    return to_constant(from_scalar_text(scalar, type_))


def from_scalar_text(scalar: pa.Scalar, type_: DataType) -> ValueText:
    """As ``from_scalar``, but value text, as bounds and partition values are."""
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
        case Atom.DATE | Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ | Time() | DayTimeInterval():
            return leaf_text(scalar.value, type_)
        case Atom() | Decimal() | Char() | Varchar() | Geometry() | Geography():
            return leaf_text(scalar.as_py(), type_)


def rekey_constant(constant_: Constant, old: DataType, new: DataType) -> Constant:
    """The same constant after its type's fields were given IDs; both types have the same shape."""
    text = rekey(parse_json(constant_.json), old, new)
    return Constant(json.dumps(text, ensure_ascii=False, separators=(",", ":")))


def widen(constant_: Constant, old: DataType, new: DataType) -> Constant:
    """The same value in a wider type. Struct fields are matched by ID; fields that either type
    lacks are left out.

    Raises:
        InvalidRequestError: the type is not wider, or the value does not fit it after all.
    """
    try:
        text = widen_text(parse_json(constant_.json), old, new)
    except ValueError as error:
        raise InvalidRequestError(
            misfit(constant_.json, new, error), condition="INVALID_VALUE"
        ) from None
    return Constant(json.dumps(text, ensure_ascii=False, separators=(",", ":")))


def widen_text(text: ValueText, old: DataType, new: DataType) -> ValueText:
    """As ``widen``, of value text.

    Raises:
        ValueError: it can't be.
    """
    match old, new:
        case _ if text is None or old == new:
            return text
        case Struct(before), Struct(after) if isinstance(text, dict):
            olds = {field_key(f): f for f in before}
            pairs = [(field_key(f), f) for f in after]
            return {
                k: widen_text(text[k], olds[k].type, f.type)
                for k, f in pairs
                if k in olds and k in text
            }
        case Array(a), Array(b) if isinstance(text, list):
            return [widen_text(item, a.type, b.type) for item in text]
        case Map(key, value), Map(new_key, new_value) if isinstance(text, list):
            return [
                [widen_text(k, key.type, new_key.type), widen_text(v, value.type, new_value.type)]
                for k, v in text
            ]
        case _:
            return _widen_leaf(text, old, new)


def _widen_leaf(text: ValueText, old: DataType, new: DataType) -> ValueText:
    value = decode(text, old)
    match old, new:
        case (
            (Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG),
            (Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG | Atom.DOUBLE | Decimal()),
        ):
            return fit(value, new)
        case (Atom.FLOAT, Atom.DOUBLE) | (Decimal(), Decimal()):
            return fit(value, new)
        case ((Char() | Varchar()), (Varchar() | Atom.STRING)):
            return fit(value, new)
        case Atom.DATE, Atom.TIMESTAMP_NTZ:
            days = decode_raw(text, old)
            assert isinstance(days, int)
            return str(in_range(days * calendar_text.MICROS["day"], new))
        case _:
            raise ValueError(f"a value of {render_type(old)} is not one of {render_type(new)}")


__all__ = [
    "Typed",
    "constant",
    "fit",
    "from_scalar",
    "from_scalar_text",
    "misfit",
    "rekey_constant",
    "to_constant",
    "to_python",
    "to_scalar",
    "widen",
    "widen_text",
]
