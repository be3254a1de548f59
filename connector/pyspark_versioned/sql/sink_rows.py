"""The rows that a stream writes, whose columns Spark has not matched with those of the table."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import types as spark

from pyspark_versioned.given_columns import bound, named
from pyspark_versioned.spark_types import arrow_schema, from_spark_schema
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.snapshots import Opened
from versioned_catalog.model.pins import Seen
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import Column, is_nested, walk
from versioned_catalog.model.widening import widens
from versioned_catalog.write import plan as planning


def bound_columns(rows: SparkType, opened: Opened) -> Seen:
    """The columns of rows, each with the ID of the table's column that it names, over the stored ones.

    Raises:
        InvalidRequestError: a column is unknown, lacking without a default, or does not fit.
    """
    given = spark.StructType.fromJson(rows)  # type: ignore[arg-type]
    table, state = opened.table, opened.state
    plan = planning.plan_write(
        table.store, state, table.name, arrow_schema(given), merge_schema=False
    )
    shown, stored = state.seen.schema, plan.spec.schema
    columns = bound(from_spark_schema(given), shown.columns)
    return Seen(_arranged(columns, shown), stored)


def _arranged(columns: tuple[Column, ...], shown: Schema) -> Schema:
    """Given columns, which Spark distributes and sorts as far as the table's arrangement names them."""
    loose = tuple(replace(c, nullable=named(c.name, shown.columns).nullable) for c in columns)
    ids = {column.id for column, _ in walk(loose)}
    is_keyed = ids.issuperset(shown.row_key)
    return replace(
        shown,
        columns=loose,
        partitioning=tuple(field for field in shown.partitioning if field.source in ids),
        sort_by=tuple(field for field in shown.sort_by if field.source in ids),
        primary_key=shown.primary_key if is_keyed else (),
        time_index=shown.time_index if is_keyed else None,
    )


def widens_all(seen: Seen) -> bool:
    """Whether the given types widen to the stored ones, which is all that the jar can do with them."""
    stored = seen.stored
    return all(
        is_nested(column.type) or widens(column.type, stored.column(column.id).type)
        for column, _ in walk(seen.schema.columns)
        if column.id in stored.ids
    )
