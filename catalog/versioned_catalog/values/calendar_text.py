"""Conversion between the stored integers of temporal types and their ISO text.

Text that does not parse raises ValueError, whose message shows the expected form or the reason.

This does not use ``datetime``, whose years end at 9999, while Spark's go far beyond.
"""

from __future__ import annotations

import re

from versioned_catalog.types.leaves import DAY_TIME_UNITS as MICROS

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
