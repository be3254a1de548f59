"""Defaults as literals of Spark's SQL, parsed and rendered."""

from __future__ import annotations

import decimal
import math
import re
from typing import Any

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.limits import TYPE_DEPTH
from versioned_catalog.model import calendars, default_expressions, types
from versioned_catalog.model.calendars import temporal
from versioned_catalog.model.constants import (
    constant,
    from_scalar,
    from_scalar_text,
    rekey_constant,
    to_constant,
    to_python,
    to_scalar,
    widen,
)
from versioned_catalog.model.tokens import Cursor, TokenKind, clip, sql_string
from versioned_catalog.model.type_text import render_type, take_end_unit, take_month, take_type
from versioned_catalog.model.types import (
    DAY_TIME_UNITS,
    NOW_FUNCTIONS,
    Atom,
    DataType,
    DayTimeInterval,
    Evaluated,
    Family,
    Now,
    Time,
    WriteDefault,
    YearMonthInterval,
)
from versioned_catalog.model.user_values import Typed, fit, misfit
from versioned_catalog.model.value_text import (
    ValueText,
    decode,
    decode_raw,
    double_text,
    encode,
    float32_text,
    in_range,
    leaf_text,
    parse_json,
)

_SUFFIXED: dict[str, DataType] = {"Y": Atom.BYTE, "S": Atom.SHORT, "L": Atom.LONG}
_SPECIAL = {"nan": math.nan, "infinity": math.inf, "inf": math.inf}
_MICROS_OF = {
    **{unit.upper(): micros for unit, micros in DAY_TIME_UNITS.items()},
    **{"WEEK": 7 * DAY_TIME_UNITS["day"], "MILLISECOND": 1000, "MICROSECOND": 1},
}
_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}
_TYPED = ("X", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME")
_CALLS = ("ARRAY", "MAP", "NAMED_STRUCT", "CAST", "FLOAT", "DOUBLE", "COALESCE")
_NOW = {name.upper(): now for name, now in NOW_FUNCTIONS.items()}


def constant_from_sql(text: str, type_: DataType) -> WriteDefault | None:
    """A column's default from SQL; NULL gives None.

    Raises:
        InvalidRequestError: it is not a constant, or does not fit the type exactly.
    """
    cursor = Cursor(text, "default")
    default = take_default(cursor, type_)
    cursor.expect_end()
    return default


def take_default(cursor: Cursor, type_: DataType) -> WriteDefault | None:
    """Parse the default at the cursor, up to the end, a comma or another option of the column.

    Raises:
        InvalidRequestError: it is not a constant, or does not fit the type exactly.
    """
    start, place = cursor.token.start, cursor.place
    try:
        return _take_constant(cursor, type_, start)
    except InvalidRequestError as error:
        cursor.place = place
        found = _take_expression(cursor, type_)
        if found is None:
            raise error from None
        return found


def _take_expression(cursor: Cursor, type_: DataType) -> Evaluated | None:
    """The default at the cursor, if it is an expression of the time of a write.

    Raises:
        InvalidRequestError: its values are of another type.
    """
    try:
        node = default_expressions.take(cursor)
        _check_end(cursor)
    except InvalidRequestError:
        return None
    if not default_expressions.changes(node) or default_expressions.is_now(node):
        return None
    return evaluated(node, type_)


def evaluated(node: default_expressions.Node, type_: DataType) -> Evaluated:
    """A default that is an expression.

    Raises:
        InvalidRequestError: its values are of another type than the column.
    """
    sql, found = default_expressions.render(node), default_expressions.type_of(node)
    if found is not type_:
        raise InvalidRequestError(
            f"the default {sql} is a {render_type(found)}, and the column is a {render_type(type_)}; "
            "write CAST(... AS ...), or give the column another type",
            condition="NOT_SUPPORTED",
        )
    if default_expressions.parse(sql) != node:
        raise InvalidRequestError(f"the default {sql} can't be stored; write it in another way")
    return Evaluated(sql)


def _take_constant(cursor: Cursor, type_: DataType, start: int) -> WriteDefault | None:
    try:
        value = _take(cursor, 0)
        _check_end(cursor)
        if not isinstance(value, Now):
            return to_constant(fit(value, type_))
        if value.type is not type_:
            raise ValueError(f"it is a {render_type(value.type)}")
        return value
    except InvalidRequestError:
        raise
    except ValueError as error:
        source = cursor.text[start : cursor.token.start].strip()
        raise misfit(clip(source), type_, error) from None


def _check_end(cursor: Cursor) -> None:
    if not (
        cursor.token.kind is TokenKind.END
        or cursor.at_symbol(",", ")", ";")
        or cursor.at_word("NOT", "NULL", "DEFAULT", "COMMENT", "FIRST", "AFTER", "PRIMARY")
    ):
        raise _not_a_constant(cursor)


def _not_a_constant(cursor: Cursor) -> InvalidRequestError:
    return cursor.error(
        "defaults are constants (a literal, array(…), map(…), named_struct(…), "
        "current_timestamp() or current_date()) or expressions of the time; give any other value in "
        "the write"
    )


def _take(cursor: Cursor, depth: int) -> Any:
    """Parse a literal to a value that ``fit`` takes, or a ``Now``."""
    if depth >= TYPE_DEPTH:
        raise InvalidRequestError(f"the default is nested more than {TYPE_DEPTH} deep")
    match cursor.token.kind:
        case TokenKind.STRING:
            return cursor.string()
        case TokenKind.NUMBER:
            return _number(cursor.take().text, "")
        case TokenKind.SYMBOL if cursor.at_symbol("-", "+"):
            return _signed(cursor)
        case TokenKind.WORD:
            return _word(cursor, depth)
        case TokenKind.SYMBOL | TokenKind.NAME | TokenKind.END:
            raise _not_a_constant(cursor)


def _signed(cursor: Cursor) -> Any:
    sign = cursor.take().text
    if cursor.token.kind is TokenKind.NUMBER:
        return _number(cursor.take().text, sign)
    if cursor.accept_word("INTERVAL"):
        interval = _interval(cursor)
        of = _months_of if isinstance(interval.type, YearMonthInterval) else _interval_of
        return of(-int(str(interval.text))) if sign == "-" else interval
    raise _not_a_constant(cursor)


def _number(text: str, sign: str) -> object:
    if len(text) > 1000:
        raise ValueError("it has more than 1000 digits")
    match = re.fullmatch(r"([0-9.]+(?:E[+-]?[0-9]+)?)(BD|[YSLFD]?)", text.upper())
    if match is None:
        raise ValueError("it is not a number")
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
    unexpected = _not_a_constant(cursor)
    word = cursor.token.text.upper()
    if word not in (*_CONSTANTS, *_TYPED, *_CALLS, *_NOW, "INTERVAL"):
        raise unexpected
    cursor.take()
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if word == "INTERVAL":
        return _interval(cursor)
    if word in _TYPED and cursor.token.kind is TokenKind.STRING:
        return _typed(word, cursor.string())
    if word in _NOW:
        return _now(cursor, word)
    if word in _CALLS and cursor.accept("("):
        return _call(cursor, word, depth + 1)
    raise unexpected


def _now(cursor: Cursor, word: str) -> Now:
    if cursor.accept("("):
        cursor.expect(")")
    elif word in ("NOW", "CURDATE"):
        raise cursor.error(f"{word.lower()}() needs its parentheses")
    return _NOW[word]


def _typed(word: str, text: str) -> object:
    match word:
        case "X":
            return _hexadecimal(text)
        case "DATE":
            return Typed(fit(text, Atom.DATE), Atom.DATE)
        case "TIME":
            return Typed(fit(text, Time(6)), Time(6))
    micros, zoned = calendars.parse_timestamp(text)
    if word == "TIMESTAMP_NTZ" and zoned:
        raise ValueError("a TIMESTAMP_NTZ has no offset; leave it out")
    # Without an offset it means the session's time zone, so it is not an instant.
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
    is_text = cursor.token.kind is TokenKind.STRING
    text = cursor.string() if is_text else _amount(cursor)
    if cursor.at_word(*_MONTHS_OF):
        return _months_of(sign * _months(cursor, text))
    has_range = (
        cursor.at_word(*map(str.upper, DAY_TIME_UNITS)) and cursor.peek().text.upper() == "TO"
    )
    if not (is_text and has_range):
        return _interval_of(_multi_unit(cursor, text, sign))
    start = cursor.take().text.lower()
    end = take_end_unit(cursor, start) or start
    return _interval_of(sign * calendars.parse_interval(text, start, end))


_MONTHS_OF = {"YEAR": 12, "YEARS": 12, "MONTH": 1, "MONTHS": 1}


def _months(cursor: Cursor, amount: str) -> int:
    unit = cursor.take().text.upper()
    if take_month(cursor, unit):
        return calendars.parse_months(amount)
    if re.fullmatch(r"[+-]?[0-9]{1,9}", amount.strip()) is None:
        raise ValueError(f"{clip(amount)!r} is not a whole number")
    months = int(amount) * _MONTHS_OF[unit]
    if cursor.token.kind in (TokenKind.STRING, TokenKind.NUMBER) or cursor.at_symbol("-", "+"):
        return months + _months(cursor, _amount(cursor))
    return months


def _months_of(months: int) -> Typed:
    type_ = YearMonthInterval()
    return Typed(str(in_range(months, type_)), type_)


def _multi_unit(cursor: Cursor, amount: str, sign: int) -> int:
    # A sign belongs to one amount: INTERVAL -3 HOURS 5 MINUTES is -2:55.
    total = sign * _of_unit(cursor, amount)
    while cursor.token.kind in (TokenKind.STRING, TokenKind.NUMBER) or cursor.at_symbol("-", "+"):
        total += _of_unit(cursor, _amount(cursor))
    return total


def _amount(cursor: Cursor) -> str:
    sign = cursor.take().text if cursor.at_symbol("-", "+") else ""
    if cursor.token.kind not in (TokenKind.STRING, TokenKind.NUMBER):
        raise cursor.error("the number of an interval was expected")
    return sign + cursor.take().text


def _of_unit(cursor: Cursor, amount: str) -> int:
    unit = cursor.token.text.upper() if cursor.token.kind is TokenKind.WORD else ""
    micros = _MICROS_OF.get(unit.removesuffix("S"))
    if micros is None:
        raise cursor.error(
            "a unit of weeks, days, hours, minutes or (micro-, milli-) seconds was expected"
        )
    cursor.take()
    match = re.fullmatch(r"\s*([+-]?)([0-9]{1,19})(?:\.([0-9]{1,9}))?\s*", amount)
    if match is None or (match[3] and micros != DAY_TIME_UNITS["second"]):
        raise ValueError(f"{clip(amount)!r} is not a whole number")
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
        case "COALESCE":
            return next((argument for argument in arguments if argument is not None), None)
        case "FLOAT" | "DOUBLE":
            if len(arguments) != 1:
                raise ValueError(f"{word.lower()}() takes one value")
            return _cast(arguments[0], Atom[word])
        case _:
            return _pairs(word, arguments)


def _inner(cursor: Cursor, depth: int) -> object:
    value = _take(cursor, depth)
    if isinstance(value, Now):
        raise ValueError("current_timestamp() and current_date() can't be part of a value")
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
        raise ValueError(f"{word.lower()}() takes an even number of arguments")
    pairs = list(zip(arguments[::2], arguments[1::2], strict=True))
    if word == "MAP":
        return pairs
    if not all(isinstance(name, str) for name, _ in pairs):
        raise ValueError("named_struct() takes the fields' names as strings")
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field is given twice")
    return dict(pairs)


def to_sql(default: types.WriteDefault, type_: types.DataType) -> str:
    """The SQL of a default. Raises CorruptTableError if it is not a constant of the type."""
    if isinstance(default, types.Now):
        return f"{default.value}()"
    if isinstance(default, types.Evaluated):
        return default.sql
    return _sql(decode_raw(parse_json(default.json), type_), type_)


def _sql(value: Any, type_: types.DataType, *, inside: bool = False) -> str:
    """The SQL of a value; ``inside`` another one, where Spark does not narrow a literal's type."""
    if value is None:
        return "NULL"
    match type_:
        case types.Struct(fields):
            parts = [f"{sql_string(f.name)}, {_inner_sql(value[f.name], f)}" for f in fields]
            return f"named_struct({', '.join(parts)})"
        case types.Array(element):
            return f"array({', '.join(_inner_sql(item, element) for item in value)})"
        case types.Map(key, item):
            parts = [f"{_inner_sql(k, key)}, {_inner_sql(v, item)}" for k, v in value]
            return f"map({', '.join(parts)})"
        case types.Atom.BYTE | types.Atom.SHORT if inside:
            return _leaf_sql(value, type_) + ("Y" if type_ is types.Atom.BYTE else "S")
        case types.Decimal() | types.Time() if inside:
            return f"CAST({_leaf_sql(value, type_)} AS {render_type(type_)})"
        case _:
            return _leaf_sql(value, type_)


def _inner_sql(value: Any, column: types.Column) -> str:
    """The SQL of a value inside another one."""
    text = _sql(value, column.type, inside=True)
    if column.nullable or not text.startswith(("float(", "double(")):
        return text
    # To Spark, the result of such a cast may be null, which a NOT NULL field does not take.
    return f"coalesce({text}, {'0F' if text.startswith('float') else '0D'})"


def _leaf_sql(value: Any, type_: types.LeafType) -> str:
    match type_.leaf.family:
        case Family.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Family.INTEGER | Family.DECIMAL:
            return leaf_text(value, type_)
        case Family.FLOAT if type_ is types.Atom.FLOAT:
            return _float_sql(float32_text(value), "F")
        case Family.FLOAT:
            return _float_sql(double_text(value), "D")
        case Family.TEXT | Family.COLLATED:
            return sql_string(value)
        case Family.BINARY:
            return f"X'{value.hex().upper()}'"
        case Family.TEMPORAL:
            return temporal(type_).to_sql(value)
        case Family.OPAQUE | Family.VOID:
            raise InvalidRequestError(f"{render_type(type_)} columns have no constants")


def _float_sql(text: str, suffix: str) -> str:
    # Spark rejects the largest float as out of range when it has the suffix.
    if text[-1].isdigit() and "e+" not in text:
        return f"{text}{suffix}"
    return f"{'float' if suffix == 'F' else 'double'}('{text}')"


__all__ = [
    "ValueText",
    "constant",
    "constant_from_sql",
    "decode",
    "encode",
    "from_scalar",
    "from_scalar_text",
    "rekey_constant",
    "to_python",
    "to_scalar",
    "to_sql",
    "widen",
]
