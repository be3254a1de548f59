"""Commit times: their text in entries, and the next one (FORMAT.md, section 5, *Time*)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from versioned_catalog.errors import CorruptTableError

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def time_to_text(time: datetime) -> str:
    """The text of a time in an entry."""
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def time_from_text(text: str) -> datetime:
    """The time that an entry holds. Raises CorruptTableError if the text is not a time."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        raise CorruptTableError(f"{text[:50]!r} is not a time") from None


def next_time(previous: datetime | None, now: datetime) -> datetime:
    """The time of a commit: now, but after the previous commit.

    Raises:
        CorruptTableError: the previous commit has the latest possible time.
    """
    try:
        return now if previous is None else max(previous + MICROSECOND, now)
    except OverflowError:
        raise CorruptTableError(f"the last commit is of {previous}, and no time is later") from None
