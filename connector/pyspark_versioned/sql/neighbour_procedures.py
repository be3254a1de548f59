"""Procedures behind statements of Iceberg and Delta: see ``statements``."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pyspark_versioned.sql.metadata_requests import cells
from pyspark_versioned.sql.procedure import (
    TABLE,
    Invocation,
    Parameter,
    Procedure,
    Row,
    one_commit,
    optional,
)
from versioned_catalog import InvalidRequestError, Table
from versioned_catalog.model.identifiers import changed_identifiers, shown_properties
from versioned_catalog.model.keys import IDENTIFIER_FIELDS, SORT_BY, split_names
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.write.partitions import DISTRIBUTION_MODE


def _set_write_order(table: Table, call: Invocation) -> int:
    order = call.arguments["order"]
    alteration = table.alter().set_property(DISTRIBUTION_MODE, call.text("distribution"))
    if order is not None:
        alteration = alteration.set_property(SORT_BY, order)
    elif table.schema.sort_by:
        alteration = alteration.unset_property(SORT_BY)
    return alteration.commit(commit_id=call.commit.id)


def _alter_identifier_fields(table: Table, call: Invocation) -> int:
    paths = [parse_path(name) for name in split_names(call.text("columns"), "columns")]
    action, alteration = call.text("action"), table.alter()
    if action.upper() not in ("SET", "DROP"):
        raise InvalidRequestError(f"action is {action!r}; write set or drop")
    fields = changed_identifiers(action, paths, table.state.properties, table.schema)
    if fields:
        return alteration.set_property(IDENTIFIER_FIELDS, fields).commit(commit_id=call.commit.id)
    return alteration.unset_property(IDENTIFIER_FIELDS).commit(commit_id=call.commit.id)


def _describe_history(call: Invocation) -> Iterable[Row]:
    rows = call.table.inspect.history(call.number("newest"))
    shown = {name: rows[column] for name, column in _HISTORY.items()}
    pairs = zip(rows["changes"].to_pylist(), rows["parameters"].to_pylist(), strict=True)
    parameters = [[*(changes or ()), *(others or ())] or None for changes, others in pairs]
    shown["operationParameters"] = pa.array(parameters, pa.list_(pa.string()))
    return map(tuple, reversed(cells(pa.table(shown))))


_HISTORY = {
    "version": "version",
    "timestamp": "time",
    "operation": "operation",
    "operationParameters": "changes",
    "readVersion": "base_version",
    "rowsAdded": "rows_added",
    "filesAdded": "segments_added",
    "filesRemoved": "segments_removed",
    "rowsInserted": "rows_inserted",
    "rowsUpdated": "rows_updated",
    "rowsDeleted": "rows_deleted",
    "bytesAdded": "bytes_added",
    "bytesRemoved": "bytes_removed",
    "executionTimeMs": "duration_ms",
    "schemaVersion": "schema_version",
    "engineInfo": "writer",
    "userName": "user",
    "applicationId": "application",
    "userMetadata": "message",
}
"""The columns of DESCRIBE HISTORY, with those of the metadata table; parameters follow changes."""


def _describe_detail(call: Invocation) -> Iterable[Row]:
    table = call.table
    state, schema = table.state, table.state.schema
    properties = shown_properties(state.properties, schema)
    yield (
        *("versioned", state.table_uuid, table.name, state.comment, table.location),
        int(state.time.timestamp() * 1_000_000),
        partition_fields(schema),
        [schema.path_text(field.source) for field in schema.sort_by],
        *(state.segments.count, state.segments.bytes, state.segments.shown_rows),
        [f"{key}={properties[key]}" for key in sorted(properties)],
        sorted(state.features.read | state.features.write),
    )


PROCEDURES = {
    "set_write_order": Procedure(
        "Sets how rows are sorted and shuffled before they are written, as ALTER TABLE ... WRITE.",
        (
            TABLE,
            Parameter("distribution", "STRING", "none, hash or range"),
            optional("order", "STRING", "columns, as in 'host, ts DESC'; by default none"),
        ),
        "STRUCT<version: BIGINT>",
        one_commit(_set_write_order, lambda call, before, version: (version,)),
    ),
    "alter_identifier_fields": Procedure(
        "Declares which columns identify a row, as ALTER TABLE ... IDENTIFIER FIELDS.",
        (
            TABLE,
            Parameter("action", "STRING", "set or drop"),
            Parameter("columns", "STRING", "columns, as in 'id, day'"),
        ),
        "STRUCT<version: BIGINT>",
        one_commit(_alter_identifier_fields, lambda call, before, version: (version,)),
    ),
    "describe_history": Procedure(
        "Lists the commits, newest first, as DESCRIBE HISTORY.",
        (TABLE, optional("newest", "INT", "only so many commits; by default all")),
        "STRUCT<version: BIGINT, timestamp: TIMESTAMP, operation: STRING, "
        "operationParameters: ARRAY<STRING>, readVersion: BIGINT, rowsAdded: BIGINT, "
        "filesAdded: BIGINT, filesRemoved: BIGINT, rowsInserted: BIGINT, rowsUpdated: BIGINT, "
        "rowsDeleted: BIGINT, bytesAdded: BIGINT, bytesRemoved: BIGINT, executionTimeMs: BIGINT, "
        "schemaVersion: INT, engineInfo: STRING, "
        "userName: STRING, applicationId: STRING, userMetadata: STRING>",
        _describe_history,
        writes=False,
    ),
    "describe_detail": Procedure(
        "Describes a table in one row, as DESCRIBE DETAIL.",
        (TABLE,),
        "STRUCT<format: STRING, id: STRING, name: STRING, description: STRING, location: STRING, "
        "lastModified: TIMESTAMP, partitionColumns: ARRAY<STRING>, clusteringColumns: ARRAY<STRING>, "
        "numFiles: BIGINT, sizeInBytes: BIGINT, numRows: BIGINT, properties: ARRAY<STRING>, "
        "tableFeatures: ARRAY<STRING>>",
        _describe_detail,
        writes=False,
    ),
}
