"""A table at one version, as the jar needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from pyspark_versioned.hadoop import hadoop_folder
from pyspark_versioned.spark_types import declared_type
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.snapshots import Memory, branch_id_of
from pyspark_versioned.unseen import carried_columns, shown_columns
from versioned_catalog import Table
from versioned_catalog.log.state import TableState
from versioned_catalog.model.checks import shown_checks
from versioned_catalog.model.generated import Generated, generated_of
from versioned_catalog.model.identifiers import shown_properties
from versioned_catalog.model.identity import identities_of
from versioned_catalog.model.keys import (
    PRIMARY_KEY,
    ROW_IDS,
    key_properties,
    render_sort_by,
)
from versioned_catalog.model.pins import Seen
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.sql_literals import to_sql
from versioned_catalog.model.transforms import Bucket, Truncate, parse_transform
from versioned_catalog.model.types import Atom, Column, DataType
from versioned_catalog.read import metadata_columns
from versioned_catalog.read.computed import computed_columns
from versioned_catalog.read.metadata_columns import ROW_UPDATED


def describe(
    table: Table,
    state: TableState,
    storage: Mapping[str, str],
    pending: Sequence[messages.Change] = (),
    overflow: str = "error",
    *,
    external: bool = False,
) -> messages.LoadedTable:
    """A table at one version, which has the pending changes of the running statement already."""
    ref = messages.TableRef(
        table.location,
        storage,
        hadoop_folder(table.location, storage),
        table.name,
        state.table_uuid,
        state.version,
        state.schema_version,
        pending,
        seen=None if state.lens is None else state.lens.label,
        overflow=overflow,
        written_as=None,
        branch=branch_id_of(state) or branch_id_of(table.state),  # the first version has none
    )
    properties = {
        **shown_properties(state.properties, state.seen.schema),
        **_schema_properties(state.seen.schema),
    }
    described = describe_schema(
        ref, state.seen.schema, properties, state.comment, shown_columns(state)
    )
    unseen = carried_columns(state)
    checks = () if state.lens is not None else _checks(state)
    identities = identities_of(state.properties)
    numbered = {column.column_id for column in identities}
    return replace(
        described,
        columns=[
            replace(column, nullable=True) if column.id in numbered else column
            for column in described.columns
        ]
        if numbered
        else described.columns,
        identities=[
            messages.IdentityColumn(
                state.seen.schema.path_text(column.column_id),
                column.identity.sql,
                column.identity.always,
            )
            for column in identities
            if column.column_id in state.seen.schema.ids
        ],
        unseen=[_column(column) for column in unseen],
        renewed=[column.name for column in unseen if column.id == ROW_UPDATED],
        rows=state.segments.shown_rows,
        checks=checks,
        generated=generated_columns(generated_of(state.properties), state.seen),
        external=external,
    )


def generated_columns(generated: Sequence[Generated], seen: Seen) -> list[messages.GeneratedColumn]:
    """The generated columns, which Spark computes; none if they can't be computed from what is seen."""
    if not generated or not computes(generated, seen):
        return []
    return [
        messages.GeneratedColumn(computed.column.name, computed.shown, computed.spark_sql)
        for computed in computed_columns(generated, seen.schema)
    ]


def computes(generated: Sequence[Generated], seen: Seen) -> bool:
    """Whether the columns that are seen are enough to compute all generated columns."""
    shown, stored = seen.schema, seen.stored
    return all(
        column_id in shown.ids and shown.column(column_id).type == stored.column(column_id).type
        for column in generated
        for column_id in (column.column_id, *column.sources)
    )


def _checks(state: TableState) -> list[messages.Check]:
    """The CHECK constraints, which Spark shows, and checks before rows are written."""
    checks = shown_checks(state.properties, state.schema)
    return [messages.Check(name, text, enforced=True) for name, text in checks.items()]


def describe_schema(
    ref: messages.TableRef,
    schema: Schema,
    properties: Mapping[str, str],
    comment: str | None,
    shown: Sequence[Column] | None = None,
) -> messages.LoadedTable:
    """A table of a schema, whose columns are shown as they are if ``shown`` is None."""
    keyed, has_row_ids = schema.is_keyed, properties.get(ROW_IDS) == "true"
    return messages.LoadedTable(
        ref,
        _columns(schema.columns if shown is None else shown),
        [_column(column) for column in metadata_columns.of_table(keyed=keyed, row_ids=has_row_ids)],
        describe_partitioning(schema),
        _primary_key(schema) if keyed else None,
        [schema.column(key).name for key in schema.row_key] if keyed else [],
        properties,
        comment,
        unseen=(),
        renewed=(),
        rows=0,
        checks=(),
        generated=(),
        identities=(),
        external=False,
    )


def describe_columns(columns: Sequence[Column]) -> list[messages.LoadedColumn]:
    """Columns without the defaults of writes."""
    return [replace(_column(column), default_value=None) for column in columns]


def describe_partitioning(schema: Schema) -> list[messages.PartitionTransform]:
    """The partition transforms of a schema."""
    return [
        messages.PartitionTransform(schema.path(field.source), *name_and_size(field.transform))
        for field in schema.partitioning
    ]


def name_and_size(transform: str) -> tuple[str, int | None]:
    """The name of a partition transform, and its number of buckets or width."""
    match parse_transform(transform):
        case Bucket(size):
            return "bucket", size
        case Truncate(size):
            return "truncate", size
        case _:
            return transform, None


def _primary_key(schema: Schema) -> messages.PrimaryKey:
    columns = [schema.column(key).name for key in schema.primary_key]
    return messages.PrimaryKey(PRIMARY_KEY, columns, rely=schema.row_key == schema.primary_key)


def _schema_properties(schema: Schema) -> dict[str, str]:
    """Properties that the schema holds. The primary key is a constraint instead."""
    sort_by = render_sort_by(schema)
    properties = {"sort_by": sort_by} if sort_by else {}
    return properties | {k: v for k, v in key_properties(schema).items() if k != PRIMARY_KEY}


_described: Memory[int, tuple[Sequence[Column], Sequence[messages.LoadedColumn]]] = Memory()


def _columns(columns: Sequence[Column]) -> Sequence[messages.LoadedColumn]:
    """Describe columns; those of a schema that was described before are remembered by identity.

    A statement loads its table twice, and to compare a thousand columns takes as long as to describe
    them.
    """
    return _described.get(
        id(columns), lambda: (columns, tuple([_column(column) for column in columns]))
    )[1]


def _column(column: Column) -> messages.LoadedColumn:
    default = column.write_default
    return messages.LoadedColumn(
        column.id,
        column.name,
        _type(column.type),
        column.nullable,
        column.comment,
        None if default is None else to_sql(default, column.type),
    )


def _type(type_: DataType) -> SparkType:
    # Most columns of a wide table have one of a few types.
    return _atom(type_) if isinstance(type_, Atom) else SparkType(declared_type(type_).jsonValue())


@cache
def _atom(atom: Atom) -> SparkType:
    return SparkType(declared_type(atom).jsonValue())
