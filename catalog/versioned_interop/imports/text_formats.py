"""Text as values of our types: ISO 8601 by default, or in a format of the provided schema."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.types import Atom, DataType, Decimal, Time, is_floating, is_integer
from versioned_catalog.model.widening import type_name


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How values are written in text that has no format of its own.

    Args:
        decimal: the character before the fraction of a number.
        thousands: the character between groups of three digits; empty if there is none.
        date: the format of dates; None for ISO 8601.
        timestamp: the format of timestamps; None for ISO 8601.
    """

    decimal: str = "."
    thousands: str = ""
    date: str | None = None
    timestamp: str | None = None

    @property
    def plain_numbers(self) -> bool:
        """Whether numbers are written as in SQL."""
        return self.decimal == "." and not self.thousands

    def format(self, wanted: DataType) -> str | None:
        """The format of a type."""
        match wanted:
            case Atom.DATE:
                return self.date
            case Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ:
                return self.timestamp
            case _:
                return None

    def number(self, whole: str, exponent: str) -> str:
        """A regular expression of numbers, from that of their whole part without groups."""
        point = re.escape(self.decimal)
        if self.thousands:
            whole = rf"{whole}|[1-9]\d{{0,2}}({re.escape(self.thousands)}\d{{3}})+"
        return rf"^[+-]?(({whole})({point}\d*)?|{point}\d+){exponent}$"

    def plain(self, numbers: pa.Array) -> pa.Array:
        """Numbers that match ``number`` as SQL writes them."""
        if self.thousands:
            numbers = pc.replace_substring(numbers, self.thousands, "")
        return pc.replace_substring(numbers, self.decimal, ".")


STANDARD = TextStyle()


class Part(enum.Enum):
    """The part of a date or time in a group of a pattern."""

    YEAR = "year"
    SHORT_YEAR = "short_year"
    MONTH = "month"
    MONTH_NAME = "month_name"
    DAY = "day"
    DAY_OF_YEAR = "day_of_year"
    WEEKDAY = "weekday"
    HOUR = "hour"
    HALF_DAY_HOUR = "half_day_hour"
    HALF_DAY = "half_day"
    MINUTE = "minute"
    SECOND = "second"
    FRACTION = "fraction"
    OFFSET = "offset"


_TIMES = {
    Part.HOUR,
    Part.HALF_DAY_HOUR,
    Part.HALF_DAY,
    Part.MINUTE,
    Part.SECOND,
    Part.FRACTION,
}
_DATES = set(Part) - _TIMES - {Part.OFFSET}

_JAVA = {
    **{"yyyy": Part.YEAR, "uuuu": Part.YEAR, "yy": Part.SHORT_YEAR, "DDD": Part.DAY_OF_YEAR},
    **{"MM": Part.MONTH, "M": Part.MONTH, "MMM": Part.MONTH_NAME, "MMMM": Part.MONTH_NAME},
    **{"dd": Part.DAY, "d": Part.DAY, "EEE": Part.WEEKDAY, "EEEE": Part.WEEKDAY},
    **{"HH": Part.HOUR, "H": Part.HOUR, "hh": Part.HALF_DAY_HOUR, "h": Part.HALF_DAY_HOUR},
    **{"mm": Part.MINUTE, "m": Part.MINUTE, "ss": Part.SECOND, "s": Part.SECOND},
    **{"S" * digits: Part.FRACTION for digits in range(1, 10)},
    **{"a": Part.HALF_DAY, "XXX": Part.OFFSET, "XX": Part.OFFSET, "X": Part.OFFSET},
    "Z": Part.OFFSET,
}
"""Letters of Java's (and Spark's and Drill's) date patterns."""

_STRPTIME = {
    **{"Y": Part.YEAR, "y": Part.SHORT_YEAR, "m": Part.MONTH, "d": Part.DAY, "e": Part.DAY},
    **{"b": Part.MONTH_NAME, "B": Part.MONTH_NAME, "h": Part.MONTH_NAME, "j": Part.DAY_OF_YEAR},
    **{"a": Part.WEEKDAY, "A": Part.WEEKDAY, "H": Part.HOUR, "I": Part.HALF_DAY_HOUR},
    **{"M": Part.MINUTE, "S": Part.SECOND, "f": Part.FRACTION, "p": Part.HALF_DAY},
    "z": Part.OFFSET,
}
_SHORT = {"T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y", "F": "%Y-%m-%d"}

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_PERCENT = re.compile(r"%(.)|(.)", re.DOTALL)

_FIXED = {
    Part.YEAR: r"\d{4}",
    Part.SHORT_YEAR: r"\d{2}",
    Part.DAY_OF_YEAR: r"\d{3}",
    Part.FRACTION: r"\d{1,9}",
    Part.OFFSET: r"Z|[+-]\d{2}:?\d{2}|[+-]\d{2}",
    **dict.fromkeys((Part.MONTH_NAME, Part.WEEKDAY, Part.HALF_DAY), r"[A-Za-z]+"),
}
_NOT_DIGITS = (Part.MONTH_NAME, Part.WEEKDAY, Part.HALF_DAY, Part.OFFSET)


@dataclass(frozen=True)
class DatePattern:
    """A pattern, translated.

    Args:
        source: as users wrote it.
        regex: with a group for each part, named after it.
        parts: the parts, in order.
    """

    source: str
    regex: str
    parts: tuple[Part, ...]


def date_pattern(source: str, wanted: DataType) -> DatePattern:
    """The pattern of a FORMAT for a type.

    Raises:
        InvalidRequestError: it has letters that are not supported, says something twice, or says too
            little or too much for the type.

    >>> date_pattern("dd.MM.yyyy", Atom.DATE).regex
    '^(?P<day>\\\\d{1,2})\\\\.(?P<month>\\\\d{1,2})\\\\.(?P<year>\\\\d{4})$'
    """
    tokens = list(_strptime_tokens(source) if "%" in source else _java_tokens(source))
    regex = "".join(_regex(tokens, at, source) for at in range(len(tokens)))
    parts = tuple(token for token, _ in tokens if isinstance(token, Part))
    pattern = DatePattern(source, f"^{regex}$", parts)
    problem = _problem(parts, wanted)
    if problem is not None:
        raise InvalidRequestError(
            f"the format {source!r} {problem}, so it can't be that of {type_name(wanted)}",
            condition="INVALID_OPTION",
        )
    return pattern


_Token = tuple[Part | str, int]
"""A part, or literal text; and the number of letters."""


def _java_tokens(source: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(source):
        quoted, letter, other = match.groups()
        if letter is not None:
            if match.group() not in _JAVA:
                raise _unsupported(source, match.group(), _JAVA)
            yield _JAVA[match.group()], len(match.group())
        else:
            yield other if quoted is None else quoted.replace("''", "'") or "'", 0


def _strptime_tokens(source: str) -> Iterator[_Token]:
    for match in _PERCENT.finditer(source):
        letter, other = match.groups()
        if other is not None or letter == "%":
            yield other or "%", 0
        elif letter in _SHORT:
            yield from _strptime_tokens(_SHORT[letter])
        elif letter in _STRPTIME:
            yield _STRPTIME[letter], 2
        else:
            supported = [f"%{letter}" for letter in (*_STRPTIME, *_SHORT)]
            raise _unsupported(source, f"%{letter}", supported)


def _unsupported(source: str, letters: str, supported: object) -> InvalidRequestError:
    assert isinstance(supported, list | dict)
    return InvalidRequestError(
        f"the format {source!r} has {letters!r}, which is not supported; known are "
        f"{', '.join(supported)}, and text in quotes",
        condition="INVALID_OPTION",
    )


def _regex(tokens: list[_Token], at: int, source: str) -> str:
    """The expression of a token; numbers that touch have all their digits."""
    token, letters = tokens[at]
    if isinstance(token, str):
        return r"\s+" if token == " " else re.escape(token)
    digits = _FIXED.get(token)
    if digits is None:
        if not any(_is_number(tokens, beside) for beside in (at - 1, at + 1)):
            digits = r"\d{1,2}"
        elif letters > 1:
            digits = r"\d{2}"
        else:
            raise InvalidRequestError(
                f"the format {source!r} has numbers of unknown length beside each other; write each "
                "with two letters, as in 'yyyyMMdd'",
                condition="INVALID_OPTION",
            )
    return f"(?P<{token.value}>{digits})"


def _is_number(tokens: list[_Token], at: int) -> bool:
    if not 0 <= at < len(tokens):
        return False
    token, _ = tokens[at]
    return token[:1].isdigit() if isinstance(token, str) else token not in _NOT_DIGITS


def _problem(parts: tuple[Part, ...], wanted: DataType) -> str | None:
    """The error for a pattern with too few or too many parts for a type; None if it fits."""
    parts_named = set(parts)
    if len(parts_named) < len(parts):
        return "says something twice"
    if (Part.HALF_DAY_HOUR in parts_named) != (Part.HALF_DAY in parts_named):
        return "has an hour of half a day or AM and PM, and not both"
    if parts_named & _TIMES and not parts_named & {Part.HOUR, Part.HALF_DAY_HOUR}:
        return "has parts of a time and no hour"
    if isinstance(wanted, Time):
        if parts_named & _DATES or Part.OFFSET in parts_named:
            return "has parts of a date or an offset"
        return None if parts_named & _TIMES else "says no hour"
    if Part.OFFSET in parts_named and wanted is not Atom.TIMESTAMP:
        return "has an offset"
    years = parts_named & {Part.YEAR, Part.SHORT_YEAR}
    months = parts_named & {Part.MONTH, Part.MONTH_NAME}
    days = parts_named & {Part.DAY, Part.DAY_OF_YEAR}
    if len(years) > 1 or len(months) > 1 or len(days) > 1:
        return "says something twice"
    if Part.DAY_OF_YEAR in parts_named and months:
        return "has a day of the year and a month"
    if not years or not days or (Part.DAY in parts_named and not months):
        return "does not say year, month and day"
    return None


_WHOLE = r"^[+-]?\d+$"
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_NOT_FINITE = r"^(?i:[+-]?(nan|inf|infinity))$"

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LONG_MONTHS = [
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
]
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_LONG_WEEKDAYS = [
    *("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"),
]
_MINUTE, _DAY = 60_000_000, 86_400_000_000
_MOST_OFFSET = 18 * 60
_EPOCH_WEEKDAY = 4
"""1970-01-01 was a Thursday."""

_ISO_TIME = (
    r"^(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?$"
)
_TIME = DatePattern(
    "HH:mm:ss.SSSSSS", _ISO_TIME, (Part.HOUR, Part.MINUTE, Part.SECOND, Part.FRACTION)
)


def parse_text(
    array: pa.Array, wanted: DataType, format_: str | None, style: TextStyle = STANDARD
) -> pa.Array:
    """Texts as values of a type.

    Args:
        format_: of dates and times; that of the style if it is None.

    Raises:
        ArrowException, ValueError: a text is no value of the type.
        InvalidRequestError: the format is not supported.
    """
    target = to_arrow_type(wanted)
    trimmed = pc.utf8_trim_whitespace(array)
    format_ = style.format(wanted) if format_ is None else format_
    if not style.plain_numbers and (
        isinstance(wanted, Decimal) or is_integer(wanted) or is_floating(wanted)
    ):
        trimmed = _plain_numbers(trimmed, style)
    match wanted:
        case Atom.DATE | Atom.TIMESTAMP | Atom.TIMESTAMP_NTZ if format_ is not None:
            return _dated(trimmed, wanted, _pattern(format_, wanted))
        case Time(precision):
            pattern = _TIME if format_ is None else _pattern(format_, wanted)
            return _micros_of_day(_parts(trimmed, pattern), precision)
        case Atom.TIMESTAMP:
            return _instants(trimmed, target)
        case Atom.BINARY:
            return array.cast(target)
        case Decimal():
            _check_like(trimmed, _NUMBER, "a number is needed, such as 12.50")
            return trimmed.cast(target)
        case _ if is_integer(wanted):
            _check_like(trimmed, _WHOLE, "a whole number in decimal digits is needed")
            return pc.replace_substring_regex(trimmed, r"^\+", "").cast(target)
        case _ if is_floating(wanted):
            return _floats(trimmed, target)
        case _:
            return trimmed.cast(target)


_pattern = lru_cache(maxsize=64)(date_pattern)


def _plain_numbers(array: pa.Array, style: TextStyle) -> pa.Array:
    """Numbers in a style as SQL writes them; NaN and Infinity stay."""
    is_number = pc.match_substring_regex(array, style.number(r"\d+", r"([eE][+-]?\d+)?"))
    is_float = pc.or_(is_number, pc.match_substring_regex(array, _NOT_FINITE))
    if pc.any(pc.invert(is_float)).as_py():
        example = f"1{style.thousands}234{style.decimal}50"
        raise ValueError(f"a number is needed, such as {example}")
    return style.plain(array)


def _check_like(array: pa.Array, regex: str, problem: str) -> None:
    if pc.any(pc.invert(pc.match_substring_regex(array, regex))).as_py():
        raise ValueError(problem)


def _floats(array: pa.Array, target: pa.DataType) -> pa.Array:
    """The nearest floating-point numbers; one that is out of range is refused."""
    is_number = pc.match_substring_regex(array, _NUMBER)
    is_float = pc.or_(is_number, pc.match_substring_regex(array, _NOT_FINITE))
    if pc.any(pc.invert(is_float)).as_py():
        raise ValueError("a number is needed, such as 12.5 or 1e3, or NaN or Infinity")
    floats = array.cast(target)
    if pc.any(pc.and_(is_number, pc.is_inf(floats))).as_py():
        raise ValueError(f"it is out of the range of {target}")
    return floats


def _instants(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Timestamps with an offset, or in UTC without one."""
    zoned = pc.match_substring_regex(array, r"(Z|[+-]\d\d:?\d\d)$")
    whole = pc.if_else(zoned, array, pc.binary_join_element_wise(array, "Z", ""))
    return whole.cast(target)


_Parts = Mapping[Part, Any]
"""The texts of the parts of dates, by part, and the mask of nulls."""


def _parts(array: pa.Array, pattern: DatePattern) -> tuple[_Parts, Any]:
    """The texts of each part, and where the whole is null.

    Raises:
        ValueError: a text is not like the pattern.
    """
    groups = pc.extract_regex(array, pattern.regex)
    if groups.null_count > array.null_count:
        raise ValueError(f"it is not written as {pattern.source!r}")
    return {part: pc.struct_field(groups, part.value) for part in pattern.parts}, array.is_null()


def _numbers(texts: Any, default: int = 0) -> Any:
    """The numbers of texts of digits, as NumPy has them."""
    filled = pc.if_else(pc.equal(pc.fill_null(texts, ""), ""), str(default), texts)
    return filled.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _named(texts: Any, short: list[str], long: list[str]) -> Any:
    """The positions of names in lists."""
    lower = pc.utf8_lower(pc.fill_null(texts, short[0]))
    at = pc.coalesce(pc.index_in(lower, pa.array(short)), pc.index_in(lower, pa.array(long)))
    _refuse(at.is_null().to_numpy(zero_copy_only=False), f"a name is none of {', '.join(short)}")
    return at.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _refuse(wrong: Any, problem: str) -> None:
    if np.any(wrong):
        raise ValueError(problem)


def _micros(parts: _Parts, rows: int) -> Any:
    """The microseconds since midnight.

    Raises:
        ValueError: there is no such time of day.
    """
    zeros = np.zeros(rows, np.int64)
    number = {part: _numbers(parts[part]) for part in _CLOCK if part in parts}
    hour = number.get(Part.HOUR, zeros)
    if Part.HALF_DAY_HOUR in parts:
        twelfth = _numbers(parts[Part.HALF_DAY_HOUR], 12)
        _refuse((twelfth < 1) | (twelfth > 12), "hours of half a day go from 1 to 12")
        hour = twelfth % 12 + 12 * _named(parts[Part.HALF_DAY], ["am", "pm"], ["am", "pm"])
    minute, second = number.get(Part.MINUTE, zeros), number.get(Part.SECOND, zeros)
    _refuse((hour > 23) | (minute > 59) | (second > 59), "there is no such time of day")
    micros = ((hour * 60 + minute) * 60 + second) * 1_000_000
    if Part.FRACTION in parts:
        nanos = _numbers(pc.utf8_rpad(pc.fill_null(parts[Part.FRACTION], ""), 9, "0"))
        _refuse(nanos % 1000, "seconds have up to 6 digits after the point")
        micros = micros + nanos // 1000
    return micros


_CLOCK = (Part.HOUR, Part.MINUTE, Part.SECOND)


def _micros_of_day(parts_and_nulls: tuple[_Parts, Any], precision: int) -> pa.Array:
    parts, nulls = parts_and_nulls
    micros = _micros(parts, len(nulls))
    unit = 10 ** (6 - precision)
    _refuse(micros % unit, f"seconds have up to {precision} digits after the point")
    return pa.array(micros, pa.int64(), mask=nulls.to_numpy(False)).view(pa.time64("us"))


def _dated(array: pa.Array, wanted: DataType, pattern: DatePattern) -> pa.Array:
    """Dates and timestamps in a pattern.

    Raises:
        ValueError: a text is not like it, or there is no such day or time.
    """
    parts, nulls = _parts(array, pattern)
    days, of_day = _days(parts), _micros(parts, len(array))
    mask = nulls.to_numpy(zero_copy_only=False)
    if wanted is Atom.DATE:
        _refuse(of_day, "it has a time of day, which a DATE does not hold")
        return pa.array(days.astype(np.int32), pa.int32(), mask=mask).view(pa.date32())
    micros = days * _DAY + of_day
    if Part.OFFSET in parts:
        micros = micros - _offsets(parts[Part.OFFSET]) * _MINUTE
    return pa.array(micros, pa.int64(), mask=mask).view(to_arrow_type(wanted))


def _days(parts: _Parts) -> Any:
    """The days since 1970-01-01.

    Raises:
        ValueError: there is no such day.
    """
    if Part.YEAR in parts:
        year = _numbers(parts[Part.YEAR], 1970)
    else:
        short = _numbers(parts[Part.SHORT_YEAR], 70)
        year = np.where(short < 69, 2000, 1900) + short  # as POSIX says
    if Part.DAY_OF_YEAR in parts:
        number = _numbers(parts[Part.DAY_OF_YEAR], 1)
        days = _first_of(year, 1) + number - 1
        _refuse((number < 1) | (days >= _first_of(year + 1, 1)), "the year has no such day")
    else:
        if Part.MONTH in parts:
            month = _numbers(parts[Part.MONTH], 1)
        else:
            month = _named(parts[Part.MONTH_NAME], _MONTHS, _LONG_MONTHS) + 1
        _refuse((month < 1) | (month > 12), "the year has no such month")
        number = _numbers(parts[Part.DAY], 1)
        days = _first_of(year, month) + number - 1
        after = _first_of(year + month // 12, month % 12 + 1)
        _refuse((number < 1) | (days >= after), "the month has no such day")
    if Part.WEEKDAY in parts:
        names = pc.fill_null(parts[Part.WEEKDAY], "thu")
        named = _named(names, _WEEKDAYS, _LONG_WEEKDAYS)
        _refuse(named != (days + _EPOCH_WEEKDAY) % 7, "the day is another day of the week")
    return days


def _first_of(year: Any, month: Any) -> Any:
    """The days from 1970-01-01 to the first of a month."""
    months = (np.asarray(year) - 1970) * 12 + np.asarray(month) - 1
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _offsets(texts: Any) -> Any:
    """Offsets from UTC in minutes."""
    plain = pc.replace_substring(pc.fill_null(texts, "Z"), ":", "")
    digits = pc.utf8_rpad(pc.if_else(pc.equal(plain, "Z"), "+0000", plain), 5, "0")
    hours = _numbers(pc.utf8_slice_codeunits(digits, 1, 3))
    minutes = _numbers(pc.utf8_slice_codeunits(digits, 3, 5))
    total = hours * 60 + minutes
    _refuse((minutes > 59) | (total > _MOST_OFFSET), "offsets go up to 18 hours")
    is_west = pc.starts_with(digits, "-").to_numpy(zero_copy_only=False)
    return np.where(is_west, -total, total)
