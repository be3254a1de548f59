"""Commit times that a clock which was ahead may have written (FORMAT.md, section 5, *Time*)."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from datetime import datetime

from versioned_catalog.log.layout import LOG, entry_path
from versioned_catalog.log.times import EARLIEST, LATEST
from versioned_catalog.storage.clock import CLOCK_RESOLUTION
from versioned_catalog.storage.store import Store


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
    found = [LATEST] * (newest + 1)
    least = LATEST
    for version in range(newest, -1, -1):
        least = min(least, dates.get(posixpath.basename(entry_path(version)), LATEST))
        found[version] = least
    return found
