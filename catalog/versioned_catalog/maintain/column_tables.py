"""Metadata tables on columns, and the conversion of metadata to Arrow.

``pa.Table.from_pylist``, and ``to_pylist`` of timestamps, import pandas if it is installed, which takes
a second.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.entry import Commit, Stub
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import MICROSECOND, UNIX_EPOCH
from versioned_catalog.model.arrow import array_of
from versioned_catalog.model.ddl import render_type
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.types import Column, WriteDefault, is_repeated, walk

TIME = pa.timestamp("us", tz="UTC")
"""The Arrow type of times."""


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Convert rows of Python values by field name to a table; a missing field is null.

    The schema has numbers, booleans, text, timestamps (microseconds, UTC), and lists of these.
    """
    arrays = [_array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_list(type_):
        return _lists(values, type_)
    if pa.types.is_timestamp(type_):
        values = [None if time is None else (time - UNIX_EPOCH) // MICROSECOND for time in values]
    return array_of(values, type_)


def _lists(values: Sequence[list[Any] | None], type_: pa.DataType) -> pa.Array:
    lists = [value or [] for value in values]
    ends = array_of(list(itertools.accumulate(map(len, lists), initial=0)), pa.int32())
    items = _array(list(itertools.chain.from_iterable(lists)), type_.value_type)
    valid = array_of([value is not None for value in values], pa.bool_())
    buffers = [valid.buffers()[1], ends.buffers()[1]]
    return pa.Array.from_buffers(type_, len(values), buffers, children=[items])


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Convert a table to rows of Python values, timestamps in UTC; not timestamps inside lists."""
    columns = [_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    micros = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    return [None if value is None else UNIX_EPOCH + value * MICROSECOND for value in micros]


COLUMNS = pa.schema(
    {
        "schema_version": pa.int32(),
        "position": pa.int32(),
        "column_id": pa.int32(),
        "parent_id": pa.int32(),
        "path": pa.string(),
        "physical_path": pa.string(),
        "type": pa.string(),
        "nullable": pa.bool_(),
        "read_default": pa.string(),
        "write_default": pa.string(),
        "comment": pa.string(),
        "since_version": pa.int64(),
        "names": pa.list_(pa.string()),
    }
)
"""Schema of ``schemas``."""

LINEAGE = pa.schema(
    {
        "schema_version": pa.int32(),
        "version": pa.int64(),
        "path": pa.string(),
        "type": pa.string(),
        "nullable": pa.bool_(),
        "read_default": pa.string(),
        "write_default": pa.string(),
    }
)
"""Schema of ``lineage``."""

HOLDING = pa.schema(
    {
        "path": pa.string(),
        "schema_version": pa.int32(),
        "rows": pa.int64(),
        "held": pa.bool_(),
        "type": pa.string(),
        "filled_with": pa.string(),
    }
)
"""Schema of ``holding``."""


def schema_commits(entries: Iterable[Commit | Stub]) -> dict[int, int]:
    """Return the commit of each schema version, but for expired commits."""
    return {
        entry.schema.version: entry.head.version
        for entry in entries
        if isinstance(entry, Commit) and entry.schema is not None
    }


def schemas(state: TableState, commits: Mapping[int, int]) -> pa.Table:
    """See ``Inspection.schemas``; ``commits`` has the commit of each schema version, if it is known."""
    names, first = dict[int, dict[str, None]](), dict[int, int]()
    rows: list[dict[str, Any]] = []
    for version, stored in sorted(state.schemas.items()):
        schema = stored.visible
        for position, (column, above) in enumerate(walk(schema.columns)):
            first.setdefault(column.id, version)
            names.setdefault(column.id, {})[schema.path_text(column.id)] = None
            rows.append(_column_row(version, position, column, above))
    for row in rows:
        row["since_version"] = commits.get(first[row["column_id"]])
        row["names"] = list(names[row["column_id"]])
    return table_of(rows, COLUMNS)


def _column_row(
    version: int, position: int, column: Column, above: Sequence[Column]
) -> dict[str, Any]:
    return {
        "schema_version": version,
        "position": position,
        "column_id": column.id,
        "parent_id": above[-1].id if above else None,
        "path": render_path((*(c.name for c in above), column.name)),
        "physical_path": ".".join([*(c.physical_name for c in above), column.physical_name]),
        "comment": column.comment,
        **_type_and_defaults(column),
    }


def _default_sql(default: WriteDefault | None, column: Column) -> str | None:
    return None if default is None else to_sql(default, column.type)


def find_column(state: TableState, path: str | tuple[str, ...] | int, table: str) -> int:
    """Return the ID of a column, given its current path or its ID.

    Raises:
        NotFoundError: there is no column of this path, or never was one of this ID.
        InvalidRequestError: the argument is neither a path nor an ID.
    """
    if isinstance(path, bool) or not isinstance(path, int | str | tuple):
        raise InvalidRequestError(
            f"{table}: a column must be given by its path or ID, got {path!r}"
        )
    if isinstance(path, int):
        if any(path in schema.ids for schema in state.schemas.values()):
            return path
        raise NotFoundError(
            f"{table} never had a column with ID {path}; see inspect.schemas()",
            condition="COLUMN_NOT_FOUND",
        )
    try:
        return state.seen.schema.get(parse_path(path)).id
    except NotFoundError as error:
        raise NotFoundError(
            f"{table}: {error}; for a dropped column, give its ID, see inspect.schemas()",
            condition="COLUMN_NOT_FOUND",
        ) from None


def lineage(state: TableState, column_id: int, commits: Mapping[int, int]) -> pa.Table:
    """See ``Inspection.lineage``."""
    rows, shown = [], ""
    for version, schema in sorted(state.schemas.items()):
        if column_id not in schema.ids:
            continue
        is_shown = column_id in schema.visible.ids
        shown = schema.path_text(column_id) if is_shown else shown
        rows.append(
            {
                "schema_version": version,
                "version": commits.get(version),
                "path": shown if is_shown else f"{shown} (hidden)",
                **_type_and_defaults(schema.column(column_id)),
            }
        )
    return table_of(rows, LINEAGE)


def _type_and_defaults(column: Column) -> dict[str, Any]:
    return {
        "type": render_type(column.type),
        "nullable": column.nullable,
        "read_default": _default_sql(column.read_default, column),
        "write_default": _default_sql(column.write_default, column),
    }


def holding(state: TableState, column_id: int) -> pa.Table:
    """See ``Inspection.holding``."""
    core = state.segments.core
    written = pc.unique(core["schema_version"]).to_pylist()
    rows = list(_holding_rows(state, column_id, written))
    by_version = table_of(rows, pa.schema([HOLDING.field(i) for i in (1, 3, 4, 5)]))
    at = pc.index_in(core["schema_version"], array_of(written, pa.int32()))
    taken = by_version.take(at)
    columns = {name: core[name] for name in ("path", "schema_version", "rows")}
    columns |= {name: taken[name] for name in ("held", "type", "filled_with")}
    return pa.table(columns, schema=HOLDING)


def _holding_rows(
    state: TableState, column_id: int, versions: Iterable[int]
) -> Iterator[dict[str, Any]]:
    """How segments of each schema version hold a column."""
    filled = _filled_with(state.schema, column_id)
    for version in versions:
        schema = state.schemas[version]
        has_column = column_id in schema.ids
        yield {
            "schema_version": version,
            "held": has_column,
            "type": render_type(schema.column(column_id).type) if has_column else None,
            "filled_with": None if has_column else filled,
        }


def _filled_with(schema: Schema, column_id: int) -> str | None:
    """SQL of the value that rows without a column show; None for a dropped column."""
    if column_id not in schema.ids or is_repeated(schema.ancestors(column_id)):
        return None
    column = schema.column(column_id)
    return _default_sql(column.read_default, column) or "NULL"
