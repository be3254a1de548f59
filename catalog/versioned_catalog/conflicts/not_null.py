"""Rule: no live row is null in a column that an ALTER makes NOT NULL (FORMAT.md, section 11, note 5)."""

from __future__ import annotations

from versioned_catalog.conflicts.attempt import Attempt
from versioned_catalog.conflicts.entries.alteration import altered
from versioned_catalog.conflicts.operations import Alter
from versioned_catalog.conflicts.schema_fit import null_in_old_rows
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.bind import newly_not_null
from versioned_catalog.log.state import TableState
from versioned_catalog.types.types import Column, is_repeated


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
    for column_id in newly_not_null(state.schema, schema):
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
    known = _recorded_nulls(state, column) if countable else None
    return operation.count_nulls(state, column) if known is None else known


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
