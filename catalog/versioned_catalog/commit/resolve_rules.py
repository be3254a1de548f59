"""Rules about hidden rows of tables with a primary key, which are marked so that none need be merged.

Note 20 of FORMAT.md, section 11, and section 13, *Resolving*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from versioned_catalog.commit.attempt import Attempt, once
from versioned_catalog.commit.operations import Resolve
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.bitmaps import Positions, distinct, merged
from versioned_catalog.log.marks import Mark, mark_of, marked_rows
from versioned_catalog.log.stored_segments import UNRESOLVED


def segments_are_live(attempt: Attempt[Resolve]) -> None:
    """Refuse marks of a group of which a segment is not live any more: it may hide rows of others.

    Raises:
        CommitConflictError: naming the segment.
    """
    segments = attempt.state.segments
    for path in attempt.operation.hidden:
        if segments.rows_of(path) is None:
            raise CommitConflictError(
                f"{attempt.table}: {path}, whose hidden rows were to be marked, was removed by another "
                f"commit since version {attempt.operation.base.version}; refresh() the table and "
                "resolve it again"
            )


def is_resolved(attempt: Attempt[Resolve]) -> bool:
    """Whether all segments are live and have the marks already."""
    united = _united(attempt)
    all_live = len(united) == len(attempt.operation.hidden)
    return all_live and not any(part.is_new for part in united.values())


@dataclass(frozen=True)
class _United:
    """The hidden rows of a segment, and the version up to which these are all."""

    positions: Positions
    resolved: int
    is_new: bool


@once
def _united(attempt: Attempt[Resolve]) -> Mapping[str, _United]:
    """The hidden rows that are, or are to be, marked in each segment that is live."""
    operation, segments, store = attempt.operation, attempt.state.segments, attempt.log.store
    united: dict[str, _United] = {}
    for path, hidden in operation.hidden.items():
        rows, mark = segments.rows_of(path), segments.mark_of(path)
        if rows is None:
            continue
        old = marked_rows(store, mark, path, rows)
        before = UNRESOLVED if mark is None or mark.resolved is None else mark.resolved
        both = distinct(merged(old, hidden))
        resolved = max(before, operation.base.version)
        united[path] = _United(both, resolved, len(both) > len(old) or resolved > before)
    return united


def resolved_marks(attempt: Attempt[Any]) -> dict[str, Mark | None]:
    """The new marks, of the segments that have others; large ones are written to files."""
    store, base = attempt.log.store, attempt.operation.base.version
    return {
        path: mark_of(store, base, path, united.positions, united.resolved)
        for path, united in _united(attempt).items()
        if united.is_new
    }
