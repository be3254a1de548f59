"""Procedures that convert tables of other formats, and follow them."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_versioned.sql.procedure import TABLE, Invocation, Parameter, Procedure, Row
from versioned_interop.convert.convert import Conversion, Request, Synced

_RESULT = (
    "STRUCT<version: BIGINT, source_version: STRING, adopted: BIGINT, copied: BIGINT, removed: BIGINT, "
    "dropped: ARRAY<STRING>>"
)


def _row(done: Synced) -> Row:
    counts = done.adopted, done.copied, done.removed
    return done.version, done.source_version, *counts, list(done.dropped)


def _convert(call: Invocation) -> Iterable[Row]:
    version = call.arguments["version"]
    request = Request(
        call.text("source"),
        call.arguments["format"],
        call.arguments["root"],
        None if version is None else int(version),
    )
    key = [k.strip() for k in (call.arguments["primary_key"] or "").split(",") if k.strip()]
    conversion = Conversion(call.flag("copy", False), key, call.arguments["deletes"] or "copy")
    _, done = call.catalog.convert_and_tell(call.name, request, conversion)
    yield _row(done)


def _sync(call: Invocation) -> Iterable[Row]:
    yield _row(call.table.sync(call.arguments["source"]))


PROCEDURES = {
    "convert": Procedure(
        "Converts an Iceberg or Delta table in place; its files stay where they are.",
        (
            TABLE,
            Parameter("source", "STRING", "the folder of the table, or an Iceberg metadata file"),
            Parameter("format", "STRING", "iceberg or delta; found out by default", required=False),
            Parameter(
                "root",
                "STRING",
                "the external root that holds the source; found out by default",
                required=False,
            ),
            Parameter(
                "version",
                "BIGINT",
                "a snapshot ID or version number; the newest by default",
                required=False,
            ),
            Parameter(
                "copy",
                "BOOLEAN",
                "true copies the rows of all files; false by default",
                required=False,
            ),
            Parameter(
                "primary_key", "STRING", "columns that identify a row, for a copy", required=False
            ),
            Parameter(
                "deletes",
                "STRING",
                "copy, the default, or refuse: what to do with files that have deleted rows",
                required=False,
            ),
        ),
        _RESULT,
        _convert,
    ),
    "sync": Procedure(
        "Follows what the source of a converted table has committed since.",
        (
            TABLE,
            Parameter(
                "source",
                "STRING",
                "where the source is now; where it was converted from by default",
                required=False,
            ),
        ),
        _RESULT,
        _sync,
    ),
}
