"""What the jar has to know of a table at one version, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark_versioned.hadoop import hadoop_folder
from pyspark_versioned.spark_types import declared_type
from versioned_catalog import Table
from versioned_catalog.adapting.implicit import IMPLICIT, OF_KEYED
from versioned_catalog.log.state import TableState
from versioned_catalog.schema.keying import PRIMARY_KEY, key_properties
from versioned_catalog.schema.literals import to_sql
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.sorting import render_sort_by
from versioned_catalog.schema.transforms import (
    Bucket,
    Days,
    Hours,
    Identity,
    Months,
    Truncate,
    Years,
    parse_transform,
)
from versioned_catalog.schema.ttl import shown
from versioned_catalog.schema.types import Column

Json = dict[str, Any]


def describe(
    table: Table,
    state: TableState,
    storage: Mapping[str, str],
    pending: Sequence[Json] = (),
) -> Json:
    """A table at one version.

    Args:
        table: it, named as users call it.
        state: the version.
        storage: what its file system is opened with.
        pending: changes of the schema that a statement brings along; the version has them already.
    """
    return {
        "table": reference(
            table.location, storage, table.name, state.table_uuid, state.version, pending
        ),
        **describe_schema(state.schema),
        "properties": {**shown(state.properties), **_arrangement(state.schema)},
        "comment": state.comment,
    }


def reference(
    location: str,
    storage: Mapping[str, str],
    name: str,
    uuid: str,
    version: int,
    pending: Sequence[Json] = (),
) -> Json:
    """Which table, at which version: what the jar asks about it with."""
    folder = hadoop_folder(location, storage)
    return {
        "location": location,
        "storage": dict(storage),
        "hadoop": None if folder is None else {"url": folder.url, "conf": dict(folder.conf)},
        "name": name,
        "uuid": uuid,
        "version": version,
        "pending": list(pending),
    }


def describe_schema(schema: Schema) -> Json:
    """The columns of a schema, and those that every table has, its partitioning and its key."""
    return {
        "primary_key": _primary_key(schema) if schema.is_keyed else None,
        "row_key": [schema.column(key).name for key in schema.row_key] if schema.is_keyed else [],
        "columns": [_column(column) for column in schema.columns],
        "metadata_columns": [
            _column(column) for column in (*IMPLICIT, *(OF_KEYED if schema.is_keyed else ()))
        ],
        "partitioning": describe_partitioning(schema),
    }


def describe_partitioning(schema: Schema) -> list[Json]:
    """The partition transforms, each with the path of its column."""
    return [
        {"column": list(schema.path(field.source)), **_transform(field.transform)}
        for field in schema.partitioning
    ]


def _primary_key(schema: Schema) -> Json:
    """The primary key as a constraint; one may rely on it where the row key is no longer."""
    return {
        "name": PRIMARY_KEY,
        "columns": [schema.column(key).name for key in schema.primary_key],
        "rely": schema.row_key == schema.primary_key,
    }


def _arrangement(schema: Schema) -> dict[str, str]:
    """What is told among the properties and kept in the schema; the primary key is a constraint."""
    sort_by = render_sort_by(schema)
    told = {"sort_by": sort_by} if sort_by else {}
    return told | {k: v for k, v in key_properties(schema).items() if k != PRIMARY_KEY}


def _column(column: Column) -> Json:
    told: Json = {
        "id": str(column.id),
        "name": column.name,
        "type": declared_type(column.type).jsonValue(),
        "nullable": column.nullable,
    }
    if column.comment is not None:
        told["comment"] = column.comment
    if column.write_default is not None:
        told["default"] = to_sql(column.write_default, column.type)
    return told


def _transform(text: str) -> Json:
    match parse_transform(text):
        case Bucket(size):
            return {"transform": "bucket", "size": size}
        case Truncate(size):
            return {"transform": "truncate", "size": size}
        case Identity() | Years() | Months() | Days() | Hours():
            return {"transform": text}
