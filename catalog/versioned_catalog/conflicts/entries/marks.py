"""Entries that change neither rows nor schema: ``tag``, ``fence``, ``expire``, ``drop``."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt, once
from versioned_catalog.conflicts.entries.heads import next_head
from versioned_catalog.conflicts.operations import Drop, Expire, Fence, Tag
from versioned_catalog.log.entry import Commit


@once
def changed_tags(attempt: Attempt[Tag]) -> dict[str, int]:
    """The tags after the operation."""
    operation, tags = attempt.operation, dict(attempt.state.tags)
    if operation.version is None:
        del tags[operation.name]
        return tags
    return {**tags, operation.name: operation.version}


def is_tagged(attempt: Attempt[Tag]) -> bool:
    """Whether the tag names the version already."""
    return changed_tags(attempt) == dict(attempt.state.tags)


def tag_entry(attempt: Attempt[Tag]) -> Commit:
    """The entry that sets or drops a tag."""
    tags = changed_tags(attempt)
    return Commit(next_head(attempt, "tag"), attempt.state.next_column_id, tags=tags)


def drop_entry(attempt: Attempt[Drop]) -> Commit:
    """The entry that drops a table."""
    return Commit(next_head(attempt, "drop"), attempt.state.next_column_id)


def is_fenced(attempt: Attempt[Fence]) -> bool:
    """Whether the fence is as high already."""
    return attempt.operation.fence <= attempt.state.fence


def fence_entry(attempt: Attempt[Fence]) -> Commit:
    """The entry that raises the fence."""
    head = next_head(attempt, "fence")
    return Commit(head, attempt.state.next_column_id, fence=attempt.operation.fence)


def is_expired(attempt: Attempt[Expire]) -> bool:
    """Whether the oldest retained version is as high already."""
    return attempt.operation.floor <= attempt.state.floor


def expire_entry(attempt: Attempt[Expire]) -> Commit:
    """The entry that raises the oldest retained version."""
    head = next_head(attempt, "expire")
    return Commit(head, attempt.state.next_column_id, floor=attempt.operation.floor)
