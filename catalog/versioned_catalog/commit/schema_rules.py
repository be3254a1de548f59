"""Rules about the schema: what was planned under one schema must fit the current one.

Notes 1, 3, 5 and 8 of FORMAT.md, section 11.
"""

from __future__ import annotations

import pyarrow.compute as pc

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.narrowing_rules import record_fits
from versioned_catalog.commit.operations import (
    Alter,
    Create,
    Drop,
    PlannedOn,
    Replace,
    Rollback,
    Write,
)
from versioned_catalog.commit.segment_entries import schema_after
from versioned_catalog.commit.table_entries import altered, first_column_id, first_schema_version
from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.log.clones import sources_of
from versioned_catalog.log.state import TableState
from versioned_catalog.model.bound_changes import newly_not_null
from versioned_catalog.model.iceberg import PUBLISH
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column, is_nested, is_repeated
from versioned_catalog.model.widening import type_name, widens
from versioned_catalog.storage.store import PREFIX


def in_current_schema(attempt: Attempt[Alter | Rollback | Drop]) -> None:
    """Refuse to alter, roll back or drop a table through an earlier schema in which it is seen."""
    check_current_schema(attempt.operation.base.seen_as, attempt.table)


def check_current_schema(seen_as: str | None, table: str) -> None:
    """Refuse a change of the schema through an earlier one.

    Args:
        seen_as: the pin, or schema version, in which the table is seen.

    Raises:
        InvalidRequestError: naming the pin or schema version.
    """
    if seen_as is not None:
        raise InvalidRequestError(
            f"{table} is seen in an earlier schema ({seen_as}), through which its schema can't be "
            "changed; change it in the current schema",
            condition="NOT_SUPPORTED",
        )


def schema_unaltered(attempt: Attempt[Alter]) -> None:
    """Refuse an ALTER that needs the schema and the properties as they were when it was planned."""
    planned_on = attempt.operation.planned_on
    if planned_on is not None:
        check_unaltered(planned_on, attempt.state, attempt.table)


def check_unaltered(planned_on: PlannedOn, state: TableState, table: str) -> None:
    """Refuse a state whose schema or properties differ from those of a plan.

    Raises:
        CommitConflictError: saying what changed.
    """
    if state.table_uuid != planned_on.table_uuid:
        change = "the table was replaced"
    elif state.schema_version != planned_on.schema_version:
        change = f"schema {planned_on.schema_version} became schema {state.schema_version}"
    elif planned_on.compared(state.properties) != planned_on.compared(planned_on.properties):
        change = "its properties were changed"
    else:
        return
    raise CommitConflictError(
        f"{table}: this was planned on version {planned_on.version}, and since then {change}; nothing "
        "was changed; plan it again"
    )


def publishes_own_files(attempt: Attempt[Alter]) -> None:
    """Refuse to publish a table that reads files of another one, in the name of a shallow clone.

    Raises:
        InvalidRequestError: what is published could not be read by other engines.
    """
    state = attempt.state
    if PUBLISH in state.properties or PUBLISH not in altered(attempt).properties:
        return
    paths = state.segments.column("path")
    sources = sources_of(paths.filter(pc.starts_with(paths, PREFIX)).to_pylist())
    if sources:
        raise InvalidRequestError(
            f"{attempt.table}: a shallow clone can't be published, since other engines can't read the "
            f"files of another table ({', '.join(sorted(sources))}); compact it with the strategy full, "
            f"which copies them, or make a deep clone, and set {PUBLISH} then",
            condition="NOT_SUPPORTED",
        )


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


def types_fit(attempt: Attempt[Write]) -> None:
    """Refuse values that may not fit a type that was made narrower since the base (note 8).

    Raises:
        CommitConflictError: naming the column and both types.
    """
    operation, schema = attempt.operation, schema_after(attempt)
    # Segments may have been written under the schema of either.
    for base in (operation.base, operation.base.of_segments) if operation.records else ():
        for column_id in sorted(base.schema.ids & schema.ids):
            old, column = base.schema.column(column_id).type, schema.column(column_id)
            if is_nested(old) or widens(old, column.type):
                continue
            may_be_held = column.widest is not None and widens(old, column.widest)
            if may_be_held and all(
                record_fits(record, column_id, old, column.type) for record in operation.records
            ):
                continue
            raise CommitConflictError(
                f"{attempt.table}: the column {schema.path_text(column_id)} was "
                f"{'narrowed' if may_be_held else 'rolled back'} from {type_name(old)} to "
                f"{type_name(column.type)} since version {base.version}, on which this write was "
                "planned; refresh() the table and write again"
            )


def nulls_fit(attempt: Attempt[Write]) -> None:
    """Refuse nulls in a column that was made NOT NULL since the base (note 1).

    Raises:
        CommitConflictError: a segment holds a null there, or has no statistics of it.
    """
    # Copied rows are as old as the base, even if other rows were planned again since.
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


def no_nulls(attempt: Attempt[Alter]) -> None:
    """Refuse SET NOT NULL over nulls: by statistics, and by the data where they are unknown.

    Raises:
        InvalidRequestError: naming the column.
    """
    state, table = attempt.state, attempt.table
    schema = altered(attempt).schema
    for column_id in null_in_old_rows(state.schema, schema):
        raise InvalidRequestError(
            f"{table}: the column {schema.path_text(column_id)} is added and made NOT NULL at once, and "
            "the existing rows would show null; give it a default when you add it"
        )
    for column_id in newly_not_null(state.schema, schema) if attempt.looks_at_rows else ():
        nulls = _nulls(state, column_id, attempt.operation)
        if nulls:
            raise InvalidRequestError(
                f"{table}: the column {state.schema.path_text(column_id)} can't be NOT NULL, since "
                f"{nulls} of its values are null; fill them first"
            )


def _nulls(state: TableState, column_id: int, operation: Alter) -> int:
    column, above = state.schema.column(column_id), state.schema.ancestors(column_id)
    # Statistics also count rows of a keyed table that are replaced or hidden.
    countable = not is_repeated(above) and not state.schema.row_key
    recorded = _recorded_nulls(state, column) if countable else None
    if recorded and state.segments.has_marks:
        recorded = None  # nulls in marked rows are counted
    return operation.count_nulls(state, column) if recorded is None else recorded


def _recorded_nulls(state: TableState, column: Column) -> int | None:
    """Number of values that are null of themselves, or None where statistics are unknown."""
    total = 0
    counts = state.segments.statistic("nulls", column, state.schemas).to_pylist()
    versions = state.segments.core["schema_version"].to_pylist()
    rows = state.segments.core["rows"].to_pylist()
    is_top = column.id in {c.id for c in state.schema.columns}
    for count, version, size in zip(counts, versions, rows, strict=True):
        if column.id in state.schemas[version].ids:
            if count is None:
                return None
            total += count
        elif column.read_default is None:
            if not is_top:
                return None
            total += size
    return total
