"""Why a segment is not there: it was given up, or the table is damaged."""

from __future__ import annotations

from versioned_catalog.errors import CorruptTableError, NotFoundError, VersionedError
from versioned_catalog.log.commit_log import CommitLog
from versioned_catalog.log.table_log import TableCodec, TableLog
from versioned_catalog.storage.store import Store


def why_missing(store: Store, path: str, version: int, error: VersionedError) -> VersionedError:
    """What is told of a segment that can't be opened, by what the log says now.

    Args:
        store: the table's folder.
        path: the segment.
        version: of the snapshot that is read.
        error: what opening it came to.
    """
    if version < 0:
        return error
    gone = _given_up(CommitLog(store, TableCodec()), version)
    if gone is not None:
        return NotFoundError(
            f"{store.url}: {gone} since this was planned, and {path} was vacuumed; load the table "
            "again. Versions that must stay are tagged, or expired later",
            condition="VERSION_NOT_FOUND",
        )
    return CorruptTableError(
        f"{error}, and version {version} needs it; restore it from a copy, or read an older version; "
        "verify() tells what else is damaged"
    )


def _given_up(timeline: TableLog, version: int) -> str | None:
    """How a version came not to be kept; None if it is."""
    state = timeline.load().state
    if state is None:
        return None
    if state.dropped:
        return "the table was dropped"
    tagged = version in state.tags.values()
    first = state.floor if version < state.floor else timeline.first_kept(state.floor)
    return None if tagged or version >= first else f"version {version} was expired"
