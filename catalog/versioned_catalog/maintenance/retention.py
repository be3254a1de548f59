"""Retention: how long readers and writers in flight are protected."""

from __future__ import annotations

import posixpath
from datetime import UTC, datetime, timedelta

from versioned_catalog.errors import InvalidRequestError, StorageError
from versioned_catalog.log.layout import LOG
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog
from versioned_catalog.storage.store import Store

DEFAULT = timedelta(days=7)
"""The default retention."""

SHORTEST = timedelta(hours=1)
"""The shortest retention that need not be forced."""


def check_retention(retention: object, table: str, breaks: str, *, force: bool) -> timedelta:
    """Return a valid retention.

    Args:
        retention: the argument of the user.
        breaks: what a short retention may break, for the error.
        force: allow a short retention.

    Raises:
        InvalidRequestError: not a timedelta, negative, or under an hour and not forced.
    """
    if not isinstance(retention, timedelta) or retention < timedelta(0):
        raise InvalidRequestError(
            f"{table}: retention must be a non-negative timedelta, got {retention!r}"
        )
    if retention < SHORTEST and not force:
        raise InvalidRequestError(
            f"{table}: a retention of {retention} is shorter than {SHORTEST}: {breaks}; use a longer "
            "one, or force it if nobody reads or writes the table now"
        )
    return retention


def clock_of(store: Store, *, dry_run: bool) -> datetime:
    """The time by the store's clock, which is read from the date of a new file.

    A dry run that may not write takes the clock of this machine.
    """
    try:
        return store.now()
    except StorageError:
        if dry_run:
            return datetime.now(UTC)
        raise


def newest_before(timeline: TableLog, state: TableState, cutoff: datetime) -> int:
    """Return the newest version as of a cutoff, by commit time and by modification time of its entry.

    The commit time is by the writer's clock; the modification time and the cutoff are by the store's.
    The result is the one before the oldest retained version if there is none.
    """
    young = {file.name for file in timeline.store.files(LOG) if file.modified > cutoff}
    newest = timeline.version_at(cutoff, state.version)
    for version in range(state.floor, newest + 1):
        if posixpath.basename(timeline.entry_path(version)) in young:
            return version - 1
    return newest


def ago(now: datetime, retention: timedelta) -> datetime:
    """Subtract a retention from a time; the earliest datetime on underflow."""
    try:
        return now - retention
    except OverflowError:
        return datetime.min.replace(tzinfo=now.tzinfo)
