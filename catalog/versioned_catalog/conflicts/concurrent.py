"""The walk over the commits that others made since an operation was planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.head import Stub


@dataclass(frozen=True)
class ConcurrentCommit:
    """A commit that an operation conflicts with; its operation is None if it is expired."""

    version: int
    commit_id: str
    operation: str | None

    @property
    def what(self) -> str:
        """Its operation, for errors."""
        return self.operation or "an expired commit"


def find_conflict(
    attempt: Attempt[Any],
    since: int,
    conflicts: Callable[[Commit], bool],
    *,
    expired: Callable[[], bool] = lambda: True,
) -> ConcurrentCommit | None:
    """Find the first conflicting commit after a version.

    Args:
        since: the version that the operation was planned on, or read.
        conflicts: whether the operation conflicts with a commit.
        expired: whether it conflicts with a commit of which expiry left a stub only; by default it
            does, since nobody knows what that commit changed.

    Returns:
        The commit, or None if there is no conflict.
    """
    for entry in attempt.since(since):
        if isinstance(entry, Stub):
            if expired():
                return ConcurrentCommit(entry.version, entry.commit_id, None)
        elif conflicts(entry):
            head = entry.head
            return ConcurrentCommit(head.version, head.commit_id, head.operation)
    return None
