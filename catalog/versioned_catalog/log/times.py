"""Times of commits and of their entries' files (FORMAT.md, section 5, *Time*)."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.features import LOG, entry_path
from versioned_catalog.storage.clock import CLOCK_RESOLUTION
from versioned_catalog.storage.store import Store

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


def moment(value: object, what: str) -> datetime:
    """A time that a user gives, in UTC: a datetime, a date or ISO 8601 text, in UTC if it has no zone.

    Args:
        value: the time.
        what: names the argument in errors, with the table if that is known.

    Raises:
        InvalidRequestError: it is none of these, or before the year 1 or after 9999 in UTC.
    """
    parsed = value
    if isinstance(value, str):
        try:
            parsed = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        except ValueError:
            raise InvalidRequestError(
                f"{what} must be ISO 8601, such as 2026-01-31T12:00:00Z, got {value!r}",
                condition="INVALID_OPTION",
            ) from None
    if isinstance(parsed, date) and not isinstance(parsed, datetime):
        parsed = datetime.combine(parsed, datetime.min.time())
    if not isinstance(parsed, datetime):
        raise InvalidRequestError(f"{what} must be a datetime or ISO 8601 text, got {value!r}")
    try:
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except OverflowError:
        raise _out_of_range(what, value) from None


def moment_of_micros(micros: int, what: str) -> datetime:
    """The time of microseconds since 1970, as ``moment``."""
    try:
        return UNIX_EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise _out_of_range(what, f"{micros} microseconds since 1970") from None


def _out_of_range(what: str, value: object) -> InvalidRequestError:
    return InvalidRequestError(
        f"{what} is {value!s}, which is not within the years 1 to 9999 in UTC",
        condition="INVALID_OPTION",
    )


def next_time(previous: datetime | None, now: datetime) -> datetime:
    """The time of a commit: now, but after the previous commit.

    Raises:
        CorruptTableError: the previous commit has the latest possible time.
    """
    try:
        return now if previous is None else max(previous + MICROSECOND, now)
    except OverflowError:
        raise CorruptTableError(f"the last commit is of {previous}, and no time is later") from None


def is_ahead(store: Store, version: int, time: datetime) -> bool:
    """Whether the time of a version is in the future by the store's clock."""
    if not store.is_remote:
        # A file's date is never in the future, and costs no request on a local disk.
        date = store.modified(entry_path(version)) or EARLIEST
        if time - date <= CLOCK_RESOLUTION:
            return False
    return time - store.time() > CLOCK_RESOLUTION


def settled_time(store: Store, version: int, time: datetime) -> datetime:
    """The time of a version in the log, or, if it is in the future, the date of its entry's file."""
    if not is_ahead(store, version, time):
        return time
    return min(time, store.modified(entry_path(version)) or store.time())


def latest_times(store: Store, newest: int) -> Sequence[datetime]:
    """For each version up to the newest, an upper bound of its time, by the dates of the entries' files.

    A stub is younger than the entry that it replaces, so the dates of later entries count, too.
    """
    dates = {file.name: file.modified for file in store.files(LOG)}
    latest = [LATEST] * (newest + 1)
    least = LATEST
    for version in range(newest, -1, -1):
        least = min(least, dates.get(posixpath.basename(entry_path(version)), LATEST))
        latest[version] = least
    return latest
