"""How Spark is to spread and sort rows before they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark_versioned.sql.describing import describe_partitioning
from pyspark_versioned.sql.snapshots import open_snapshot
from pyspark_versioned.sql.values import parse_type
from versioned_catalog import InvalidRequestError
from versioned_catalog.datafile.writer import target_bytes
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.transforms import parse_transform, result_type
from versioned_catalog.write.distribution import (
    DistributionMode,
    default_mode,
    mode_of,
    parse_mode,
)

Json = dict[str, Any]

ROWS_TO_FILE = 2
"""How much larger rows are when Spark moves them than in a segment, roughly: it compresses them row
by row and fast, a segment column by column and well."""


def arrangement(
    schema: Schema, properties: Mapping[str, str], asked: str | None = None, *, ordered: bool = True
) -> Json:
    """What a write requires of Spark.

    Args:
        schema, properties: of the table.
        asked: the option ``distributionMode`` of the write, which counts more than the property.
        ordered: whether the order of the rows counts in a table with a primary key.

    Raises:
        InvalidRequestError: there is no such mode.
    """
    named = (
        mode_of(properties) if asked is None else parse_mode(asked, "the option distributionMode")
    )
    mode = named or default_mode(schema, ordered=ordered)
    parts, sorts = describe_partitioning(schema), _sorts(schema)
    by = [*parts, *sorts] if mode is DistributionMode.RANGE else parts
    if mode is DistributionMode.NONE or not by:
        mode, by = DistributionMode.NONE, []
    return {
        "distribution": mode.value,
        "by": by,
        "bytes": target_bytes(properties) * ROWS_TO_FILE,
        "order_by": _order(parts, sorts),
    }


def _order(parts: list[Json], sorts: list[Json]) -> list[Json]:
    """By partition, so that a task writes one segment after another, then as the table sorts rows.

    Where a table sorts none, the order of partitions is free: one number for all values of a
    partition is sorted by radix, without comparisons.
    """
    if not parts or sorts:
        return [*parts, *sorts]
    return [{"transform": "partition_hash", "of": parts}]


def _sorts(schema: Schema) -> list[Json]:
    key = [{"source": source, "descending": False} for source in schema.row_key]
    fields = [{"source": by.source, "descending": by.descending} for by in schema.sort_by]
    return [
        {
            "transform": "identity",
            "column": list(schema.path(field["source"])),
            "descending": field["descending"],
        }
        for field in (key or fields)
    ]


def arrange_delta(request: Json) -> Json:
    """What the changes of a DELETE, UPDATE or MERGE of a table with a primary key require: each row key
    is changed once, so their order does not count."""
    opened = open_snapshot(request["table"])
    found = arrangement(opened.state.schema, opened.state.properties, ordered=False)
    return {**found, "order_by": []}


def check_transform(request: Json) -> Json:
    """Why a partition transform does not apply to a type; empty where it does."""
    try:
        result_type(
            parse_transform(request["transform"]), parse_type(request["type"], ("the column",))
        )
    except InvalidRequestError as error:
        return {"refusal": str(error)}
    return {"refusal": ""}


QUESTIONS = {"arrange_delta": arrange_delta, "check_transform": check_transform}
