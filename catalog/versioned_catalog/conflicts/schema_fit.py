"""Whether segments planned under one schema can stand under another (FORMAT.md, section 11)."""

from __future__ import annotations

from versioned_catalog.conflicts.operations import Base
from versioned_catalog.errors import CommitConflictError
from versioned_catalog.evolution.apply import newly_not_null
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.types import is_nested
from versioned_catalog.types.widening import type_name, widens


def check_fits(base: Base, schema: Schema, records: tuple[SegmentRecord, ...], table: str) -> None:
    """Refuse segments whose values the table has no place for any more.

    Args:
        base: the snapshot that they were planned on.
        schema: what the table's is when they are committed.
        records: the segments.
        table: the table, for errors.

    Raises:
        CommitConflictError: they hold nulls in a column that was made NOT NULL, or values of a type
            that a rollback made narrower.
    """
    if records:
        _check_types(base, schema, table)
    _check_not_null(base, schema, records, table)


def check_copies(
    base: Base, schema: Schema, records: tuple[SegmentRecord, ...], table: str
) -> None:
    """Refuse copied rows that lack a column which a rollback brought back since they were read.

    Such a column is older than the base, and the base does not have it: rows that were read there were
    written again without its values.

    Args:
        base: the snapshot that the rows were read from.
        schema: the table's when they are committed.
        records: the segments that hold the copies.
        table: the table, for errors.

    Raises:
        CommitConflictError: naming the column.
    """
    if all(record.delta.deletes_only for record in records):
        return
    for column_id in sorted(schema.ids - base.schema.ids):
        if column_id < base.next_column_id:
            raise CommitConflictError(
                f"{table}: a rollback brought back the column {schema.path_text(column_id)} since "
                f"version {base.version}, on which this was planned; the rows that it copied do not "
                "have its values. Nothing was written: refresh() the table and run it again"
            )


def _check_types(base: Base, schema: Schema, table: str) -> None:
    for column_id in sorted(base.schema.ids & schema.ids):
        old, new = base.schema.column(column_id).type, schema.column(column_id).type
        if not is_nested(old) and not widens(old, new):
            raise CommitConflictError(
                f"{table}: the column {schema.path_text(column_id)} was rolled back from "
                f"{type_name(old)} to {type_name(new)} since this write was planned (on version "
                f"{base.version}); refresh() the table and write again"
            )


def _check_not_null(
    base: Base, schema: Schema, records: tuple[SegmentRecord, ...], table: str
) -> None:
    for column_id in newly_not_null(base.schema, schema) | never_null(base.schema, schema):
        for record in records:
            if record.delta.deletes_only and column_id not in schema.row_key:
                continue
            stats = record.columns.get(column_id)
            if stats is None or stats.nulls is None or stats.nulls > 0:
                raise CommitConflictError(
                    f"{table}: the column {schema.path_text(column_id)} was made NOT NULL since this "
                    "write was planned, and it holds nulls there; fill them and write again, or "
                    f"alter().drop_not_null({schema.path_text(column_id)!r})"
                )


def never_null(old: Schema, new: Schema) -> frozenset[int]:
    """NOT NULL columns made since, in which rows of the old schema would show null."""
    made = [c for c in map(new.column, new.ids - old.ids) if not c.nullable]
    return frozenset(
        column.id
        for column in made
        if column.read_default is None and {c.id for c in new.ancestors(column.id)} <= old.ids
    )
