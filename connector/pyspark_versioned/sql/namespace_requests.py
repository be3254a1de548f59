"""Requests about namespaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark_versioned.sql.protocol.base import Commit, Handlers, Refused
from pyspark_versioned.sql.protocol.common import CatalogRef, Done
from pyspark_versioned.sql.protocol.namespace import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
    ListNamespaces,
    ListTables,
    LoadNamespace,
    Names,
    Namespaces,
    Properties,
)
from pyspark_versioned.sql.snapshots import open_catalog
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.types.paths import parse_path, render_path


def open_namespace(ref: CatalogRef, namespace: Sequence[str]) -> tuple[Catalog, tuple[str, ...]]:
    """A catalog and the name of a namespace that exists in it.

    Raises:
        Refused: there is no such namespace.
    """
    catalog, name = open_catalog(ref), tuple(namespace)
    if not catalog.namespace_exists(name):
        raise Refused("missing_namespace")
    return catalog, name


def list_tables(request: ListTables) -> Names:
    """The names of the tables in a namespace."""
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    return Names(catalog.list_tables(namespace))


def list_namespaces(request: ListNamespaces) -> Namespaces:
    """The namespaces directly inside another, or at the top level."""
    catalog, parent = open_namespace(request.catalog, request.namespace)
    return Namespaces([parse_path(name) for name in catalog.list_namespaces(parent)])


def load_namespace(request: LoadNamespace) -> Properties:
    """The properties of a namespace."""
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    return Properties(catalog.namespace_properties(namespace))


def create_namespace(request: CreateNamespace, commit: Commit) -> Done:
    """Create a namespace."""
    catalog, namespace = open_catalog(request.catalog), tuple(request.namespace)
    if catalog.namespace_exists(namespace):
        if commit.retry:
            return Done()
        raise Refused("exists")
    properties = {k: v for k, v in request.properties.items() if k != "owner"}
    _refuse_location(properties, namespace)
    catalog.create_namespace(namespace, properties=properties)
    return Done()


def alter_namespace(request: AlterNamespace, commit: Commit) -> Done:
    """Set and remove properties of a namespace."""
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    _refuse_location(request.set, namespace)
    catalog.alter_namespace(namespace, request.set, request.unset)
    return Done()


def _refuse_location(properties: Mapping[str, str], namespace: tuple[str, ...]) -> None:
    if "location" in properties:
        raise InvalidRequestError(
            f"{render_path(namespace)}: the tables of a namespace are in the catalog's warehouse; "
            "leave out LOCATION, or register a catalog for another warehouse with "
            "configure(..., catalog=...)"
        )


def drop_namespace(request: DropNamespace, commit: Commit) -> Done:
    """Drop a namespace; with ``cascade``, with everything in it."""
    if commit.retry and not open_catalog(request.catalog).namespace_exists(
        tuple(request.namespace)
    ):
        return Done()
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    contents = (catalog.list_tables, catalog.list_namespaces, catalog.list_views)
    if not request.cascade and any(listed(namespace) for listed in contents):
        raise Refused("not_empty")
    catalog.drop_namespace(namespace, cascade=request.cascade)
    return Done()


HANDLERS: Handlers = {
    ListTables: list_tables,
    ListNamespaces: list_namespaces,
    LoadNamespace: load_namespace,
    CreateNamespace: create_namespace,
    AlterNamespace: alter_namespace,
    DropNamespace: drop_namespace,
}
