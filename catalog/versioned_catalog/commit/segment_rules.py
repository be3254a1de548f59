"""Rules about segments: added once, live until they are removed, and not deleted by a vacuum.

Notes 2, 4, 18 and 21 of FORMAT.md, section 11, and section 10.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.commit.attempt import Attempt, find_conflict
from versioned_catalog.commit.moved_rows import removal
from versioned_catalog.commit.operations import Base, Import, Replace, Resolve, Rewrite, Write
from versioned_catalog.errors import AlreadyExistsError, CommitConflictError
from versioned_catalog.log.entry import Batch, Commit
from versioned_catalog.log.ledger import imported_files
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.arrow import array_of
from versioned_catalog.storage.store import PREFIX, file_of


def is_done(state: TableState, batch: Batch) -> bool:
    """Whether this or a later batch of its application was committed."""
    last = state.applications.get(batch.application)
    return last is not None and last.id >= batch.id


def batch_is_new(attempt: Attempt[Write]) -> None:
    """Refuse a batch if this or a later one of its application was committed.

    Raises:
        AlreadyExistsError: naming the batch.
        CommitConflictError: an expired commit may have written it, and the application is forgotten.
    """
    batch = attempt.operation.batch
    if batch is None:
        return
    committed = f"{attempt.table}: batch {batch.id} of {batch.application} was committed already"
    if is_done(attempt.state, batch):
        raise AlreadyExistsError(committed)
    if attempt.state.remembers(batch.application):
        return

    def wrote_it(commit: Commit) -> bool:
        other, of_branch = commit.batch, commit.batches.get(batch.application)
        if of_branch is not None and of_branch >= batch.id:
            return True
        return other is not None and other.application == batch.application and other.id >= batch.id

    conflict = find_conflict(attempt, attempt.operation.base.version, wrote_it)
    if conflict is None:
        return
    if conflict.operation is None:
        raise CommitConflictError(
            f"{attempt.table}: version {conflict.version}, which has expired, may have committed batch "
            f"{batch.id} of {batch.application}; look whether its rows are there, and write it again if "
            "they are not"
        )
    raise AlreadyExistsError(committed)


class ImportedMeanwhileError(CommitConflictError):
    """A concurrent commit took in one of the files, or may have: see which are new, and try again."""


def files_are_new(attempt: Attempt[Write]) -> None:
    """Refuse files that another commit has taken in since they were known to be new.

    Raises:
        ImportedMeanwhileError: naming the commit.
    """
    operation, store = attempt.operation, attempt.log.store
    new = operation.new_files
    if new is None or not new.files:
        return
    keys = frozenset[str]().union(*(file.keys for file in new.files))

    def takes_them(commit: Commit) -> bool:
        change = commit.imported
        if change is None:
            return False
        if change.complete:
            return True  # a complete ledger does not show which files this commit added
        return any(file.keys & keys for file in imported_files(change.ledger, store))

    conflict = find_conflict(attempt, new.known_at, takes_them)
    if conflict is not None:
        again = "run it again, which looks at them first"
        if isinstance(operation, Import):
            again = "run the import again, which takes only the others"
        raise ImportedMeanwhileError(
            f"{attempt.table}: version {conflict.version} ({conflict.kind}) has imported some of these "
            f"files; {again}"
        )


def segments_are_new(attempt: Attempt[Write]) -> None:
    """Refuse segments that a commit added already, since their rows would be there twice.

    No commit before the version in a segment's name can have added it. The live segments alone do not
    decide: a compaction or an overwrite may have removed the segment since.

    Raises:
        AlreadyExistsError: naming the commit that added them.
    """
    base, records, table = attempt.operation.base, attempt.operation.records, attempt.table
    paths = {record.path for record in records}
    if len(paths) < len(records):
        raise AlreadyExistsError(f"{table}: a segment is to be committed twice in one commit")
    external = {path for path in paths if path.startswith(PREFIX)}
    if isinstance(attempt.operation, Import) and attempt.operation.again:
        paths -= external
        external = set()
    if external:  # those that were removed may be adopted again
        removed = {*(attempt.operation.removed or ())}
        stored = attempt.state.segments.column("path")
        live: list[str] = stored.filter(pc.starts_with(stored, PREFIX)).to_pylist()
        duplicates = [path for path in live if file_of(path) in external and path not in removed]
        if duplicates:
            raise AlreadyExistsError(
                f"{table}: {len(duplicates)} of the files are in the table already, such as "
                f"{duplicates[0]}; leave them out"
            )
    if not paths:
        return

    def adds_them(commit: Commit) -> bool:
        if commit.head.operation == "rollback":
            return False
        return not paths.isdisjoint(file_of(record.path) for record in commit.added)

    def are_live() -> bool:
        live = pc.is_in(attempt.state.segments.core["path"], array_of(list(paths), pa.string()))
        return bool(pc.any(live).as_py())

    conflict = find_conflict(attempt, oldest_base(base, records), adds_them, expired=are_live)
    if conflict is not None:
        commit = f"version {conflict.version} (commit ID {conflict.commit_id})"
        raise AlreadyExistsError(
            f"{table}: these segments were committed already, by "
            f"{'a version that is expired' if conflict.operation is None else commit}; write the rows "
            "again if they are to be there twice"
        )


def oldest_base(base: Base, records: Collection[SegmentRecord]) -> int:
    """The oldest version that segments were planned on: the base, or the version in a name."""
    return min([base.version, *(_base_version(record.path, base.version) for record in records)])


def _base_version(path: str, base: int) -> int:
    """The version in a segment's name; that of the base if there is none, or for names of others."""
    if path.startswith(PREFIX):
        return base
    digits = posixpath.basename(path).partition("-")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 20 else base


def removed_are_live(attempt: Attempt[Write]) -> None:
    """Refuse to replace rows that another commit removed.

    Raises:
        CommitConflictError: a segment to be removed is not live any more.
    """
    if not removal(attempt).is_whole:
        raise removed_meanwhile(attempt)


def removed_meanwhile(attempt: Attempt[Write]) -> CommitConflictError:
    """The error of a write that replaces rows of a segment that is not live any more."""
    return CommitConflictError(
        f"{attempt.table}: rows that this write replaces were removed by another commit since "
        f"version {attempt.operation.base.version}, or moved by a compaction that it can't follow; "
        "refresh() the table and run it again"
    )


def segments_above_fence(attempt: Attempt[Write]) -> None:
    """Refuse segments, marks and pages of imported files that were written below the fence."""
    operation = attempt.operation
    brings_pages = isinstance(operation, Import) and operation.files
    marks_rows = isinstance(operation, Resolve) or (
        isinstance(operation, Rewrite) and operation.marks
    )
    if operation.records or brings_pages or marks_rows or removal(attempt).marks:
        _check_above_fence(oldest_base(operation.base, operation.records), attempt)


def read_above_fence(attempt: Attempt[Rewrite]) -> None:
    """Refuse to check row keys against segments below the fence, which may be deleted."""
    if attempt.operation.keys is not None:
        _check_above_fence(attempt.operation.base.version, attempt)


def replacement_above_fence(attempt: Attempt[Replace]) -> None:
    """Refuse the rows of a replacement that was planned below the fence."""
    if attempt.operation.creation.records:
        _check_above_fence(attempt.operation.base_version, attempt)


def _check_above_fence(base_version: int, attempt: Attempt[Any]) -> None:
    fence = attempt.state.fence
    if base_version < fence:
        raise CommitConflictError(
            f"{attempt.table}: this write was planned on version {base_version} and outlived the "
            f"retention of a vacuum (fence {fence}), so its segments may be deleted already; refresh() "
            "the table and write it again, or vacuum with a longer retention"
        )
