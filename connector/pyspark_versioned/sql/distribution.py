"""How Spark distributes and sorts rows before they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.snapshots import open_table
from pyspark_versioned.sql.stored_rows import check_projected, stored_keys, stored_rows
from pyspark_versioned.sql.table_description import describe_partitioning
from pyspark_versioned.sql.values import parse_type
from versioned_catalog import InvalidRequestError
from versioned_catalog.model.keys import ASCENDING
from versioned_catalog.model.pins import Seen
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.transforms import parse_transform, result_type
from versioned_catalog.write.partitions import DistributionMode, default_mode, mode_of, parse_mode
from versioned_catalog.write.writer import target_bytes

ROWS_TO_FILE = 2
"""Size of rows in a shuffle, over their size in a segment, roughly: Spark compresses rows one by one
and fast, a segment column by column and well."""


def distribution_of(
    schema: Schema,
    properties: Mapping[str, str],
    option: str | None = None,
    *,
    ordered: bool = True,
) -> messages.Distribution:
    """The distribution that a write requires.

    Args:
        option: the write's option ``distributionMode``, which takes precedence over the property.
        ordered: whether the order of rows matters in a table with a primary key.

    Raises:
        InvalidRequestError: there is no such mode.
    """
    named = (
        mode_of(properties) if option is None else parse_mode(option, "the option distributionMode")
    )
    mode = named or default_mode(schema, ordered=ordered)
    partitions = describe_partitioning(schema)
    parts: list[messages.SortKey] = [
        messages.TransformKey(partition, descending=False, nulls_first=True)
        for partition in partitions
    ]
    sorts = _sort_keys(schema)
    by = [*parts, *sorts] if mode is DistributionMode.RANGE else parts
    if mode is DistributionMode.NONE or not by:
        mode, by = DistributionMode.NONE, []
    # Rows come partition by partition, so that a task writes one segment after another. If the table
    # sorts no rows, any order of partitions will do: Spark sorts one number by radix.
    order_by = [*parts, *sorts] if sorts or not parts else [messages.HashKey(partitions)]
    return messages.Distribution(mode.value, by, target_bytes(properties) * ROWS_TO_FILE, order_by)


def distribution_by_key(schema: Schema, properties: Mapping[str, str]) -> messages.Distribution:
    """The distribution that changes require: those of a row key go to one task, whatever the mode."""
    size = target_bytes(properties) * ROWS_TO_FILE
    return messages.Distribution(DistributionMode.HASH.value, _sort_keys(schema), size, [])


def _sort_keys(schema: Schema) -> list[messages.SortKey]:
    fields = [(source, ASCENDING) for source in schema.row_key] or [
        (by.source, by.direction) for by in schema.sort_by
    ]
    return [
        messages.TransformKey(
            messages.PartitionTransform(schema.path(source), "identity", None),
            way.descending,
            way.nulls_first,
        )
        for source, way in fields
    ]


def plan_delta(request: messages.PlanDelta) -> messages.DeltaPlan:
    """How the changes of a table with a primary key are written.

    A statement changes each row key once, so the order of changes does not matter.
    """
    table, state = open_table(request.table)
    seen = state.seen
    distribution = distribution_of(seen.schema, state.properties, ordered=False)
    rows = None
    if not seen.is_whole:
        rows = _rows(seen, request.carried, table.name)
    return messages.DeltaPlan(replace(distribution, order_by=()), rows)


def _rows(seen: Seen, carried: Sequence[str] | None, table: str) -> messages.StoredRows:
    if carried is None:
        return stored_keys(seen)
    return check_projected(stored_rows(seen, carried, table, datetime.now(UTC)), table)


def check_transform(request: messages.CheckTransform) -> messages.Applicability:
    """Whether a partition transform applies to a type."""
    try:
        result_type(parse_transform(request.transform), parse_type(request.type, ("the column",)))
    except InvalidRequestError as error:
        return messages.Applicability(str(error))
    return messages.Applicability(None)


HANDLERS = (plan_delta, check_transform)
