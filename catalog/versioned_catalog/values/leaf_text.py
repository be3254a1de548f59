"""Value text of single values that are not nested (FORMAT.md, section 4.2).

A value or text that does not fit its type raises ValueError, whose message is the reason.
"""

from __future__ import annotations

import base64
import decimal
import math
import re
import struct
from typing import Any

from versioned_catalog.types.leaves import Family
from versioned_catalog.types.tokens import has_surrogate
from versioned_catalog.types.type_text import render_type
from versioned_catalog.types.types import Atom, DataType, Decimal, LeafType, NestedType
from versioned_catalog.values.temporal import count_in

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
            return "true" if _checked(value, bool, type_) else "false"
        case Family.INTEGER | Family.TEMPORAL:
            return str(in_range(_integer(value, type_), type_))
        case Family.FLOAT:
            number = _checked(value, float, type_)
            return float32_text(number) if type_ is Atom.FLOAT else double_text(number)
        case Family.DECIMAL:
            assert isinstance(type_, Decimal)
            number = _checked(value, decimal.Decimal, type_)
            return decimal_text(number, type_.precision, type_.scale)
        case Family.TEXT:
            text = _checked(value, str, type_)
            if has_surrogate(text):
                raise ValueError("the string holds half a character (an unpaired surrogate)")
            return str(text)
        case Family.BINARY:
            if not isinstance(value, bytes | bytearray | memoryview):
                raise wrong_kind(value, type_)
            return base64.b64encode(value).decode("ascii")
        case Family.OPAQUE:
            raise ValueError("columns of this type have no defaults, bounds or partition values")


def _checked(value: object, kind: type[Any], type_: LeafType) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong_kind(value, type_)
    return value


def _integer(value: object, type_: LeafType) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = count_in(value, type_) if type_.leaf.family is Family.TEMPORAL else None
    if found is None:
        raise wrong_kind(value, type_)
    return found


def wrong_kind(value: object, type_: LeafType) -> ValueError:
    """The error for a value of a Python type that does not fit."""
    return ValueError(f"{type_.leaf.noun} is needed, not {type(value).__name__}")


def integer_range(type_: DataType) -> tuple[int, int]:
    """The smallest and the largest stored integer of a type."""
    found = None if isinstance(type_, NestedType) else type_.leaf.range
    if found is None:
        raise ValueError(f"{render_type(type_)} is not stored as an integer")
    return found


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
        case Family.TEXT if not has_surrogate(text):
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
