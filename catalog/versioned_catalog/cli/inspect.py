"""Commands that show a table's metadata: ``describe``, ``schema``, ``history`` and others."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import show_object, show_rows, show_table
from versioned_catalog.cli.program import at_most_one, table_command
from versioned_catalog.cli.session import Session
from versioned_catalog.cli.versions import version_of
from versioned_catalog.storage.credentials import without_credentials

_SCHEMA = (
    *("column_id", "path", "type", "nullable"),
    *("write_default", "read_default", "comment"),
)
_HISTORY = (
    *("version", "time", "operation", "schema_version"),
    *("rows_added", "segments_added", "segments_removed", "changes"),
)
_SEGMENTS = ("path", "schema_version", "rows", "bytes", "sequence", "partition")
_PARTITIONS = ("partition", "rows", "segments")


@table_command
def describe(session: Session, table: str) -> None:
    """Show the location, newest version, size, partitioning and properties of TABLE."""
    found = session.table(table)
    show_object(
        {
            "table": without_credentials(found.name),
            "location": without_credentials(found.location),
            "table_uuid": found.state.table_uuid,
            "version": found.version,
            "time": found.state.time,
            "schema_version": found.schema.version,
            "rows": found.count(),
            "segments": found.inspect.segments().num_rows,
            "tags": found.tags,
            "partitioning": found.partitioning,
            "properties": found.properties,
            "comment": found.comment,
        }
    )


@table_command
@click.option("--as-of", metavar="VERSION|TAG", help="Show the schema of this version.")
@click.option(
    "--timestamp", metavar="TIME", help="Show the schema at this time (UTC if it has no offset)."
)
def schema(session: Session, table: str, as_of: str | None, timestamp: str | None) -> None:
    """Show the columns and nested fields of TABLE, now or at an earlier version."""
    from versioned_catalog.inspection.arrow_rows import rows_of

    at_most_one({"--as-of": as_of, "--timestamp": timestamp})
    found = session.table(table)
    then = found.at(version_of(as_of), timestamp).schema.version
    every = rows_of(found.inspect.schemas())
    show_rows([row for row in every if row["schema_version"] == then], _SCHEMA)


@table_command
def history(session: Session, table: str) -> None:
    """Show the commits of TABLE, oldest first."""
    show_table(session.table(table).inspect.history(), _HISTORY)


@table_command
def snapshots(session: Session, table: str) -> None:
    """Show every readable version of TABLE with its size and tags."""
    show_table(session.table(table).inspect.snapshots())


@table_command
def segments(session: Session, table: str) -> None:
    """Show the live segments (data files) of TABLE and their schema versions."""
    show_table(session.table(table).inspect.segments(), _SEGMENTS)


@table_command
def partitions(session: Session, table: str) -> None:
    """Show the partitions of TABLE under its current partitioning."""
    show_table(session.table(table).inspect.partitions(), _PARTITIONS)


@table_command
@click.option("--from", "start", required=True, metavar="VERSION|TAG", help="The first version.")
@click.option("--to", "end", metavar="VERSION|TAG", help="The last version; by default the newest.")
@click.option("--net", is_flag=True, help="Only the difference between before and after the range.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Show at most N changes.")
def changes(
    session: Session, table: str, start: str, end: str | None, net: bool, limit: int | None
) -> None:
    """Show the rows of TABLE that a range of versions inserted, deleted and updated."""
    first = version_of(start)
    assert first is not None, "the option is required"
    found = session.table(table).changes(first, version_of(end), net=net)
    show_table(found.to_arrow() if limit is None else found.head(limit))
