"""Rule: a segment is added once, under whatever commit ID (FORMAT.md, section 10)."""

from __future__ import annotations

import posixpath
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.concurrent import find_conflict
from versioned_catalog.conflicts.operations import Append, Base, Import, Overwrite, Rewrite
from versioned_catalog.errors import AlreadyExistsError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.storage.root_paths import PREFIX, file_of
from versioned_catalog.types.arrow_values import array_of


def segments_are_new(attempt: Attempt[Append | Overwrite | Rewrite | Import]) -> None:
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
    _files_are_new(attempt, external)
    if not paths:
        return

    def adds_them(commit: Commit) -> bool:
        if commit.head.operation == "rollback":
            return False
        return not paths.isdisjoint(file_of(record.path) for record in commit.added)

    def are_live() -> bool:
        live = pc.is_in(attempt.state.segments.core["path"], array_of(list(paths), pa.string()))
        return bool(pc.any(live).as_py())

    found = find_conflict(attempt, oldest_base(base, records), adds_them, expired=are_live)
    if found is not None:
        known = f"version {found.version} (commit ID {found.commit_id})"
        raise AlreadyExistsError(
            f"{table}: these segments were committed already, by "
            f"{'a version that is expired' if found.operation is None else known}; write the rows "
            "again if they are to be there twice"
        )


def _files_are_new(
    attempt: Attempt[Append | Overwrite | Rewrite | Import], external: Collection[str]
) -> None:
    """Refuse files of others that are live already. One that was removed may be adopted again."""
    if not external:
        return
    operation = attempt.operation
    removed = {*operation.removed} if isinstance(operation, Rewrite | Import) else set[str]()
    paths = attempt.state.segments.column("path")
    live: list[str] = paths.filter(pc.starts_with(paths, PREFIX)).to_pylist()
    known = [path for path in live if file_of(path) in external and path not in removed]
    if known:
        raise AlreadyExistsError(
            f"{attempt.table}: {len(known)} of the files are in the table already, such as "
            f"{known[0]}; leave them out"
        )


def oldest_base(base: Base, records: Collection[SegmentRecord]) -> int:
    """The oldest version that segments were planned on: the base, or one that a name gives."""
    return min([base.version, *(_base_version(record.path, base.version) for record in records)])


def _base_version(path: str, base: int) -> int:
    """The version in a segment's name; that of the base if there is none, or for names of others."""
    if path.startswith(PREFIX):
        return base
    digits = posixpath.basename(path).partition("-")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 20 else base
