"""What observers of commits are told, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True)
class CommitStarted:
    """A commit that is about to be tried.

    Args:
        table: name of the table, as the writer uses it.
        location: URL of its folder.
        operation: name of the operation, in the words of the code, such as ``append`` or ``rewrite``.
        commit_id: idempotency key of the commit.
        time: when it was tried first, by the clock of this machine.
        by: who commits and why, as ``committed_by`` says.
    """

    table: str
    location: str
    operation: str
    commit_id: str
    time: datetime
    by: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CommitFailed:
    """A commit that failed, or whose outcome is unknown.

    Args:
        started: the commit.
        error: what was raised.
        attempts: how often an entry was built for it.
        time: when it failed, by the clock of this machine.
    """

    started: CommitStarted
    error: BaseException
    attempts: int
    time: datetime


@dataclass(frozen=True)
class CommitEvent:
    """An acknowledged commit.

    Args:
        table: name of the table, as the writer uses it.
        location: URL of the table's folder.
        table_uuid: UUID of this incarnation of the table.
        version: version of the commit.
        schema_version: version of the schema as of the commit.
        operation: as ``history`` shows it: ``append``, ``delete``, ``alter``, ...
        commit_id: idempotency key of the commit.
        branch: the branch that was written to; None for the table's own.
        time: time of the commit, by the store's clock.
        ended: when it was acknowledged, by the clock of this machine.
        seconds: how long the commit took here, with its retries and without the writing of segments.
        attempts: how often an entry was built: 1 if no other commit came first.
        added_segments, removed_segments: how many segments the commit added and removed.
        rows: number of rows in the added segments.
        bytes: size of the added segments.
        by: who committed and why, as ``committed_by`` said: ``user``, ``application``, ``message``.

    >>> from versioned_catalog import on_commit
    >>> events = []
    >>> with on_commit(events.append):
    ...     table = catalog.create_table("t", "n BIGINT")
    >>> events[0].operation, events[0].version, events[0].summary["rows"]
    ('create', 0, 0)
    """

    table: str
    location: str
    table_uuid: str
    version: int
    schema_version: int
    operation: str
    commit_id: str
    branch: str | None
    time: datetime
    ended: datetime
    seconds: float
    attempts: int
    added_segments: int
    removed_segments: int
    rows: int
    bytes: int
    by: Mapping[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> dict[str, int]:
        """What the commit added and removed."""
        return {
            "added_segments": self.added_segments,
            "removed_segments": self.removed_segments,
            "rows": self.rows,
            "bytes": self.bytes,
        }


class Observer(Protocol):
    """Sees each commit of this process. What it raises is logged, and changes nothing."""

    def started(self, commit: CommitStarted, /) -> None:
        """A commit is about to be tried."""

    def committed(self, commit: CommitStarted, event: CommitEvent, state: Any, /) -> None:
        """A commit was acknowledged; ``state`` is the table's state after it."""

    def unchanged(self, commit: CommitStarted, ended: datetime, /) -> None:
        """There was nothing to commit."""

    def failed(self, failure: CommitFailed, /) -> None:
        """A commit failed, or its outcome is unknown."""
