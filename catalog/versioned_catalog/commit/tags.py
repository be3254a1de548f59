"""Commits that set and drop tags, and when tags lapse."""

from __future__ import annotations

from datetime import datetime, timedelta

from versioned_catalog.commit.branches import check_keep
from versioned_catalog.commit.operations import Base, Tag
from versioned_catalog.commit.table_handle import TableHandle
from versioned_catalog.errors import InvalidRequestError


def set_tag(
    handle: TableHandle,
    name: str,
    version: int | str | None,
    keep: timedelta | None,
    commit_id: str | None,
) -> int:
    """Name a version. See ``Table.set_tag``."""
    check_keep(keep, handle.name)
    number = handle.number_of(version)
    whole = None if keep is None else timedelta(seconds=int(keep.total_seconds()))
    if whole is not None and has_lapsed(handle, number, whole, handle.store.now()):
        raise InvalidRequestError(
            f"{handle.name}: the tag {name!r} was to be kept for {whole} after the commit of version "
            f"{number}, which is older; keep it longer, or leave the time out"
        )
    return handle.commit(Tag(Base.of(handle.state), name, number, whole), commit_id)


def lapsed_tags(handle: TableHandle, now: datetime) -> dict[str, tuple[int, timedelta]]:
    """The tags that are not to be kept any more, with their versions and how long they were kept."""
    state = handle.state
    return {
        name: (state.tags[name], keep)
        for name, keep in state.tags_kept.items()
        if has_lapsed(handle, state.tags[name], keep, now)
    }


def has_lapsed(handle: TableHandle, version: int, keep: timedelta, now: datetime) -> bool:
    """Whether a version was committed longer ago than ``keep``; False if there is none."""
    head = handle.log.head(version)
    return head is not None and now - head.time > keep
