"""Rules: a rollback takes nothing back unseen, and stays within the incarnation (section 11, note 9)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.concurrent import find_conflict
from versioned_catalog.conflicts.operations import Rollback
from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState


def nothing_unseen(attempt: Attempt[Rollback]) -> None:
    """Refuse a rollback that would also undo commits made since it was planned.

    Raises:
        CommitConflictError: naming the first of them.
    """
    base = attempt.operation.base.version
    found = find_conflict(attempt, base, _matters)
    if found is not None:
        raise CommitConflictError(
            f"{attempt.table}: version {found.version} was committed since version {base}, on which "
            "this rollback was planned, and would be taken back with the rest; refresh() the table, "
            "look at it, and roll back again"
        )


def _matters(commit: Commit) -> bool:
    """Whether a commit changed what a rollback restores, or set a fence."""
    return bool(
        commit.added
        or commit.removed
        or commit.schema is not None
        or commit.properties is not None
        or commit.sets_comment
        or commit.fence is not None
        or commit.imported is not None
    )


def target_in_incarnation(attempt: Attempt[Rollback]) -> None:
    """Refuse to roll back to a version before the table was created or replaced."""
    version = attempt.operation.version
    check_same_incarnation(attempt.at(version), attempt.state, version, attempt.table)


def check_same_incarnation(
    then: TableState | None, state: TableState, version: int, table: str
) -> None:
    """Refuse a version, whose state is ``then``, of another incarnation of a table.

    Raises:
        InvalidRequestError: naming the version that began this incarnation.
    """
    if then is None or then.table_uuid != state.table_uuid:
        raise InvalidRequestError(
            f"{table} can't be rolled back to version {version}, since version {state.created_version} "
            "created or replaced the table, with new column IDs; roll back to that version or a "
            f"later one, or read version {version} and write its rows"
        )
