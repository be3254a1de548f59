"""Dates, times and intervals."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from every_type.kind import FEATURES, NO_PYTHON, NO_WIDER, Imported, Kind, Refusal, Value, Wider

SECOND = dt.timedelta(seconds=1)
TOO_FINE = Refusal("more than . digits? of a second|whole number of", "declare a finer type")

DATES = (
    Kind(
        "BOOLEAN",
        "text",
        "BOOLEAN",
        (Value("FALSE", False, "false"), Value("TRUE", True, "true")),
        pa.bool_(),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "DATE",
        "time",
        "DATE",
        tuple(
            Value(f"DATE'{day}'", dt.date.fromisoformat(day), day)
            for day in ("0001-01-01", "1582-10-05", "1969-12-31", "2024-02-29", "9999-12-31")
        ),
        pa.date32(),
        wider=Wider(
            "TIMESTAMP_NTZ",
            tuple(
                dt.datetime.fromisoformat(day)
                for day in ("0001-01-01", "1582-10-05", "1969-12-31", "2024-02-29", "9999-12-31")
            ),
            tuple(
                f"{day} 00:00:00"
                for day in ("0001-01-01", "1582-10-05", "1969-12-31", "2024-02-29", "9999-12-31")
            ),
        ),
    ),
    Kind(
        "TIMESTAMP",
        "time",
        "TIMESTAMP",
        tuple(
            Value(f"TIMESTAMP'{text}Z'", dt.datetime.fromisoformat(f"{text}+00:00"), text)
            for text in (
                *("0001-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:00:00.5"),
                "9999-12-31 23:59:59.999999",
            )
        ),
        pa.timestamp("us", "UTC"),
        refused={"widen": NO_WIDER},
    ),
    Kind(
        "TIMESTAMP_NTZ",
        "time",
        "TIMESTAMP_NTZ",
        tuple(
            Value(f"TIMESTAMP_NTZ'{text}'", dt.datetime.fromisoformat(text), text)
            for text in (
                *("0001-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:00:00.5"),
                "9999-12-31 23:59:59.999999",
            )
        ),
        pa.timestamp("us"),
        refused={"widen": NO_WIDER},
    ),
)


def _times(precision: int) -> Kind:
    """Times of a precision: the first, one between, and the last."""
    digits = (("12:30:07", "123456"[:precision]), ("23:59:59", "999999"[:precision]))
    shown = (
        "00:00:00",
        *(f"{at}.{more}".rstrip(".") for at, more in digits),
    )
    values = tuple(dt.time.fromisoformat(text) for text in shown)
    name, is_coarse = f"TIME({precision})", precision < 6
    return Kind(
        name,
        "time",
        name,
        tuple(
            Value(f"TIME'{text}'", value, text) for text, value in zip(shown, values, strict=True)
        ),
        pa.time64("us"),
        from_arrow=Imported("TIME(6)", values) if is_coarse else None,
        from_spark=Imported("TIME(6)", shown) if is_coarse else None,
        unfit=(Value("", dt.time(1, 2, 3, 1), ""), TOO_FINE) if is_coarse else None,
        refused={"widen": NO_WIDER},
    )


TIMES = tuple(map(_times, range(7)))

_DAYS = dt.timedelta(days=106751990, seconds=14454, microseconds=775807)
_MOST = 2**63 - 1 - 86_400_000_000
_MICROSECONDS = (-_MOST, -1_000_000, 93_784_500_000, _MOST)
INTERVALS = (
    Kind(
        "INTERVAL DAY TO SECOND",
        "time",
        "INTERVAL DAY TO SECOND",
        tuple(
            Value(f"INTERVAL '{text}' DAY TO SECOND", python, f"INTERVAL '{text}' DAY TO SECOND")
            for text, python in (
                ("-106751990 04:00:54.775807", -_DAYS),
                ("-0 00:00:01", -SECOND),
                ("1 02:03:04.5", dt.timedelta(days=1, seconds=7384, microseconds=500_000)),
                ("106751990 04:00:54.775807", _DAYS),
            )
        ),
        pa.duration("us"),
        published=_MICROSECONDS,
        from_spark=Imported("BIGINT", tuple(map(str, _MICROSECONDS))),
        refused={"widen": NO_WIDER},
    ),
)

_HOUR = dt.timedelta(hours=1)
_FINE = _HOUR + dt.timedelta(minutes=2, seconds=3.5)


def _interval(unit: str, *values: tuple[str, dt.timedelta]) -> Kind:
    """Intervals of a unit, or of a pair of units, of which Spark shows the texts."""
    name = f"INTERVAL {unit}"
    sql = [f"INTERVAL '{text}' {unit}" for text, _ in values]
    python = tuple(value for _, value in values)
    microseconds = tuple(value // dt.timedelta(microseconds=1) for value in python)
    return Kind(
        name,
        "time",
        name,
        tuple(Value(text, value, text) for text, value in zip(sql, python, strict=True)),
        pa.duration("us"),
        published=microseconds,
        from_arrow=Imported("INTERVAL DAY TO SECOND", python),
        from_spark=Imported("BIGINT", tuple(map(str, microseconds))),
        unfit=None if unit.endswith("SECOND") else (Value("", _FINE, ""), TOO_FINE),
        refused={"widen": NO_WIDER},
    )


UNITS = (
    _interval("DAY", ("-2", -48 * _HOUR), ("106751991", 106751991 * 24 * _HOUR)),
    _interval("HOUR", ("-01", -_HOUR), ("25", 25 * _HOUR)),
    _interval("MINUTE", ("-90", -1.5 * _HOUR), ("07", _HOUR * 7 / 60)),
    _interval("SECOND", ("-01.5", -1.5 * SECOND), ("86400.000001", 24 * _HOUR + SECOND / 10**6)),
    _interval("DAY TO HOUR", ("-1 02", -26 * _HOUR), ("3 04", 76 * _HOUR)),
    _interval("DAY TO MINUTE", ("-0 00:01", -60 * SECOND), ("3 04:05", 76 * _HOUR + 300 * SECOND)),
    _interval("HOUR TO MINUTE", ("-25:30", -25.5 * _HOUR), ("00:01", 60 * SECOND)),
    _interval("HOUR TO SECOND", ("-00:00:00.5", -SECOND / 2), ("25:00:01", 25 * _HOUR + SECOND)),
    _interval(
        "MINUTE TO SECOND", ("-90:00.25", -5400.25 * SECOND), ("1501:00", 25 * _HOUR + 60 * SECOND)
    ),
)


def _months(unit: str, *values: tuple[str, int]) -> Kind:
    name, months = f"INTERVAL {unit}", tuple(number for _, number in values)
    return Kind(
        name,
        "months",
        name,
        tuple(
            Value(f"INTERVAL '{text}' {unit}", number, f"INTERVAL '{text}' {unit}")
            for text, number in values
        ),
        pa.int32(),
        from_arrow=Imported("INT", months),
        from_spark=Imported("INT", tuple(map(str, months))),
        unfit=(Value("", 13, ""), TOO_FINE) if unit == "YEAR" else None,
        refused={
            "widen": NO_WIDER,
            "sql: key": NO_PYTHON,
            "sql: changes": NO_PYTHON,
            **{f"source: {feature}": NO_PYTHON for feature in FEATURES if feature != "import"},
        },
    )


MONTHS = (
    _months(
        "YEAR TO MONTH",
        *(("-178956970-8", -(2**31)), ("-0-1", -1), ("1-2", 14), ("178956970-7", 2**31 - 1)),
    ),
    _months("YEAR", ("-178956970", -2147483640), ("3", 36)),
    _months("MONTH", ("-2147483648", -(2**31)), ("14", 14)),
)
