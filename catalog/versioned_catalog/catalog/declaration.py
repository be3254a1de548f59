"""Declarations of tables: from a user's arguments to the operation that creates the table."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from versioned_catalog.alteration import listed
from versioned_catalog.conflicts.operations import Create
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.evolution.bind import plan_changes
from versioned_catalog.evolution.changes import Change, SetPartitioning, SetProperty
from versioned_catalog.evolution.evolution import Evolution
from versioned_catalog.properties import check_properties
from versioned_catalog.schema.arrow_schema import schema_from_arrow
from versioned_catalog.schema.keying import KeyNames, key_names, take_key
from versioned_catalog.schema.partition_changes import partition_fields
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.sorting import render_sort_by
from versioned_catalog.types.types import Column

Columns = str | Schema | Any
"""A schema as users give it: Spark DDL, a Schema, or a pyarrow Schema."""


def creation(
    schema: Columns,
    partitioned_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    primary_key: Sequence[str] = (),
    time_index: str | None = None,
    *,
    table_uuid: str | None = None,
) -> Create:
    """Return the operation that creates a table; equal arguments give equal operations in any process.

    Args:
        schema, partitioned_by, properties, comment, primary_key, time_index: as in
            ``Catalog.create_table``.
        table_uuid: the table UUID; generated if omitted.

    Raises:
        InvalidRequestError: the schema, key, partitioning or a property is invalid.
    """
    if not isinstance(properties, Mapping | None) or not isinstance(comment, str | None):
        raise InvalidRequestError(
            "properties must be a mapping of text to text, and a comment must be text"
        )
    given = dict(properties or {})
    key = take_key(given, primary_key, time_index)
    if isinstance(schema, Schema) and key == KeyNames():
        key = key_names(schema)
    check_properties(given)
    columns, kept_by, kept_sort = _given(schema)
    partitions = listed(partitioned_by) or kept_by
    requests: list[Change] = [SetPartitioning(partitions)] if partitions else []
    requests += [SetProperty(key, value) for key, value in {**kept_sort, **given}.items()]

    def arrange(evolution: Evolution) -> Evolution:
        keyed = replace(evolution, schema=key.apply(evolution.schema))
        if not requests:
            return keyed
        _, after = plan_changes(requests, keyed, keyed.schema.version)
        return after

    if not columns:
        raise InvalidRequestError("a table needs at least one column")
    return Create(table_uuid or str(uuid.uuid4()), columns, arrange, comment=comment)


def _given(schema: Columns) -> tuple[tuple[Column, ...], tuple[str, ...], dict[str, str]]:
    """Return the columns, partitioning and sort order of a declared schema."""
    match schema:
        case str():
            return Schema.parse(schema).columns, (), {}
        case pa.Schema():
            return _given(schema_from_arrow(schema))
        case Schema():
            partitions = tuple(partition_fields(schema))
            sort_by = render_sort_by(schema)
            return schema.columns, partitions, {"sort_by": sort_by} if sort_by else {}
        case _:
            raise InvalidRequestError(
                f"a schema must be Spark DDL, a Schema or a pyarrow Schema, got {type(schema).__name__}"
            )
