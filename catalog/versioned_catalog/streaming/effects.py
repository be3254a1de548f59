"""What a commit means to a stream that reads added rows."""

from __future__ import annotations

from dataclasses import dataclass

from versioned_catalog.errors import InvalidRequestError, NotFoundError, VersionedError
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.record import LiveSegment
from versioned_catalog.streaming.settings import OnRewrite

NO_ROWS = frozenset({"compact", "alter", "tag", "fence", "expire"})
"""Operations that add no rows; a compaction writes the same rows again."""


@dataclass(frozen=True)
class Added:
    """The segments whose rows a commit added; none if it did not change rows."""

    segments: tuple[LiveSegment, ...]


@dataclass(frozen=True)
class Ends:
    """A commit that a stream can't pass."""

    error: VersionedError


Effect = Added | Ends

NOTHING = Added(())
"""A commit that added no rows."""


def effect_of(commit: Commit, table_uuid: str, on_rewrite: OnRewrite, table: str) -> Effect:
    """What a commit means to a stream of one incarnation of a table."""
    head = commit.head
    end = end_of(commit, table_uuid, table)
    if end is not None:
        return Ends(end)
    if head.operation in NO_ROWS:
        return NOTHING
    if not commit.removed and head.operation != "rollback":
        return Added(added_by(commit))
    match on_rewrite:
        case OnRewrite.SKIP:
            return NOTHING
        case OnRewrite.FAIL:
            return Ends(
                InvalidRequestError(
                    f"{table}: version {head.version} ({head.operation}) removed rows or wrote rows "
                    "again, and a stream reads added rows only; leave out such commits with the option "
                    "onRewrite = 'skip', or read the table's changes, with a new checkpoint: by "
                    "readStream.changes, or with the option readChanges",
                    condition="NOT_SUPPORTED",
                )
            )


def end_of(commit: Commit, table_uuid: str, table: str) -> NotFoundError | None:
    """The error of a stream at a commit after which the table is another one, or none."""
    head = commit.head
    if head.table_uuid == table_uuid and head.operation != "drop":
        return None
    return gone(table, head.version, replaced=head.operation in NEW_INCARNATION)


def added_by(commit: Commit) -> tuple[LiveSegment, ...]:
    """The segments that a commit added, in the order of the log."""
    head = commit.head
    return tuple(
        LiveSegment(record, head.version, ordinal, head.time)
        for ordinal, record in enumerate(commit.added)
    )


def gone(table: str, version: int, *, replaced: bool) -> NotFoundError:
    """The error of a stream whose table is another one now."""
    what = "replaced" if replaced else "dropped"
    return NotFoundError(
        f"{table} was {what} at version {version}, and the columns of another table are other columns; "
        "start the query with a new checkpoint to read the table that is there now",
        condition="TABLE_NOT_FOUND",
    )
