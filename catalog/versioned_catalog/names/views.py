"""Views of a catalog: named queries in Spark SQL, stored in the warehouse's log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.log.state import TableState
from versioned_catalog.model.ddl import parse_columns
from versioned_catalog.model.type_text import parse_path, render_path, render_type
from versioned_catalog.names.folders import Mode
from versioned_catalog.names.names import (
    Names,
    altered,
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
from versioned_catalog.names.view import View, ViewColumn
from versioned_catalog.names.view_columns import bind


def new_view(
    name: Name,
    sql: str,
    columns: str,
    reads: Mapping[str | Name, Iterable[str | Name]],
    state: WarehouseState,
    load: Callable[[Name], TableState],
    *,
    namespace: str | Name | None,
    comment: str | None,
    properties: Mapping[str, str] | None,
) -> View:
    """A view, bound to the columns that it reads. See ``Catalog.create_view``.

    Args:
        state: the warehouse.
        load: loads the newest state of a table by name.
    """
    parsed = parse_columns(columns)
    read_columns = {parse_path(read): map(parse_path, paths) for read, paths in reads.items()}
    read_views = [name for name in read_columns if full_key(name) in state.views]
    return View(
        name,
        sql,
        tuple(ViewColumn(c.name, render_type(c.type), c.nullable, c.comment) for c in parsed),
        tuple(column.name for column in parsed),
        namespace=name[:-1] if namespace is None else parse_namespace(namespace),
        comment=comment,
        properties=check_properties(properties),
        reads=tuple(
            bind(name, load(name), paths)
            for name, paths in read_columns.items()
            if name not in read_views
        ),
        reads_views=tuple(state.views[full_key(name)].name for name in read_views),
    )


def put_view(names: Names, view: View, mode: Mode, commit_id: str) -> None:
    """Create or replace a view. See ``Catalog.put_view``."""

    def change(state: WarehouseState) -> WarehouseEntry:
        old = state.views.get(full_key(view.name))
        if mode == "replace":
            find_view(state, view.name)
        elif mode == "create" or old is None:
            check_free(state, view.name)
        _check_cycle(state, view)
        operation = "create_view" if old is None else "alter_view"
        return _entry(operation, view, None if old is None else old.name)

    names.commit(change, commit_id)


def alter_view(
    names: Names, name: Name, new: Mapping[str, str] | None, unset: Iterable[str]
) -> None:
    """Set and remove properties of a view. See ``Catalog.alter_view``."""
    alter = altered(new, unset)

    def change(state: WarehouseState) -> WarehouseEntry:
        old = find_view(state, name)
        return _entry("alter_view", replace(old, properties=alter(old.properties)))

    names.commit(change)


def rename_view(names: Names, old: Name, new: Name) -> None:
    """Rename a view. See ``Catalog.rename_view``."""

    def change(state: WarehouseState) -> WarehouseEntry:
        view = replace(find_view(state, old), name=new)
        if full_key(new) != full_key(old):
            check_free(state, new)
            _check_cycle(state, view)
        return _entry("rename_view", view, old)

    names.commit(change)


def drop_view(names: Names, name: Name) -> None:
    """Drop a view. See ``Catalog.drop_view``."""
    names.commit(lambda state: _entry("drop_view", None, find_view(state, name).name))


def _entry(operation: str, view: View | None, removed: Name | None = None) -> WarehouseEntry:
    return WarehouseEntry(
        head_of(operation, WITH_VIEWS),
        set_views=() if view is None else (view,),
        remove_views=() if removed is None else (removed,),
    )


def find_view(state: WarehouseState, name: Name) -> View:
    """Look up a view by name. Raises NotFoundError if there is no such view."""
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
