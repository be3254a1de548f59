"""Requests for metadata tables (``t.history``, ``t.segments``, ...) and for partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from pyspark_versioned.spark_types import to_spark, to_spark_schema
from pyspark_versioned.sql import iceberg_history, iceberg_tables
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.snapshots import open_table
from versioned_catalog import Catalog, Table
from versioned_catalog.maintain import metadata_tables
from versioned_catalog.model.arrow import column_from_field
from versioned_catalog.model.partitioning import is_unreadable, partition_text
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.transforms import Transform, parse_transform, render_field, result_type
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import Atom, DataType

SCHEMAS = {
    **metadata_tables.SCHEMAS,
    **iceberg_tables.SCHEMAS,
    "history": pa.schema([*metadata_tables.HISTORY, *iceberg_history.HISTORY]),
    "snapshots": pa.schema([*metadata_tables.SNAPSHOTS, *iceberg_history.SNAPSHOTS]),
}
"""Schemas of the metadata tables by name, in lower case."""


def described_table(catalog: Catalog, name: tuple[str, ...]) -> Table | None:
    """The table that a name such as ``ns.t.history`` describes; None if it is no such name."""
    if name[-1].lower() not in SCHEMAS or len(name) < 2 or not catalog.table_exists(name[:-1]):
        return None
    return catalog.load_table(name[:-1])


def describe_metadata(table: messages.TableRef, metadata: str) -> messages.LoadedMetadata:
    """A metadata table of a table, by its name in any case."""
    fields = SCHEMAS[metadata.lower()]
    schema = to_spark_schema(tuple(column_from_field(field) for field in fields))
    return messages.LoadedMetadata(table, metadata.lower(), SparkType(schema.jsonValue()))


def hidden_warning(catalog: Catalog, name: tuple[str, ...]) -> str | None:
    """The warning for a user's table that hides a metadata table, or None."""
    if described_table(catalog, name) is None:
        return None
    table, metadata = render_path(name[:-1]), name[-1].lower()
    return (
        f"the table {render_path(name)} hides the metadata table {metadata} of {table}; rename one of "
        f"the tables, or call {metadata}() of {table} in Python"
    )


def read_metadata(request: messages.ReadMetadata) -> messages.Rows:
    """The rows of a metadata table."""
    table, state = open_table(request.table)
    snapshot = table.as_of(state.version)
    read: dict[str, Callable[[], pa.Table]] = {
        "history": lambda: iceberg_history.history(snapshot, _limit(request, state.version)),
        "schemas": snapshot.inspect.schemas,
        "segments": snapshot.inspect.segments,
        "snapshots": lambda: iceberg_history.snapshots(snapshot),
        "partitions": snapshot.inspect.partitions,
        "schema_pins": snapshot.inspect.schema_pins,
    }
    if request.metadata in iceberg_tables.SCHEMAS:
        return messages.Rows(cells(iceberg_tables.read(snapshot, request.table, request.metadata)))
    return messages.Rows(cells(read[request.metadata]()))


def _limit(request: messages.ReadMetadata, version: int) -> int | None:
    """How many of the newest commits are wanted, at least 1; None for all."""
    since_first = None if request.first is None else version + 1 - request.first
    limits = [max(limit, 1) for limit in (since_first, request.newest) if limit is not None]
    return min(limits, default=None)


def cells(rows: pa.Table) -> list[list[Any]]:
    """Rows as value texts: times in microseconds, lists as lists, maps as lists of keys and values."""
    columns = [_texts(column) for column in rows.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def _texts(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_list(column.type):
        return list(column.to_pylist())
    if pa.types.is_map(column.type):
        maps = (dict(pairs) for pairs in column.to_pylist())
        return [[list(pairs), list(pairs.values())] for pairs in maps]
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return list(column.cast(pa.string()).to_pylist())


def list_partitions(request: messages.ListPartitions) -> messages.Partitions:
    """The partitions of a table under its current partitioning.

    Years, months, days and hours, which the format counts since 1970, and bytes are shown as readable
    texts.
    """
    _, state = open_table(request.table)
    schema = state.schema
    columns = [_partition_column(field, schema) for field in schema.partitioning]
    renderers = [_renderer(field, schema) for field in schema.partitioning]
    keys = metadata_tables.partitions(state)["partition"].to_pylist()
    return messages.Partitions(
        columns,
        [[render(text) for render, text in zip(renderers, key, strict=True)] for key in keys],
    )


def _partition_column(field: PartitionField, schema: Schema) -> messages.PartitionColumn:
    transform, type_ = _partition_type(field, schema)
    readable = Atom.STRING if is_unreadable(transform, type_) else type_
    name = render_field(schema.path(field.source), transform)
    return messages.PartitionColumn(name, SparkType(to_spark(readable).jsonValue()))


def _renderer(field: PartitionField, schema: Schema) -> Callable[[str | None], str | None]:
    transform, type_ = _partition_type(field, schema)
    return lambda text: None if text is None else partition_text(transform, type_, text)


def _partition_type(field: PartitionField, schema: Schema) -> tuple[Transform, DataType]:
    transform = parse_transform(field.transform)
    return transform, result_type(transform, schema.column(field.source).type)


HANDLERS = (read_metadata, list_partitions)
