"""Rule: vacuum may not have deleted the segments (FORMAT.md, section 11, note 2)."""

from __future__ import annotations

from typing import Any

from versioned_catalog.conflicts.added_segments import oldest_base
from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.operations import Import, Replace, Rewrite, Write
from versioned_catalog.errors import CommitConflictError


def segments_above_fence(attempt: Attempt[Write]) -> None:
    """Refuse segments, and pages of imported files, that were written below the fence."""
    operation = attempt.operation
    brings_pages = isinstance(operation, Import) and operation.files
    if operation.records or brings_pages:
        _check(oldest_base(operation.base, operation.records), attempt)


def read_above_fence(attempt: Attempt[Rewrite]) -> None:
    """Refuse to check row keys against segments of a version below the fence, which may be gone."""
    if attempt.operation.keys is not None:
        _check(attempt.operation.base.version, attempt)


def replacement_above_fence(attempt: Attempt[Replace]) -> None:
    """Refuse the rows of a replacement that was planned below the fence."""
    if attempt.operation.creation.records:
        _check(attempt.operation.base_version, attempt)


def _check(base_version: int, attempt: Attempt[Any]) -> None:
    fence = attempt.state.fence
    if base_version < fence:
        raise CommitConflictError(
            f"{attempt.table}: this write was planned on version {base_version} and outlived the "
            f"retention of a vacuum (fence {fence}), so its segments may be deleted already; refresh() "
            "the table and write it again, or vacuum with a longer retention"
        )
