"""The refusal of rows that a schema change would let in, with the statements that make it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError, VersionedError
from versioned_catalog.evolution.bind import plan_changes, render_changes
from versioned_catalog.evolution.changes import AddColumn, ChangeType
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.ddl import render_type
from versioned_catalog.types.paths import render_path
from versioned_catalog.types.types import DataType
from versioned_catalog.write.merge_schema import merging_changes
from versioned_catalog.write.row_schema import RowConverter
from versioned_catalog.write.schema_mode import SCHEMA_MODE, SchemaMode, is_live

_Merging = AddColumn | ChangeType


def refusal(
    error: InvalidRequestError, arrow: pa.Schema, state: TableState, table: str
) -> InvalidRequestError:
    """The error for rows that do not fit: with all changes that would let them in, if there are some.

    Args:
        error: the refusal without a way out, which is returned if no change of schema helps.
        arrow: the schema of the rows.
    """
    if state.lens is not None:
        return error  # the schema can't be changed through a pin
    try:
        requests = merging_changes(arrow, state.schema.visible)
        if not requests:
            return error
        _, after = plan_changes(requests, state.evolution, state.schemas.newest.version + 1)
        RowConverter(arrow, after.schema.visible, table)
    except VersionedError:
        return error
    return _with_way_out(requests, state, table)


def unknown_columns(arrow: pa.Schema, state: TableState, table: str) -> InvalidRequestError | None:
    """The error for rows with columns or fields that the table lacks; None if it has all of them.

    Columns of other types are left to an engine that casts rows to the types of the table.

    Args:
        arrow: the schema of the rows.
    """
    if state.lens is not None:
        return None  # the schema can't be changed through a pin
    try:
        requests = merging_changes(arrow, state.schema.visible)
    except VersionedError:
        return None
    added = [request for request in requests if isinstance(request, AddColumn)]
    return _with_way_out(added, state, table) if added else None


def _with_way_out(
    requests: Sequence[_Merging], state: TableState, table: str
) -> InvalidRequestError:
    live = f"{SCHEMA_MODE} = {SchemaMode.LIVE.value}"
    others = (
        f"since this write does not follow the table property {live}"
        if is_live(state.properties)
        else f"or let every write change the schema with the table property {live}"
    )
    builder = f"alter(){''.join(map(_call, requests))}.commit()"
    statements = "; ".join(render_changes(requests, state.evolution, table))
    change = builder if _is_path(table) else f"{statements} (in Python: {builder})"
    adds = any(isinstance(request, AddColumn) for request in requests)
    return InvalidRequestError(
        f"{table}: {_reasons(requests, state)}. To let the rows in: {change}. Or write with the option "
        f"mergeSchema (in Python: merge_schema=True), {others}",
        condition="COLUMN_NOT_FOUND" if adds else "INVALID_REQUEST",
    )


def _reasons(requests: Sequence[_Merging], state: TableState) -> str:
    added = [render_path(one.path) for one in requests if isinstance(one, AddColumn)]
    reasons = [f"the table has no column {', '.join(added)}"] if added else []
    for one in requests:
        if isinstance(one, ChangeType):
            has, given = render_type(state.schema.get(one.path).type), _type(one.type)
            reasons.append(
                f"the column {render_path(one.path)} is {has}, and {given} does not widen to it"
            )
    return "; ".join(reasons)


def _call(request: _Merging) -> str:
    method = "add_column" if isinstance(request, AddColumn) else "change_type"
    return f".{method}({render_path(request.path)!r}, {_type(request.type)!r})"


def _type(type_: DataType | str) -> str:
    return type_ if isinstance(type_, str) else render_type(type_)


def _is_path(table: str) -> bool:
    """Whether errors call a table by its folder, for which there is no ALTER TABLE."""
    return "/" in table or "\\" in table
