"""Rules about marked rows: each is marked once, and no copy brings one back.

Notes 19 and 21 of FORMAT.md, section 11.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from versioned_catalog.commit.attempt import Attempt, find_conflict, once
from versioned_catalog.commit.moved_rows import planned_marks, removal
from versioned_catalog.commit.operations import Resolve, Write
from versioned_catalog.commit.resolve_rules import resolved_marks
from versioned_catalog.commit.segment_rules import removed_meanwhile
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.bitmaps import Positions, merged
from versioned_catalog.log.features import MARKS
from versioned_catalog.log.marks import Mark, mark_of, marked_rows
from versioned_catalog.spelling import one_of

ROW_CHANGES = "row_changes"
"""The table property that says whether changed rows are marked, or their segments copied."""


class RowChanges(enum.Enum):
    """How rows of a table without a primary key are deleted and updated."""

    AUTO = "auto"
    """Mark them while at most a quarter of the rows of their segment is marked; else as ``copy``."""
    COPY = "copy"
    """Copy the other rows of their segments to new segments."""
    MARK = "mark"
    """Mark them."""


def row_changes_of(properties: Mapping[str, str]) -> RowChanges:
    """How a table's properties say that rows are changed.

    Raises:
        InvalidRequestError: the property has another value.
    """
    text = properties.get(ROW_CHANGES, RowChanges.AUTO.value)
    return one_of(RowChanges, text, f"the property {ROW_CHANGES}")


def marks_are_new(attempt: Attempt[Write]) -> None:
    """Refuse to mark rows that another commit has marked, or whose segment it has removed.

    Raises:
        CommitConflictError: naming the segment; or rows of segments that it replaces were moved by a
            compaction, and would have to be marked, which the property ``row_changes`` excludes.
    """
    needs_marks = united_marks(attempt) and not planned_marks(attempt.operation)
    if needs_marks and row_changes_of(attempt.state.properties) is RowChanges.COPY:
        raise removed_meanwhile(attempt)


@once
def united_marks(attempt: Attempt[Write]) -> dict[str, tuple[Positions, int]]:
    """All marked rows of each segment of which the operation marks rows, and the rows that it has.

    Raises:
        CommitConflictError: see ``marks_are_new``.
    """
    segments, store = attempt.state.segments, attempt.log.store
    united: dict[str, tuple[Positions, int]] = {}
    for path, new in removal(attempt).marks.items():
        rows = segments.rows_of(path)
        if rows is None:
            raise removed_meanwhile(attempt)
        old = marked_rows(store, segments.mark_of(path), path, rows)
        both = merged(old, new)
        if (both[1:] == both[:-1]).any():
            raise CommitConflictError(
                f"{attempt.table}: rows of {path} that this write deletes or replaces were deleted or "
                "replaced by another commit since version "
                f"{attempt.operation.base.version}; refresh() the table and run it again"
            )
        united[path] = both, rows
    return united


@dataclass(frozen=True)
class Marking:
    """How an entry marks rows.

    Args:
        whole: the segments of which every row is marked: they are removed instead.
        marks: the new marks of the others.
    """

    whole: tuple[str, ...] = ()
    marks: Mapping[str, Mark | None] = field(default_factory=dict)


def write_marks(attempt: Attempt[Write]) -> Marking:
    """How an operation marks rows, once all rules are passed; large marks are written to files."""
    operation, store = attempt.operation, attempt.log.store
    if isinstance(operation, Resolve):
        return Marking(marks=resolved_marks(attempt))
    whole: list[str] = []
    marks: dict[str, Mark | None] = {}
    for path, (positions, rows) in united_marks(attempt).items():
        if len(positions) == rows:
            whole.append(path)
        else:
            marks[path] = mark_of(store, operation.base.version, path, positions)
    return Marking(tuple(whole), marks)


def copied_marks_unchanged(attempt: Attempt[Write]) -> None:
    """Refuse to replace a segment that was marked since the base.

    Its copies would bring the marked rows back. An overwrite would leave the new versions of rows that
    an UPDATE marked, beside the rows that replace them. In a table with a primary key, marked rows are
    hidden by others anyway.

    Raises:
        CommitConflictError: naming the commit.
    """
    state, removed = attempt.state, frozenset(removal(attempt).paths)
    if not removed or MARKS not in state.features.read or state.schema.is_keyed:
        return
    base = attempt.operation.base.version
    conflict = find_conflict(attempt, base, lambda commit: not removed.isdisjoint(commit.marked))
    if conflict is not None:
        raise CommitConflictError(
            f"{attempt.table}: version {conflict.version} ({conflict.kind}) deleted or restored rows of "
            f"a segment that this write replaces as of version {base}; refresh() the table and run it "
            "again"
        )
