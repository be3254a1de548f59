"""CREATE TABLE as the jar sends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark_versioned.sql.changes import condition_of, primary_key_columns
from pyspark_versioned.sql.neighbour_properties import translated
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.snapshots import open_table
from pyspark_versioned.sql.table_description import computes
from pyspark_versioned.sql.values import column_in_errors, parse_default, parse_type, read_default
from versioned_catalog import InvalidRequestError
from versioned_catalog.commit.operations import Create
from versioned_catalog.model.checks import Condition
from versioned_catalog.model.generated import generated_of
from versioned_catalog.model.iceberg import PUBLISH_CATALOG, PUBLISH_CATALOG_TABLE
from versioned_catalog.model.identity import identities_of
from versioned_catalog.model.keys import SORT_BY
from versioned_catalog.model.partition_names import field_names, shown_fields
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import UNASSIGNED, Column
from versioned_catalog.model.value_clauses import Identity
from versioned_catalog.names.creation import creation
from versioned_catalog.storage.opening import plain_url

_ADDED_BY_SPARK = ("owner", "table_type", "is_managed_location")
"""Properties that Spark adds by itself."""
_CLUSTERING = "cluster_by("
_NEIGHBOURS = ("iceberg", "delta")
_NOT_COPIED = (
    *_ADDED_BY_SPARK,
    "provider",
    "location",
    "external",
    PUBLISH_CATALOG,
    PUBLISH_CATALOG_TABLE,
)
"""Properties of the source table that CREATE TABLE LIKE does not copy."""


@dataclass(frozen=True)
class Declaration:
    """A table as CREATE TABLE declares it.

    Args:
        partitioned_by: transforms, such as ``days(ts)``.
        primary_key: columns of the PRIMARY KEY constraint; the key may be a property instead.
        notes: what is to be said about the statement.
        checks: names and conditions of CHECK constraints.
        generated: the expressions of generated columns by their names.
        zone: the time zone in which these take parts of a TIMESTAMP.
        identity: the columns that number rows, by name.
        location: the folder of LOCATION, or None.
    """

    name: tuple[str, ...]
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...]
    properties: Mapping[str, str]
    comment: str | None
    primary_key: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    checks: tuple[tuple[str, Condition], ...] = ()
    generated: Mapping[str, str] = field(default_factory=dict)
    zone: str = "UTC"
    identity: Mapping[str, Identity] = field(default_factory=dict)
    location: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether nothing is said but the name and the location.

        Raises:
            InvalidRequestError: there are no columns, and more is said.
        """
        if self.columns:
            return False
        if self.partitioned_by or self.properties or self.comment is not None or self.primary_key:
            raise InvalidRequestError(
                f"{render_path(self.name)}: write the columns, or leave out all but LOCATION, to "
                "register the table that is there as it is; ALTER it then",
                condition="NOT_SUPPORTED",
            )
        return True

    def operation(self) -> Create:
        """The operation that creates the table."""
        return creation(
            Schema(self.columns),
            self.partitioned_by,
            dict(self.properties),
            self.comment,
            primary_key=self.primary_key,
            checks=self.checks,
            generated=self.generated,
            zone=self.zone,
            identity=self.identity,
        )


def parse_declaration(
    declaration: messages.Declaration, *, like: messages.Like | None = None, defaults: bool = True
) -> Declaration:
    """A table as CREATE TABLE declares it.

    Args:
        like: the source of CREATE TABLE LIKE, or None.
        defaults: whether columns have defaults; those of a query belong to the tables that it reads.

    Raises:
        InvalidRequestError: a versioned table can't be so.
    """
    table = ".".join(declaration.name)
    properties = dict(declaration.properties)
    provider = properties.pop("provider", "versioned")
    _check_provider(provider, declaration.default_provider, table)
    location = properties.pop("location", None)
    if location is None and properties.pop("external", "false") != "false":
        raise InvalidRequestError(
            f"{table}: an EXTERNAL table needs a LOCATION; write one, or leave out EXTERNAL",
            condition="NOT_SUPPORTED",
        )
    properties.pop("external", None)
    _check_storage(properties, table)
    path = properties.get("option.path")
    if location is not None and path is not None and plain_url(path) == plain_url(location):
        properties.pop("option.path")  # spark.catalog.createTable says it thrice
        properties.pop("path", None)
    if any(key.startswith("option.") for key in properties):
        raise InvalidRequestError(
            f"{table}: OPTIONS have no effect; write them as TBLPROPERTIES",
            condition="NOT_SUPPORTED",
        )
    copied = _copied_properties(like)
    comment = properties.pop("comment", copied.pop("comment", None))
    kept = {key: value for key, value in properties.items() if key not in _ADDED_BY_SPARK}
    own, notes = translated(kept | _sorting(declaration.partitioning, kept, table), table)
    copied, _ = translated(copied, table)
    if provider.lower() in _NEIGHBOURS:
        notes.append(f"{table}: USING {provider} creates a versioned table in this catalog")
    generated, zone = _generated(declaration, like)
    return Declaration(
        tuple(declaration.name),
        _columns(declaration, like, table, defaults=defaults),
        _partitioning(declaration, like),
        copied | own,
        comment,
        _key(declaration.constraints, table),
        tuple(notes),
        _checks(declaration.constraints, table),
        generated,
        zone,
        _identity(declaration, like),
        location,
    )


def _identity(declaration: messages.Declaration, like: messages.Like | None) -> dict[str, Identity]:
    """The columns that number rows, by name; those of a table like another begin anew."""
    if like is not None:
        _, state = open_table(like.table)
        schema = state.seen.schema
        return {
            schema.path_text(column.column_id): column.identity
            for column in identities_of(state.properties)
            if column.column_id in schema.ids
        }
    return {
        render_path((column.name,)): Identity(
            column.identity.always, column.identity.start, column.identity.step
        )
        for column in declaration.columns
        if column.identity is not None
    }


def _partitioning(declaration: messages.Declaration, like: messages.Like | None) -> tuple[str, ...]:
    """The fields of the partitioning; of CREATE TABLE LIKE with their names."""
    if like is None:
        fields = (f for f in declaration.partitioning if not f.startswith(_CLUSTERING))
        return tuple(fields)
    state = open_table(like.table)[1]
    schema = state.seen.schema
    return tuple(shown_fields(partition_fields(schema), field_names(schema, state.properties)))


def _generated(
    declaration: messages.Declaration, like: messages.Like | None
) -> tuple[dict[str, str], str]:
    """The expressions of generated columns by name, and their time zone."""
    if like is not None:
        _, state = open_table(like.table)
        columns, schema = generated_of(state.properties), state.schema
        if not computes(columns, state.seen):
            return {}, "UTC"
        zones = [column.zone for column in columns] or ["UTC"]
        return {schema.path_text(c.column_id): c.shown(schema) for c in columns}, zones[0]
    clauses = {
        render_path((column.name,)): column.generation
        for column in declaration.columns
        if column.generation is not None
    }
    zones = [clause.time_zone for clause in clauses.values()] or ["UTC"]
    return {name: clause.sql for name, clause in clauses.items()}, zones[0]


def _key(constraints: Sequence[messages.Constraint], table: str) -> tuple[str, ...]:
    """The columns of the PRIMARY KEY; any other constraint than a CHECK is refused."""
    others = [constraint for constraint in constraints if constraint.check is None]
    paths = [path for constraint in others for path in primary_key_columns(constraint, table)]
    return tuple(render_path(tuple(path)) for path in paths)


def _checks(
    constraints: Sequence[messages.Constraint], table: str
) -> tuple[tuple[str, Condition], ...]:
    """The names and conditions of CHECK constraints."""
    return tuple(
        (constraint.check.name, condition_of(constraint, table))
        for constraint in constraints
        if constraint.check is not None
    )


def _copied_properties(like: messages.Like | None) -> dict[str, str]:
    properties = {} if like is None else like.properties
    return {key: value for key, value in properties.items() if key not in _NOT_COPIED}


def _columns(
    declaration: messages.Declaration, like: messages.Like | None, table: str, *, defaults: bool
) -> tuple[Column, ...]:
    """The columns; of CREATE TABLE LIKE the source's own, since Spark leaves out their defaults."""
    if like is None:
        return tuple(_column(column, table, defaults=defaults) for column in declaration.columns)
    _, state = open_table(like.table)
    return tuple(
        replace(column, read_default=read_default(column.write_default))
        for column in state.seen.schema.columns
    )


def _sorting(
    partitioning: Sequence[str], properties: Mapping[str, str], table: str
) -> dict[str, str]:
    """The property that clusters rows by the columns of CLUSTER BY."""
    found = {}
    for part in partitioning:
        if part.startswith("sorted_bucket("):
            raise InvalidRequestError(
                f"{table}: rows are sorted by a property; leave out sortBy, and set TBLPROPERTIES "
                "('sort_by' = 'a, b')"
            )
        if part.startswith(_CLUSTERING):
            found[SORT_BY] = part.removeprefix(_CLUSTERING).removesuffix(")")
    if found and SORT_BY in properties:
        raise InvalidRequestError(f"{table}: leave out CLUSTER BY, or the property {SORT_BY}")
    return found


def _check_provider(provider: str, default: str, table: str) -> None:
    """Refuse another format.

    ``saveAsTable``, ``toTable`` and ``spark.catalog.createTable`` name the session's default source if
    the user named none, so the default must pass as well there. Iceberg and Delta pass, so that their
    statements work as they are; what is created is said.
    """
    if provider.lower() not in ("versioned", default.lower(), *_NEIGHBOURS):
        raise InvalidRequestError(
            f"{table}: USING {provider} is not possible in this catalog; leave USING out or write USING "
            "versioned, or use spark_catalog for tables of other formats",
            condition="NOT_SUPPORTED",
        )


_STORAGE = {
    "hive.stored-as": "STORED AS",
    "hive.input-format": "STORED AS INPUTFORMAT",
    "hive.output-format": "STORED AS ... OUTPUTFORMAT",
    "hive.serde": "ROW FORMAT SERDE",
}
"""What Spark makes of the clauses of Hive's tables."""


def _check_storage(properties: Mapping[str, str], table: str) -> None:
    for key, clause in _STORAGE.items():
        if key in properties:
            raise InvalidRequestError(
                f"{table}: {clause} {properties[key]} is not possible in this catalog; leave it out or "
                "write USING versioned, or use spark_catalog for tables of other formats",
                condition="NOT_SUPPORTED",
            )


def _column(declared: messages.DeclaredColumn, table: str, *, defaults: bool) -> Column:
    path = (declared.name,)
    type_ = parse_type(declared.type, path)
    sql = declared.default_value if defaults else None
    default = parse_default(sql, type_, column_in_errors(table, path))
    return Column(
        UNASSIGNED,
        declared.name,
        type_,
        declared.nullable,
        read_default=read_default(default),
        write_default=default,
        comment=declared.comment,
    )


def check_location(location: str | None, folder: str, table: str) -> None:
    """Refuse a LOCATION of saveAsTable that is not the folder of the table that it overwrites."""
    if location is not None and plain_url(location) != plain_url(folder):
        raise InvalidRequestError(
            f"{table} is at {folder}; leave out the location {location}, or drop the table first",
            condition="NOT_SUPPORTED",
        )
