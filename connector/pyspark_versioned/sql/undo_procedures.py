"""Procedures about dropped tables: which there are, and how they come back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark_versioned.sql.procedure import TABLE, Invocation, Procedure, Row, optional
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.names.names_log import Name


def _undrop(call: Invocation) -> Iterable[Row]:
    new = call.arguments["new_name"]
    name = None if new is None else _new_name(call, parse_path(new))
    table = call.catalog.undrop(
        call.name, uuid=call.arguments["uuid"], new_name=name, commit_id=call.commit.id
    )
    yield table.name, table.state.created_uuid, table.version


def _new_name(call: Invocation, parts: Name) -> Name:
    """A new name, before which the catalog's may stand; alone, it is in the namespace of the table."""
    if len(parts) == 1:
        return (*call.name[:-1], *parts)
    is_full = parts[0] == call.request.catalog.name and not call.catalog.namespace_exists(parts[:1])
    return parts[1:] if is_full else parts


def _dropped_tables(call: Invocation) -> Iterable[Row]:
    text, pattern = call.arguments["namespace"], call.arguments["pattern"]
    parts = () if text is None else parse_path(text)
    if parts[:1] == (call.request.catalog.name,) and not call.catalog.namespace_exists(parts[:1]):
        parts = parts[1:]
    for table in call.catalog.dropped_tables(parts):
        if pattern is None or _matches(pattern, table.name[-1]):
            yield (
                *(render_path(table.name[:-1]), table.name[-1], table.uuid),
                *(_micros(table.dropped.timestamp()), table.user),
                *(_micros(table.until.timestamp()), table.version),
            )


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)


def _matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern of SHOW TABLES: ``*`` for any text, ``|`` between patterns."""
    return any(
        re.fullmatch(part.strip().replace("*", ".*"), name, re.IGNORECASE)
        for part in pattern.split("|")
    )


PROCEDURES = {
    "undrop": Procedure(
        "Brings back a dropped table, as UNDROP TABLE.",
        (
            TABLE,
            optional("uuid", "STRING", "which of several tables of the name; by default the last"),
            optional("new_name", "STRING", "another name to bring it back under"),
        ),
        "STRUCT<table: STRING, uuid: STRING, version: BIGINT>",
        _undrop,
        writes=False,  # no plan has the table in its cache
    ),
    "dropped_tables": Procedure(
        "Lists the tables that can be undropped, the last dropped first, as SHOW TABLES DROPPED.",
        (
            optional("namespace", "STRING", "only tables in it; by default all of the catalog"),
            optional("pattern", "STRING", "only names like this, as in 'cpu*|mem*'"),
        ),
        "STRUCT<namespace: STRING, tableName: STRING, uuid: STRING, droppedAt: TIMESTAMP, "
        "droppedBy: STRING, undropUntil: TIMESTAMP, version: BIGINT>",
        _dropped_tables,
        writes=False,
    ),
}
