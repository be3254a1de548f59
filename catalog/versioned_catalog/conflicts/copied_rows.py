"""Rule: copied rows lack no column of the table (FORMAT.md, section 11, note 15)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.operations import Rewrite
from versioned_catalog.errors import CommitConflictError


def copies_are_complete(attempt: Attempt[Rewrite]) -> None:
    """Refuse copied rows that lack a column which a concurrent rollback restored.

    Such a column was created before the base version but is not in its schema, so the rows were read and
    written again without its values. Tombstones copy nothing.

    Raises:
        CommitConflictError: naming the column.
    """
    base, schema = attempt.operation.base, attempt.state.schema
    if all(record.delta.deletes_only for record in attempt.operation.records):
        return
    for column_id in sorted(schema.ids - base.schema.ids):
        if column_id < base.next_column_id:
            raise CommitConflictError(
                f"{attempt.table}: this write copied rows of version {base.version}, and a concurrent "
                f"rollback restored the column {schema.path_text(column_id)}, whose values the copies "
                "lack. Nothing was written: refresh() the table and run the write again"
            )
