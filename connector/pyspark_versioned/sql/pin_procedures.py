"""Procedures about schema pins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pyspark_versioned.sql.metadata_requests import cells
from pyspark_versioned.sql.procedure import TABLE, Invocation, Parameter, Procedure, Row, one_commit
from versioned_catalog import Table

_LABEL = Parameter("label", "STRING", "the label of the pin")


def _pin_schema(table: Table, call: Invocation) -> int:
    version = call.arguments["schema_version"]
    return table.pin_schema(
        call.text("label"),
        None if version is None else int(version),
        owner=call.arguments["owner"],
        until=call.arguments["until"],
        commit_id=call.commit.id,
    )


def _pin_row(call: Invocation, before: int, version: int) -> Row:
    pins = call.table.as_of(version).state.pins
    return call.text("label"), pins[call.text("label")].schema_version, version


def _schema_pins(call: Invocation) -> Iterable[Row]:
    return (tuple(row) for row in cells(call.table.inspect.schema_pins()))


def _retire_schema(call: Invocation) -> Iterable[Row]:
    table, label = call.table, call.text("label")
    done = call.landed(table)
    if done is not None:
        dry_result = table.as_of(done - 1).retire_schema(label, dry_run=True)
        result = replace(dry_result, version=done)
    else:
        dry_run = call.flag("dry_run", False)
        result = table.retire_schema(label, dry_run=dry_run, commit_id=call.commit.id)
    yield result.label, list(result.dropped), result.segments, result.rows, result.version


PROCEDURES = {
    "pin_schema": Procedure(
        "Declares that a job uses the table in a schema version, or changes such a pin.",
        (
            TABLE,
            _LABEL,
            Parameter(
                "schema_version",
                "INT",
                "the schema version; by default the current one",
                required=False,
            ),
            Parameter("owner", "STRING", "who to ask about the job", required=False),
            Parameter(
                "until",
                "STRING",
                "when the job will have moved on, as in 2027-03-31",
                required=False,
            ),
        ),
        "STRUCT<label: STRING, schema_version: INT, version: BIGINT>",
        one_commit(_pin_schema, _pin_row),
    ),
    "schema_pins": Procedure(
        "Lists the schema pins, and the schemas through which others wrote.",
        (TABLE,),
        "STRUCT<label: STRING, schema_version: INT, owner: STRING, until: TIMESTAMP, "
        "declared: BOOLEAN, needs_hidden: ARRAY<STRING>, may_fail: ARRAY<STRING>, writes: BIGINT, "
        "last_version: BIGINT, last_time: TIMESTAMP>",
        _schema_pins,
        writes=False,
    ),
    "retire_schema": Procedure(
        "Removes a schema pin, and the hidden columns that no other pin needs.",
        (
            TABLE,
            _LABEL,
            Parameter(
                "dry_run",
                "BOOLEAN",
                "true only reports; false, the default, removes",
                required=False,
            ),
        ),
        "STRUCT<label: STRING, dropped: ARRAY<STRING>, segments: BIGINT, rows: BIGINT, version: BIGINT>",
        _retire_schema,
    ),
}
