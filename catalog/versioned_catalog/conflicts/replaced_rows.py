"""Rule: a replacement made of the table's own rows has seen all (FORMAT.md, section 11, note 16)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.concurrent import find_conflict
from versioned_catalog.conflicts.operations import Replace
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.entry import NEW_INCARNATION, Commit


def replaced_rows_unchanged(attempt: Attempt[Replace]) -> None:
    """Refuse a replacement if rows came or went since the version that its rows were read from.

    Raises:
        CommitConflictError: naming the first commit that added or removed rows.
    """
    read = attempt.operation.read_version
    found = None if read is None else find_conflict(attempt, read, _changes_rows)
    if found is not None:
        raise CommitConflictError(
            f"{attempt.table}: version {found.version} ({found.what}) added or removed rows since "
            f"version {read}, from whose rows this replacement was made; refresh() the table and run it "
            "again"
        )


def _changes_rows(commit: Commit) -> bool:
    if commit.head.operation in NEW_INCARNATION:
        return True
    return commit.head.operation != "compact" and bool(commit.added or commit.removed)
