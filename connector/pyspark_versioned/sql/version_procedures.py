"""Procedures of one commit each: partitioning, rollback and tags."""

from __future__ import annotations

from pyspark_versioned.sql.procedure import TABLE, Invocation, Parameter, Procedure, Row, one_commit
from pyspark_versioned.sql.values import parse_timestamp
from versioned_catalog import Table
from versioned_catalog.model.partitioning import changed_partitioning, split_fields


def _set_partitioning(table: Table, call: Invocation) -> int:
    fields = split_fields(call.text("fields"))
    return table.alter().set_partitioning(fields).commit(commit_id=call.commit.id)


def _alter_partitioning(table: Table, call: Invocation) -> int:
    fields = changed_partitioning(table.schema, call.text("change"), table.name)
    return table.alter().set_partitioning(fields).commit(commit_id=call.commit.id)


def _version_row(call: Invocation, before: int, version: int) -> Row:
    return (version,)


def _rollback_to_version(table: Table, call: Invocation) -> int:
    return table.rollback(int(call.text("version")), commit_id=call.commit.id)


def _rollback_to_timestamp(table: Table, call: Invocation) -> int:
    time = parse_timestamp(int(call.text("timestamp")))
    return table.rollback(timestamp=time, commit_id=call.commit.id)


def _rollback_row(call: Invocation, before: int, version: int) -> Row:
    return before, version


def _set_tag(table: Table, call: Invocation) -> int:
    version = call.arguments["version"]
    tagged = table.version if version is None else int(version)
    return table.set_tag(call.text("tag"), tagged, commit_id=call.commit.id)


def _set_tag_row(call: Invocation, before: int, version: int) -> Row:
    return call.text("tag"), call.arguments["version"] or before, version


def _drop_tag(table: Table, call: Invocation) -> int:
    return table.drop_tag(call.text("tag"), commit_id=call.commit.id)


def _drop_tag_row(call: Invocation, before: int, version: int) -> Row:
    return call.text("tag"), version


_ROLLBACK = "STRUCT<previous_version: BIGINT, version: BIGINT>"

PROCEDURES = {
    "set_partitioning": Procedure(
        "Sets the partitioning of new segments; existing segments keep their partitions.",
        (TABLE, Parameter("fields", "STRING", "as in 'days(ts), bucket(16, id)'; empty for none")),
        "STRUCT<version: BIGINT>",
        one_commit(_set_partitioning, _version_row),
    ),
    "alter_partitioning": Procedure(
        "Adds, drops or replaces one partition field, as ALTER TABLE ... PARTITION FIELD.",
        (TABLE, Parameter("change", "STRING", "as in 'ADD PARTITION FIELD bucket(16, id)'")),
        "STRUCT<version: BIGINT>",
        one_commit(_alter_partitioning, _version_row),
    ),
    "rollback_to_version": Procedure(
        "Restores the rows and columns of an earlier version, in a new version.",
        (TABLE, Parameter("version", "BIGINT", "the version to restore")),
        _ROLLBACK,
        one_commit(_rollback_to_version, _rollback_row),
    ),
    "rollback_to_timestamp": Procedure(
        "Restores the rows and columns as of a time, in a new version.",
        (
            TABLE,
            Parameter("timestamp", "TIMESTAMP", "the newest version up to this time is restored"),
        ),
        _ROLLBACK,
        one_commit(_rollback_to_timestamp, _rollback_row),
    ),
    "set_tag": Procedure(
        "Names a version, for VERSION AS OF.",
        (
            TABLE,
            Parameter("tag", "STRING", "the name"),
            Parameter("version", "BIGINT", "the version; by default the newest", required=False),
        ),
        "STRUCT<tag: STRING, tagged_version: BIGINT, version: BIGINT>",
        one_commit(_set_tag, _set_tag_row),
    ),
    "drop_tag": Procedure(
        "Removes a tag.",
        (TABLE, Parameter("tag", "STRING", "the tag")),
        "STRUCT<tag: STRING, version: BIGINT>",
        one_commit(_drop_tag, _drop_tag_row),
    ),
}
