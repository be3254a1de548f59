"""Procedures about partitioning, rollback, tags, schema pins and consumers, of one commit each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from pyspark_versioned.sql.metadata_requests import cells
from pyspark_versioned.sql.procedure import (
    TABLE,
    TAKES_BACK,
    Invocation,
    Parameter,
    Procedure,
    Row,
    one_commit,
    optional,
    rolled_back,
)
from pyspark_versioned.sql.values import parse_timestamp
from versioned_catalog import InvalidRequestError, NotFoundError, Table
from versioned_catalog.model.partitioning import changed_partitioning, split_fields
from versioned_catalog.model.type_text import render_path

_LABEL = Parameter("label", "STRING", "the label of the pin")
_CONSUMER = Parameter("consumer", "STRING", "the name of the consumer")
_TAG = Parameter("tag", "STRING", "the name")
_TAGGED = optional("version", "BIGINT", "the version; by default the newest")
_KEEP = optional(
    "keep_hours", "DOUBLE", "so long after the commit of the version, expiry drops the tag"
)
_SET_TAG = "STRUCT<tag: STRING, tagged_version: BIGINT, version: BIGINT>"
_MODES = ("create", "create or replace", "create if not exists", "replace")
_ROLLBACK = f"STRUCT<previous_version: BIGINT, version: BIGINT, {TAKES_BACK}>"


def _set_partitioning(table: Table, call: Invocation) -> int:
    fields = split_fields(call.text("fields"))
    return table.alter().set_partitioning(fields).commit(commit_id=call.commit.id)


def _alter_partitioning(table: Table, call: Invocation) -> int:
    fields = changed_partitioning(
        table.schema, call.text("change"), table.name, table.state.properties
    )
    return table.alter().set_partitioning(fields).commit(commit_id=call.commit.id)


def _alter_column(table: Table, call: Invocation) -> int:
    statement = f"ALTER TABLE {render_path(call.name)} {call.text('change')}"
    return table.alter_sql(statement).commit(commit_id=call.commit.id)


def _sync_identity(table: Table, call: Invocation) -> int:
    return table.sync_identity(call.text("column"), commit_id=call.commit.id)


def _rollback_to_version(table: Table, call: Invocation) -> int:
    return table.rollback(int(call.text("version")), commit_id=call.commit.id)


def _rollback_to_timestamp(table: Table, call: Invocation) -> int:
    time = parse_timestamp(int(call.text("timestamp")))
    return table.rollback(timestamp=time, commit_id=call.commit.id)


def _set_tag(table: Table, call: Invocation) -> int:
    return _tag(table, call, None)


def _tag(table: Table, call: Invocation, keep: timedelta | None) -> int:
    version = call.number("version")
    tagged = table.version if version is None else version
    if call.arguments["keep_hours"] is not None:
        keep = call.hours("keep_hours", timedelta(0))
    return table.set_tag(call.text("tag"), tagged, keep=keep, commit_id=call.commit.id)


def _create_tag(table: Table, call: Invocation) -> int:
    tag, mode = call.text("tag"), (call.arguments["mode"] or _MODES[0]).lower()
    if mode not in _MODES:
        raise InvalidRequestError(f"mode is {mode!r}; write one of {', '.join(_MODES)}")
    tagged = table.state.tags.get(tag)
    if mode == "create" and tagged is not None:
        raise InvalidRequestError(
            f"{table.name}: the tag {tag} is there already, of version {tagged}; write CREATE OR "
            "REPLACE TAG to move it"
        )
    if mode == "replace" and tagged is None:
        raise NotFoundError(f"{table.name}: there is no tag {tag}; write CREATE TAG")
    if mode == "create if not exists" and tagged is not None:
        return table.version
    return _tag(table, call, table.state.tags_kept.get(tag))


def _tagged(call: Invocation, before: int, version: int) -> Row:
    return call.text("tag"), call.table.as_of(version).state.tags[call.text("tag")], version


def _drop_tag(table: Table, call: Invocation) -> int:
    if call.flag("if_exists", False) and call.text("tag") not in table.state.tags:
        return table.version
    return table.drop_tag(call.text("tag"), commit_id=call.commit.id)


def _pin_schema(table: Table, call: Invocation) -> int:
    return table.pin_schema(
        call.text("label"),
        call.number("schema_version"),
        owner=call.arguments["owner"],
        until=call.arguments["until"],
        commit_id=call.commit.id,
    )


def _pin_row(call: Invocation, before: int, version: int) -> Row:
    pins = call.table.as_of(version).state.pins
    return call.text("label"), pins[call.text("label")].schema_version, version


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


def _move_consumer(table: Table, call: Invocation) -> int:
    is_kept = call.arguments["keep_hours"] is not None
    keep = call.hours("keep_hours", timedelta(0)) if is_kept else None
    consumer, version = call.text("consumer"), call.number("version")
    return table.move_consumer(consumer, version, keep=keep, commit_id=call.commit.id)


def _consumer_row(call: Invocation, before: int, version: int) -> Row:
    consumers = call.table.as_of(version).state.consumers
    return call.text("consumer"), consumers[call.text("consumer")].version, version


def _drop_consumer(table: Table, call: Invocation) -> int:
    return table.drop_consumer(call.text("consumer"), commit_id=call.commit.id)


PROCEDURES = {
    "set_partitioning": Procedure(
        "Sets the partitioning of new segments; existing segments keep their partitions.",
        (TABLE, Parameter("fields", "STRING", "as in 'days(ts), bucket(16, id)'; empty for none")),
        "STRUCT<version: BIGINT>",
        one_commit(_set_partitioning, lambda call, before, version: (version,)),
    ),
    "alter_partitioning": Procedure(
        "Adds, drops or replaces one partition field, as ALTER TABLE ... PARTITION FIELD.",
        (TABLE, Parameter("change", "STRING", "as in 'ADD PARTITION FIELD bucket(16, id)'")),
        "STRUCT<version: BIGINT>",
        one_commit(_alter_partitioning, lambda call, before, version: (version,)),
    ),
    "alter_column": Procedure(
        "Changes the type of a column and more, as ALTER TABLE ... ALTER COLUMN.",
        (
            TABLE,
            Parameter("change", "STRING", "as in 'ALTER COLUMN a TYPE BIGINT COMMENT \\'b\\''"),
        ),
        "STRUCT<version: BIGINT>",
        one_commit(_alter_column, lambda call, before, version: (version,)),
    ),
    "sync_identity": Procedure(
        "Lets an identity column go on after the last number of a row: ALTER COLUMN ... SYNC IDENTITY.",
        (TABLE, Parameter("column", "STRING", "the identity column")),
        "STRUCT<version: BIGINT>",
        one_commit(_sync_identity, lambda call, before, version: (version,)),
    ),
    "rollback_to_version": Procedure(
        "Restores the rows and columns of an earlier version, in a new version.",
        (TABLE, Parameter("version", "BIGINT", "the version to restore")),
        _ROLLBACK,
        one_commit(_rollback_to_version, rolled_back),
    ),
    "rollback_to_timestamp": Procedure(
        "Restores the rows and columns as of a time, in a new version.",
        (
            TABLE,
            Parameter("timestamp", "TIMESTAMP", "the newest version up to this time is restored"),
        ),
        _ROLLBACK,
        one_commit(_rollback_to_timestamp, rolled_back),
    ),
    "set_tag": Procedure(
        "Names a version, for VERSION AS OF.",
        (TABLE, _TAG, _TAGGED, _KEEP),
        _SET_TAG,
        one_commit(_set_tag, _tagged),
    ),
    "create_tag": Procedure(
        "Names a version, as ALTER TABLE ... CREATE TAG.",
        (
            *(TABLE, _TAG, _TAGGED),
            optional("mode", "STRING", f"one of {', '.join(_MODES)}; by default {_MODES[0]}"),
            _KEEP,
        ),
        _SET_TAG,
        one_commit(_create_tag, _tagged),
    ),
    "drop_tag": Procedure(
        "Removes a tag.",
        (
            TABLE,
            Parameter("tag", "STRING", "the tag"),
            optional("if_exists", "BOOLEAN", "true does nothing if there is no such tag"),
        ),
        "STRUCT<tag: STRING, version: BIGINT>",
        one_commit(_drop_tag, lambda call, before, version: (call.text("tag"), version)),
    ),
    "pin_schema": Procedure(
        "Declares that a job uses the table in a schema version, or changes such a pin.",
        (
            TABLE,
            _LABEL,
            optional("schema_version", "INT", "the schema version; by default the current one"),
            optional("owner", "STRING", "who to ask about the job"),
            optional("until", "STRING", "when the job will have moved on, as in 2027-03-31"),
        ),
        "STRUCT<label: STRING, schema_version: INT, version: BIGINT>",
        one_commit(_pin_schema, _pin_row),
    ),
    "schema_pins": Procedure(
        "Lists the schema pins, those that were retired, and the schemas through which others wrote.",
        (TABLE,),
        "STRUCT<label: STRING, schema_version: INT, owner: STRING, until: TIMESTAMP, "
        "declared: BOOLEAN, needs_hidden: ARRAY<STRING>, may_fail: ARRAY<STRING>, writes: BIGINT, "
        "last_version: BIGINT, last_time: TIMESTAMP, retired_version: BIGINT>",
        lambda call: map(tuple, cells(call.table.inspect.schema_pins())),
        writes=False,
    ),
    "retire_schema": Procedure(
        "Removes a schema pin, and the hidden columns that no other pin needs.",
        (
            TABLE,
            _LABEL,
            optional("dry_run", "BOOLEAN", "true only reports; false, the default, removes"),
        ),
        "STRUCT<label: STRING, dropped: ARRAY<STRING>, segments: BIGINT, rows: BIGINT, version: BIGINT>",
        _retire_schema,
    ),
    "consumers": Procedure(
        "Lists the consumers, for which expiry keeps unread versions, and how far behind each is.",
        (TABLE,),
        "STRUCT<name: STRING, version: BIGINT, moved: TIMESTAMP, versions_behind: BIGINT, "
        "rows_behind: BIGINT, unread_since: TIMESTAMP, kept_until: TIMESTAMP, lapsed: BOOLEAN>",
        lambda call: map(tuple, cells(call.table.inspect.consumers())),
        writes=False,
    ),
    "move_consumer": Procedure(
        "Says how far a consumer has read, so that expiry keeps what it has not read.",
        (
            TABLE,
            _CONSUMER,
            optional(
                "version", "BIGINT", "the last version that it has read; by default the newest"
            ),
            optional(
                "keep_hours",
                "DOUBLE",
                "how long versions are kept for it; at first 30 days, then as before",
            ),
        ),
        "STRUCT<consumer: STRING, read: BIGINT, version: BIGINT>",
        one_commit(_move_consumer, _consumer_row),
    ),
    "drop_consumer": Procedure(
        "Removes a consumer; expiry no longer keeps versions for it.",
        (TABLE, _CONSUMER),
        "STRUCT<consumer: STRING, version: BIGINT>",
        one_commit(_drop_consumer, lambda call, before, version: (call.text("consumer"), version)),
    ),
}
