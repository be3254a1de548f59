"""Reserved disk space for vacuum, which commits a fence before it frees any (FORMAT.md, section 10)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from versioned_catalog.errors import StorageError, VersionedError
from versioned_catalog.storage.store import Store
from versioned_catalog.storage.system_errors import is_full

T = TypeVar("T")

RESERVE = "_versioned/reserve"
RESERVE_BYTES = 16 * 1024
"""A few blocks: a log entry takes one, and its folder may take another."""


def make_reserve(store: Store) -> None:
    """Reserve space on a local disk unless the table has some; a failure is ignored."""
    if not store.has_disk:
        return
    with suppress(VersionedError):
        if len(store.read(RESERVE, RESERVE_BYTES) or b"") < RESERVE_BYTES:
            # Random bytes, which no file system compresses.
            store.overwrite(RESERVE, os.urandom(RESERVE_BYTES))


def with_room(store: Store, act: Callable[[], T], spare: Sequence[str]) -> T:
    """Call a function that needs a little disk space, and give up the reserve if the disk is full.

    ``act`` is called again after the reserve was deleted. The files in ``spare`` may be deleted in any
    case.

    Raises:
        StorageError: the disk is still full.
    """
    try:
        return act()
    except StorageError as error:
        if not (store.has_disk and is_full(error)):
            raise
    store.delete_all([*spare, RESERVE])
    return act()
