"""Write defaults that are expressions of the time of a write (FORMAT.md, section 4.3).

They have the meaning that Spark gives them in a session whose time zone is UTC.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.tokens import Cursor, TokenKind, sql_string
from versioned_catalog.model.types import Atom

ACCEPTED = (
    "current_timestamp(), current_date(), localtimestamp() and current_timezone(), with + and - of an "
    "INTERVAL or of days, date_add, date_sub, add_months, concat, ||, year, month, day, constants, and "
    "CAST to STRING, DATE, TIMESTAMP and TIMESTAMP_NTZ"
)
"""What a default can consist of, for errors."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A number of months, or of days and microseconds; ``sql`` is how it is written."""

    months: int
    days: int
    micros: int
    sql: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function, or an operator, of other parts."""

    name: str
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Cast:
    """A part as another type."""

    part: Node
    type: Atom


Node = int | str | Interval | Call | Cast
Value = int | str | date | datetime

_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_DAYS = {"WEEK": 7, "DAY": 1}
_MICROS = {
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
_NAMES = {"NOW": "current_timestamp", "CURDATE": "current_date", "DAYOFMONTH": "day"}
_TYPES = {
    "STRING": Atom.STRING,
    "DATE": Atom.DATE,
    "TIMESTAMP": Atom.TIMESTAMP,
    "TIMESTAMP_NTZ": Atom.TIMESTAMP_NTZ,
}
_WITHOUT_PARENTHESES = ("current_timestamp", "current_date", "localtimestamp", "current_timezone")
_DEEPEST = 50


def parse(text: str) -> Node:
    """The expression of a text.

    Raises:
        InvalidRequestError: it has parts that no default can have.
    """
    cursor = Cursor(text, "default")
    node = take(cursor)
    cursor.expect_end()
    return node


def take(cursor: Cursor) -> Node:
    """Parse the expression at the cursor. ``||`` binds as tightly as ``+``, and from the left.

    Raises:
        InvalidRequestError: it has parts that no default can have.
    """
    return _sum(cursor, 0)


def _sum(cursor: Cursor, depth: int) -> Node:
    if depth > _DEEPEST:
        raise InvalidRequestError(f"the default is nested more than {_DEEPEST} deep")
    node = _part(cursor, depth)
    while True:
        if cursor.at_symbol("+", "-"):
            sign = cursor.take().text
            node = Call(sign, (node, _part(cursor, depth)))
        elif cursor.at_symbol("|") and cursor.peek().text == "|":
            cursor.take()
            cursor.take()
            node = Call("concat", (node, _part(cursor, depth)))
        else:
            return node


def _part(cursor: Cursor, depth: int) -> Node:
    match cursor.token.kind:
        case TokenKind.STRING:
            return cursor.string()
        case TokenKind.NUMBER:
            return cursor.integer()
        case TokenKind.SYMBOL if cursor.at_symbol("-") and cursor.peek().kind is TokenKind.NUMBER:
            cursor.take()
            return -cursor.integer()
        case TokenKind.SYMBOL if cursor.accept("("):
            node = _sum(cursor, depth + 1)
            cursor.expect(")")
            return node
        case TokenKind.WORD:
            return _word(cursor, depth)
        case _:
            raise _refused(cursor)


def _word(cursor: Cursor, depth: int) -> Node:
    if cursor.accept_word("INTERVAL"):
        return _interval(cursor)
    if cursor.accept_word("CAST"):
        cursor.expect("(")
        node = _sum(cursor, depth + 1)
        cursor.expect_word("AS")
        type_ = _TYPES[cursor.expect_word(*_TYPES)]
        cursor.expect(")")
        return Cast(node, type_)
    word = cursor.token.text.upper()
    name = _NAMES.get(word, word.lower())
    if name not in _FUNCTIONS:
        raise _refused(cursor)
    cursor.take()
    if not cursor.accept("("):
        if name in _WITHOUT_PARENTHESES and word not in _NAMES:
            return Call(name)
        raise cursor.error("'(' was expected")
    parts: list[Node] = []
    while not cursor.accept(")"):
        if parts:
            cursor.expect(",")
        parts.append(_sum(cursor, depth + 1))
    return Call(name, tuple(parts))


def _interval(cursor: Cursor) -> Interval:
    sums, written = {"months": 0, "days": 0, "micros": 0}, []
    while True:
        sign = -1 if cursor.at_symbol("-") else 1
        if cursor.at_symbol("-", "+"):
            cursor.take()
        text = cursor.string() if cursor.token.kind is TokenKind.STRING else str(cursor.integer())
        amount = sign * _whole(text.strip(), cursor)
        unit = cursor.token.text.upper().removesuffix("S")
        for kind, units in (("months", _MONTHS), ("days", _DAYS), ("micros", _MICROS)):
            if unit in units:
                cursor.take()
                sums[kind] += amount * units[unit]
                break
        else:
            raise cursor.error("a unit was expected, from YEAR to MICROSECOND")
        written.append(f"{amount if amount >= 0 else sql_string(str(amount))} {unit}")
        is_next = cursor.token.kind in (TokenKind.STRING, TokenKind.NUMBER)
        if not is_next:
            break
    if sums["months"] and (sums["days"] or sums["micros"]):
        raise cursor.error("months and days can't be in one INTERVAL; add two of them")
    return Interval(**sums, sql=f"INTERVAL {' '.join(written)}")


def _whole(text: str, cursor: Cursor) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,9}", text):
        raise cursor.error("a whole number was expected")
    return int(text)


def _refused(cursor: Cursor) -> InvalidRequestError:
    return cursor.error(f"a default that is no constant consists of {ACCEPTED}")


def render(node: Node) -> str:
    """The SQL of an expression, which is the same for the same expression."""
    match node:
        case int():
            return str(node)
        case str():
            return sql_string(node)
        case Interval():
            return node.sql
        case Cast(part, type_):
            return f"CAST({render(part)} AS {type_.name})"
        case Call("+" | "-" as sign, (left, right)):
            is_sum = isinstance(right, Call) and right.name in "+-"
            shown = f"({render(right)})" if is_sum else render(right)
            return f"{render(left)} {sign} {shown}"
        case Call(name, parts):
            return f"{name}({', '.join(map(render, parts))})"


def changes(node: Node) -> bool:
    """Whether an expression has another value at another time; else it is a constant."""
    match node:
        case int() | str() | Interval():
            return False
        case Cast(part, _):
            return changes(part)
        case Call(name, parts):
            return name in _WITHOUT_PARENTHESES or any(map(changes, parts))


def is_now(node: Node) -> bool:
    """Whether an expression is a default that the format has by name; see ``types.Now``."""
    return node in (Call("current_timestamp"), Call("current_date"))


def type_of(node: Node) -> Atom:
    """The type of an expression's values.

    Raises:
        InvalidRequestError: its parts do not fit together.
    """
    return _type(evaluate(node, datetime(2026, 1, 31, 12, tzinfo=UTC)))


def _type(value: Value) -> Atom:
    match value:
        case int():
            return Atom.INT
        case str():
            return Atom.STRING
        case datetime(tzinfo=None):
            return Atom.TIMESTAMP_NTZ
        case datetime():
            return Atom.TIMESTAMP
        case date():
            return Atom.DATE


def evaluate(node: Node, now: datetime) -> Value:
    """The value of an expression in a write.

    Args:
        now: the time of the write, with an offset.

    Raises:
        InvalidRequestError: its parts do not fit together, or the value is out of range.
    """
    try:
        return _value(node, now.astimezone(UTC))
    except InvalidRequestError:
        raise
    except (OverflowError, ValueError) as error:
        raise InvalidRequestError(
            f"the default {render(node)} is out of range: {error}", condition="INVALID_VALUE"
        ) from None


@lru_cache(maxsize=256)
def parsed(sql: str) -> Node:
    """The expression of a stored text. Raises InvalidRequestError if it is none."""
    return parse(sql)


def _value(node: Node, now: datetime) -> Value:
    match node:
        case int() | str():
            return node
        case Interval():
            raise _misfit("an INTERVAL is added to a date or a time, or taken from it")
        case Cast(part, type_):
            return _cast(_value(part, now), type_)
        case Call("+" | "-" as sign, (left, right)):
            way = 1 if sign == "+" else -1
            start = _value(left, now)
            if isinstance(right, Interval):
                return _moved(start, right, way)
            days = _value(right, now)
            if type(start) is date and isinstance(days, int):
                return start + timedelta(days=way * days)
            raise _misfit("only days, as a whole number, are added to a DATE, or an INTERVAL")
        case Call(name, parts):
            function, kinds = _FUNCTIONS[name]
            values = [_value(part, now) for part in parts]
            if kinds is not None and [type(value) for value in values] != kinds:
                wanted = ", ".join(_SHOWN[kind] for kind in kinds) or "nothing"
                raise _misfit(f"{name}() takes {wanted}")
            return function(now, *values)


def _misfit(reason: str) -> InvalidRequestError:
    return InvalidRequestError(reason, condition="NOT_SUPPORTED")


_SHOWN: dict[type, str] = {date: "a DATE", int: "a whole number"}


def _moved(start: Value, interval: Interval, way: int) -> date | datetime:
    if not isinstance(start, date):
        raise _misfit("an INTERVAL is added to a date or a time, or taken from it")
    if interval.micros and not isinstance(start, datetime):
        raise _misfit("an INTERVAL of hours or less is added to a time; CAST the DATE AS TIMESTAMP")
    moved = _after_months(start, way * interval.months)
    return moved + way * timedelta(days=interval.days, microseconds=interval.micros)


def _after_months(start: date, months: int) -> date:
    """The same day of another month, or its last day."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise ValueError(f"the year {year}")
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)


def _cast(value: Value, type_: Atom) -> Value:
    match type_, value:
        case Atom.STRING, datetime():
            text = f"{value:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")
            return text.rjust(len(text) + 4 - text.index("-"), "0")
        case Atom.STRING, date():
            return value.isoformat()
        case Atom.STRING, _:
            return str(value)
        case Atom.DATE, datetime():
            return value.date()
        case Atom.DATE, date():
            return value
        case Atom.TIMESTAMP, datetime():
            return value.replace(tzinfo=UTC)
        case Atom.TIMESTAMP_NTZ, datetime():
            return value.replace(tzinfo=None)
        case Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ, date():
            midnight = datetime(value.year, value.month, value.day)
            return midnight.replace(tzinfo=UTC) if type_ is Atom.TIMESTAMP else midnight
        case _:
            raise _misfit(f"CAST AS {type_.name} takes a date or a time")


def _concatenated(_: datetime, *parts: Value) -> str:
    return "".join(str(_cast(part, Atom.STRING)) for part in parts)


_FUNCTIONS: dict[str, tuple[Callable[..., Value], list[type] | None]] = {
    "current_timestamp": (lambda now: now, []),
    "current_date": (lambda now: now.date(), []),
    "localtimestamp": (lambda now: now.replace(tzinfo=None), []),
    "current_timezone": (lambda now: "UTC", []),
    "date_add": (lambda _, day, n: day + timedelta(days=n), [date, int]),
    "date_sub": (lambda _, day, n: day - timedelta(days=n), [date, int]),
    "add_months": (lambda _, day, n: _after_months(day, n), [date, int]),
    "year": (lambda _, day: day.year, [date]),
    "month": (lambda _, day: day.month, [date]),
    "day": (lambda _, day: day.day, [date]),
    "concat": (_concatenated, None),
}
"""What can be called, and the types that it takes; None for any."""
