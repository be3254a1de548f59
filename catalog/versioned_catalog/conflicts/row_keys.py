"""Rule: nobody wrote the row keys that were read (FORMAT.md, section 11, note 14, and section 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.concurrent import find_conflict
from versioned_catalog.conflicts.operations import Rewrite
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.merge_on_read.overlaps import key_ranges
from versioned_catalog.schema.schema import Schema


class KeyConflictError(CommitConflictError):
    """A concurrent commit wrote rows of keys that were read: read them again."""


def row_keys_unchanged(attempt: Attempt[Rewrite]) -> None:
    """Refuse rows that were computed from rows which are not current any more.

    Raises:
        KeyConflictError: a commit since may have written one of the keys, or removed rows.
    """
    keys, state = attempt.operation.keys, attempt.state
    if keys is None:
        return
    schema = attempt.operation.base.schema

    def conflicts(commit: Commit) -> bool:
        if commit.head.operation == "compact":
            return False  # it holds the same rows
        if commit.removed:
            return True
        near = [one for one in commit.added if _overlaps(keys.records, one, schema, state)]
        return bool(near) and keys.meet(near, state)

    found = find_conflict(attempt, keys.since, conflicts)
    if found is not None:
        key = ", ".join(map(state.schema.path_text, state.schema.row_key))
        raise KeyConflictError(
            f"{attempt.table}: version {found.version} ({found.what}) wrote or removed rows of the same "
            f"row key ({key}) as this, which read version {keys.since}; refresh() the table and run it "
            "again"
        )


def _overlaps(
    ours: Sequence[SegmentRecord], theirs: SegmentRecord, written: Schema, state: TableState
) -> bool:
    """Whether the row key ranges of a segment and of one of ours overlap."""
    # Ours may name a schema version that this very commit brings.
    known = [replace(record, schema_version=written.version) for record in ours]
    both = SegmentSet().add([*known, theirs], state.version, state.time, state.schemas)
    ranges = key_ranges(replace(state, segments=both))
    last = len(known)
    return any(
        all(low[at] <= high[last] and low[last] <= high[at] for low, high in ranges)
        for at in range(last)
    )
