"""What a table tells of itself, as tables: ``t.history``, ``t.schemas``, ``t.segments`` and so on."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pyspark_versioned.spark_types import to_spark_schema
from pyspark_versioned.sql.snapshots import open_table
from versioned_catalog import Catalog, Table
from versioned_catalog.inspection import tables
from versioned_catalog.types.arrow import column_from_field
from versioned_catalog.types.paths import render_path

Json = dict[str, Any]


def told_of(catalog: Catalog, name: tuple[str, ...]) -> Table | None:
    """The table that a name such as ``ns.t.history`` asks to be told of; None if it asks for none."""
    if (
        name[-1].lower() not in tables.SCHEMAS
        or len(name) < 2
        or not catalog.table_exists(name[:-1])
    ):
        return None
    return catalog.load_table(name[:-1])


def describe_metadata(reference: Json, kind: str) -> Json:
    """A table that tells of another.

    Args:
        reference: the jar's member ``table``, of the other.
        kind: what is told.
    """
    fields = tables.SCHEMAS[kind.lower()]
    schema = to_spark_schema(tuple(column_from_field(field) for field in fields))
    return {"table": reference, "metadata": kind.lower(), "schema": schema.jsonValue()}


def hidden_text(catalog: Catalog, name: tuple[str, ...]) -> str | None:
    """What is said where a user's table has the name of what a table tells of itself."""
    if told_of(catalog, name) is None:
        return None
    table, kind = render_path(name[:-1]), name[-1].lower()
    return (
        f"{render_path(name)} is a table of its own, so it hides what {table} tells of itself under "
        f"that name; rename one of them, or call {kind}() of the table in Python"
    )


def metadata(request: Json) -> Json:
    """The rows of a metadata table, as cells: null, a value text, or a list of value texts."""
    table, state = open_table(request["table"])
    then = table.as_of(state.version)
    told = {
        "history": then.inspect.history,
        "schemas": then.inspect.schemas,
        "segments": then.inspect.segments,
        "snapshots": then.inspect.snapshots,
        "partitions": then.inspect.partitions,
    }[request["kind"]]()
    return {"rows": cells(told)}


def cells(told: pa.Table) -> list[list[Any]]:
    """Rows of value texts: times in microseconds, lists as lists."""
    columns = [_texts(column) for column in told.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def _texts(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_list(column.type):
        return list(column.to_pylist())
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return list(column.cast(pa.string()).to_pylist())


QUESTIONS = {"metadata": metadata}
