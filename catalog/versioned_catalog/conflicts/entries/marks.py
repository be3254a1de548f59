"""Entries that change neither rows nor schema: tags, consumers, ``fence``, ``expire``, ``drop``."""

from __future__ import annotations

from dataclasses import replace

from versioned_catalog.conflicts.attempt import Attempt, once
from versioned_catalog.conflicts.entries.heads import next_head
from versioned_catalog.conflicts.operations import Consume, Drop, Expire, Fence, Tag
from versioned_catalog.log.consumers import Consumer
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.features import CONSUMERS, Features


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


@once
def changed_consumers(attempt: Attempt[Consume]) -> dict[str, Consumer]:
    """The consumers after the operation."""
    operation, consumers = attempt.operation, dict(attempt.state.consumers)
    if operation.consumer is None:
        del consumers[operation.name]
        return consumers
    return {**consumers, operation.name: operation.consumer}


def consumer_entry(attempt: Attempt[Consume]) -> Commit:
    """The entry that moves or drops a consumer."""
    head = next_head(attempt, "tag")
    return Commit(
        replace(head, features=head.features | Features(write=frozenset({CONSUMERS}))),
        attempt.state.next_column_id,
        consumers=changed_consumers(attempt),
        details={"consumer": attempt.operation.name},
    )


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
