"""Rule: of two imports, only one takes a file in (FORMAT.md, section 11, note 18)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.concurrent import find_conflict
from versioned_catalog.conflicts.operations import Import
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.imported import imported_files


class ImportedMeanwhileError(CommitConflictError):
    """A concurrent commit took in one of the files, or may have: see which are new, and try again."""


def files_are_new(attempt: Attempt[Import]) -> None:
    """Refuse files that another commit has taken in since they were known to be new.

    Raises:
        ImportedMeanwhileError: naming the commit.
    """
    operation, store = attempt.operation, attempt.log.store
    if operation.known_at is None or not operation.files:
        return
    keys = frozenset[str]().union(*(file.keys for file in operation.files))

    def takes_them(commit: Commit) -> bool:
        change = commit.imported
        if change is None:
            return False
        if change.complete:
            return True  # a complete ledger does not show which files this commit added
        return any(file.keys & keys for file in imported_files(change.ledger, store))

    found = find_conflict(attempt, operation.known_at, takes_them)
    if found is not None:
        raise ImportedMeanwhileError(
            f"{attempt.table}: version {found.version} ({found.what}) has imported some of these "
            "files; run the import again, which takes only the others"
        )
