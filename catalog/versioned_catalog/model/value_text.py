"""Value text (FORMAT.md, section 4.2): values as they are written in metadata.

A value or text that does not fit its type raises ValueError, whose message is the reason.

Values are Python's: bool, int, float, Decimal, str, bytes, date, aware datetime (timestamp), naive
datetime (timestamp_ntz), time, timedelta, dict by field name (struct), list, list of pairs or dict
(map).
A date or timestamp outside Python's years 1 to 9999 is an int: its days or microseconds.
"""

from __future__ import annotations

import base64
import decimal
import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model import types
from versioned_catalog.model.calendars import count_in, to_python_value
from versioned_catalog.model.tokens import clip, clip_repr
from versioned_catalog.model.type_text import has_surrogate, render_type
from versioned_catalog.model.types import Atom, DataType, Decimal, Family, LeafType, NestedType

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DECIMAL = re.compile(r"(?!-[0.]*\Z)-?(0|[1-9][0-9]{0,37})(?:\.([0-9]{1,38}))?")
_FLOAT = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_FLOAT32_END = (2 - 2**-24) * 2.0**127


def leaf_text(value: object, type_: DataType) -> str:
    """The value text of a value that is neither null nor nested, or of a stored integer if temporal."""
    if isinstance(type_, NestedType):
        raise ValueError("the value is nested")
    match type_.leaf.family:
        case Family.BOOLEAN:
            return "true" if _instance_of(value, bool, type_) else "false"
        case Family.INTEGER | Family.TEMPORAL:
            return str(in_range(_integer(value, type_), type_))
        case Family.FLOAT:
            number = _instance_of(value, float, type_)
            return float32_text(number) if type_ is Atom.FLOAT else double_text(number)
        case Family.DECIMAL:
            assert isinstance(type_, Decimal)
            number = _instance_of(value, decimal.Decimal, type_)
            return decimal_text(number, type_.precision, type_.scale)
        case Family.TEXT | Family.COLLATED:
            text = _instance_of(value, str, type_)
            if has_surrogate(text):
                raise ValueError("the string holds half a character (an unpaired surrogate)")
            return str(text)
        case Family.BINARY:
            if not isinstance(value, bytes | bytearray | memoryview):
                raise wrong_kind(value, type_)
            return base64.b64encode(value).decode("ascii")
        case Family.OPAQUE | Family.VOID:
            raise ValueError("columns of this type have no defaults, bounds or partition values")


def _instance_of(value: object, kind: type[Any], type_: LeafType) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong_kind(value, type_)
    return value


def _integer(value: object, type_: LeafType) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    count = count_in(value, type_) if type_.leaf.family is Family.TEMPORAL else None
    if count is None:
        raise wrong_kind(value, type_)
    return count


def wrong_kind(value: object, type_: LeafType) -> ValueError:
    """The error for a value of a Python type that does not fit."""
    return ValueError(f"{type_.leaf.noun} is needed, not {type(value).__name__}")


def integer_range(type_: DataType) -> tuple[int, int]:
    """The smallest and the largest stored integer of a type."""
    limits = None if isinstance(type_, NestedType) else type_.leaf.range
    if limits is None:
        raise ValueError(f"{render_type(type_)} is not stored as an integer")
    return limits


def in_range(number: int, type_: DataType) -> int:
    """The number, checked against the type's range."""
    low, high = integer_range(type_)
    if not low <= number <= high:
        raise ValueError(f"it is out of range; the range is {low} to {high}")
    return number


def double_text(value: float) -> str:
    """The shortest text that reads back as the same double."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value))


def float32_text(value: float) -> str:
    """The shortest text that reads back as the float32 nearest to the value."""
    if not math.isfinite(value):
        return double_text(value)
    nearest = to_float32(value)
    for digits in range(1, 10):
        candidate = float(f"{nearest:.{digits}g}")
        # A shorter text may be rounded up beyond the largest float32.
        if abs(candidate) < _FLOAT32_END and to_float32(candidate) == nearest:
            return repr(candidate)
    return repr(nearest)


def to_float32(value: float) -> float:
    """The nearest float32."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        raise ValueError("it is out of range; FLOAT goes up to 3.4028235e38") from None


def decimal_text(value: decimal.Decimal, precision: int, scale: int) -> str:
    """Plain digits with exactly ``scale`` of them after the point."""
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


def parse_leaf(text: str, type_: LeafType) -> object:
    """The stored value of value text; temporal types store integers."""
    match type_.leaf.family:
        case Family.BOOLEAN if text in ("true", "false"):
            return text == "true"
        case Family.INTEGER | Family.TEMPORAL if _INTEGER.fullmatch(text):
            return in_range(int(text), type_)
        case Family.FLOAT:
            return _parse_float(text, type_)
        case Family.DECIMAL if match := _DECIMAL.fullmatch(text):
            assert isinstance(type_, Decimal)
            whole, fraction = match.groups(default="")
            digits = len(whole.lstrip("0"))
            if digits <= type_.precision - type_.scale and len(fraction) == type_.scale:
                return decimal.Decimal(text)
        case Family.TEXT | Family.COLLATED if not has_surrogate(text):
            return text
        case Family.BINARY:
            return base64.b64decode(text, validate=True)
        case _:
            pass
    raise ValueError(f"it is not value text of {render_type(type_)}")


def _parse_float(text: str, type_: LeafType) -> float:
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _FLOAT.fullmatch(text):
        value = to_float32(float(text)) if type_ is Atom.FLOAT else float(text)
        if math.isfinite(value):
            return value
    raise ValueError("it is not a finite number")


ValueText = str | list[Any] | dict[str, Any] | None


def encode(value: object, type_: types.DataType) -> ValueText:
    """The value text of a Python value; None gives None.

    Raises:
        InvalidRequestError: the value is not of the type.
    """
    try:
        return _encode(value, type_)
    except ValueError as error:
        raise InvalidRequestError(
            f"{clip_repr(value)} does not fit {render_type(type_)}: {error}"
        ) from None


def _encode(value: object, type_: types.DataType) -> ValueText:
    if value is None:
        return None
    match type_:
        case types.Struct(fields):
            values = as_fields(value, fields)
            return {field_key(f): _encode(values.get(f.name), f.type) for f in fields}
        case types.Array(element):
            return [_encode(item, element.type) for item in as_items(value)]
        case types.Map(key, item):
            return [[_encode(k, key.type), _encode(v, item.type)] for k, v in as_pairs(value)]
        case _:
            return leaf_text(value, type_)


def field_key(field: types.Column) -> str:
    """The key of a struct's field in value text: its ID, or ``:name`` while it has none."""
    return f":{field.name}" if field.id == types.UNASSIGNED else str(field.id)


def as_fields(value: object, fields: tuple[types.Column, ...]) -> Mapping[Any, Any]:
    """A struct's value by field name.

    Raises:
        ValueError: it is not a mapping, or has a key that names no field.
    """
    if not isinstance(value, Mapping):
        raise ValueError("a STRUCT needs a dict {field: value}")
    unknown = [name for name in value if name not in {field.name for field in fields}]
    if unknown:
        names = ", ".join(field.name for field in fields)
        raise ValueError(f"there is no field {clip_repr(unknown[0])}; the fields are {clip(names)}")
    return value


def as_items(value: object) -> Iterable[object]:
    """The items of an array's value. Raises ValueError if it is not a list."""
    if not isinstance(value, list | tuple):
        raise ValueError("an ARRAY needs a list")
    return value


def as_pairs(value: object) -> list[tuple[Any, Any]]:
    """The pairs of a map's value. Raises ValueError if it is neither a dict nor a list of pairs."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple) and all(map(_is_pair, value)):
        return [(pair[0], pair[1]) for pair in value]
    raise ValueError("a MAP needs a dict or a list of (key, value) pairs")


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def decode(text: ValueText, type_: types.DataType) -> object:
    """The Python value of value text. Maps are lists of pairs.

    A struct's field that the text does not name has its read default: it is newer than the text.

    Raises:
        CorruptTableError: it is not value text of the type.
    """
    return _decode(text, type_, to_python_value)


def decode_raw(text: ValueText, type_: types.DataType) -> object:
    """Like ``decode``, but temporal values are the stored integers."""
    return _decode(text, type_, lambda stored, _: stored)


def _decode(
    text: ValueText, type_: types.DataType, convert: Callable[[object, types.LeafType], object]
) -> object:
    if text is None:
        return None
    match type_:
        case types.Struct(fields):
            stored = _checked(text, dict, type_)
            return {f.name: _decode(_field_text(stored, f), f.type, convert) for f in fields}
        case types.Array(element):
            return [_decode(item, element.type, convert) for item in _checked(text, list, type_)]
        case types.Map(key, value):
            pairs = _checked(text, list, type_)
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                raise _corrupt(text, type_)
            return [
                (_decode(k, key.type, convert), _decode(v, value.type, convert)) for k, v in pairs
            ]
        case _:
            try:
                return convert(parse_leaf(_checked(text, str, type_), type_), type_)
            except ValueError:
                raise _corrupt(text, type_) from None


def _field_text(stored: dict[str, Any], field: types.Column) -> ValueText:
    key = field_key(field)
    if key not in stored and field.read_default is not None:
        return parse_json(field.read_default.json)
    text: ValueText = stored.get(key)
    return text


def _checked(text: object, kind: type[Any], type_: types.DataType) -> Any:
    if not isinstance(text, kind):
        raise _corrupt(text, type_)
    return text


def _corrupt(text: object, type_: types.DataType) -> CorruptTableError:
    return CorruptTableError(f"{clip_repr(text)} is stored as a value of {render_type(type_)}")


def parse_json(text: str) -> ValueText:
    """The value text of a constant.

    Raises:
        CorruptTableError: it is not JSON, or not value text.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise CorruptTableError(f"a stored constant is not JSON: {clip(text)!r}") from None
    if value is None or isinstance(value, str | list | dict):
        return value
    raise CorruptTableError(f"a stored constant is not value text: {clip(text)!r}")


def constant_of(text: ValueText) -> types.Constant:
    """The constant of value text, which is not None."""
    return types.Constant(json.dumps(text, ensure_ascii=False, separators=(",", ":")))


def rekey(text: ValueText, old: types.DataType, new: types.DataType) -> ValueText:
    """The same value after its type's fields got other IDs; both types have the same shape.

    Constants that were built before the table assigned the IDs need it.
    """
    match old, new:
        case types.Struct(before), types.Struct(after) if isinstance(text, dict):
            return {
                field_key(b): rekey(text[field_key(a)], a.type, b.type)
                for a, b in zip(before, after, strict=True)
                if field_key(a) in text
            }
        case types.Array(a), types.Array(b) if isinstance(text, list):
            return [rekey(item, a.type, b.type) for item in text]
        case types.Map(key, value), types.Map(new_key, new_value) if isinstance(text, list):
            return [
                [rekey(k, key.type, new_key.type), rekey(v, value.type, new_value.type)]
                for k, v in text
            ]
        case _:
            return text
