"""Requests about views."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, cast

from pyspark_versioned.sql.changelogs import changelog_view
from pyspark_versioned.sql.namespace_requests import open_namespace
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Commit, Refused
from pyspark_versioned.sql.snapshots import full_name, open_catalog, open_table
from pyspark_versioned.sql.table_requests import load, without_catalog
from versioned_catalog import Catalog, InvalidRequestError, NotFoundError
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.types import children, walk
from versioned_catalog.names.folders import Mode
from versioned_catalog.names.names_log import Name, full_key
from versioned_catalog.names.view import (
    EVOLVING_MODES,
    ReadTable,
    View,
    ViewColumn,
    view_from_json,
    view_to_json,
)
from versioned_catalog.names.view_columns import bind, problems


def load_relation(request: messages.LoadRelation) -> messages.Loaded:
    """Load a table or a view.

    Raises:
        InvalidRequestError: the request comes from the query of a view (``within``), which reads
            columns of this table that were renamed or dropped.
    """
    catalog, name = open_catalog(request.catalog), tuple(request.name)
    if catalog.view_exists(name):
        return messages.Loaded(_describe(catalog.load_view(name), request.catalog), (), past=False)
    changes = changelog_view(catalog, request.catalog.name, name)
    if changes is not None:
        return messages.Loaded(_describe(changes, request.catalog), (), past=False)
    within = None if request.within is None else _Within(request.within)
    if within is None or within.catalog != request.catalog.name:
        return _load(request)
    try:
        loaded = _load(request)
    except Refused:
        render = partial(_name_in, within.catalog)
        for problem in catalog.problems_of(within.view, name, render):
            raise InvalidRequestError(problem.text) from None
        raise
    if isinstance(loaded.relation, messages.LoadedTable) and not loaded.past:
        within.check(loaded.relation.table)
    return loaded


def _load(request: messages.LoadRelation) -> messages.Loaded:
    return load(
        messages.Load(
            request.catalog,
            request.name,
            version=None,
            timestamp=None,
            views=False,
            schema_version=None,
            overflow=None,
            branch=None,
        )
    )


class _Within:
    """A view whose query names tables: the opaque text of a ``LoadedView``."""

    def __init__(self, text: str) -> None:
        parsed: dict[str, Any] = json.loads(text)
        self.catalog: str = parsed["catalog"]
        self.view = view_from_json(parsed["view"])

    @staticmethod
    def text(catalog: str, view: View) -> str:
        """The text of a view."""
        return json.dumps({"catalog": catalog, "view": view_to_json(view)})

    def check(self, table: messages.TableRef) -> None:
        """Check that a table has the columns that the view is bound to.

        Raises:
            InvalidRequestError: a column was renamed or dropped.
        """
        first, *name = parse_path(table.name)
        reads = [read for read in self.view.reads if full_key(read.name) == full_key(tuple(name))]
        if first != self.catalog or not reads:
            return
        _, state = open_table(table)
        if table.seen is not None:
            self._check_seen(table, reads, state.seen.schema)
            return
        for read in reads:
            for problem in problems(self.view, read, state, partial(_name_in, self.catalog)):
                raise InvalidRequestError(problem.text)

    def _check_seen(
        self, table: messages.TableRef, reads: Sequence[ReadTable], schema: Schema
    ) -> None:
        """Check that the columns have these names in the earlier schema in which a table is seen, too.

        Spark loads a table once for a statement, so a view sees what the statement sees.
        """
        for column in (column for read in reads for column in read.columns):
            here = schema.find(column.path)
            below = () if here is None else tuple(c.id for c, _ in walk(children(here.type)))
            if here is None or (here.id, below) != (column.id, column.below):
                raise InvalidRequestError(
                    f"the view {_name_in(self.catalog, self.view.name)} reads the column "
                    f"{render_path(column.path)} (ID {column.id}) of {table.name}, which is another "
                    f"one, or none, in the schema in which this session sees the table ({table.seen}); "
                    f"unset spark.sql.catalog.{self.catalog}.schema_label to read the view",
                    condition="COLUMN_NOT_FOUND",
                )


def check_views(request: messages.CheckViews) -> messages.Done:
    """Check tables that a statement reads in views, at the versions that it reads.

    Raises:
        InvalidRequestError: a view reads columns that were renamed or dropped.
    """
    for view in request.views:
        within = _Within(view.within)
        for table in view.tables:
            within.check(table)
    return messages.Done()


def _name_in(catalog: str, name: Name) -> str:
    return render_path((catalog, *name))


def _describe(view: View, catalog: messages.CatalogRef) -> messages.LoadedView:
    definition = messages.ViewDefinition(
        sql=view.sql,
        columns=[messages.ViewColumn(**asdict(column)) for column in view.columns],
        query_columns=view.query_columns,
        catalog=view.catalog,
        namespace=view.namespace,
        schema_mode=view.schema_mode,
        comment=view.comment,
        properties=view.properties,
        settings=view.settings,
    )
    return messages.LoadedView(definition, _Within.text(catalog.name, view))


def list_views(request: messages.ListViews) -> messages.Names:
    """The names of the views in a namespace."""
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    return messages.Names(catalog.list_views(namespace))


def put_view(request: messages.PutView, commit: Commit) -> messages.Done:
    """Create or replace a view."""
    catalog, name, mode = open_catalog(request.catalog), tuple(request.name), request.mode
    if commit.retry and catalog.has_landed(commit.id):
        return messages.Done()
    if not catalog.namespace_exists(name[:-1]):
        raise Refused("missing_namespace")
    if mode == "replace" and not catalog.view_exists(name):
        raise Refused("missing")
    if catalog.table_exists(name) or (mode == "create" and catalog.view_exists(name)):
        raise Refused("exists")
    catalog.put_view(_view(catalog, request), cast(Mode, mode), commit.id)
    return messages.Done()


def _view(catalog: Catalog, request: messages.PutView) -> View:
    name, view = tuple(request.name), request.view
    if view.schema_mode in EVOLVING_MODES:
        # Up to 4.3, Spark writes the new types to the session catalog's view of that name.
        raise InvalidRequestError(
            f"{full_name(request.catalog, name)}: WITH SCHEMA {view.schema_mode} works only in Spark's "
            "session catalog; leave it out, and use CREATE OR REPLACE VIEW when columns change"
        )
    if request.reads is None:
        old = catalog.load_view(name)
        reads, reads_views = old.reads, old.reads_views
    else:
        reads = _reads(catalog, request.reads)
        reads_views = _reads_views(request.catalog, request.reads.views)
    is_local = view.catalog in (None, request.catalog.name)
    return View(
        name,
        view.sql,
        tuple(ViewColumn(**asdict(column)) for column in view.columns),
        tuple(view.query_columns),
        None if is_local else view.catalog,
        tuple(view.namespace),
        view.schema_mode,
        view.comment,
        view.properties,
        view.settings,
        reads,
        reads_views,
    )


def _reads(catalog: Catalog, reads: messages.ViewReads) -> tuple[ReadTable, ...]:
    """The tables of this catalog that a query reads, without duplicates."""
    names: dict[str, Name] = {}
    paths: dict[str, list[Name]] = {}
    states = {}
    for read in reads.tables:
        if read.table.seen is not None:
            raise InvalidRequestError(
                f"{read.table.name} is seen in an earlier schema ({read.table.seen}), and a view is "
                "bound to the current one; unset the schema label of the catalog, and leave out "
                "schemaVersion",
                condition="NOT_SUPPORTED",
            )
        if read.table.branch is not None:
            raise InvalidRequestError(
                f"{read.table.name} is a branch, and a view reads tables; name the table in the query "
                "of the view",
                condition="NOT_SUPPORTED",
            )
        _, state = open_table(read.table)
        name = catalog.name_of(state.created_uuid)
        if name is not None:
            names[state.table_uuid], states[state.table_uuid] = name, state
            paths.setdefault(state.table_uuid, []).extend(map(tuple, read.columns))
    return tuple(bind(names[key], states[key], paths[key]) for key in names)


def _reads_views(catalog: messages.CatalogRef, views: Sequence[Sequence[str]]) -> tuple[Name, ...]:
    """The views of this catalog that a query reads, without duplicates."""
    names = (tuple(name[1:]) for name in views if len(name) > 1 and name[0] == catalog.name)
    return tuple({full_key(name): name for name in names}.values())


def drop_view(request: messages.DropView, commit: Commit) -> messages.Dropped:
    """Drop a view."""
    try:
        open_catalog(request.catalog).drop_view(tuple(request.name))
    except NotFoundError:
        return messages.Dropped(commit.retry)
    return messages.Dropped(True)


def rename_view(request: messages.RenameView, commit: Commit) -> messages.Done:
    """Rename a view."""
    catalog, old = open_catalog(request.catalog), tuple(request.name)
    new = without_catalog(catalog, request.catalog, request.new_name)
    if not catalog.view_exists(old):
        if commit.retry and catalog.view_exists(new):
            return messages.Done()
        raise Refused("missing")
    if full_key(old) != full_key(new) and (catalog.view_exists(new) or catalog.table_exists(new)):
        raise Refused("exists")
    catalog.rename_view(old, new)
    return messages.Done()


HANDLERS = (load_relation, check_views, list_views, put_view, drop_view, rename_view)
