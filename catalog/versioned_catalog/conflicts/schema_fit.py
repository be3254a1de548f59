"""Rule: values written under one schema fit into another (FORMAT.md, section 11, notes 1 and 8)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.entries.writes import schema_after
from versioned_catalog.conflicts.operations import Base, Write
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.evolution.bind import newly_not_null
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import is_nested
from versioned_catalog.types.widening import type_name, widens


def types_fit(attempt: Attempt[Write]) -> None:
    """Refuse values of a type that a rollback made narrower (note 8).

    Raises:
        CommitConflictError: naming the column and both types.
    """
    if not attempt.operation.records:
        return
    base = attempt.operation.base
    for planned in (base, base.of_segments):
        _types_fit(attempt, planned)


def _types_fit(attempt: Attempt[Write], base: Base) -> None:
    """Check the types of one of the schemas that segments may have been written under."""
    schema = schema_after(attempt)
    for column_id in sorted(base.schema.ids & schema.ids):
        old, new = base.schema.column(column_id).type, schema.column(column_id).type
        if not is_nested(old) and not widens(old, new):
            raise CommitConflictError(
                f"{attempt.table}: the column {schema.path_text(column_id)} was rolled back from "
                f"{type_name(old)} to {type_name(new)} since version {base.version}, on which this "
                "write was planned; refresh() the table and write again"
            )


def nulls_fit(attempt: Attempt[Write]) -> None:
    """Refuse nulls in a column that was made NOT NULL since the base (note 1).

    Raises:
        CommitConflictError: a segment holds a null there, or has no statistics of it.
    """
    # Rows that it copied are as old as its base, even if others were planned again since.
    base, schema = attempt.operation.base, schema_after(attempt)
    for column_id in newly_not_null(base.schema, schema) | null_in_old_rows(base.schema, schema):
        for record in attempt.operation.records:
            if record.delta.deletes_only and column_id not in schema.row_key:
                continue
            stats = record.columns.get(column_id)
            if stats is None or stats.nulls is None or stats.nulls > 0:
                raise CommitConflictError(
                    f"{attempt.table}: the column {schema.path_text(column_id)} was made NOT NULL since "
                    "this write was planned, and it holds nulls there; fill them and write again, or "
                    f"alter().drop_not_null({schema.path_text(column_id)!r})"
                )


def null_in_old_rows(old: Schema, new: Schema) -> frozenset[int]:
    """IDs of NOT NULL columns of a new schema in which rows of an old schema would show null."""
    added = [c for c in map(new.column, new.ids - old.ids) if not c.nullable]
    return frozenset(
        column.id
        for column in added
        if column.read_default is None and {c.id for c in new.ancestors(column.id)} <= old.ids
    )
