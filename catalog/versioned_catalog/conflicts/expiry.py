"""Rules: the versions that an operation names are retained (FORMAT.md, section 11, notes 11 and 12)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.operations import Expire, Rollback
from versioned_catalog.errors import CommitConflictError, NotFoundError
from versioned_catalog.log.state import TableState


def target_is_retained(attempt: Attempt[Rollback]) -> None:
    """Refuse to roll back to a version that is expired (note 11)."""
    check_retained(attempt.operation.version, attempt.state, attempt.table)


def tags_are_kept(attempt: Attempt[Expire]) -> None:
    """Refuse to expire a version that was tagged since the states to keep were written (note 12).

    Raises:
        CommitConflictError: naming the tag.
    """
    operation = attempt.operation
    for name, version in attempt.state.tags.items():
        if version < operation.floor and version not in operation.kept:
            raise CommitConflictError(
                f"{attempt.table}: version {version} was tagged as {name!r} while it was to be expired; "
                "nothing was expired, run it again"
            )


def check_retained(version: int, state: TableState, table: str) -> None:
    """Refuse a version that is expired.

    Raises:
        NotFoundError: naming the versions that are retained.
    """
    if not state.keeps(version):
        raise NotFoundError(
            f"{table} keeps versions from {state.floor} on, and those with tags; version {version} is "
            "expired",
            condition="VERSION_NOT_FOUND",
        )
