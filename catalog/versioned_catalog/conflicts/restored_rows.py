"""Rule: a compaction has seen all older rows (FORMAT.md, section 11, note 13)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.concurrent import find_conflict
from versioned_catalog.conflicts.operations import Compact
from versioned_catalog.errors import CommitConflictError


def no_rows_restored(attempt: Attempt[Compact]) -> None:
    """Refuse a compaction after a rollback: it may have dropped a tombstone that is needed again.

    Raises:
        CommitConflictError: the table was rolled back since the base, or may have been.
    """
    base = attempt.operation.base.version
    if find_conflict(attempt, base, lambda commit: commit.head.operation == "rollback"):
        raise CommitConflictError(
            f"{attempt.table}: the table was rolled back since version {base}, on which this "
            "compaction was planned; run it again"
        )
