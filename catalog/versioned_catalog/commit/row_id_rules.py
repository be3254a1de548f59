"""Row IDs: what an entry assigns, and the rules that keep them: note 29 of FORMAT.md, section 11."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from versioned_catalog.commit.attempt import Attempt
from versioned_catalog.commit.operations import Compact, MergeBranch, Rewrite
from versioned_catalog.errors import CommitConflictError, InvalidRequestError
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.state import TableState, properties_after
from versioned_catalog.model.arrow import integers, one_array
from versioned_catalog.model.keys import ROW_ID_COLUMNS, ROW_IDS, is_set
from versioned_catalog.model.schema import name_key


def has_row_ids(properties: Mapping[str, str], *, keyed: bool = False) -> bool:
    """Whether the rows of a table have IDs.

    Raises:
        InvalidRequestError: the property is neither ``true`` nor ``false``, or true for a table with a
            primary key.
    """
    applies = is_set(properties, ROW_IDS)
    if applies and keyed:
        raise InvalidRequestError(
            f"the property {ROW_IDS} is not for a table with a primary key, which identifies its rows; "
            "leave one of them out",
            condition="INVALID_OPTION",
        )
    return applies


def with_row_ids(entry: Commit, attempt: Attempt[Any]) -> Commit:
    """An entry with the row IDs that it assigns.

    Raises:
        InvalidRequestError: rows had IDs and would have none, or can't have any; the branch has none
            left; or rows were copied without their IDs.
        CommitConflictError: rows were copied before they had IDs.
    """
    state = None if attempt.newest is None or _begins(entry) else attempt.newest
    after = properties_after(attempt.newest, entry)
    has_ids = has_row_ids(after)
    if not has_ids:
        if state is not None and state.has_row_ids:
            raise InvalidRequestError(
                f"{attempt.table}: the property {ROW_IDS} can't be unset, since rows would lose their "
                "IDs; leave it, or copy the table (CREATE TABLE ... AS SELECT)",
                condition="NOT_SUPPORTED",
            )
        return entry
    if state is None or not state.has_row_ids:
        _check_can_begin(entry, attempt, state)
    else:
        _check_copies(attempt, entry)
    return _assigned(entry, state, attempt.table)


def _begins(entry: Commit) -> bool:
    return entry.head.operation in NEW_INCARNATION


def _assigned(entry: Commit, state: TableState | None, table: str) -> Commit:
    first, end = entry.row_ids or (0, 0)
    if state is not None:
        first, end = max(first, state.next_row_id), max(end, state.next_row_id)
    rows = sum(record.rows for record in entry.added if record.row_ids.first is None)
    if state is not None and not state.has_row_ids:
        rows += _live_rows(state, entry)
    end = max(end, first + rows)
    branch = None if state is None else state.branch
    if branch is not None and branch.end_row_id is not None and end > branch.end_row_id:
        raise InvalidRequestError(
            f"{table}: the branch {branch.name!r} has no row IDs left; merge it, and begin a new one",
            condition="NOT_SUPPORTED",
        )
    if entry.row_ids is None and not rows:
        return entry
    return replace(entry, row_ids=(first, end))


def _live_rows(state: TableState, entry: Commit) -> int:
    """The number of rows in the files of the segments that stay."""
    if not entry.removed:
        return state.segments.rows
    paths, rows = (one_array(state.segments.column(name)) for name in ("path", "rows"))
    stays = ~np.isin(paths.to_numpy(zero_copy_only=False), list(entry.removed))
    return int(integers(rows)[stays].sum())


def _check_can_begin(entry: Commit, attempt: Attempt[Any], state: TableState | None) -> None:
    """Refuse to begin with row IDs where a branch shares the segments, or a column has their name."""
    table = attempt.table
    if state is not None and state.branch is not None:
        raise InvalidRequestError(
            f"{table}: the property {ROW_IDS} can't be set on a branch, which shares rows with the "
            "table; set it on the table",
            condition="NOT_SUPPORTED",
        )
    schemas = [*entry.schemas, *([] if entry.schema is None else [entry.schema])]
    schemas += [] if state is None else state.own_schemas
    schema = entry.schema or (None if state is None else state.schema)
    if schema is not None:
        has_row_ids(properties_after(attempt.newest, entry), keyed=schema.is_keyed)
    for column in (column for schema in schemas for column in schema.columns):
        if name_key(column.physical_name) in _NAMES:
            raise InvalidRequestError(
                f"{table}: the property {ROW_IDS} can't be set, since the column {column.name} is "
                f"called {column.physical_name} inside files, a name that row IDs need; copy the table "
                "(CREATE TABLE ... AS SELECT) with the property",
                condition="NOT_SUPPORTED",
            )


_NAMES = frozenset(name_key(column.physical_name) for column in ROW_ID_COLUMNS)


def _check_copies(attempt: Attempt[Any], entry: Commit) -> None:
    """Refuse segments whose rows were copied from others without their IDs."""
    operation = attempt.operation
    if not entry.added or not (entry.removed or entry.marked):
        return
    if isinstance(operation, MergeBranch):
        if not _branch_has_row_ids(attempt, operation):
            raise CommitConflictError(
                f"{attempt.table}: the branch {operation.name!r} began before the property {ROW_IDS} "
                "was set, and changes rows, which would lose their IDs; begin a new branch at the "
                "newest version, and do it again there"
            )
        return
    if not isinstance(operation, Rewrite | Compact):
        return
    if not operation.base.row_ids:
        raise CommitConflictError(
            f"{attempt.table}: the property {ROW_IDS} was set since version {operation.base.version}, "
            "on which this was planned, and rows were copied without their IDs; run it again"
        )
    if isinstance(operation, Rewrite) and operation.kind == "overwrite":
        return  # its new rows get new IDs
    if any(record.row_ids.stored is None for record in operation.records):
        raise InvalidRequestError(
            f"{attempt.table} has row IDs, and rows would be copied without them; plan the write with "
            "Transaction.plan_rewrite, whose rows hold them, or use Table.delete, update or SQL",
            condition="NOT_SUPPORTED",
        )


def _branch_has_row_ids(attempt: Attempt[Any], operation: MergeBranch) -> bool:
    return attempt.state.branches[operation.name].row_ids is not None
