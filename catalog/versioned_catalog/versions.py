"""Commits that name or restore versions: tags and rollbacks."""

from __future__ import annotations

from datetime import datetime

from versioned_catalog.conflicts.operations import Base, Drop, Rollback, Tag
from versioned_catalog.conflicts.versions import check_tag
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.handle import TableHandle


def roll_back(
    handle: TableHandle,
    version: int | None,
    timestamp: datetime | str | None,
    tag: str | None,
    commit_id: str | None,
) -> int:
    """Restore a version. See ``Table.rollback``."""
    if sum(given is not None for given in (version, timestamp, tag)) != 1:
        raise InvalidRequestError(
            f"{handle.name}: give one of version, timestamp and tag to roll back to"
        )
    target = handle.number_of(version if tag is None else check_tag(tag, handle.name), timestamp)
    return handle.commit(Rollback(Base.of(handle.state), target), commit_id)


def set_tag(handle: TableHandle, name: str, version: int | None, commit_id: str | None) -> int:
    """Name a version. See ``Table.set_tag``."""
    return handle.commit(Tag(Base.of(handle.state), name, handle.number_of(version)), commit_id)


def drop_tag(handle: TableHandle, name: str, commit_id: str | None) -> int:
    """Remove a tag. See ``Table.drop_tag``."""
    return handle.commit(Tag(Base.of(handle.state), name, None), commit_id)


def drop(handle: TableHandle) -> int:
    """Drop the table, and its pins. See ``Table.drop``."""
    return handle.commit(Drop(Base.of(handle.state)))
