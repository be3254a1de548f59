"""The columns of a scan: names, parts of structs, narrower types, and the age of rows."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.state import TableState
from versioned_catalog.log.times import settled_time
from versioned_catalog.model.evolution import find
from versioned_catalog.model.keys import hides_rows, in_time_index, ttl_cutoff
from versioned_catalog.model.pins import Overflow
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.type_text import ColumnPath, parse_path, render_path
from versioned_catalog.model.types import (
    Column,
    Map,
    Struct,
    children,
    is_nested,
    is_repeated,
    walk,
    with_children,
)
from versioned_catalog.read.apply_plan import Narrowing, narrowing
from versioned_catalog.read.dialects import parse_filters
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import And, BoundFilter, Comparison, Op
from versioned_catalog.read.metadata_columns import find_metadata
from versioned_catalog.storage.store import Store


def like_schema(column: Column, schema: Schema) -> Column:
    """Show a wide column, or a part of it, in the types of a schema; metadata columns stay."""
    if column.id not in schema.ids:
        return column
    inner = tuple(like_schema(child, schema) for child in children(column.type))
    seen = schema.column(column.id)
    return replace(column, type=with_children(seen.type, inner) if inner else seen.type)


def narrowing_of(
    state: TableState, wide: Sequence[Column], shown: Sequence[Column]
) -> Narrowing | None:
    """The narrowing of columns as segments hold them to columns as they are shown.

    Args:
        wide: the shown columns in the types of ``state.reads``, and after them others.
    """
    lens = state.lens
    if not state.converts:
        is_same = all(map(operator.is_, wide, shown))
        return None if is_same else narrowing(wide, wide, Overflow.ERROR, shown=shown, pinned=False)
    schema = state.schema if lens is None else lens.seen.schema
    schemas = [
        # A statement that copies rows through a pin reads them in the types that are stored.
        schema if like_schema(column, schema).type == column.type else state.schema
        for column in shown
    ]
    schemas += [schema] * (len(wide) - len(shown))
    narrow = [like_schema(column, of) for column, of in zip(wide, schemas, strict=True)]
    overflow = Overflow.ERROR if lens is None else lens.overflow
    return narrowing(wide, narrow, overflow, shown=shown, pinned=lens is not None)


def held_columns(
    state: TableState, columns: Sequence[Column]
) -> tuple[tuple[Column, ...], Narrowing | None]:
    """Columns of the current schema as segments hold them, and how they are narrowed."""
    if not state.converts:
        return tuple(columns), None
    wide = tuple(map(state.reads.widened, columns))
    return wide, narrowing_of(state, wide, columns)


def cut_to(column: Column, wanted: frozenset[int]) -> Column:
    """Restrict the structs in a column to the fields that lead to wanted IDs."""
    if column.id in wanted or not is_nested(column.type):
        return column
    inner = tuple(
        cut_to(child, wanted)
        for child in children(column.type)
        if not isinstance(column.type, Struct) or leads_to(child, wanted)
    )
    return replace(column, type=with_children(column.type, inner))


def leads_to(column: Column, wanted: frozenset[int]) -> bool:
    """Whether a column is wanted, or one inside it."""
    return any(below.id in wanted for below, _ in walk((column,)))


def with_fields(shown: Column, whole: Column, missing: frozenset[int]) -> Column:
    """A shown column, cut from ``whole``, with the fields of structs that a filter needs beside."""
    if not isinstance(shown.type, Struct):
        return shown
    parts = {field.id: field for field in children(shown.type)}
    inner = tuple(
        with_fields(parts[field.id], field, missing)
        if field.id in parts
        else cut_to(field, missing)
        for field in children(whole.type)
        if field.id in parts or leads_to(field, missing)
    )
    return replace(shown, type=Struct(inner))


def resolve(schema: Schema, path: ColumnPath, state: TableState | None = None) -> Column:
    """Resolve a path to a column of the table or a metadata column.

    Args:
        state: the table, whose hidden columns the error knows.

    Raises:
        NotFoundError: there is no such column; the message names the pins that still show it.
        InvalidRequestError: the column is inside a list or map.
    """
    column = schema.find(path)
    if column is None and len(path) == 1:
        column = find_metadata(path[0]) or schema.find(parse_path(path[0]))
    if column is None:
        return _missing(schema, path, state)
    if column.id > 0 and is_repeated(schema.ancestors(column.id)):
        raise InvalidRequestError(
            f"{render_path(path)} has many values in one row, since it is inside a list or map"
        )
    return column


def _missing(schema: Schema, path: ColumnPath, state: TableState | None) -> Column:
    try:
        return schema.get(path)
    except NotFoundError as error:
        for hidden in state.hidden_columns if state is not None else ():
            if tuple(map(name_key, hidden.path)) == tuple(map(name_key, path)):
                raise NotFoundError(
                    f"{error}. It was dropped, and {hidden.needed_by} still shows it: read it with "
                    f"schema={next(iter(hidden.pins))!r}",
                    condition="COLUMN_NOT_FOUND",
                ) from None
        raise


def bind_filters(
    filters: Any, schema: Schema, state: TableState | None = None
) -> BoundFilter | None:
    """Parse the filters of a scan and replace their column names by columns of the schema.

    Args:
        filters: as for ``Table.scan``: tuples (see ``parse_filters``), an ``Unbound`` expression, or
            None for no filter.
        schema: the snapshot's schema.
        state: the snapshot, whose hidden columns errors know.

    Raises:
        NotFoundError: the schema has no such column.
        InvalidRequestError: the filters are malformed, or compare a column with a value of another type.
    """
    unbound = parse_filters(filters)
    return (
        None if unbound is None else bind_filter(unbound, lambda path: resolve(schema, path, state))
    )


def shown_columns(
    schema: Schema, names: Sequence[str], state: TableState | None = None
) -> list[Column]:
    """Resolve the columns that a scan shows: top-level columns, each once. See ``resolve``.

    Raises:
        NotFoundError: a column does not exist.
        InvalidRequestError: a column is nested or repeated, or the names are not a list of names.
    """
    columns = [resolve(schema, (name,), state) for name in _list_of(names)]
    for column in columns:
        above = schema.ancestors(column.id) if column.id > 0 else ()
        if above:
            raise InvalidRequestError(
                f"{schema.path_text(column.id)} is inside {above[0].name}; changes have whole columns, "
                "so ask for that one"
            )
    times = Counter(column.id for column in columns)
    repeated = {column.name for column in columns if times[column.id] > 1}
    if repeated:
        raise InvalidRequestError(f"columns are listed twice: {', '.join(sorted(repeated))}")
    return columns


def projected_columns(
    schema: Schema, names: Sequence[str], state: TableState | None = None
) -> list[Column]:
    """Resolve the columns that a scan shows, of which some may be paths into nested columns.

    A path such as ``s.b``, ``l.element.b`` or ``m.value.b`` keeps its top-level column, in the place
    where the list names it first, with only the named fields of its structs.

    Raises:
        NotFoundError: a column does not exist; the message names similar ones.
        InvalidRequestError: a column is named twice, or the key of a map without its values, or the
            names are not a list of names.
    """
    wanted: dict[int, list[int]] = {}
    shown: dict[int, Column] = {}
    for name in _list_of(names):
        column = _named(schema, name, state)
        line = (*(schema.ancestors(column.id) if column.id > 0 else ()), column)
        if any(isinstance(a.type, Map) and a.type.key.id == b.id for a, b in pairwise(line)):
            raise InvalidRequestError(
                f"{name} is in the key of a map, which is not read without its values; ask for "
                f"{schema.path_text(line[0].id)}"
            )
        top = line[0].id
        shown[top] = line[0]
        wanted.setdefault(top, []).append(column.id)
    columns = []
    for top, ids in wanted.items():
        _check_apart(schema, shown[top], ids)
        columns.append(cut_to(shown[top], frozenset(ids)))
    return columns


def _list_of(names: Sequence[str]) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidRequestError(f"columns must be a list of names, not {names!r}")
    listed = list(names)
    if not all(isinstance(name, str) for name in listed):
        raise InvalidRequestError(f"columns must be a list of names, not {listed!r}")
    return listed


def _named(schema: Schema, name: str, state: TableState | None) -> Column:
    """The column of a name, or else of a path, at any depth."""
    column = schema.find((name,)) or find_metadata(name)
    if column is not None:
        return column
    path = parse_path(name)
    try:
        return find(schema, path)
    except NotFoundError:
        return (
            _missing(schema, path, state)
            if state is not None and state.pins
            else find(schema, path)
        )


def _check_apart(schema: Schema, top: Column, ids: Sequence[int]) -> None:
    """Refuse columns inside a top-level one of which one is another one, or inside it."""
    for at, column_id in enumerate(ids):
        above = schema.ancestors(column_id) if column_id != top.id else ()
        if column_id in ids[:at] or any(column.id in ids for column in above):
            twice = top.name if column_id == top.id else schema.path_text(column_id)
            raise InvalidRequestError(f"columns are listed twice: {twice}")


def age_time(store: Store, state: TableState) -> datetime | None:
    """The time at which the age of rows is taken; None if the table has no ``ttl``.

    The store's clock is read only for a table with ``ttl``, which needs a time index.
    """
    if state.schema.time_index is None or not hides_rows(state.properties):
        return None
    return settled_time(store, state.version, state.time)


def with_ttl(
    state: TableState, filter: BoundFilter | None, time: datetime | None
) -> BoundFilter | None:
    """Extend a filter to reject rows that are too old; None is no filter.

    ``time`` is from ``age_time``, called once for all steps of an operation.
    """
    schema = state.schema
    cut = None if time is None else ttl_cutoff(state.properties, time)
    if schema.time_index is None or cut is None:
        return filter
    index = schema.column(schema.time_index)
    value = in_time_index(cut, index.type)
    young = bind_filter(Comparison((index.name,), Op.GE, value), lambda _: index)
    return young if filter is None else And((young, filter))
