"""Rule: a file is taken in by one commit only (FORMAT.md, section 11, note 18)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.concurrent import find_conflict
from versioned_catalog.conflicts.operations import Append, Import, Rewrite
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.imported import imported_files


class ImportedMeanwhileError(CommitConflictError):
    """A concurrent commit took in one of the files, or may have: see which are new, and try again."""


def files_are_new(attempt: Attempt[Append | Rewrite | Import]) -> None:
    """Refuse files that another commit has taken in since they were known to be new.

    Raises:
        ImportedMeanwhileError: naming the commit.
    """
    store = attempt.log.store
    match attempt.operation:
        case Import(files=files, known_at=since):
            again = "run the import again, which takes only the others"
        case Append(new_files=new) | Rewrite(new_files=new):
            files, since = ((), None) if new is None else (new.files, new.known_at)
            again = "run it again, which looks at them first"
    if since is None or not files:
        return
    keys = frozenset[str]().union(*(file.keys for file in files))

    def takes_them(commit: Commit) -> bool:
        change = commit.imported
        if change is None:
            return False
        if change.complete:
            return True  # a complete ledger does not show which files this commit added
        return any(file.keys & keys for file in imported_files(change.ledger, store))

    found = find_conflict(attempt, since, takes_them)
    if found is not None:
        raise ImportedMeanwhileError(
            f"{attempt.table}: version {found.version} ({found.what}) has imported some of these "
            f"files; {again}"
        )
