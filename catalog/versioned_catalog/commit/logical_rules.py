"""The rule that columns hold values of their logical types: note 30 of FORMAT.md, section 11."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import Compact, Resolve, Rollback
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.entry import Commit
from versioned_catalog.log.state import TableState, apply, properties_after
from versioned_catalog.model.arrow import nested_values, to_arrow_type
from versioned_catalog.model.logical import LogicalType, condition_of, render_logical
from versioned_catalog.model.logical_columns import check_logical, logical_columns
from versioned_catalog.model.logical_values import requirement, unfit
from versioned_catalog.model.tokens import clip_repr
from versioned_catalog.model.types import is_repeated
from versioned_catalog.read.checks import shown_name, shown_value, violating_row, with_all_rows
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import Not
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.where import parse_where


def check_logical_values(entry: Commit, attempt: Attempt[Any]) -> None:
    """Refuse an entry that adds a row with a value which its column's logical type does not have.

    Rows that were there are looked at where a column gets a logical type, or another one. Rows that are
    moved are not looked at again.

    Raises:
        InvalidRequestError: naming the column and the value.
    """
    state = attempt.newest
    columns = logical_columns(properties_after(state, entry))
    if not columns or isinstance(attempt.operation, Compact | Resolve | Rollback):
        return
    before = {} if state is None else logical_columns(state.properties)
    new = {column_id for column_id, logical in columns.items() if before.get(column_id) != logical}
    if not (entry.added or new or entry.schema is not None):
        return
    after = apply(state, entry)
    check_logical(after.properties, after.schema)
    if not attempt.looks_at_rows:
        return
    added = [record.path for record in entry.added]
    for column_id, logical in columns.items():
        if column_id not in after.schema.ids:
            continue
        paths = None if column_id in new else added
        value = None if paths == [] else _unfit_value(attempt, after, paths, column_id, logical)
        if value is not None:
            raise _refusal(attempt.table, after, column_id, logical, value, is_new=not paths)


def _unfit_value(
    attempt: Attempt[Any],
    state: TableState,
    paths: Iterable[str] | None,
    column_id: int,
    logical: LogicalType,
) -> str | None:
    """A value that is none of the logical type, for an error; None if there is none.

    Numbers outside of lists and maps are looked for as ``violating_row`` does.

    Args:
        paths: the segments to look into; None for all. Rows that have expired count.
    """
    store, column = attempt.log.store, state.schema.column(column_id)
    line = (*state.schema.ancestors(column_id), column)
    condition = None if is_repeated(line[:-1]) else condition_of(logical, "v")
    if condition is not None:
        violated = bind_filter(Not(parse_where(condition)), lambda _: column)
        return violating_row(store, state, paths, violated, [column_id])
    for batch in Scan(store, with_all_rows(state, paths), line[:1]).to_batches():
        values = nested_values(batch.column(0), line)
        found = np.flatnonzero(unfit(logical, values))
        if len(found):
            shown = shown_value(values[int(found[0])], clip_repr)
            return f"{shown_name(state, column_id)} = {shown}"
    return None


def _refusal(
    table: str,
    state: TableState,
    column_id: int,
    logical: LogicalType,
    value: str,
    *,
    is_new: bool,
) -> InvalidRequestError:
    name, shown = shown_name(state, column_id), render_logical(logical)
    needed = requirement(logical, to_arrow_type(state.schema.column(column_id).type))
    way_out = "" if is_new else f", or drop the logical type (alter().drop_logical({name!r}))"
    return InvalidRequestError(
        f"{table}: the column {name} is {shown}, and a row {'of the table' if is_new else 'to write'} "
        f"holds another value: {value}; it must be {needed}. Nothing was changed. Correct or leave out "
        f"such rows{way_out}",
        condition="CHECK_VIOLATION",
    )
