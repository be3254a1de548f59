"""Times in a log that a clock which was ahead may have written (FORMAT.md, section 5)."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from datetime import datetime

from versioned_catalog.log.entry import EARLIEST, LATEST
from versioned_catalog.log.reading import LOG, entry_path
from versioned_catalog.storage.clock import CLOCK_RESOLUTION
from versioned_catalog.storage.store import Store


def is_ahead(store: Store, version: int, time: datetime) -> bool:
    """Whether the time of a version lies in the future of the store's clock."""
    if not store.is_remote:
        # A date is never in the future, and a disk says it for nothing.
        date = store.modified(entry_path(version)) or EARLIEST
        if time - date <= CLOCK_RESOLUTION:
            return False
    return time - store.time() > CLOCK_RESOLUTION


def settled_time(store: Store, version: int, time: datetime) -> datetime:
    """The time of a version, or where that lies in the future, the date of its entry's file.

    Args:
        store: the table's folder.
        version, time: what the log says.
    """
    if not is_ahead(store, version, time):
        return time
    return min(time, store.modified(entry_path(version)) or store.time())


def latest_times(store: Store, newest: int) -> Sequence[datetime]:
    """For each version up to the newest, the date that it is not later than, by the files of entries.

    A stub is younger than the entry that it replaces, so the dates of later entries count, too.
    """
    dates = {file.name: file.modified for file in store.files(LOG)}
    found = [LATEST] * (newest + 1)
    least = LATEST
    for version in range(newest, -1, -1):
        least = min(least, dates.get(posixpath.basename(entry_path(version)), LATEST))
        found[version] = least
    return found
