"""Rows as other engines return them, and comparisons in SQL; nothing of the packages under test."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

Row = dict[str, Any]
Comparison = tuple[str, str, Any]
"""A column, ``=``, ``<``, ``>`` or ``is null``, and a value."""

SPARK, DUCKDB = "TIMESTAMP_LTZ", "TIMESTAMPTZ"
"""Dialects, by what they call timestamps with a zone."""


def condition(where: Comparison, zoned: str = DUCKDB) -> str:
    """A comparison in SQL; see ``literal``."""
    quote = "`" if zoned == SPARK else '"'
    column, operator, value = where
    name = f"{quote}{column}{quote}"
    return (
        f"{name} IS NULL" if operator == "is null" else f"{name} {operator} {literal(value, zoned)}"
    )


def literal(value: Any, zoned: str = DUCKDB) -> str:
    """A value in SQL; ``zoned`` is the name of the type of timestamps with a zone."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case float():
            return f"CAST('{value}' AS DOUBLE)"
        case Decimal():
            return f"CAST('{value}' AS DECIMAL(38, {-int(value.as_tuple().exponent)}))"
        case datetime():
            name = zoned if value.tzinfo else "TIMESTAMP_NTZ" if zoned == SPARK else "TIMESTAMP"
            return f"{name} '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
    return str(value)


def canonical(rows: Iterable[Row]) -> list[str]:
    """Rows in an order and a form in which equal ones compare equal, NaN and -0.0 too."""
    return sorted(repr(_canonical(row)) for row in rows)


def _canonical(value: Any) -> Any:
    match value:
        case dict():
            return {key: _canonical(one) for key, one in sorted(value.items())}
        case list() | tuple():
            return [_canonical(one) for one in value]
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case datetime():
            return value.isoformat() if value.tzinfo is None else value.timestamp()
        case bytearray() | memoryview():
            return bytes(value)
    return value
