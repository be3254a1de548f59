"""A table in the making, as Spark's CREATE TABLE hands it over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark_versioned.sql.values import parse_default, parse_type, read_default
from versioned_catalog import InvalidRequestError
from versioned_catalog.catalog.declaration import creation
from versioned_catalog.conflicts.operations import Create
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.paths import render_path
from versioned_catalog.types.types import UNASSIGNED, Column

_SPARKS_OWN = ("owner", "table_type", "is_managed_location")
"""Properties that Spark adds by itself."""
_ITS_OWN = (*_SPARKS_OWN, "provider", "location", "external")
"""Properties of a table that one made LIKE it does not take over."""


@dataclass(frozen=True)
class Declaration:
    """What a CREATE TABLE says.

    Args:
        name: the table's name, namespaces first.
        columns: without IDs.
        partitioned_by: ``("days(ts)",)``.
        properties: text to text.
        comment: for people.
        primary_key: paths of columns, where a constraint says it; a property may say it, too.
    """

    name: tuple[str, ...]
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...]
    properties: Mapping[str, str]
    comment: str | None
    primary_key: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The columns as a schema."""
        return Schema(self.columns)

    def operation(self) -> Create:
        """What commits it."""
        return creation(
            self.schema,
            self.partitioned_by,
            dict(self.properties),
            self.comment,
            primary_key=self.primary_key,
        )


def parse_declaration(request: Mapping[str, Any], *, defaults: bool = True) -> Declaration:
    """What a CREATE TABLE says.

    Args:
        request: ``name``, ``columns``, ``partitioning``, ``constraints``, ``properties``, and
            ``default_provider``, the session's; of a table LIKE another, ``like``: its reference and
            its properties.
        defaults: False leaves them out: those of a query's columns belong to the tables it read.

    Raises:
        InvalidRequestError: it asks for what a versioned table can't be.
    """
    name = tuple(request["name"])
    given = _properties_of(request.get("like")) | dict(request["properties"])
    table = ".".join(name)
    _check_provider(given.pop("provider", "versioned"), request.get("default_provider"), table)
    if "location" in given or given.pop("external", "false") != "false":
        raise InvalidRequestError(
            f"{table}: a table of a catalog lives in its warehouse; leave out LOCATION, or make it "
            "with Catalog.create_path and read it with spark.read.format('versioned').load(path)",
            condition="NOT_SUPPORTED",
        )
    options = [key for key in given if key.startswith("option.")]
    if options:
        raise InvalidRequestError(
            f"{table}: OPTIONS mean nothing here; write them as TBLPROPERTIES",
            condition="NOT_SUPPORTED",
        )
    comment = given.pop("comment", None)
    properties = {key: value for key, value in given.items() if key not in _SPARKS_OWN}
    _refuse_clustering(request["partitioning"], table)
    columns = _columns(request, table, defaults=defaults)
    key = _primary_key(request["constraints"], table)
    return Declaration(name, columns, tuple(request["partitioning"]), properties, comment, key)


def _properties_of(like: Mapping[str, Any] | None) -> dict[str, str]:
    """The properties that a table takes over from the one that it is made LIKE."""
    given = {} if like is None else like["properties"]
    return {key: text for key, text in given.items() if key not in _ITS_OWN}


def _columns(request: Mapping[str, Any], table: str, *, defaults: bool) -> tuple[Column, ...]:
    """The columns; those of another table as they are there, since Spark leaves out their defaults."""
    like = request.get("like")
    if like is None:
        return tuple(_column(column, table, defaults=defaults) for column in request["columns"])
    from pyspark_versioned.sql.snapshots import open_table  # which needs this module, for changes

    _, state = open_table(like["table"])
    return tuple(
        replace(column, read_default=read_default(column.write_default))
        for column in state.schema.columns
    )


def _primary_key(constraints: Sequence[Mapping[str, Any]], table: str) -> tuple[str, ...]:
    for constraint in constraints:
        refuse_unknown(constraint, table)
    paths = [path for constraint in constraints for path in constraint["primary_key"]]
    return tuple(map(render_path, paths))


def refuse_unknown(constraint: Mapping[str, Any], table: str) -> None:
    """Refuse a constraint that no table can have.

    Raises:
        InvalidRequestError: it is no PRIMARY KEY.
    """
    if "primary_key" not in constraint:
        raise InvalidRequestError(
            f"{table} would not keep to {constraint['ddl']}; leave it out, and look at the rows before "
            "they are written: a versioned table knows PRIMARY KEY and NOT NULL",
            condition="NOT_SUPPORTED",
        )


def _refuse_clustering(partitioning: Sequence[str], table: str) -> None:
    for field in partitioning:
        if field.startswith(("cluster_by(", "sorted_bucket(")):
            raise InvalidRequestError(
                f"{table}: rows are clustered and sorted by a property; leave out CLUSTER BY, clusterBy "
                "and sortBy, and set TBLPROPERTIES ('sort_by' = 'a, b')"
            )


def _check_provider(provider: str, default: str | None, table: str) -> None:
    """Refuse another format.

    ``saveAsTable``, ``toTable`` and ``spark.catalog.createTable`` name the session's default source
    where the user named none, so that name can't be told from no name.
    """
    if provider.lower() not in ("versioned", (default or "versioned").lower()):
        raise InvalidRequestError(
            f"{table}: USING {provider} can't be in this catalog; leave USING out or write USING "
            "versioned, or use spark_catalog for tables of other formats",
            condition="NOT_SUPPORTED",
        )


def column_of(table: str, path: tuple[str, ...]) -> str:
    """What errors call a column of a table."""
    return f"{table}: the column {render_path(path)}"


def _column(given: Mapping[str, Any], table: str, *, defaults: bool) -> Column:
    type_ = parse_type(given["type"], (given["name"],))
    sql = given.get("default") if defaults else None
    default = parse_default(sql, type_, column_of(table, (given["name"],)))
    return Column(
        UNASSIGNED,
        given["name"],
        type_,
        given["nullable"],
        read_default=read_default(default),
        write_default=default,
        comment=given.get("comment"),
    )
