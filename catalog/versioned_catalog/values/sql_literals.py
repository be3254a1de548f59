"""Literals of Spark's SQL as defaults: ``'a'``, ``1.5D``, ``DATE '2020-01-31'``, ``array(1)``."""

from __future__ import annotations

import decimal
import math
import re
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.tokens import Cursor, Kind, clip, sql_string
from versioned_catalog.types.type_text import MAX_DEPTH, UNITS, render_type, take_type
from versioned_catalog.types.types import (
    NOW_FUNCTIONS,
    Array,
    Atom,
    Char,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Now,
    Struct,
    Time,
    Varchar,
    WriteDefault,
)
from versioned_catalog.values import calendar_text
from versioned_catalog.values.constants import Typed, fit, misfit, to_constant
from versioned_catalog.values.value_text import (
    decode_raw,
    double_text,
    float32_text,
    in_range,
    leaf_text,
    parse_json,
)

_SUFFIXED: dict[str, DataType] = {"Y": Atom.BYTE, "S": Atom.SHORT, "L": Atom.LONG}
_SPECIAL = {"nan": math.nan, "infinity": math.inf, "inf": math.inf}
_MULTIPLES = {"WEEK": 7 * 86_400_000_000, "MILLISECOND": 1000, "MICROSECOND": 1} | {
    unit.upper(): micros for unit, micros in calendar_text.MICROS.items()
}


def constant_from_sql(text: str, type_: DataType) -> WriteDefault | None:
    """A column's default from SQL; NULL gives None.

    Raises:
        InvalidRequestError: it is no literal, or does not fit the type exactly.
    """
    cursor = Cursor(text, "default")
    default = take_default(cursor, type_)
    cursor.expect_end()
    return default


def take_default(cursor: Cursor, type_: DataType) -> WriteDefault | None:
    """The default that is next, up to the end, a comma or another option of the column.

    Raises:
        InvalidRequestError: it is no literal, or does not fit the type exactly.
    """
    start = cursor.token.start
    try:
        value = _take(cursor, 0)
        _check_end(cursor)
        source = cursor.text[start : cursor.token.start].strip()
        if not isinstance(value, Now):
            return to_constant(fit(value, type_))
        if value.type is not type_:
            raise ValueError(f"it is a {render_type(value.type)}")
        return value
    except InvalidRequestError:
        raise
    except ValueError as error:
        source = cursor.text[start : cursor.token.start].strip()
        raise InvalidRequestError(
            misfit(clip(source), type_, error), condition="INVALID_VALUE"
        ) from None


def _check_end(cursor: Cursor) -> None:
    at_end = cursor.token.kind is Kind.END
    if not (at_end or cursor.at_symbol(",") or cursor.at_word("NOT", "NULL", "DEFAULT", "COMMENT")):
        raise _no_constant(cursor)


def _no_constant(cursor: Cursor) -> InvalidRequestError:
    return cursor.error(
        "defaults are constants (a literal, array(…), map(…), named_struct(…), "
        "current_timestamp() or current_date()); give any other value in the write"
    )


def _take(cursor: Cursor, depth: int) -> Any:
    """A literal as what ``constants.fit`` takes, or a ``Now``."""
    if depth >= MAX_DEPTH:
        raise InvalidRequestError(f"the default is nested more than {MAX_DEPTH} deep")
    match cursor.token.kind:
        case Kind.STRING:
            return cursor.string()
        case Kind.NUMBER:
            return _number(cursor.take().text, "")
        case Kind.SYMBOL if cursor.at_symbol("-", "+"):
            return _signed(cursor)
        case Kind.WORD:
            return _word(cursor, depth)
        case Kind.SYMBOL | Kind.NAME | Kind.END:
            raise _no_constant(cursor)


def _signed(cursor: Cursor) -> Any:
    sign = cursor.take().text
    if cursor.token.kind is Kind.NUMBER:
        return _number(cursor.take().text, sign)
    if cursor.accept_word("INTERVAL"):
        interval = _interval(cursor)
        return _interval_of(-int(str(interval.text))) if sign == "-" else interval
    raise _no_constant(cursor)


def _number(text: str, sign: str) -> object:
    if len(text) > 1000:
        raise ValueError("it has more than 1000 digits")
    match = re.fullmatch(r"([0-9.]+(?:E[+-]?[0-9]+)?)(BD|[YSLFD]?)", text.upper())
    if match is None:
        raise ValueError("it is no number")
    digits, suffix = match.groups()
    try:
        exact = decimal.Decimal(sign + digits)
    except decimal.InvalidOperation:
        raise ValueError("its exponent is out of range") from None
    if suffix in ("F", "D"):
        value = float(sign + digits)
        if math.isinf(value):
            raise ValueError("it is out of range")
        return Typed(float32_text(value), Atom.FLOAT) if suffix == "F" else value
    if suffix in _SUFFIXED:
        return Typed(fit(exact, _SUFFIXED[suffix]), _SUFFIXED[suffix])
    return exact if suffix or not digits.isdigit() else int(sign + digits)


def _word(cursor: Cursor, depth: int) -> Any:
    word = cursor.token.text.upper()
    if word in _CONSTANTS:
        cursor.take()
        return _CONSTANTS[word]
    if (
        word not in _TYPED
        and word not in _CALLS
        and word.lower() not in NOW_FUNCTIONS
        and word != "INTERVAL"
    ):
        raise _no_constant(cursor)
    unexpected = _no_constant(cursor)
    cursor.take()
    if word == "INTERVAL":
        return _interval(cursor)
    if word in _TYPED and cursor.token.kind is Kind.STRING:
        return _typed(word, cursor.string())
    if word.lower() in NOW_FUNCTIONS:
        return _now(cursor, word)
    if word in _CALLS and cursor.accept("("):
        return _call(cursor, word, depth + 1)
    raise unexpected


_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}
_TYPED = ("X", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME")
_CALLS = ("ARRAY", "MAP", "NAMED_STRUCT", "CAST", "FLOAT", "DOUBLE")


def _now(cursor: Cursor, word: str) -> Now:
    if cursor.accept("("):
        cursor.expect(")")
    elif word in ("NOW", "CURDATE"):
        raise cursor.error(f"{word.lower()}() needs its parentheses")
    return NOW_FUNCTIONS[word.lower()]


def _typed(word: str, text: str) -> object:
    match word:
        case "X":
            return _hexadecimal(text)
        case "DATE":
            days = in_range(calendar_text.parse_date(text), Atom.DATE)
            return Typed(str(days), Atom.DATE)
        case "TIME":
            return Typed(str(calendar_text.parse_time(text)), Time(6))
    micros, zoned = calendar_text.parse_timestamp(text)
    if word == "TIMESTAMP_NTZ" and zoned:
        raise ValueError("a TIMESTAMP_NTZ has no offset; leave it out")
    # Without an offset it is local to whoever asks, which a stored constant can't be.
    type_ = Atom.TIMESTAMP if zoned else Atom.TIMESTAMP_NTZ
    return Typed(str(in_range(micros, type_)), type_)


def _hexadecimal(text: str) -> bytes:
    if not re.fullmatch("[0-9a-fA-F]*", text):
        raise ValueError("X'…' holds hexadecimal digits")
    return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def _interval(cursor: Cursor) -> Typed:
    sign = -1 if cursor.at_symbol("-") else 1
    if cursor.at_symbol("-", "+"):
        cursor.take()
    is_text = cursor.token.kind is Kind.STRING
    text = cursor.string() if is_text else _amount(cursor)
    units = [unit.upper() for unit in UNITS]
    if not (is_text and cursor.at_word(*units) and cursor.peek().text.upper() == "TO"):
        return _interval_of(_multi_unit(cursor, text, sign))
    start = cursor.take().text.lower()
    cursor.expect_word("TO")
    smaller = [unit.upper() for unit in UNITS[UNITS.index(start) + 1 :]]
    end = cursor.expect_word(*smaller).lower() if smaller else start
    return _interval_of(sign * calendar_text.parse_interval(text, start, end))


def _multi_unit(cursor: Cursor, amount: str, sign: int) -> int:
    # A sign stands for its own amount: INTERVAL -3 HOURS 5 MINUTES is -2:55.
    total = sign * _of_unit(cursor, amount)
    while cursor.token.kind in (Kind.STRING, Kind.NUMBER) or cursor.at_symbol("-", "+"):
        total += _of_unit(cursor, _amount(cursor))
    return total


def _amount(cursor: Cursor) -> str:
    sign = cursor.take().text if cursor.at_symbol("-", "+") else ""
    if cursor.token.kind not in (Kind.STRING, Kind.NUMBER):
        raise cursor.error("the number of an interval was expected")
    return sign + cursor.take().text


def _of_unit(cursor: Cursor, amount: str) -> int:
    unit = cursor.token.text.upper() if cursor.token.kind is Kind.WORD else ""
    micros = _MULTIPLES.get(unit.removesuffix("S"))
    if micros is None:
        raise cursor.error(
            "a unit of weeks, days, hours, minutes or (micro-, milli-) seconds was expected"
        )
    cursor.take()
    match = re.fullmatch(r"\s*([+-]?)([0-9]{1,19})(?:\.([0-9]{1,9}))?\s*", amount)
    if match is None or (match[3] and micros != calendar_text.MICROS["second"]):
        raise ValueError(f"{clip(amount)!r} is no whole number")
    fraction = int((match[3] or "").ljust(9, "0"))
    if fraction % 1000:
        raise ValueError("seconds have up to 6 digits after the point")
    total = int(match[2]) * micros + fraction // 1000
    return -total if match[1] == "-" else total


def _interval_of(micros: int) -> Typed:
    type_ = DayTimeInterval()
    return Typed(str(in_range(micros, type_)), type_)


def _call(cursor: Cursor, word: str, depth: int) -> object:
    if word == "CAST":
        value = _inner(cursor, depth)
        cursor.expect_word("AS")
        type_ = take_type(cursor)
        cursor.expect(")")
        return _cast(value, type_)
    arguments: list[object] = []
    while not cursor.accept(")"):
        if arguments:
            cursor.expect(",")
        arguments.append(_inner(cursor, depth))
    match word:
        case "ARRAY":
            return arguments
        case "FLOAT" | "DOUBLE":
            if len(arguments) != 1:
                raise ValueError(f"{word.lower()}() takes one value")
            return _cast(arguments[0], Atom[word])
        case _:
            return _pairs(word, arguments)


def _inner(cursor: Cursor, depth: int) -> object:
    value = _take(cursor, depth)
    if isinstance(value, Now):
        raise ValueError("current_timestamp() and current_date() can't stand inside a value")
    return value


def _cast(value: object, type_: DataType) -> object:
    if isinstance(value, str) and type_ in (Atom.FLOAT, Atom.DOUBLE):
        body = value.strip().lower()
        special = _SPECIAL.get(body.lstrip("+-"))
        if special is None:
            return _cast(_number(body.lstrip("+-"), "-" if body[:1] == "-" else ""), type_)
        value = -special if body[:1] == "-" else special
    text = fit(value, type_)
    return None if text is None else Typed(text, type_)


def _pairs(word: str, arguments: list[Any]) -> object:
    if len(arguments) % 2:
        raise ValueError(f"{word.lower()}() takes pairs")
    pairs = list(zip(arguments[::2], arguments[1::2], strict=True))
    if word == "MAP":
        return pairs
    if not all(isinstance(name, str) for name, _ in pairs):
        raise ValueError("named_struct() takes the fields' names as strings")
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field is there twice")
    return dict(pairs)


def to_sql(default: WriteDefault, type_: DataType) -> str:
    """A default as SQL that ``constant_from_sql`` reads back.

    Raises:
        CorruptTableError: it is no constant of the type.
    """
    if isinstance(default, Now):
        return f"{default.value}()"
    return _sql(decode_raw(parse_json(default.json), type_), type_)


def _sql(value: Any, type_: DataType) -> str:
    if value is None:
        return "NULL"
    match type_:
        case Struct(fields):
            parts = [f"{sql_string(f.name)}, {_sql(value[f.name], f.type)}" for f in fields]
            return f"named_struct({', '.join(parts)})"
        case Array(element):
            return f"array({', '.join(_sql(item, element.type) for item in value)})"
        case Map(key, item):
            parts = [f"{_sql(k, key.type)}, {_sql(v, item.type)}" for k, v in value]
            return f"map({', '.join(parts)})"
        case Atom.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Atom.BYTE | Atom.SHORT | Atom.INT | Atom.LONG | Decimal():
            return leaf_text(value, type_)
        case Atom.FLOAT:
            return _float_sql(float32_text(value), "F")
        case Atom.DOUBLE:
            return _float_sql(double_text(value), "D")
        case Atom.STRING | Char() | Varchar():
            return sql_string(value)
        case Atom.BINARY:
            return f"X'{value.hex().upper()}'"
        case Atom.DATE:
            return f"DATE '{calendar_text.format_date(value)}'"
        case Atom.TIMESTAMP:
            return f"TIMESTAMP '{calendar_text.format_timestamp(value)}Z'"
        case Atom.TIMESTAMP_NTZ:
            return f"TIMESTAMP_NTZ '{calendar_text.format_timestamp(value)}'"
        case Time():
            return f"TIME '{calendar_text.format_time(value)}'"
        case DayTimeInterval():
            return f"INTERVAL '{calendar_text.format_interval(value)}' DAY TO SECOND"
        case Atom.VARIANT | Geometry() | Geography():
            raise InvalidRequestError(f"{render_type(type_)} columns have no constants")


def _float_sql(text: str, suffix: str) -> str:
    # Spark takes the largest float for too large when it has the suffix.
    if text[-1].isdigit() and "e+" not in text:
        return f"{text}{suffix}"
    return f"{'float' if suffix == 'F' else 'double'}('{text}')"
