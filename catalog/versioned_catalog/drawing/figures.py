"""Numbers, sizes and times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def count_text(number: int) -> str:
    """A number with commas between thousands: ``12,345``."""
    return f"{number:,}"


def size_text(size: int) -> str:
    """A number of bytes in three digits: ``1.23 MB``.

    >>> size_text(999), size_text(1000), size_text(999_999), size_text(12_345_678)
    ('999 B', '1.00 kB', '1.00 MB', '12.3 MB')
    """
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    if unit == 0:
        return f"{size} B"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {_UNITS[unit]}"


def time_text(time: datetime) -> str:
    """A time in UTC, in minutes: ``2026-01-31 12:00``."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def plural(number: int, noun: str) -> str:
    """A number of things: ``1 row``, ``2 rows``."""
    return f"{count_text(number)} {noun}{'' if number == 1 else 's'}"


def clip(text: str, most: int) -> str:
    """Text of at most so many characters, with an ellipsis in the middle."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
