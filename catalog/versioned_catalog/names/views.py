"""Views of a catalog: named queries in Spark SQL, stored in the warehouse's log."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.schemas import Schemas
from versioned_catalog.log.state import TableState
from versioned_catalog.model.ddl import parse_columns
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import parse_path, render_path, render_type
from versioned_catalog.names.names import (
    Names,
    check_free,
    check_namespace,
    check_properties,
    head_of,
    listed_beside,
    parse_namespace,
)
from versioned_catalog.names.names_log import (
    WITH_VIEWS,
    Name,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.names.view import ReadTable, View, ViewColumn
from versioned_catalog.names.view_columns import Problem, Shown, ViewReports, bind
from versioned_catalog.table import Table

Mode = Literal["create", "replace", "create or replace"]


class Views:
    """The part of ``Catalog`` that manages views."""

    _names: Names

    def load_table(self, name: str | Name) -> Table:
        """See ``Catalog``."""
        raise NotImplementedError

    def list_views(self, namespace: str | Name | None = None) -> list[str]:
        """List the views in a namespace, or in the root, sorted by name.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state, above = self._names.state(), parse_namespace(namespace)
        check_namespace(state, above)
        names = (view.name for view in state.views.values())
        key = full_key(above)
        return sorted(name[-1] for name in names if full_key(name[:-1]) == key)

    def view_exists(self, name: str | Name) -> bool:
        """Whether a view has the name."""
        return full_key(parse_path(name)) in self._names.state().views

    def load_view(self, name: str | Name) -> View:
        """Load a view, whether it can be read or not.

        Raises:
            NotFoundError: there is no such view.
        """
        return _find(self._names.state(), parse_path(name))

    def create_view(
        self,
        name: str | Name,
        sql: str,
        columns: str,
        *,
        reads: Mapping[str | Name, Iterable[str | Name]] | None = None,
        namespace: str | Name | None = None,
        comment: str | None = None,
        properties: Mapping[str, str] | None = None,
        or_replace: bool = False,
    ) -> View:
        """Create a view. The query is not parsed: give its columns and what it reads, unlike in SQL.

        Args:
            name: the name, including the namespace; tables and views share names.
            sql: a query in Spark SQL.
            columns: the columns of the query, as Spark DDL.
            reads: the columns that the query reads, by table of this catalog; the view is bound to
                their IDs. Views that it reads have no columns here. Tables left out are read by name.
            namespace: namespace of unqualified names in the query; the view's own if omitted.
            comment: the view comment.
            properties: text by key.
            or_replace: replace a view of the same name.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: there is no such namespace, table, view or column.
            InvalidRequestError: the columns are invalid, or views would read each other in a cycle.
        """
        parts, shown = parse_path(name), parse_columns(columns)
        tables, views = self._bind(reads or {})
        view = View(
            parts,
            sql,
            tuple(ViewColumn(c.name, render_type(c.type), c.nullable, c.comment) for c in shown),
            tuple(column.name for column in shown),
            namespace=parts[:-1] if namespace is None else parse_namespace(namespace),
            comment=comment,
            properties=check_properties(properties),
            reads=tables,
            reads_views=views,
        )
        self.put_view(view, "create or replace" if or_replace else "create", str(uuid.uuid4()))
        return view

    def put_view(self, view: View, mode: Mode, commit_id: str) -> None:
        """Create or replace a view.

        Args:
            view: the view.
            mode: ``create``, ``replace`` or ``create or replace``.
            commit_id: idempotency key of the commit.

        Raises:
            AlreadyExistsError: the name is taken by a table, or by a view and the mode is ``create``.
            NotFoundError: there is no such view to replace, or no such namespace.
            InvalidRequestError: views would read each other in a cycle.
        """

        def change(state: WarehouseState) -> WarehouseEntry:
            old = state.views.get(full_key(view.name))
            if mode == "replace":
                _find(state, view.name)
            elif mode == "create" or old is None:
                check_free(state, view.name)
            _check_cycle(state, view)
            operation = "create_view" if old is None else "alter_view"
            removed_views = () if old is None else (old.name,)
            return WarehouseEntry(
                head_of(operation, WITH_VIEWS), set_views=(view,), remove_views=removed_views
            )

        self._names.commit(change, commit_id)

    def alter_view(
        self, name: str | Name, set: Mapping[str, str] | None = None, unset: Iterable[str] = ()
    ) -> None:
        """Set and remove properties of a view; the others stay.

        Raises:
            NotFoundError: there is no such view.
        """
        parts, new, removed_keys = parse_path(name), check_properties(set), frozenset(unset)

        def change(state: WarehouseState) -> WarehouseEntry:
            old = _find(state, parts)
            kept = {key: text for key, text in old.properties.items() if key not in removed_keys}
            view = replace(old, properties=kept | new)
            return WarehouseEntry(head_of("alter_view", WITH_VIEWS), set_views=(view,))

        self._names.commit(change)

    def rename_view(self, name: str | Name, new_name: str | Name) -> None:
        """Rename a view, possibly into another namespace.

        Raises:
            NotFoundError: there is no such view or namespace.
            AlreadyExistsError: the new name is taken.
            InvalidRequestError: views would read each other in a cycle.
        """
        old, new = parse_path(name), parse_path(new_name)

        def change(state: WarehouseState) -> WarehouseEntry:
            view = replace(_find(state, old), name=new)
            if full_key(new) != full_key(old):
                check_free(state, new)
                _check_cycle(state, view)
            return WarehouseEntry(
                head_of("rename_view", WITH_VIEWS), set_views=(view,), remove_views=(old,)
            )

        self._names.commit(change)

    def drop_view(self, name: str | Name) -> None:
        """Drop a view. Views that read it stay, but can no longer be read.

        Raises:
            NotFoundError: there is no such view.
        """
        parts = parse_path(name)

        def change(state: WarehouseState) -> WarehouseEntry:
            view = _find(state, parts)
            return WarehouseEntry(head_of("drop_view", WITH_VIEWS), remove_views=(view.name,))

        self._names.commit(change)

    def views(self, table: str | Name | None = None, shown: Shown = render_path) -> pa.Table:
        """List what every view reads, one row a column, with the problems.

        Columns: ``view``, ``reads``, ``column``, ``column_id`` (int32), ``problem`` (null if there is
        none). ``column`` is null for views and unknown columns.

        Args:
            table: restrict the list to this table.
            shown: renders names in the problems.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._reports(shown).listing(self._identity(table))

    def view_problems(
        self, name: str | Name | None = None, shown: Shown = render_path
    ) -> list[Problem]:
        """Find the columns that views can no longer read, because they were renamed or dropped.

        Args:
            name: only views that read this table.
            shown: renders names in the problems.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._reports(shown).problems(self._identity(name))

    def problems_after(
        self, name: str | Name, schema: Schema, shown: Shown = render_path
    ) -> list[Problem]:
        """Find what views of a table can read now, but could not if it had another schema.

        Args:
            name: the table.
            schema: the other schema, in which columns have the IDs of the table.
            shown: renders names in the problems.

        Raises:
            NotFoundError: there is no such table.
        """
        known_keys = {(p.view, p.table, p.column_id) for p in self.view_problems(name)}
        newest = self.load_table(name).state
        after = replace(newest, schemas=Schemas(schema, {}), schema_version=schema.version)
        problems = self._problems_in(name, after, shown)
        return [p for p in problems if (p.view, p.table, p.column_id) not in known_keys]

    def problems_since(
        self, name: str | Name, before: TableState, shown: Shown = render_path
    ) -> list[Problem]:
        """Find what views of a table can't read now, but could read in an earlier state of the table.

        Args:
            name: the table.
            before: the earlier state.
            shown: renders names in the problems.

        Raises:
            NotFoundError: there is no such table.
        """
        problems = self.view_problems(name, shown)
        earlier_problems = self._problems_in(name, before, shown) if problems else []
        return [problem for problem in problems if problem not in earlier_problems]

    def problems_of(
        self, view: View, table: str | Name, shown: Shown = render_path
    ) -> list[Problem]:
        """Find what one view can no longer read under the name of a table.

        Args:
            view: the view.
            table: the name in the view's query.
            shown: renders names in the problems.
        """
        return self._reports(shown).problems_of(view, parse_path(table))

    def name_of(self, created_uuid: str) -> Name | None:
        """Return the name of a table by its created UUID; None if it has none."""
        return self._names.state().name_of(created_uuid)

    def has_landed(self, commit_id: str) -> bool:
        """Whether the warehouse's log holds a commit."""
        return self._names.has_landed(commit_id)

    def _identity(self, table: str | Name | None) -> str | None:
        """Return the created UUID of a table."""
        if table is None:
            return None
        return self._names.find(self._names.state(), parse_path(table)).table_uuid

    def _problems_in(self, name: str | Name, state: TableState, shown: Shown) -> list[Problem]:
        """Find what views can't read of a table in some state."""
        key = full_key(self._names.find(self._names.state(), parse_path(name)).name)

        def load(other: Name) -> TableState:
            return state if full_key(other) == key else self.load_table(other).state

        reports = ViewReports(self._names.state(), load, shown)
        return reports.problems(self._identity(name))

    def _reports(self, shown: Shown) -> ViewReports:
        return ViewReports(self._names.state(), lambda name: self.load_table(name).state, shown)

    def _bind(
        self, reads: Mapping[str | Name, Iterable[str | Name]]
    ) -> tuple[tuple[ReadTable, ...], tuple[Name, ...]]:
        tables: list[ReadTable] = []
        views: list[Name] = []
        for name, columns in reads.items():
            parts = parse_path(name)
            if self.view_exists(parts):
                views.append(self.load_view(parts).name)
                continue
            table = self.load_table(parts)
            tables.append(bind(parts, table.state, map(parse_path, columns)))
        return tuple(tables), tuple(views)


def _find(state: WarehouseState, name: Name) -> View:
    view = state.views.get(full_key(name))
    if view is not None:
        return view
    if full_key(name) in state.tables:
        raise NotFoundError(
            f"{render_path(name)} is a table, not a view; load it with load_table, or drop it with "
            "drop_table",
            condition="VIEW_NOT_FOUND",
        )
    check_namespace(state, name[:-1])
    near = listed_beside(name, (view.name for view in state.views.values()))
    raise NotFoundError(
        f"there is no view {render_path(name)}; the views are {near}", condition="VIEW_NOT_FOUND"
    )


def _check_cycle(state: WarehouseState, view: View) -> None:
    """Refuse a view that reads itself, directly or through other views."""
    start = full_key(view.name)
    chains: list[tuple[Name, ...]] = [(view.name, name) for name in view.reads_views]
    seen = set()
    while chains:
        chain = chains.pop()
        key = full_key(chain[-1])
        if key == start:
            raise InvalidRequestError(
                f"the view {render_path(view.name)} would read itself: "
                f"{' reads '.join(map(render_path, chain))}; read something else"
            )
        if key in seen or key not in state.views:
            continue
        seen.add(key)
        chains += [(*chain, name) for name in state.views[key].reads_views]
