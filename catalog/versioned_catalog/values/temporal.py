"""Values of temporal types as the integers that are stored, as Python values and as SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from versioned_catalog.types.leaves import Family
from versioned_catalog.types.types import LeafType
from versioned_catalog.values import calendar_text

NO_OFFSET = "it has no offset from UTC; write one, as in '2020-01-31 12:30:00Z'"

_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Temporal:
    """The values of a temporal type, which are stored as integers.

    Args:
        python: the class of its Python values.
        parse: the integer of ISO text; raises ValueError, whose message says what is wrong.
        to_python: the Python value of an integer; raises OverflowError beyond Python's years.
        to_sql: the SQL literal of an integer.
    """

    python: type[dt.date | dt.time | dt.timedelta]
    parse: Callable[[str], int]
    to_python: Callable[[int], object]
    to_sql: Callable[[int], str]


def _parse_instant(text: str) -> int:
    micros, has_offset = calendar_text.parse_timestamp(text)
    if not has_offset:
        raise ValueError(NO_OFFSET)
    return micros


def _parse_local(text: str) -> int:
    micros, has_offset = calendar_text.parse_timestamp(text)
    if has_offset:
        raise ValueError("it has an offset from UTC, but the type has none; leave it out")
    return micros


def _parse_interval(text: str) -> int:
    raise ValueError("an interval is needed, not str")


_TEMPORAL = {
    "date": Temporal(
        dt.date,
        calendar_text.parse_date,
        lambda days: _EPOCH.date() + dt.timedelta(days=days),
        lambda days: f"DATE '{calendar_text.format_date(days)}'",
    ),
    "timestamp": Temporal(
        dt.datetime,
        _parse_instant,
        lambda micros: _EPOCH_UTC + dt.timedelta(microseconds=micros),
        lambda micros: f"TIMESTAMP '{calendar_text.format_timestamp(micros)}Z'",
    ),
    "timestamp_ntz": Temporal(
        dt.datetime,
        _parse_local,
        lambda micros: _EPOCH + dt.timedelta(microseconds=micros),
        lambda micros: f"TIMESTAMP_NTZ '{calendar_text.format_timestamp(micros)}'",
    ),
    "time": Temporal(
        dt.time,
        calendar_text.parse_time,
        lambda micros: (_EPOCH + dt.timedelta(microseconds=micros)).time(),
        lambda micros: f"TIME '{calendar_text.format_time(micros)}'",
    ),
    "interval": Temporal(
        dt.timedelta,
        _parse_interval,
        lambda micros: dt.timedelta(microseconds=micros),
        lambda micros: f"INTERVAL '{calendar_text.format_interval(micros)}' DAY TO SECOND",
    ),
}


def temporal(type_: LeafType) -> Temporal:
    """The description of a temporal type's values."""
    return _TEMPORAL[type_.leaf.name]


def to_python_value(stored: object, type_: LeafType) -> object:
    """The Python value of a stored one: of an integer beyond Python's years, the integer."""
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
