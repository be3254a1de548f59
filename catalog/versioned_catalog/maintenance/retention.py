"""How long is long ago: what readers and writers in flight are protected by."""

from __future__ import annotations

import posixpath
from datetime import datetime, timedelta

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.layout import LOG
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_log import TableLog

DEFAULT = timedelta(days=7)
"""The retention where none is given."""

SHORTEST = timedelta(hours=1)
"""A shorter one is refused, unless it is forced."""


def check_retention(retention: object, table: str, breaks: str, *, force: bool) -> timedelta:
    """A retention, if it is one that can be.

    Args:
        retention: what was given.
        table: the table, for errors.
        breaks: what a short one may break.
        force: whether a short one is wanted all the same.

    Raises:
        InvalidRequestError: it is no time span, negative, or short and not forced.
    """
    if not isinstance(retention, timedelta) or retention < timedelta(0):
        raise InvalidRequestError(f"{table}: {retention!r} is no retention, which is a timedelta")
    if retention < SHORTEST and not force:
        raise InvalidRequestError(
            f"{table}: a retention of {retention} is shorter than {SHORTEST}: {breaks}; give a longer "
            "one, or force it if nobody reads or writes the table now"
        )
    return retention


def newest_before(timeline: TableLog, state: TableState, cutoff: datetime) -> int:
    """The newest version that is not younger than a cutoff, by its time and by the date of its entry.

    The time is by the clock of who committed it, the date by the store's, as the cutoff is.

    Args:
        timeline: the table's log.
        state: its newest state.
        cutoff: by the store's clock.

    Returns:
        The version; the one before the floor if there is none.
    """
    young = {file.name for file in timeline.store.files(LOG) if file.modified > cutoff}
    newest = timeline.version_at(cutoff, state.version)
    for version in range(state.floor, newest + 1):
        if posixpath.basename(timeline.entry_path(version)) in young:
            return version - 1
    return newest


def ago(now: datetime, retention: timedelta) -> datetime:
    """The time so long before another one; the first there is, where that goes too far back."""
    try:
        return now - retention
    except OverflowError:
        return datetime.min.replace(tzinfo=now.tzinfo)
