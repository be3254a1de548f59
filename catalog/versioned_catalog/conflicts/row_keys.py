"""Row keys that were read, written, and written by somebody else meanwhile (FORMAT.md, section 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from versioned_catalog.conflicts.operations import KeyCheck
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.log.table_timeline import TableTimeline
from versioned_catalog.merge_on_read.overlaps import key_ranges
from versioned_catalog.schema.schema import Schema


class KeyConflictError(CommitConflictError):
    """Somebody wrote rows of keys that were read here: what was read is to be read again."""


def check_keys(
    check: KeyCheck, written: Schema, state: TableState, log: TableTimeline, table: str
) -> None:
    """Refuse rows that were made of others which are not there any more.

    Args:
        check: the keys.
        written: the schema that these were read under.
        state: the newest state.
        log: where it comes from.
        table: the table, for errors.

    Raises:
        KeyConflictError: a commit since may have written such a key, or removed such a row.
    """
    for entry in log.since(check.since, state.version):
        if isinstance(entry, Stub):
            raise _conflict(check, entry.version, "an expired commit", state, table)
        if entry.head.operation == "compact":
            continue  # it holds the rows that were there
        if entry.removed or _touches(check, written, entry, state):
            raise _conflict(check, entry.head.version, entry.head.operation, state, table)


def _conflict(
    check: KeyCheck, version: int, what: str, state: TableState, table: str
) -> KeyConflictError:
    key = ", ".join(map(state.schema.path_text, state.schema.row_key))
    return KeyConflictError(
        f"{table}: version {version} ({what}) wrote or removed rows of the same row key ({key}) as "
        f"this, which read version {check.since}; refresh() the table and run it again"
    )


def _touches(check: KeyCheck, written: Schema, entry: Commit, state: TableState) -> bool:
    near = [record for record in entry.added if _is_near(check.records, record, written, state)]
    return bool(near) and check.meet(near, state)


def _is_near(
    ours: Sequence[SegmentRecord], theirs: SegmentRecord, written: Schema, state: TableState
) -> bool:
    """Whether the ranges of the row keys overlap."""
    # What was written may say a schema that the commit itself is to bring.
    known = [replace(record, schema_version=written.version) for record in ours]
    both = SegmentSet().add([*known, theirs], state.version, state.time, state.schemas)
    ranges = key_ranges(replace(state, segments=both))
    last = len(known)
    return any(
        all(low[at] <= high[last] and low[last] <= high[at] for low, high in ranges)
        for at in range(last)
    )
