"""Procedures about consumers, for which expiry keeps unread versions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from pyspark_versioned.sql.metadata_requests import cells
from pyspark_versioned.sql.procedure import TABLE, Invocation, Parameter, Procedure, Row, one_commit
from versioned_catalog import Table

_CONSUMER = Parameter("consumer", "STRING", "the name of the consumer")


def _consumers(call: Invocation) -> Iterable[Row]:
    return (tuple(row) for row in cells(call.table.inspect.consumers()))


def _move(table: Table, call: Invocation) -> int:
    version, keep = call.arguments["version"], call.arguments["keep_hours"]
    return table.move_consumer(
        call.text("consumer"),
        None if version is None else int(version),
        keep=None if keep is None else call.hours("keep_hours", timedelta(0)),
        commit_id=call.commit.id,
    )


def _moved_row(call: Invocation, before: int, version: int) -> Row:
    consumers = call.table.as_of(version).state.consumers
    return call.text("consumer"), consumers[call.text("consumer")].version, version


def _drop(table: Table, call: Invocation) -> int:
    return table.drop_consumer(call.text("consumer"), commit_id=call.commit.id)


def _dropped_row(call: Invocation, before: int, version: int) -> Row:
    return call.text("consumer"), version


PROCEDURES = {
    "consumers": Procedure(
        "Lists the consumers, for which expiry keeps unread versions, and how far behind each is.",
        (TABLE,),
        "STRUCT<name: STRING, version: BIGINT, moved: TIMESTAMP, versions_behind: BIGINT, "
        "rows_behind: BIGINT, unread_since: TIMESTAMP, kept_until: TIMESTAMP, lapsed: BOOLEAN>",
        _consumers,
        writes=False,
    ),
    "move_consumer": Procedure(
        "Says how far a consumer has read, so that expiry keeps what it has not read.",
        (
            TABLE,
            _CONSUMER,
            Parameter(
                "version",
                "BIGINT",
                "the last version that it has read; by default the newest",
                required=False,
            ),
            Parameter(
                "keep_hours",
                "DOUBLE",
                "how long versions are kept for it; at first 30 days, then as before",
                required=False,
            ),
        ),
        "STRUCT<consumer: STRING, read: BIGINT, version: BIGINT>",
        one_commit(_move, _moved_row),
    ),
    "drop_consumer": Procedure(
        "Removes a consumer; expiry no longer keeps versions for it.",
        (TABLE, _CONSUMER),
        "STRUCT<consumer: STRING, version: BIGINT>",
        one_commit(_drop, _dropped_row),
    ),
}
