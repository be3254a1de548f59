"""Requests about namespaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import Commit, Refused
from pyspark_versioned.sql.snapshots import open_catalog
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.model.type_text import parse_path, render_path


def open_namespace(
    ref: messages.CatalogRef, namespace: Sequence[str]
) -> tuple[Catalog, tuple[str, ...]]:
    """A catalog and the name of a namespace that exists in it.

    Raises:
        Refused: there is no such namespace.
    """
    catalog, name = open_catalog(ref), tuple(namespace)
    if not catalog.namespace_exists(name):
        raise Refused("missing_namespace")
    return catalog, name


def list_tables(request: messages.ListTables) -> messages.Names:
    """The names of the tables in a namespace."""
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    return messages.Names([] if _is_new(catalog) else catalog.list_tables(namespace))


def _is_new(catalog: Catalog) -> bool:
    """Whether the warehouse has no folder yet; the first table or namespace creates it."""
    return not catalog.store.exists()


def list_namespaces(request: messages.ListNamespaces) -> messages.Namespaces:
    """The namespaces directly inside another, or at the top level."""
    catalog, parent = open_namespace(request.catalog, request.namespace)
    names = [] if _is_new(catalog) else catalog.list_namespaces(parent)
    return messages.Namespaces([parse_path(name) for name in names])


def load_namespace(request: messages.LoadNamespace) -> messages.Properties:
    """The properties of a namespace."""
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    return messages.Properties(catalog.namespace_properties(namespace))


def create_namespace(request: messages.CreateNamespace, commit: Commit) -> messages.Done:
    """Create a namespace."""
    catalog, namespace = open_catalog(request.catalog), tuple(request.namespace)
    if catalog.namespace_exists(namespace):
        if commit.retry:
            return messages.Done()
        raise Refused("exists")
    properties = {k: v for k, v in request.properties.items() if k != "owner"}
    _refuse_location(properties, namespace)
    catalog.create_namespace(namespace, properties=properties)
    return messages.Done()


def alter_namespace(request: messages.AlterNamespace, commit: Commit) -> messages.Done:
    """Set and remove properties of a namespace."""
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    _refuse_location(request.set, namespace)
    catalog.alter_namespace(namespace, request.set, request.unset)
    return messages.Done()


def _refuse_location(properties: Mapping[str, str], namespace: tuple[str, ...]) -> None:
    if "location" in properties:
        raise InvalidRequestError(
            f"{render_path(namespace)}: the tables of a namespace are in the catalog's warehouse; "
            "leave out LOCATION, or register a catalog for another warehouse with "
            "configure(..., catalog=...)"
        )


def drop_namespace(request: messages.DropNamespace, commit: Commit) -> messages.Done:
    """Drop a namespace; with ``cascade``, with everything in it."""
    if commit.retry and not open_catalog(request.catalog).namespace_exists(
        tuple(request.namespace)
    ):
        return messages.Done()
    catalog, namespace = open_namespace(request.catalog, request.namespace)
    contents = (catalog.list_tables, catalog.list_namespaces, catalog.list_views)
    if not request.cascade and any(listed(namespace) for listed in contents):
        raise Refused("not_empty")
    catalog.drop_namespace(namespace, cascade=request.cascade)
    return messages.Done()


HANDLERS = (
    list_tables,
    list_namespaces,
    load_namespace,
    create_namespace,
    alter_namespace,
    drop_namespace,
)
