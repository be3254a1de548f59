"""Rule: segments that bring columns along name free column IDs (FORMAT.md, section 11, note 3)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.entries.creation import first_column_id, first_schema_version
from versioned_catalog.conflicts.operations import Create, Replace, Write
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.log.state import TableState


class SchemaConflictError(CommitConflictError):
    """A concurrent commit changed the schema to which this one adds columns: plan it again."""


def schema_of_base(attempt: Attempt[Write]) -> None:
    """Refuse a write that adds columns if the schema, or the next column ID, changed since its base.

    Raises:
        SchemaConflictError: the segments name a schema version or column IDs that others got.
    """
    base, state = attempt.operation.base.of_segments, attempt.state
    if not attempt.operation.changes:
        return
    same = state.schema.version == base.schema.version
    if not same or state.next_column_id != base.next_column_id:
        raise SchemaConflictError(
            f"{attempt.table}: the schema changed since version {base.version}, on which this write, "
            "which adds columns, was planned; refresh() the table and run it again"
        )


def schema_as_planned(attempt: Attempt[Create | Replace]) -> None:
    """Refuse the rows of a new table if they name another schema version, or other column IDs, than
    the table would get now.

    Raises:
        CommitConflictError: the table changed, or another one was created and dropped, meanwhile.
    """
    operation = attempt.operation
    creation = operation.creation if isinstance(operation, Replace) else operation
    if creation.records and not _is_as_planned(creation, attempt.newest):
        raise CommitConflictError(
            f"the schema of {attempt.table} changed, or a table was created and dropped there, since "
            "this was planned; run it again"
        )


def _is_as_planned(creation: Create, state: TableState | None) -> bool:
    version = first_schema_version(state)
    same_ids = creation.first_column_id in (None, first_column_id(state))
    return same_ids and all(record.schema_version == version for record in creation.records)
