"""Rule: copied rows lack no column of the table (FORMAT.md, section 11, note 15)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.operations import Rewrite
from versioned_catalog.errors import CommitConflictError


def copies_are_complete(attempt: Attempt[Rewrite]) -> None:
    """Refuse copied rows that lack a column which a rollback brought back since they were read.

    Such a column is older than the base, yet not in its schema: the rows were read, and written again,
    without its values. Tombstones copy nothing.

    Raises:
        CommitConflictError: naming the column.
    """
    base, schema = attempt.operation.base, attempt.state.schema
    if all(record.delta.deletes_only for record in attempt.operation.records):
        return
    for column_id in sorted(schema.ids - base.schema.ids):
        if column_id < base.next_column_id:
            raise CommitConflictError(
                f"{attempt.table}: a rollback brought back the column {schema.path_text(column_id)} "
                f"since version {base.version}, on which this was planned; the rows that it copied lack "
                "its values. Nothing was written: refresh() the table and run it again"
            )
