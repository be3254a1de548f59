"""Room on a full disk for what frees room: a vacuum commits a fence first (FORMAT.md, section 10)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from versioned_catalog.errors import StorageError, VersionedError
from versioned_catalog.storage.failing import is_full
from versioned_catalog.storage.store import Store

T = TypeVar("T")

RESERVE = "_versioned/reserve"
RESERVE_BYTES = 16 * 1024
"""Some blocks: a log entry takes one, and its folder may take another."""


def make_reserve(store: Store) -> None:
    """Keep some room of a local disk, where a table has none yet; without it, all else goes on."""
    if not store.has_disk:
        return
    with suppress(VersionedError):
        if len(store.read(RESERVE, RESERVE_BYTES) or b"") < RESERVE_BYTES:
            # Bytes that no file system makes smaller.
            store.overwrite(RESERVE, os.urandom(RESERVE_BYTES))


def with_room(store: Store, act: Callable[[], T], spare: Sequence[str]) -> T:
    """Do something that takes a little room, on a disk that may be full.

    Args:
        store: the table's folder.
        act: is called again once the reserve is given up.
        spare: files that nobody needs, whatever comes of it.

    Raises:
        StorageError: the disk is full nevertheless.
    """
    try:
        return act()
    except StorageError as error:
        if not (store.has_disk and is_full(error)):
            raise
    store.delete_all([*spare, RESERVE])
    return act()
