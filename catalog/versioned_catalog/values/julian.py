"""Days and timestamps of the hybrid Julian and Gregorian calendar in the proleptic Gregorian one.

A value keeps what a calendar on the wall shows: year, month, day and time of day. A 29 February that
the Gregorian calendar does not have is 1 March, as in Spark.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

FIRST_GREGORIAN_DAY = -141_427
"""1582-10-15, in days since 1970-01-01."""

FIRST_SAFE_MICROS = -2_177_452_800_000_000
"""1901-01-01 00:00 UTC. Later timestamps are the same in both calendars in all time zones; in some,
times before 1900 differ in their offsets from UTC, too."""

_JULIAN_DAY_OF_EPOCH = 2_440_588
_DAY = 86_400_000_000


def gregorian_days(days: Any) -> Any:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, of an array of NumPy.

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
    """Microseconds since 1970 in the proleptic Gregorian calendar, of an array of NumPy.

    Args:
        offset: of the writer's time zone from UTC, in microseconds.
    """
    local = np.asarray(micros, np.int64) + offset
    days, of_day = np.divmod(local, _DAY)
    return gregorian_days(days) * _DAY + of_day - offset


def gregorian_dates(dates: pa.Array) -> pa.Array:
    """Dates of the hybrid calendar as DATE."""
    filled = dates.view(pa.int32()).fill_null(0)
    found = gregorian_days(filled.to_numpy(zero_copy_only=False)).astype(np.int32)
    mask = dates.is_null().to_numpy(zero_copy_only=False)
    return pa.array(found, pa.int32(), mask=mask).view(pa.date32())


def gregorian_timestamps(times: pa.Array, offset: int) -> pa.Array:
    """Timestamps in microseconds of the hybrid calendar, in UTC, as TIMESTAMP."""
    filled = times.view(pa.int64()).fill_null(0)
    found = gregorian_micros(filled.to_numpy(zero_copy_only=False), offset)
    mask = times.is_null().to_numpy(zero_copy_only=False)
    return pa.array(found, pa.int64(), mask=mask).view(pa.timestamp("us", tz="UTC"))
