"""Patterns of dates and times, in Java's letters or those of ``strptime``, as regular expressions."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.types.types import Atom, DataType, Time
from versioned_catalog.types.widening import type_name


class Part(enum.Enum):
    """What a group of a pattern stands for."""

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
            known = [f"%{one}" for one in (*_STRPTIME, *_SHORT)]
            raise _unsupported(source, f"%{letter}", known)


def _unsupported(source: str, letters: str, known: object) -> InvalidRequestError:
    assert isinstance(known, list | dict)
    return InvalidRequestError(
        f"the format {source!r} has {letters!r}, which is not supported; known are "
        f"{', '.join(known)}, and text in quotes",
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
    """What a pattern says too little or too much of, for a type; None if nothing."""
    known = set(parts)
    if len(known) < len(parts):
        return "says something twice"
    if (Part.HALF_DAY_HOUR in known) != (Part.HALF_DAY in known):
        return "has an hour of half a day or AM and PM, and not both"
    if known & _TIMES and not known & {Part.HOUR, Part.HALF_DAY_HOUR}:
        return "has parts of a time and no hour"
    if isinstance(wanted, Time):
        if known & _DATES or Part.OFFSET in known:
            return "has parts of a date or an offset"
        return None if known & _TIMES else "says no hour"
    if Part.OFFSET in known and wanted is not Atom.TIMESTAMP:
        return "has an offset"
    years = known & {Part.YEAR, Part.SHORT_YEAR}
    months = known & {Part.MONTH, Part.MONTH_NAME}
    days = known & {Part.DAY, Part.DAY_OF_YEAR}
    if len(years) > 1 or len(months) > 1 or len(days) > 1:
        return "says something twice"
    if Part.DAY_OF_YEAR in known and months:
        return "has a day of the year and a month"
    if not years or not days or (Part.DAY in known and not months):
        return "does not say year, month and day"
    return None
