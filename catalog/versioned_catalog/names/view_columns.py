"""Columns that a view reads, by ID: those renamed or dropped, and reports on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import VersionedError
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.column_tables import table_of
from versioned_catalog.model.schema import Schema, name_key
from versioned_catalog.model.type_text import ColumnPath, parse_path, render_path
from versioned_catalog.model.types import Column, children, walk
from versioned_catalog.names.names import Names
from versioned_catalog.names.names_log import Name, full_key
from versioned_catalog.names.view import EVOLUTION, EVOLVING_MODES, ReadColumn, ReadTable, View

LONGEST_QUERY = 500
"""Most characters of a view's query in an error."""

Shown = Callable[[Name], str]
"""Renders the name of a table or view."""


@dataclass(frozen=True)
class Problem:
    """A reason why a view cannot be read: a problem of a table, or of one column.

    ``column`` is the path at the view's creation; ``text`` says what is wrong and what to do.
    """

    view: Name
    table: Name
    column: ColumnPath | None
    column_id: int | None
    text: str


def bind(name: Name, state: TableState, paths: Iterable[ColumnPath]) -> ReadTable:
    """Bind the columns that a view reads of a table to their IDs.

    Raises:
        NotFoundError: there is no such column.
    """
    schema = state.schema.visible
    paths_by_id = {schema.get(path).id: path for path in paths}
    columns = tuple(
        ReadColumn(i, schema.path(i), _nested_ids(schema.column(i))) for i in sorted(paths_by_id)
    )
    return ReadTable(name, state.created_uuid, state.table_uuid, columns)


def problems(
    view: View, read: ReadTable, state: TableState, shown: Shown = render_path
) -> Iterator[Problem]:
    """Find the columns of one table that a view can no longer read, by the table's current state."""
    problem_of = _problem_by_id if state.table_uuid == read.table_uuid else _problem_by_name
    for column in read.columns:
        text = problem_of(view, read, column, state.schema.visible, shown)
        if text is not None:
            yield Problem(view.name, read.name, column.path, column.id, text)


def missing(view: View, read: ReadTable, now: Name | None, shown: Shown = render_path) -> Problem:
    """Describe the problem of a view whose table was renamed to ``now``, or dropped (None)."""
    subject = f"the view {shown(view.name)} reads {shown(read.name)}, "
    if now is None:
        text = f"{subject}which was dropped; {_replace(view, shown)}"
    else:
        text = (
            f"{subject}which is now named {shown(now)}; rename it back with ALTER TABLE {shown(now)} "
            f"RENAME TO {shown(read.name)}, or {_replace(view, shown)}"
        )
    return Problem(view.name, read.name, None, None, text)


def missing_view(view: View, name: Name, shown: Shown = render_path) -> Problem:
    """Describe the problem of a view that reads a dropped or renamed view."""
    text = (
        f"the view {shown(view.name)} reads the view {shown(name)}, which was dropped or renamed; "
        f"create it, or {_replace(view, shown)}"
    )
    return Problem(view.name, name, None, None, text)


def _problem_by_id(
    view: View, read: ReadTable, column: ReadColumn, schema: Schema, shown: Shown
) -> str | None:
    """Describe the problem of a column, if any; the table is the same incarnation."""
    here = schema.find(column.path)
    table = shown(read.name)
    subject = f"the view {shown(view.name)} reads the column {_quoted(column)} of {table}, "
    if here is not None and here.id == column.id:
        if view.schema_mode in EVOLVING_MODES or _nested_ids(here) == column.below:
            return None
        return f"{subject}whose fields have changed, or their order; {_replace(view, shown)}"
    if here is None and view.schema_mode == EVOLUTION:
        return None  # the query may read whatever columns there are
    taken = ""
    if here is not None:
        taken = f", and {render_path(column.path)} is now another column (ID {here.id})"
    if column.id not in schema.ids:
        return f"{subject}which was dropped{taken}; {_replace(view, shown)}"
    now = schema.path(column.id)
    named = f"{subject}which is now named {render_path(now)}{taken}; "
    if here is not None or len(now) != len(column.path):
        return f"{named}{_replace(view, shown)}"
    return (
        f"{named}rename it back with {_rename(table, now, column.path)}, or {_replace(view, shown)}"
    )


def _problem_by_name(
    view: View, read: ReadTable, column: ReadColumn, schema: Schema, shown: Shown
) -> str | None:
    """Describe the problem of a column, if any; the table is another, or another incarnation."""
    if schema.find(column.path) is not None or view.schema_mode == EVOLUTION:
        return None
    return (
        f"the view {shown(view.name)} reads the column {_quoted(column)} of {shown(read.name)}, which "
        f"was replaced since and no longer has it; {_replace(view, shown)}"
    )


def _quoted(column: ReadColumn) -> str:
    return f"{render_path(column.path)} (ID {column.id})"


def _rename(table: str, now: ColumnPath, then: ColumnPath) -> str:
    """The statement that renames a column, or one that holds it, back to its old name."""
    pairs = zip(map(name_key, now), map(name_key, then), strict=True)
    at = next(i for i, (new_part, old_part) in enumerate(pairs) if new_part != old_part)
    return (
        f"ALTER TABLE {table} RENAME COLUMN {render_path(now[: at + 1])} TO "
        f"{render_path(then[at : at + 1])}"
    )


def _replace(view: View, shown: Shown) -> str:
    query = view.sql if len(view.sql) <= LONGEST_QUERY else f"{view.sql[:LONGEST_QUERY]}…"
    return (
        f"bind it to the current columns with CREATE OR REPLACE VIEW {shown(view.name)} AS ...; its "
        f"query is: {query}"
    )


def _nested_ids(column: Column) -> tuple[int, ...]:
    return tuple(inner.id for inner, _ in walk(children(column.type)))


LISTING = pa.schema(
    {
        "view": pa.string(),
        "reads": pa.string(),
        "column": pa.string(),
        "column_id": pa.int32(),
        "problem": pa.string(),
    }
)
"""The columns of ``Catalog.views``."""


class ViewReports:
    """Reports on the views of a warehouse.

    Args:
        names: the names of the warehouse.
        load: loads the newest state of a table by name.
        shown: renders names in the problems.
    """

    def __init__(
        self, names: Names, load: Callable[[Name], TableState], shown: Shown = render_path
    ) -> None:
        self._names = names
        self._load = load
        self._shown = shown
        self._state = names.state()

    def listing(self, table: str | Name | None) -> pa.Table:
        """List what views read, of one table or of all. See ``Catalog.views``."""
        only = self._identity(table)
        return table_of([row for view in self._views() for row in self._rows(view, only)], LISTING)

    def problems(self, table: str | Name | None) -> list[Problem]:
        """Find what views can no longer read, of one table or of all."""
        only = self._identity(table)
        return [
            problem
            for view in self._views()
            for read in view.reads
            if only in (None, read.created_uuid)
            for problem in self._table_problems(view, read)
        ]

    def problems_after(self, table: str | Name, schema: Schema) -> list[Problem]:
        """See ``Catalog.problems_after``."""
        known = {(p.view, p.table, p.column_id) for p in self.problems(table)}
        schemas = Schemas(schema, {})
        after = replace(
            self._load(parse_path(table)), schemas=schemas, schema_version=schema.version
        )
        problems = self._problems_in(table, after)
        return [p for p in problems if (p.view, p.table, p.column_id) not in known]

    def problems_since(self, table: str | Name, before: TableState) -> list[Problem]:
        """See ``Catalog.problems_since``."""
        problems = self.problems(table)
        earlier_problems = self._problems_in(table, before) if problems else []
        return [problem for problem in problems if problem not in earlier_problems]

    def problems_of(self, view: View, table: str | Name) -> list[Problem]:
        """Find what one view can no longer read under the name of a table or view."""
        key = full_key(parse_path(table))
        return [
            problem
            for read in view.reads
            if full_key(read.name) == key
            for problem in self._table_problems(view, read)
        ] + [problem for problem in self._missing_views(view) if full_key(problem.table) == key]

    def _identity(self, table: str | Name | None) -> str | None:
        """Return the created UUID of a table."""
        return (
            None if table is None else self._names.find(self._state, parse_path(table)).table_uuid
        )

    def _problems_in(self, table: str | Name, state: TableState) -> list[Problem]:
        """Find what views can't read of a table in some state."""
        key = full_key(parse_path(table))

        def load(other: Name) -> TableState:
            return state if full_key(other) == key else self._load(other)

        return ViewReports(self._names, load, self._shown).problems(table)

    def _views(self) -> list[View]:
        return [self._state.views[key] for key in sorted(self._state.views)]

    def _rows(self, view: View, only: str | None) -> Iterator[dict[str, Any]]:
        view_row = {"view": render_path(view.name)}
        for read in view.reads:
            if only in (None, read.created_uuid):
                yield from (view_row | row for row in self._rows_of_table(view, read))
        if only is not None:
            return
        problem_texts = {problem.table: problem.text for problem in self._missing_views(view)}
        for name in view.reads_views:
            yield view_row | {"reads": render_path(name), "problem": problem_texts.get(name)}
        if not view.reads and not view.reads_views:
            yield view_row

    def _rows_of_table(self, view: View, read: ReadTable) -> Iterator[dict[str, Any]]:
        problem_texts = {
            problem.column_id: problem.text for problem in self._table_problems(view, read)
        }
        table_problem, table_row = problem_texts.get(None), {"reads": render_path(read.name)}
        for column in read.columns:
            yield table_row | {
                "column": render_path(column.path),
                "column_id": column.id,
                "problem": table_problem or problem_texts.get(column.id),
            }
        if not read.columns:
            yield table_row | {"problem": table_problem}

    def _missing_views(self, view: View) -> list[Problem]:
        return [
            missing_view(view, name, self._shown)
            for name in view.reads_views
            if full_key(name) not in self._state.views and full_key(name) not in self._state.tables
        ]

    def _table_problems(self, view: View, read: ReadTable) -> list[Problem]:
        if full_key(read.name) in self._state.views:
            return []  # a view of the same columns may have replaced the table
        named = self._state.tables.get(full_key(read.name))
        if named is None:
            return [missing(view, read, self._state.name_of(read.created_uuid), self._shown)]
        try:
            state = self._load(named.name)
        except VersionedError as error:
            return [Problem(view.name, read.name, None, None, str(error))]
        return list(problems(view, read, state, self._shown))
