"""Value text (FORMAT.md, section 4.2): how values are written in metadata.

Values are Python's: bool, int, float, Decimal, str, bytes, date, aware datetime (timestamp), naive
datetime (timestamp_ntz), time, timedelta, dict by field name (struct), list, list of pairs or dict
(map).
A date or timestamp outside Python's years 1 to 9999 is an int: its days or microseconds.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import decimal
import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.types.tokens import clip
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import (
    UNASSIGNED,
    Array,
    Atom,
    Char,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Struct,
    Time,
    Varchar,
)

ValueText = str | list[Any] | dict[str, Any] | None

_MICRO = dt.timedelta(microseconds=1)
_DAY = 86_400_000_000
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=dt.UTC)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DECIMAL = re.compile(r"(?!-[0.]*\Z)-?(0|[1-9][0-9]{0,37})(?:\.([0-9]{1,38}))?")
_FLOAT = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode(value: object, type_: DataType) -> ValueText:
    """The value text of a Python value; None gives None.

    Raises:
        InvalidRequestError: the value is none of the type.
    """
    try:
        return _encode(value, type_)
    except ValueError as error:
        raise InvalidRequestError(
            f"{shown(value)} does not fit {render_type(type_)}: {error}"
        ) from None


def shown(value: object) -> str:
    """A value for a message."""
    try:
        return clip(repr(value))
    except (ValueError, RecursionError):  # Python writes no integers of thousands of digits
        return f"a very large {type(value).__name__}"


def field_key(field: Column) -> str:
    """What a struct's field is called in value text: its ID, or ``:name`` while it has none."""
    return f":{field.name}" if field.id == UNASSIGNED else str(field.id)


def _encode(value: object, type_: DataType) -> ValueText:
    if value is None:
        return None
    match type_:
        case Struct(fields):
            values = as_fields(value, fields)
            return {field_key(f): _encode(values.get(f.name), f.type) for f in fields}
        case Array(element):
            return [_encode(item, element.type) for item in as_items(value)]
        case Map(key, item):
            return [[_encode(k, key.type), _encode(v, item.type)] for k, v in as_pairs(value)]
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
            return leaf_text(value, type_)


def as_fields(value: object, fields: tuple[Column, ...]) -> Mapping[Any, Any]:
    """A struct's value by field name.

    Raises:
        ValueError: it is no mapping, or has other names than the fields.
    """
    if not isinstance(value, Mapping):
        raise ValueError("a struct is given as a dict by field name")
    unknown = [name for name in value if name not in {field.name for field in fields}]
    if unknown:
        names = ", ".join(field.name for field in fields)
        raise ValueError(f"there is no field {shown(unknown[0])}; the fields are {clip(names)}")
    return value


def as_items(value: object) -> Iterable[object]:
    """A list's items.

    Raises:
        ValueError: it is no list.
    """
    if not isinstance(value, list | tuple):
        raise ValueError("an array is given as a list")
    return value


def as_pairs(value: object) -> list[tuple[Any, Any]]:
    """A map's pairs, from a dict or a list of pairs.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple) and all(map(_is_pair, value)):
        return [(pair[0], pair[1]) for pair in value]
    raise ValueError("a map is given as a dict or a list of pairs")


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def leaf_text(value: object, type_: DataType) -> str:
    """The value text of a value that is neither null nor nested.

    Raises:
        ValueError: the value is none of the type; the message says why.
    """
    match type_:
        case Atom.BOOLEAN:
            return "true" if _kind(value, bool, type_) else "false"
        case Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG | Atom.DATE:
            return str(in_range(_count(value, type_), type_))
        case Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ | Time() | DayTimeInterval():
            return str(in_range(_count(value, type_), type_))
        case Atom.FLOAT:
            return float32_text(_kind(value, float, type_))
        case Atom.DOUBLE:
            return double_text(_kind(value, float, type_))
        case Decimal(precision, scale):
            return decimal_text(_kind(value, decimal.Decimal, type_), precision, scale)
        case Atom.STRING | Char() | Varchar():
            return _whole(_kind(value, str, type_))
        case Atom.BINARY:
            if not isinstance(value, bytes | bytearray | memoryview):
                raise wrong_kind(value, type_)
            return base64.b64encode(value).decode("ascii")
        case Atom.VARIANT | Geometry() | Geography():
            raise ValueError("columns of this type have no defaults, bounds or partition values")
        case Struct() | Array() | Map():
            raise ValueError("the value is nested")


def _kind(value: object, kind: type[Any], type_: DataType) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong_kind(value, type_)
    return value


def wrong_kind(value: object, type_: DataType) -> ValueError:
    """The reason why a value of another Python type does not fit."""
    match type_:
        case Atom.BOOLEAN:
            needed = "a boolean"
        case Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG:
            needed = "a whole number"
        case Atom.FLOAT | Atom.DOUBLE | Decimal():
            needed = "a number"
        case Atom.STRING | Char() | Varchar():
            needed = "a string"
        case Atom.BINARY:
            needed = "bytes (X'0A' in SQL)"
        case Atom.DATE:
            needed = "a date (a datetime has one by .date())"
        case Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ:
            needed = "a timestamp"
        case Time():
            needed = "a time of day"
        case DayTimeInterval():
            needed = "an interval"
        case Struct() | Array() | Map() | Atom.VARIANT | Geometry() | Geography():
            needed = "another value"
    return ValueError(f"{needed} is needed, not {type(value).__name__}")


def _whole(text: str) -> str:
    if any(0xD800 <= ord(ch) <= 0xDFFF for ch in text):
        raise ValueError("the string holds half a character (an unpaired surrogate)")
    return text


def integer_range(type_: DataType) -> tuple[int, int]:
    """The smallest and the largest integer that a type which is stored as one holds.

    Raises:
        ValueError: the type is not stored as an integer.
    """
    match type_:
        case Atom.BYTE:
            return -(2**7), 2**7 - 1
        case Atom.SHORT:
            return -(2**15), 2**15 - 1
        case Atom.INT | Atom.DATE:
            return -(2**31), 2**31 - 1
        case Atom.LONG | Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ | DayTimeInterval():
            return -(2**63), 2**63 - 1
        case Time():
            return 0, _DAY - 1
        case _:
            raise ValueError(f"{render_type(type_)} is not stored as an integer")


def in_range(number: int, type_: DataType) -> int:
    """The number, which must be in the type's range.

    Raises:
        ValueError: it is not.
    """
    low, high = integer_range(type_)
    if not low <= number <= high:
        raise ValueError(f"it is out of range; the range is {low} to {high}")
    return number


def _count(value: object, type_: DataType) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match type_, value:
        case Atom.DATE, dt.date() if not isinstance(value, dt.datetime):
            return value.toordinal() - dt.date(1970, 1, 1).toordinal()
        case Atom.TIMESTAMP, dt.datetime():
            if value.utcoffset() is None:
                raise ValueError(
                    "the datetime has no time zone; give it one, as .astimezone() does"
                )
            return (value - _EPOCH_UTC) // _MICRO
        case Atom.TIMESTAMP_NTZ, dt.datetime():
            if value.tzinfo is not None:
                raise ValueError(
                    "the datetime has a time zone; take it off by .replace(tzinfo=None)"
                )
            return (value - _EPOCH) // _MICRO
        case Time(), dt.time():
            if value.tzinfo is not None:
                raise ValueError("the time has a time zone; take it off by .replace(tzinfo=None)")
            whole = (value.hour * 60 + value.minute) * 60 + value.second
            return whole * 1_000_000 + value.microsecond
        case DayTimeInterval(), dt.timedelta():
            return value // _MICRO
        case _:
            raise wrong_kind(value, type_)


def double_text(value: float) -> str:
    """The shortest text that reads back the same double."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value))


def float32_text(value: float) -> str:
    """The shortest text that reads back the float32 nearest to the value.

    Raises:
        ValueError: it is finite and beyond what float32 holds.
    """
    if not math.isfinite(value):
        return double_text(value)
    nearest = to_float32(value)
    for digits in range(1, 10):
        candidate = float(f"{nearest:.{digits}g}")
        # A shorter text may be rounded up beyond the largest float32.
        if abs(candidate) < _FLOAT32_END and to_float32(candidate) == nearest:
            return repr(candidate)
    return repr(nearest)


_FLOAT32_END = (2 - 2**-24) * 2.0**127


def to_float32(value: float) -> float:
    """The nearest float32.

    Raises:
        ValueError: it is finite and beyond what float32 holds.
    """
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        raise ValueError("it is out of range; FLOAT goes up to 3.4028235e38") from None


def decimal_text(value: decimal.Decimal, precision: int, scale: int) -> str:
    """Plain digits with exactly ``scale`` after the point.

    Raises:
        ValueError: digits would be lost.
    """
    if not value.is_finite():
        raise ValueError("decimals are finite")
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    exponent = int(exponent) + len(text) - len(text.rstrip("0"))
    text = text.rstrip("0")
    if not text:
        return f"0.{'0' * scale}" if scale else "0"
    if exponent < -scale:
        raise ValueError(f"it has more than {scale} digits after the point")
    if len(text) + exponent > precision - scale:
        raise ValueError(f"it has more than {precision - scale} digits before the point")
    whole = (text + "0" * (exponent + scale)).zfill(scale + 1)
    plain = f"{whole[:-scale]}.{whole[-scale:]}" if scale else whole
    return f"-{plain}" if sign else plain


def decode(text: ValueText, type_: DataType) -> object:
    """The Python value of value text. Maps are lists of pairs.

    A struct's field that the text does not name shows its read default: the field is younger.

    Raises:
        CorruptTableError: it is no value text of the type.
    """
    return _decode(text, type_, _from_count)


def decode_raw(text: ValueText, type_: DataType) -> object:
    """As ``decode``, but dates, times and durations are the integers that are stored."""
    return _decode(text, type_, lambda number, _: number)


def _from_count(number: int, type_: DataType) -> object:
    try:
        match type_:
            case Atom.DATE:
                return dt.date(1970, 1, 1) + dt.timedelta(days=number)
            case Atom.TIMESTAMP:
                return _EPOCH_UTC + dt.timedelta(microseconds=number)
            case Atom.TIMESTAMP_NTZ:
                return _EPOCH + dt.timedelta(microseconds=number)
            case Time():
                return (_EPOCH + dt.timedelta(microseconds=number)).time()
            case DayTimeInterval():
                return dt.timedelta(microseconds=number)
            case _:
                return number
    except OverflowError:
        return number


def _decode(text: ValueText, type_: DataType, count: Callable[[int, DataType], object]) -> object:
    if text is None:
        return None
    match type_:
        case Struct(fields):
            stored = _stored(text, dict, type_)
            return {f.name: _decode(_field_text(stored, f), f.type, count) for f in fields}
        case Array(element):
            return [_decode(item, element.type, count) for item in _stored(text, list, type_)]
        case Map(key, value):
            pairs = _stored(text, list, type_)
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                raise _corrupt(text, type_)
            return [(_decode(k, key.type, count), _decode(v, value.type, count)) for k, v in pairs]
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
            return _decode_leaf(_stored(text, str, type_), type_, count)


def _field_text(stored: dict[str, Any], field: Column) -> ValueText:
    key = field_key(field)
    if key not in stored and field.read_default is not None:
        return parse_json(field.read_default.json)
    text: ValueText = stored.get(key)
    return text


def parse_json(text: str) -> ValueText:
    """The value text of a constant.

    Raises:
        CorruptTableError: it is no JSON, or none of value text.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise CorruptTableError(f"a stored constant is no JSON: {clip(text)!r}") from None
    if value is None or isinstance(value, str | list | dict):
        return value
    raise CorruptTableError(f"a stored constant is no value text: {clip(text)!r}")


def _stored(text: object, kind: type[Any], type_: DataType) -> Any:
    if not isinstance(text, kind):
        raise _corrupt(text, type_)
    return text


def _corrupt(text: object, type_: DataType) -> CorruptTableError:
    return CorruptTableError(f"{shown(text)} is stored as a value of {render_type(type_)}")


def _decode_leaf(text: str, type_: DataType, count: Callable[[int, DataType], object]) -> object:
    match type_:
        case Atom.BOOLEAN if text in ("true", "false"):
            return text == "true"
        case Atom.FLOAT | Atom.DOUBLE:
            return _decode_float(text, type_)
        case Decimal(precision, scale) if match := _DECIMAL.fullmatch(text):
            whole, fraction = match.groups()
            if len(whole.lstrip("0")) <= precision - scale and len(fraction or "") == scale:
                return decimal.Decimal(text)
        case Atom.STRING | Char() | Varchar() if text.isascii() or _is_whole(text):
            return text
        case Atom.BINARY:
            try:
                return base64.b64decode(text, validate=True)
            except (ValueError, binascii.Error):
                raise _corrupt(text, type_) from None
        case _ if _is_counted(type_) and _INTEGER.fullmatch(text):
            low, high = integer_range(type_)
            if low <= int(text) <= high:
                return count(int(text), type_)
    raise _corrupt(text, type_)


def _is_counted(type_: DataType) -> bool:
    return type_ in _COUNTED or isinstance(type_, Time | DayTimeInterval)


_COUNTED = (
    *(Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG),
    *(Atom.DATE, Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ),
)


def _is_whole(text: str) -> bool:
    return not any(0xD800 <= ord(ch) <= 0xDFFF for ch in text)


def _decode_float(text: str, type_: DataType) -> float:
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _FLOAT.fullmatch(text):
        try:
            value = to_float32(float(text)) if type_ is Atom.FLOAT else float(text)
        except ValueError:
            raise _corrupt(text, type_) from None
        if math.isfinite(value):
            return value
    raise _corrupt(text, type_)


def rekey(text: ValueText, old: DataType, new: DataType) -> ValueText:
    """The same value after fields were given other IDs; both types have the same shape.

    Constants that were made before the table gave out IDs need it.
    """
    match old, new:
        case Struct(before), Struct(after) if isinstance(text, dict):
            return {
                field_key(b): rekey(text[field_key(a)], a.type, b.type)
                for a, b in zip(before, after, strict=True)
                if field_key(a) in text
            }
        case Array(a), Array(b) if isinstance(text, list):
            return [rekey(item, a.type, b.type) for item in text]
        case Map(key, value), Map(new_key, new_value) if isinstance(text, list):
            return [
                [rekey(k, key.type, new_key.type), rekey(v, value.type, new_value.type)]
                for k, v in text
            ]
        case _:
            return text
