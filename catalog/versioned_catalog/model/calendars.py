"""Dates and times as integers, as ISO text and SQL, and the calendars that they are in.

Text that does not parse raises ValueError, whose message shows the expected form or the reason.

This does not use ``datetime``, whose years end at 9999, while Spark's go far beyond.

A value keeps its calendar fields: year, month, day and time of day. A 29 February that
the Gregorian calendar does not have is 1 March, as in Spark.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from versioned_catalog.model.types import DAY_TIME_UNITS as MICROS
from versioned_catalog.model.types import (
    DataType,
    DayTimeInterval,
    Family,
    LeafType,
    Time,
    YearMonthInterval,
)

_DATE = r"([+-]?[0-9]{4,7})-([0-9]{1,2})-([0-9]{1,2})"
_TIME = r"([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?)?"
_ZONE = r"(?:\ ?(Z|UTC|GMT|(?:UTC|GMT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?))"
_DATE_ONLY = re.compile(_DATE)
_TIME_ONLY = re.compile(_TIME)
_TIMESTAMP = re.compile(rf"{_DATE}(?:[T ]{_TIME}{_ZONE}?)?")


def parse_date(text: str) -> int:
    """The days since 1970-01-01 of ``2020-01-31``."""
    match = _DATE_ONLY.fullmatch(text.strip())
    if match is None:
        raise ValueError("dates are written as '2020-01-31'")
    return _days(*map(int, match.groups()))


def parse_time(text: str) -> int:
    """The microseconds since midnight of ``12:30:00.5``."""
    match = _TIME_ONLY.fullmatch(text.strip())
    if match is None:
        raise ValueError("times are written as '12:30:00.5'")
    return _micros_of_day(*match.groups())


def parse_timestamp(text: str) -> tuple[int, bool]:
    """The microseconds since 1970 of ``2020-01-31 12:30:00+02:00``, and whether it has an offset."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            "timestamps are written as '2020-01-31 12:30:00+02:00' (or Z, or no offset)"
        )
    year, month, day, hour, minute, second, fraction, zone, sign, zone_hour, zone_minute = (
        match.groups()
    )
    days = _days(int(year), int(month), int(day))
    micros = days * MICROS["day"]
    if hour is not None:
        micros += _micros_of_day(hour, minute, second, fraction)
    if zone is None:
        return micros, False
    offset = int(zone_hour or 0) * 60 + int(zone_minute or 0)
    if offset > 18 * 60 or int(zone_minute or 0) > 59:
        raise ValueError("offsets go up to 18 hours")
    return micros - (-offset if sign == "-" else offset) * MICROS["minute"], True


def parse_interval(text: str, start: str, end: str) -> int:
    """The microseconds of an interval such as ``1 02:03:04.5``, with its first and last units."""
    units = _units(start, end)
    rest = [f"{' ' if unit == 'hour' else ':'}([0-9]{{1,2}})" for unit in units[1:]]
    fraction = r"(?:\.([0-9]{0,9}))?" if end == "second" else "()"
    match = re.fullmatch(rf"([+-]?)([0-9]{{1,19}}){''.join(rest)}{fraction}", text.strip())
    if match is None:
        sample = format_interval(93_784_500_000)
        raise ValueError(
            f"such intervals are written as the part from {start} to {end} of '{sample}'"
        )
    sign, *numbers, part = match.groups()
    for unit, number in zip(units[1:], numbers[1:], strict=True):
        if int(number) > (23 if unit == "hour" else 59):
            raise ValueError(f"{number} is too much for {unit}s")
    total = sum(int(n) * MICROS[unit] for unit, n in zip(units, numbers, strict=True))
    total += _micros(part or "")
    return -total if sign == "-" else total


def parse_months(text: str) -> int:
    """The months of an INTERVAL YEAR TO MONTH such as ``1-2``."""
    match = re.fullmatch(r"([+-]?)([0-9]{1,9})-([0-9]{1,2})", text.strip())
    if match is None or int(match[3]) > 11:
        raise ValueError("such intervals are written as '1-2', in years and months")
    months = int(match[2]) * 12 + int(match[3])
    return -months if match[1] == "-" else months


def format_months(months: int) -> str:
    """The text of an INTERVAL YEAR TO MONTH."""
    years, rest = divmod(abs(months), 12)
    return f"{'-' if months < 0 else ''}{years}-{rest}"


def _units(start: str, end: str) -> list[str]:
    units = list(MICROS)
    return units[units.index(start) : units.index(end) + 1]


def _micros(fraction: str) -> int:
    if fraction[6:].strip("0"):
        raise ValueError("seconds have up to 6 digits after the point")
    return int(fraction[:6].ljust(6, "0"))


def _micros_of_day(hour: str, minute: str, second: str | None, fraction: str | None) -> int:
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise ValueError("it is not a time of day")
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second or 0)
    return seconds * MICROS["second"] + _micros(fraction or "")


def _days(year: int, month: int, day: int) -> int:
    # Years begin in March here, so that a leap day comes last; an era is 400 years or 146,097 days.
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    if _civil(days) != (year, month, day):
        raise ValueError("the month has no such day")
    return days


def _civil(days: int) -> tuple[int, int, int]:
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def format_date(days: int) -> str:
    """The date so many days after 1970-01-01; a year beyond 9999 has a sign."""
    year, month, day = _civil(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def format_time(micros: int) -> str:
    """The time of day so many microseconds after midnight."""
    seconds, fraction = divmod(micros, MICROS["second"])
    minutes, second = divmod(seconds, 60)
    tail = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}{tail}"


def format_timestamp(micros: int) -> str:
    """The date and time so many microseconds after 1970-01-01 00:00, without an offset."""
    days, of_day = divmod(micros, MICROS["day"])
    return f"{format_date(days)} {format_time(of_day)}"


def format_interval(micros: int) -> str:
    """The text of an INTERVAL DAY TO SECOND."""
    days, of_day = divmod(abs(micros), MICROS["day"])
    return f"{'-' if micros < 0 else ''}{days} {format_time(of_day)}"


FIRST_GREGORIAN_DAY = -141_427
"""1582-10-15, in days since 1970-01-01."""

FIRST_SAFE_MICROS = -2_177_452_800_000_000
"""1901-01-01 00:00 UTC. Later timestamps are the same in both calendars in all time zones; in some,
times before 1900 differ in their offsets from UTC, too."""

_JULIAN_DAY_OF_EPOCH = 2_440_588
_DAY = 86_400_000_000


def gregorian_days(days: Any) -> Any:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, for a NumPy array.

    1000-01-01 of the Julian calendar is five days later than that of the Gregorian one, and 1582-10-04
    is the day before 1582-10-15:

    >>> gregorian_days(np.array([-354_280, -141_428, -141_427])).tolist()
    [-354285, -141438, -141427]
    """
    numbers = np.asarray(days, np.int64)
    # A Julian year begins in March here, so that a leap day comes last.
    shifted = numbers + _JULIAN_DAY_OF_EPOCH + 32_082
    years = (4 * shifted + 3) // 1461
    of_year = shifted - 1461 * years // 4
    months = (5 * of_year + 2) // 153
    day = of_year - (153 * months + 2) // 5
    since_1970 = (years - 4800 - 1970) * 12 + months + 2
    first = since_1970.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return np.where(numbers < FIRST_GREGORIAN_DAY, first + day, numbers)


def gregorian_micros(micros: Any, offset: int) -> Any:
    """Microseconds since 1970 in the proleptic Gregorian calendar, for a NumPy array.

    Args:
        offset: of the writer's time zone from UTC, in microseconds.
    """
    local = np.asarray(micros, np.int64) + offset
    days, of_day = np.divmod(local, _DAY)
    return gregorian_days(days) * _DAY + of_day - offset


def gregorian_dates(dates: pa.Array) -> pa.Array:
    """Dates of the hybrid calendar as DATE."""
    filled = dates.view(pa.int32()).fill_null(0)
    days = gregorian_days(filled.to_numpy(zero_copy_only=False)).astype(np.int32)
    mask = dates.is_null().to_numpy(zero_copy_only=False)
    return pa.array(days, pa.int32(), mask=mask).view(pa.date32())


def gregorian_timestamps(times: pa.Array, offset: int) -> pa.Array:
    """Timestamps in microseconds of the hybrid calendar, in UTC, as TIMESTAMP."""
    filled = times.view(pa.int64()).fill_null(0)
    micros = gregorian_micros(filled.to_numpy(zero_copy_only=False), offset)
    mask = times.is_null().to_numpy(zero_copy_only=False)
    return pa.array(micros, pa.int64(), mask=mask).view(pa.timestamp("us", tz="UTC"))


NO_OFFSET = "it has no offset from UTC; write one, as in '2020-01-31 12:30:00Z'"

_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Temporal:
    """The values of a temporal type, which are stored as integers.

    Args:
        python: the class of its Python values.
        parse: the integer of ISO text; raises ValueError, whose message names the problem.
        to_python: the Python value of an integer; raises OverflowError beyond Python's years.
        to_sql: the SQL literal of an integer.
        compared: the number in the integer's unit that a filter's value is compared as, by Spark's
            rules; None if it can't be compared. Raises ValueError for text that does not parse.
    """

    python: type[dt.date | dt.time | dt.timedelta | int]
    parse: Callable[[str], int]
    to_python: Callable[[int], object]
    to_sql: Callable[[int], str]
    compared: Callable[[object], Fraction | int | None]


def _parse_instant(text: str) -> int:
    micros, has_offset = parse_timestamp(text)
    if not has_offset:
        raise ValueError(NO_OFFSET)
    return micros


def _parse_local(text: str) -> int:
    micros, has_offset = parse_timestamp(text)
    if has_offset:
        raise ValueError("it has an offset from UTC, but the type has none; leave it out")
    return micros


def _parse_interval(text: str) -> int:
    raise ValueError("an interval is needed, not str")


def _compared_as_date(value: object) -> Fraction | int | None:
    match value:
        case str():
            # Like Spark's cast, which drops a time of day.
            return parse_date(re.split("[T ]", value.strip(), maxsplit=1)[0])
        case dt.datetime():
            is_local = value.utcoffset() is None
            return Fraction(to_count(value), MICROS["day"]) if is_local else None
        case dt.date():
            return to_count(value)
        case _:
            return None


def _compared_as_instant(value: object) -> int | None:
    match value:
        case str():
            return parse_timestamp(value)[0]
        case dt.datetime():
            return to_count(value)
        case dt.date():
            return to_count(value) * MICROS["day"]
        case _:
            return None


def _compared_as_local(value: object) -> int | None:
    if isinstance(value, str):
        micros, has_offset = parse_timestamp(value)
        return None if has_offset else micros
    is_instant = isinstance(value, dt.datetime) and value.utcoffset() is not None
    return None if is_instant else _compared_as_instant(value)


def _compared_as_time(value: object) -> int | None:
    if isinstance(value, str):
        return parse_time(value)
    if isinstance(value, dt.time) and value.tzinfo is None:
        return to_count(value)
    return None


_TEMPORAL = {
    "date": Temporal(
        dt.date,
        parse_date,
        lambda days: _EPOCH.date() + dt.timedelta(days=days),
        lambda days: f"DATE '{format_date(days)}'",
        _compared_as_date,
    ),
    "timestamp": Temporal(
        dt.datetime,
        _parse_instant,
        lambda micros: _EPOCH_UTC + dt.timedelta(microseconds=micros),
        lambda micros: f"TIMESTAMP '{format_timestamp(micros)}Z'",
        _compared_as_instant,
    ),
    "timestamp_ntz": Temporal(
        dt.datetime,
        _parse_local,
        lambda micros: _EPOCH + dt.timedelta(microseconds=micros),
        lambda micros: f"TIMESTAMP_NTZ '{format_timestamp(micros)}'",
        _compared_as_local,
    ),
    "time": Temporal(
        dt.time,
        parse_time,
        lambda micros: (_EPOCH + dt.timedelta(microseconds=micros)).time(),
        lambda micros: f"TIME '{format_time(micros)}'",
        _compared_as_time,
    ),
    "interval": Temporal(
        dt.timedelta,
        _parse_interval,
        lambda micros: dt.timedelta(microseconds=micros),
        lambda micros: f"INTERVAL '{format_interval(micros)}' DAY TO SECOND",
        lambda value: to_count(value) if isinstance(value, dt.timedelta) else None,
    ),
}


_TEMPORAL["interval of months"] = Temporal(
    int,
    parse_months,
    lambda months: months,
    lambda months: f"INTERVAL '{format_months(months)}' YEAR TO MONTH",
    lambda value: value if isinstance(value, int) and not isinstance(value, bool) else None,
)


def temporal(type_: LeafType) -> Temporal:
    """The description of a temporal type's values."""
    return _TEMPORAL[type_.leaf.name]


def step_of(type_: DataType) -> int:
    """The step between the values of a TIME or an interval, in the unit that it is stored in."""
    match type_:
        case Time(precision):
            return int(10 ** (6 - precision))
        case DayTimeInterval(_, end):
            return 1 if end == "second" else MICROS[end]
        case YearMonthInterval(_, "year"):
            return 12
        case _:
            return 1


def too_fine(type_: DataType) -> str:
    """What is wrong with a value between two steps of a type."""
    match type_:
        case Time(precision):
            return f"it has more than {precision} digits of a second"
        case DayTimeInterval(_, end) | YearMonthInterval(_, end):
            return f"it is not a whole number of {end}s"
        case _:
            return ""


def check_precision(text: str, type_: DataType) -> str:
    """Value text, checked against the precision of a TIME or of an interval.

    Raises:
        ValueError: the value is finer.
    """
    step = step_of(type_)
    if step > 1 and int(text) % step:
        raise ValueError(too_fine(type_))
    return text


def to_python_value(stored: object, type_: LeafType) -> object:
    """The Python value of a stored one; an integer beyond Python's years stays an integer."""
    if type_.leaf.family is not Family.TEMPORAL or not isinstance(stored, int):
        return stored
    try:
        return temporal(type_).to_python(stored)
    except OverflowError:
        return stored


def to_count(value: dt.date | dt.time | dt.timedelta) -> int:
    """Days since 1970 of a date; microseconds of all else: since 1970, since midnight, or long.

    A datetime with an offset is converted to UTC.
    """
    match value:
        case dt.datetime():
            offset = value.utcoffset() or dt.timedelta()
            return (value.replace(tzinfo=None) - _EPOCH - offset) // _MICROSECOND
        case dt.date():
            return (value - _EPOCH.date()).days
        case dt.time():
            midnight = dt.datetime.combine(_EPOCH.date(), value.replace(tzinfo=None))
            return (midnight - _EPOCH) // _MICROSECOND
        case dt.timedelta():
            return value // _MICROSECOND


def count_in(value: object, type_: LeafType) -> int | None:
    """The integer that a temporal type stores for a Python value; None for a value of another kind.

    Raises:
        ValueError: the value has a time zone that the type does not allow, or lacks one.
    """
    if not isinstance(value, temporal(type_).python):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, dt.datetime) and type_.leaf.name == "date":
        return None
    if isinstance(value, dt.datetime) and type_.leaf.name == "timestamp":
        if value.utcoffset() is None:
            raise ValueError("the datetime has no time zone; add one, as .astimezone() does")
    elif isinstance(value, dt.datetime | dt.time) and value.tzinfo is not None:
        raise ValueError(
            f"the {type(value).__name__} has a time zone; remove it with .replace(tzinfo=None)"
        )
    return to_count(value)
