"""Conditions on the rows of a write, and the errors for rows that do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError, VersionedError
from versioned_catalog.log.state import TableState
from versioned_catalog.model.bound_changes import plan_changes, render_changes
from versioned_catalog.model.changes import AddColumn, ChangeType
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.pins import Seen
from versioned_catalog.model.type_text import ColumnPath, render_path
from versioned_catalog.model.types import Atom, Column, DataType, is_metadata
from versioned_catalog.read.evaluators import Lookup, keep_mask
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import BoundFilter, UnboundFilter, columns_of
from versioned_catalog.read.scan_columns import resolve
from versioned_catalog.read.where import parse_where
from versioned_catalog.write.row_schema import (
    SCHEMA_MODE,
    RowConverter,
    SchemaMode,
    is_live,
    merging_changes,
)

_Merging = AddColumn | ChangeType


def refusal(
    error: InvalidRequestError, arrow: pa.Schema, state: TableState, table: str
) -> InvalidRequestError:
    """The error for rows that do not fit, with the schema changes that would admit them, if any.

    Args:
        error: the error without a remedy, which is returned if no change of schema helps.
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
    return _with_remedy(requests, arrow, state, table)


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
    return _with_remedy(added, arrow, state, table) if added else None


def _with_remedy(
    requests: Sequence[_Merging], arrow: pa.Schema, state: TableState, table: str
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
    first = _casts(requests, state) + _renames(requests, arrow, state)
    return InvalidRequestError(
        f"{table}: {_reasons(requests, state)}. {first}To let the rows in as they are: {change}. Or "
        f"write with the option mergeSchema (in Python: merge_schema=True), {others}",
        condition="COLUMN_NOT_FOUND" if adds else "INVALID_REQUEST",
    )


def _casts(requests: Sequence[_Merging], state: TableState) -> str:
    """How to write the rows to the schema as it is, before what changes it for good."""
    casts = [
        f"{render_path(request.path)} to {render_type(state.schema.get(request.path).type)}"
        for request in requests
        if isinstance(request, ChangeType)
    ]
    return f"Cast {', '.join(casts)} if the values fit. " if casts else ""


def _renames(requests: Sequence[_Merging], arrow: pa.Schema, state: TableState) -> str:
    """What a new column may be if the rows have one column less of its type: the source of a stream may
    have renamed it."""
    written = {name.lower() for name in arrow.names}
    lacking = [c for c in state.schema.visible.columns if c.name.lower() not in written]
    added = [r for r in requests if isinstance(r, AddColumn) and len(r.path) == 1]
    questions = []
    for request in added:
        alike = [_type(other.type) for other in added].count(_type(request.type))
        same = [c.name for c in lacking if render_type(c.type) == _type(request.type)]
        if len(same) == 1 and alike == 1:
            old, new = render_path((same[0],)), render_path(request.path)
            questions.append(
                f"If {new} is what the table calls {old}, rename that column to {new}. "
            )
    return "".join(questions)


def _reasons(requests: Sequence[_Merging], state: TableState) -> str:
    added = [
        _missing(request.path, state) for request in requests if isinstance(request, AddColumn)
    ]
    reasons = [f"the table has no column {', '.join(added)}"] if added else []
    for request in requests:
        if isinstance(request, ChangeType):
            stored, written = render_type(state.schema.get(request.path).type), _type(request.type)
            reasons.append(
                f"the column {render_path(request.path)} is {stored}, and {written} does not widen to it"
            )
    return "; ".join(reasons)


def _missing(path: ColumnPath, state: TableState) -> str:
    """The path of a column that the table lacks, and what its last column of that name is called now."""
    now = state.schema.visible
    for schema in reversed(state.own_schemas):
        column = schema.visible.find(path)
        if column is not None and column.id in now.ids:
            return f"{render_path(path)} (which is {now.path_text(column.id)} now)"
        if column is not None:
            break
    return render_path(path)


def _call(request: _Merging) -> str:
    method = "add_column" if isinstance(request, AddColumn) else "change_type"
    return f".{method}({render_path(request.path)!r}, {_type(request.type)!r})"


def _type(type_: DataType | str) -> str:
    return type_ if isinstance(type_, str) else render_type(type_)


def _is_path(table: str) -> bool:
    """Whether errors call a table by its folder, for which there is no ALTER TABLE."""
    return "/" in table or "\\" in table


@dataclass(frozen=True)
class RowCondition:
    """A condition on the rows to write.

    Args:
        text: the condition as the user wrote it.
        unbound: the same, by names.
        bound: the same, on the stored columns.
        columns: the stored columns.
    """

    text: str
    unbound: UnboundFilter
    bound: BoundFilter
    columns: Sequence[Column]

    @staticmethod
    def of(text: str, seen: Seen, table: str) -> RowCondition:
        """Parse a condition on the columns of a table.

        Raises:
            InvalidRequestError: it does not parse, or compares a TIMESTAMP, whose text depends on a
                session's time zone.
            NotFoundError: a column does not exist.
        """
        unbound, stored = parse_where(text), seen.stored

        def column_at(path: ColumnPath) -> Column:
            column = resolve(seen.schema, path)
            if is_metadata(column):
                raise InvalidRequestError(
                    f"{table}: a row to write has no {column.name} yet; choose the rows to replace by "
                    "columns of the table",
                    condition="NOT_SUPPORTED",
                )
            return stored.column(column.id)

        bound = bind_filter(unbound, column_at)
        for column in map(stored.column, columns_of(bound)):
            if column.type is Atom.TIMESTAMP:
                raise InvalidRequestError(
                    f"{table}: a condition on {column.name} of type TIMESTAMP depends on "
                    "the session's time zone, which is not known by path; write by table name",
                    condition="NOT_SUPPORTED",
                )
        return RowCondition(text, unbound, bound, stored.columns)

    def checked(self, batches: Iterable[pa.RecordBatch], table: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows unchanged, and refuse the first one that does not match.

        Raises:
            InvalidRequestError: a row does not match.
        """
        for batch in batches:
            matches = keep_mask(self.bound, Lookup(self.columns, batch), batch.num_rows)
            if not pc.all(matches, min_count=0).as_py():
                raise mismatch(self.text, table)
            yield batch


def mismatch(text: str, table: str) -> InvalidRequestError:
    """The error for rows that an overwrite would add beside those that it replaces."""
    return InvalidRequestError(
        f"{table}: a row to write does not match replaceWhere ({text}), so it would be added beside "
        "rows that are not replaced; nothing was changed. Filter the rows by that condition, or widen "
        "the condition"
    )
