"""Whether segments were committed before, under another commit ID (FORMAT.md, section 10)."""

from __future__ import annotations

import posixpath
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.conflicts.operations import Base
from versioned_catalog.errors import AlreadyExistsError
from versioned_catalog.log.entry import Stub
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.types.arrow_values import array_of


def check_new(
    base: Base,
    records: Collection[SegmentRecord],
    state: TableState,
    log: TableTimeline,
    table: str,
) -> None:
    """Refuse segments that a commit since their base added already: their rows would be there twice.

    Nothing older can have added them, since the name of a segment says the version that it was planned
    on. A compaction or an overwrite may have removed them since, so that the live segments do not tell.

    Args:
        base: the snapshot that they were planned on.
        records: the segments.
        state: the newest state.
        log: where it comes from.
        table: the table, for errors.

    Raises:
        AlreadyExistsError: naming the commit that added them.
    """
    paths = {record.path for record in records}
    oldest = oldest_base(base, records)
    if len(paths) < len(records):
        raise AlreadyExistsError(f"{table}: a segment is to be committed twice in one commit")
    for entry in log.since(oldest, state.version) if paths else ():
        if isinstance(entry, Stub):
            _check_not_live(paths, state, table)
            continue
        if entry.head.operation == "rollback":
            continue
        if not paths.isdisjoint(record.path for record in entry.added):
            raise AlreadyExistsError(
                f"{table}: these segments were committed already, by version {entry.head.version} "
                f"(commit ID {entry.head.commit_id}); write the rows again if they are to be there twice"
            )


def _check_not_live(paths: Collection[str], state: TableState, table: str) -> None:
    """Refuse segments that are live: which entry added them is expired."""
    live = pc.is_in(state.segments.core["path"], array_of(list(paths), pa.string()))
    if pc.any(live).as_py():
        raise AlreadyExistsError(
            f"{table}: these segments were committed already, by a version that is expired; write the "
            "rows again if they are to be there twice"
        )


def oldest_base(base: Base, records: Collection[SegmentRecord]) -> int:
    """The oldest version that segments were planned on: the base, or one that a name says."""
    return min([base.version, *(_base_version(record.path, base.version) for record in records)])


def _base_version(path: str, base: int) -> int:
    """The version in the name of a segment; that of the base where there is none."""
    digits = posixpath.basename(path).partition("-")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 20 else base
