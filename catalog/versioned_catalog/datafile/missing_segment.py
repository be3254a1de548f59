"""The error for a missing segment: it was vacuumed after expiry, or the table is damaged."""

from __future__ import annotations

from versioned_catalog.errors import CorruptTableError, NotFoundError, VersionedError
from versioned_catalog.log.commit_log import CommitLog
from versioned_catalog.log.table_log import TableCodec, TableLog
from versioned_catalog.storage.store import Store


def missing_segment_error(
    store: Store, path: str, version: int, error: VersionedError
) -> VersionedError:
    """The error for a segment that can't be opened, by the newest state of the table.

    ``version`` is that of the snapshot that is read; negative for none.
    """
    if version < 0:
        return error
    gone = _why_gone(CommitLog(store, TableCodec()), version)
    if gone is not None:
        return NotFoundError(
            f"{store.url}: {gone} since this was planned, and {path} was vacuumed; load the table "
            "again. To keep a version for longer, tag it, or expire versions later",
            condition="VERSION_NOT_FOUND",
        )
    return CorruptTableError(
        f"{error}, and version {version} needs it; restore it from a copy, or read an older version; "
        "verify() reports what else is damaged"
    )


def _why_gone(timeline: TableLog, version: int) -> str | None:
    """Why a version is not kept; None if it is."""
    state = timeline.load().state
    if state is None:
        return None
    if state.dropped:
        return "the table was dropped"
    tagged = version in state.tags.values()
    first = state.floor if version < state.floor else timeline.first_kept(state.floor)
    return None if tagged or version >= first else f"version {version} was expired"
