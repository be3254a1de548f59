"""What the jar's catalog asks about views."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyspark_versioned.sql.catalog_questions import load
from pyspark_versioned.sql.snapshots import open_catalog, open_table
from pyspark_versioned.sql.view_warnings import shown_name
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.views.columns import bind, problems
from versioned_catalog.warehouse.state import Name, full_key
from versioned_catalog.warehouse.view import (
    EVOLVING_MODES,
    ReadTable,
    View,
    ViewColumn,
    view_from_json,
    view_to_json,
)

Json = dict[str, Any]


def load_relation(request: Json) -> Json:
    """A table or a view. Of the request: ``within``, the view whose query names it, if one does: what
    was told of the view when it was loaded.

    Raises:
        InvalidRequestError: that view reads columns of the table that were renamed or dropped since.
    """
    catalog, name = open_catalog(request["catalog"]), _name(request)
    if catalog.view_exists(name):
        return {"view": _describe(catalog.load_view(name), request)}
    answer = load(request)
    within = request.get("within")
    if within is not None and within["catalog"] == request["catalog"]["name"]:
        _check_loaded(catalog, within, request, answer)
    return answer


def _check_loaded(catalog: Catalog, within: Json, request: Json, answer: Json) -> None:
    """Refuse what was loaded for a view whose columns it does not have any more."""
    if "metadata" in answer.get("loaded", {}):
        return
    if "loaded" in answer:
        _check_bound(within, answer["loaded"]["table"])
        return
    view, shown = view_from_json(within["view"]), partial(_shown_in, within["catalog"])
    for problem in catalog.problems_of(view, _name(request), shown):
        raise InvalidRequestError(problem.text)


def check_views(request: Json) -> Json:
    """Check tables that a statement reads in views, at the versions that it reads.

    Of the request: ``views``, each with ``within`` as ``load_relation`` has it, and ``tables``.

    Raises:
        InvalidRequestError: a view reads columns of a table that were renamed or dropped since.
    """
    for one in request["views"]:
        for table in one["tables"]:
            _check_bound(one["within"], table)
    return {}


def _check_bound(within: Json, table: Json) -> None:
    catalog, view = within["catalog"], view_from_json(within["view"])
    first, *name = parse_path(table["name"])
    reads = [one for one in view.reads if full_key(one.name) == full_key(tuple(name))]
    if first != catalog or not reads:
        return
    _, state = open_table(table)
    for read in reads:
        for problem in problems(view, read, state, partial(_shown_in, catalog)):
            raise InvalidRequestError(problem.text)


def _shown_in(catalog: str, name: Name) -> str:
    return render_path((catalog, *name))


def _describe(view: View, request: Json) -> Json:
    catalog = request["catalog"]["name"]
    return {
        "within": {"catalog": catalog, "view": view_to_json(view)},
        "sql": view.sql,
        "columns": [
            {"name": c.name, "type": c.type, "nullable": c.nullable, "comment": c.comment}
            for c in view.columns
        ],
        "query_columns": list(view.query_columns),
        "catalog": view.catalog,
        "namespace": list(view.namespace),
        "schema_mode": view.schema_mode,
        "comment": view.comment,
        "properties": dict(view.properties),
        "settings": dict(view.settings),
    }


def list_views(request: Json) -> Json:
    """The names of the views in a namespace."""
    catalog, namespace = open_catalog(request["catalog"]), tuple(request["namespace"])
    if not catalog.namespace_exists(namespace):
        return {"missing_namespace": True}
    return {"views": catalog.list_views(namespace)}


def put_view(request: Json) -> Json:
    """Create or replace a view.

    Of the request: ``mode``; ``view``, without ``reads`` and ``reads_views`` where the query is that
    of the view that is replaced, which stays bound as it is.
    """
    catalog, name, mode = open_catalog(request["catalog"]), _name(request), request["mode"]
    if request.get("retry") and catalog.has_landed(request["commit_id"]):
        return {}
    if not catalog.namespace_exists(name[:-1]):
        return {"missing_namespace": True}
    if mode == "replace" and not catalog.view_exists(name):
        return {"missing": True}
    if catalog.table_exists(name) or (mode == "create" and catalog.view_exists(name)):
        return {"exists": True}
    catalog.put_view(_view(catalog, request), mode, request["commit_id"])
    return {}


def _view(catalog: Catalog, request: Json) -> View:
    name, given = _name(request), request["view"]
    if given["schema_mode"] in EVOLVING_MODES:
        # Up to 4.3, Spark writes the new types to the session catalog's view of that name.
        raise InvalidRequestError(
            f"{shown_name(request, name)}: Spark does not carry out WITH SCHEMA {given['schema_mode']} "
            "outside its session catalog; leave it out, and use CREATE OR REPLACE VIEW when columns "
            "change"
        )
    if "reads" in given:
        reads, reads_views = _reads(catalog, request), _reads_views(request)
    else:
        old = catalog.load_view(name)
        reads, reads_views = old.reads, old.reads_views
    own = given["catalog"] in (None, request["catalog"]["name"])
    return View(
        name,
        given["sql"],
        tuple(
            ViewColumn(one["name"], one["type"], one["nullable"], one["comment"])
            for one in given["columns"]
        ),
        tuple(given["query_columns"]),
        None if own else given["catalog"],
        tuple(given["namespace"]),
        given["schema_mode"],
        given["comment"],
        given["properties"],
        given["settings"],
        reads,
        reads_views,
    )


def _reads(catalog: Catalog, request: Json) -> tuple[ReadTable, ...]:
    """What the query reads of the tables of this catalog; a table that it reads twice stands once."""
    names: dict[str, Name] = {}
    paths: dict[str, list[Name]] = {}
    states = {}
    for one in request["view"]["reads"]:
        _, state = open_table(one["table"])
        name = catalog.name_of(state.created_uuid)
        if name is not None:
            names[state.table_uuid], states[state.table_uuid] = name, state
            paths.setdefault(state.table_uuid, []).extend(map(tuple, one["columns"]))
    return tuple(bind(names[key], states[key], paths[key]) for key in names)


def _reads_views(request: Json) -> tuple[Name, ...]:
    """The views of this catalog that the query reads."""
    given = (_own(request, tuple(one)) for one in request["view"]["reads_views"])
    return tuple({full_key(one): one for one in given if one is not None}.values())


def _own(request: Json, name: Name) -> Name | None:
    """A whole name as one of this catalog, without the catalog's; None where it is another's."""
    return name[1:] if len(name) > 1 and name[0] == request["catalog"]["name"] else None


def drop_view(request: Json) -> Json:
    """Drop a view; tells whether it was there."""
    catalog, name = open_catalog(request["catalog"]), _name(request)
    try:
        catalog.drop_view(name)
    except NotFoundError:
        return {"dropped": bool(request.get("retry"))}
    return {"dropped": True}


def rename_view(request: Json) -> Json:
    """Give a view another name."""
    catalog = open_catalog(request["catalog"])
    old, new = _name(request), tuple(request["new_name"])
    if new[0] == request["catalog"]["name"] and not catalog.namespace_exists(new[:-1]):
        new = new[1:]  # Spark hands the new name on as it was written, catalog and all
    if not catalog.view_exists(old):
        done = request.get("retry") and catalog.view_exists(new)
        return {} if done else {"missing": True}
    if full_key(old) != full_key(new) and (catalog.view_exists(new) or catalog.table_exists(new)):
        return {"exists": True}
    catalog.rename_view(old, new)
    return {}


def _name(request: Json) -> Name:
    return tuple(request["name"])


QUESTIONS = {
    "load_relation": load_relation,
    "check_views": check_views,
    "list_views": list_views,
    "put_view": put_view,
    "drop_view": drop_view,
    "rename_view": rename_view,
}
