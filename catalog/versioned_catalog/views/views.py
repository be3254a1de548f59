"""The views of a catalog: named queries in Spark's SQL, kept in the warehouse's log."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

import pyarrow as pa

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.schema.ddl import parse_columns
from versioned_catalog.table import Table
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.types.type_text import render_type
from versioned_catalog.views.columns import Problem, Shown, bind
from versioned_catalog.views.reports import ViewReports
from versioned_catalog.warehouse.names import (
    Names,
    check_free,
    check_namespace,
    check_properties,
    head_of,
    parse_namespace,
)
from versioned_catalog.warehouse.state import (
    WITH_VIEWS,
    Name,
    WarehouseEntry,
    WarehouseState,
    full_key,
)
from versioned_catalog.warehouse.view import ReadTable, View, ViewColumn

Mode = Literal["create", "replace", "create or replace"]


class Views:
    """What ``Catalog`` does with views."""

    _names: Names

    def load_table(self, name: str | Name) -> Table:
        """See ``Catalog``."""
        raise NotImplementedError

    def list_views(self, namespace: str | Name | None = None) -> list[str]:
        """The names of the views in a namespace, or at the top, sorted.

        Raises:
            NotFoundError: there is no such namespace.
        """
        state, above = self._names.state(), parse_namespace(namespace)
        check_namespace(state, above)
        names = (view.name for view in state.views.values())
        key = full_key(above)
        return sorted(name[-1] for name in names if full_key(name[:-1]) == key)

    def view_exists(self, name: str | Name) -> bool:
        """Whether a view has that name."""
        return full_key(parse_path(name)) in self._names.state().views

    def load_view(self, name: str | Name) -> View:
        """A view by its name, whether it can be read or not.

        Raises:
            NotFoundError: there is none.
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
        """Create a view. Its query is not looked into: what it shows and reads has to be said here, and
        Spark's CREATE VIEW finds out by itself.

        Args:
            name: its name, after that of its namespace; tables and views share names.
            sql: a query in Spark's SQL.
            columns: what the query shows, as Spark's DDL.
            reads: the columns that the query reads, by table of this catalog; the view is bound to
                their column IDs. Views that it reads are given with no columns. A table that is not
                here is read by its names.
            namespace: where names without a namespace are looked up; that of the view if omitted.
            comment: for people.
            properties: text to text.
            or_replace: replace the view that has the name.

        Raises:
            AlreadyExistsError: the name is taken.
            NotFoundError: there is no such namespace, table, view or column.
            InvalidRequestError: the columns can't be; or the views would read each other in a circle.
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
        """Create or replace a view as it is given.

        Args:
            view: the view.
            mode: ``create``, ``replace`` or ``create or replace``.
            commit_id: idempotency key of the commit.

        Raises:
            AlreadyExistsError: the name is taken by a table, or by a view that is not to be replaced.
            NotFoundError: there is no such view to replace, or no such namespace.
            InvalidRequestError: views would read each other in a circle.
        """

        def change(state: WarehouseState) -> WarehouseEntry:
            old = state.views.get(full_key(view.name))
            if mode == "replace":
                _find(state, view.name)
            elif mode == "create" or old is None:
                check_free(state, view.name)
            _check_circle(state, view)
            operation = "create_view" if old is None else "alter_view"
            return WarehouseEntry(
                head_of(operation, WITH_VIEWS), set_views=(view,), remove_views=_names_of(old)
            )

        self._names.commit(change, commit_id)

    def alter_view(
        self, name: str | Name, set: Mapping[str, str] | None = None, unset: Iterable[str] = ()
    ) -> None:
        """Set properties of a view and take others away; the others stay.

        Raises:
            NotFoundError: there is no such view.
        """
        parts, new, gone = parse_path(name), check_properties(set), frozenset(unset)

        def change(state: WarehouseState) -> WarehouseEntry:
            old = _find(state, parts)
            kept = {key: text for key, text in old.properties.items() if key not in gone}
            view = replace(old, properties=kept | new)
            return WarehouseEntry(head_of("alter_view", WITH_VIEWS), set_views=(view,))

        self._names.commit(change)

    def rename_view(self, name: str | Name, new_name: str | Name) -> None:
        """Give a view another name, maybe in another namespace.

        Raises:
            NotFoundError: there is no such view or namespace.
            AlreadyExistsError: the new name is taken.
            InvalidRequestError: views would read each other in a circle.
        """
        old, new = parse_path(name), parse_path(new_name)

        def change(state: WarehouseState) -> WarehouseEntry:
            view = replace(_find(state, old), name=new)
            if full_key(new) != full_key(old):
                check_free(state, new)
                _check_circle(state, view)
            return WarehouseEntry(
                head_of("rename_view", WITH_VIEWS), set_views=(view,), remove_views=(old,)
            )

        self._names.commit(change)

    def drop_view(self, name: str | Name) -> None:
        """Remove a view. Views that read it stay, and can't be read any more.

        Raises:
            NotFoundError: there is no such view.
        """
        parts = parse_path(name)

        def change(state: WarehouseState) -> WarehouseEntry:
            found = _find(state, parts)
            return WarehouseEntry(head_of("drop_view", WITH_VIEWS), remove_views=(found.name,))

        self._names.commit(change)

    def views(self, table: str | Name | None = None, shown: Shown = render_path) -> pa.Table:
        """What every view reads, and what is wrong with it: a row a column of a table, by view.

        ``problem`` is null where the view can read the column. There is a row without a column for a
        view that another one reads, and for a view of which it is not known what it reads.

        Args:
            table: only what is read of this table.
            shown: how the problems write names.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._reports(shown).listing(self._identity(table))

    def view_problems(
        self, name: str | Name | None = None, shown: Shown = render_path
    ) -> list[Problem]:
        """The columns that views can't read any more, since they were renamed or dropped.

        Args:
            name: of views that read this table only.
            shown: how the texts write names.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._reports(shown).problems(self._identity(name))

    def problems_of(
        self, view: View, table: str | Name, shown: Shown = render_path
    ) -> list[Problem]:
        """What one view can't read any more under the name of a table.

        Args:
            view: the view.
            table: the name, as the view's query has it.
            shown: how the texts write names.
        """
        return self._reports(shown).problems_of(view, parse_path(table))

    def name_of(self, created_uuid: str) -> Name | None:
        """The name of a table of this catalog, by its created UUID; None where it has none."""
        return self._names.state().name_of(created_uuid)

    def has_landed(self, commit_id: str) -> bool:
        """Whether a commit of names is in the warehouse's log."""
        return self._names.has_landed(commit_id)

    def _identity(self, table: str | Name | None) -> str | None:
        """The created UUID of a table."""
        if table is None:
            return None
        return self._names.find(self._names.state(), parse_path(table)).table_uuid

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
    found = state.views.get(full_key(name))
    if found is not None:
        return found
    if full_key(name) in state.tables:
        raise NotFoundError(
            f"{render_path(name)} is a table, not a view; load it with load_table, or drop it with "
            "drop_table",
            condition="VIEW_NOT_FOUND",
        )
    check_namespace(state, name[:-1])
    near = ", ".join(sorted(view.name[-1] for view in state.views.values())[:20]) or "none"
    raise NotFoundError(
        f"there is no view {render_path(name)}; views: {near}", condition="VIEW_NOT_FOUND"
    )


def _names_of(view: View | None) -> tuple[Name, ...]:
    return () if view is None else (view.name,)


def _check_circle(state: WarehouseState, view: View) -> None:
    """Refuse a view that reads itself, directly or through others."""
    start = full_key(view.name)
    trail: list[tuple[Name, ...]] = [(view.name, name) for name in view.reads_views]
    seen = set()
    while trail:
        way = trail.pop()
        key = full_key(way[-1])
        if key == start:
            raise InvalidRequestError(
                f"the view {render_path(view.name)} would read itself: "
                f"{' reads '.join(map(render_path, way))}; let it read something else"
            )
        if key in seen or key not in state.views:
            continue
        seen.add(key)
        trail += [(*way, name) for name in state.views[key].reads_views]
