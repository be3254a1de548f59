"""The tags that keep versions for clones, and when they go (FORMAT.md, section 18)."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from versioned_catalog.commit.operations import Base, Tag
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import VersionedError
from versioned_catalog.log.branch_store import branch_log
from versioned_catalog.log.clones import Protection, protections, sources_of
from versioned_catalog.log.commit_log import TableLog, table_log
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.orphans import references
from versioned_catalog.storage.opening import root_store
from versioned_catalog.storage.store import WAREHOUSE_ROOT, RootPath, Store

PENDING = timedelta(days=7)
"""How long a tag stays whose clone is not there: somebody may be about to make it."""


def release_clones(handle: TableHandle, now: datetime) -> tuple[str, ...]:
    """Drop the tags of clones that need no file of a table any more; return the folders of the clones.

    A table that was not opened through its catalog keeps all of them. A tag stays if the clone's log
    can't be read, or if it was dropped and is not purged.

    Args:
        now: the time by the store's clock.
    """
    released = []
    for tag, protection in sorted(protections(handle.refresh().state.tags).items()):
        with suppress(VersionedError):
            if not _is_needed(handle.store, protection, now):
                handle.commit(Tag(Base.of(handle.state), tag, None))
                released.append(protection.folder)
    return tuple(released)


def release_unneeded(handle: TableHandle) -> None:
    """Drop the tags of clones as an expiry does; nothing is asked without such tags."""
    if protections(handle.refresh().state.tags):
        release_clones(handle, handle.store.now())


def folder_below(store: Store) -> str | None:
    """The folder of a table below the warehouse that it was opened from; None if that is not known."""
    warehouse = dict(store.location.roots).get(WAREHOUSE_ROOT)
    if warehouse is None:
        return None
    below = warehouse.url.rstrip("/") + "/"
    return store.url.removeprefix(below) if store.url.startswith(below) else None


def _is_needed(store: Store, protection: Protection, now: datetime) -> bool:
    folder = folder_below(store)
    if folder is None:
        return True
    clone = root_store(store, RootPath(WAREHOUSE_ROOT, "")).child(protection.folder)
    log = table_log(clone)
    state = log.load().state
    if state is None:
        return now - protection.made < PENDING
    if state.dropped:
        return not state.purged  # it can be undropped until then
    # Another table in the folder can be rolled back to what is retained of the clone.
    return folder in sources_of(state.segments.paths) or _reads(log, state, folder)


def _reads(log: TableLog, state: TableState, folder: str) -> bool:
    """Whether a retained version of a clone, or of one of its branches, has files of a folder."""
    state, needed = references(log, state)
    if folder in sources_of(needed.paths):
        return True
    for branch in state.branches.values():
        on_branch = branch_log(log.store, branch)
        newest = on_branch.load().state
        if newest is None or folder in sources_of(references(on_branch, newest)[1].paths):
            return True
    return False
