"""Rule: the segments that an operation removes are live (FORMAT.md, section 11, note 4)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.conflicts.attempt import Attempt, once
from versioned_catalog.conflicts.operations import Compact, Import, Overwrite, Rewrite
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.types.arrow_values import array_of

Removal = Overwrite | Rewrite | Import | Compact
"""Operations that remove segments."""


def removed_are_live(attempt: Attempt[Removal]) -> None:
    """Refuse to replace rows that another commit removed.

    Raises:
        CommitConflictError: a segment to be removed is not live any more.
    """
    operation = attempt.operation
    wanted = operation.base.segments if operation.removed is None else len(operation.removed)
    if len(removed_paths(attempt)) != wanted:
        raise CommitConflictError(
            f"{attempt.table}: rows that this write replaces were removed by another commit since "
            f"version {operation.base.version}; refresh() the table and run it again"
        )


@once
def removed_paths(attempt: Attempt[Removal]) -> tuple[str, ...]:
    """Paths of the live segments that an operation removes, in the order of the state."""
    operation, core = attempt.operation, attempt.state.segments.core
    if operation.removed is None:
        chosen = pc.less_equal(core["sequence"], operation.base.version)
    else:
        chosen = pc.is_in(core["path"], array_of(operation.removed, pa.string()))
    return tuple(core["path"].filter(chosen).to_pylist())
