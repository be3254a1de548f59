"""Commands that show warehouses and tables: lists, metadata, history, lineage, versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.output import (
    Row,
    cell_text,
    hours_of,
    print_table,
    show_commit,
    show_json,
    show_object,
    show_rows,
    show_table,
    wants_json,
    warn,
)
from versioned_catalog.cli.program import (
    Command,
    Group,
    Session,
    at_most_one,
    table_command,
    version_of,
)
from versioned_catalog.cli.undo import show_dropped
from versioned_catalog.storage.secrets import without_credentials

if TYPE_CHECKING:
    from versioned_catalog.model.schema import Schema
    from versioned_catalog.table import Table


@table_command
@click.argument("column")
def lineage(session: Session, table: str, column: str) -> None:
    """Show the names, types and defaults that COLUMN has had, and how each live segment holds it.

    COLUMN is the current name, or the column ID, which also finds a dropped column.
    """
    document = _lineage_document(session.table(table), column)
    if wants_json():
        show_json(document)
    else:
        _print_lineage(document)


def _lineage_document(table: Table, column: str) -> dict[str, Any]:
    from versioned_catalog.maintain.column_tables import rows_of
    from versioned_catalog.model.type_text import parse_path

    path = int(column) if column.isdecimal() else column
    column_id = path if isinstance(path, int) else table.schema.get(parse_path(path)).id
    schemas = rows_of(table.inspect.lineage(path))
    return {
        "column_id": column_id,
        "path": table.schema.path_text(column_id) if column_id in table.schema.ids else None,
        "names": list(dict.fromkeys(row["path"] for row in schemas)),
        "schemas": schemas,
        "segments": rows_of(table.inspect.holding(path)),
    }


def _print_lineage(lineage: dict[str, Any]) -> None:
    now = "dropped" if lineage["path"] is None else cell_text(lineage["path"])
    click.echo(f"column {lineage['column_id']}: {now}; names so far: {cell_text(lineage['names'])}")
    for rows in (lineage["schemas"], lineage["segments"]):
        click.echo()
        print_table(rows, list(rows[0]) if rows else [])


@click.command(cls=Command)
@click.argument("parent", required=False)
@click.pass_obj
def namespaces(session: Session, parent: str | None) -> None:
    """List the namespaces in PARENT, or the top-level ones."""
    namespaces = session.catalog().list_namespaces(parent)
    if not namespaces:
        session.check_warehouse()
    show_rows([{"namespace": name} for name in namespaces], ["namespace"])


@click.command(cls=Command)
@click.argument("namespace", required=False)
@click.option("--dropped", is_flag=True, help="List the dropped tables, which undrop brings back.")
@click.pass_obj
def tables(session: Session, namespace: str | None, dropped: bool) -> None:
    """List the tables in NAMESPACE, or all of the warehouse, by their full names.

    With --dropped, list those that were dropped in NAMESPACE and below, or in the whole warehouse.
    """
    from versioned_catalog.cli.schema_files import all_tables
    from versioned_catalog.model.type_text import parse_path, render_path

    if dropped:
        show_dropped(session, namespace)
        return
    catalog = session.catalog()
    if namespace is None:
        names = list(all_tables(catalog))
    else:
        above = parse_path(namespace)
        names = [render_path((*above, name)) for name in catalog.list_tables(namespace)]
    if not names:
        session.check_warehouse()
    show_rows([{"table": name} for name in names], ["table"])


@click.command(cls=Command)
@click.option("--broken", is_flag=True, help="List only columns that a view can no longer read.")
@click.pass_obj
def views(session: Session, broken: bool) -> None:
    """List the views, the table columns that each one reads, and any problem with them."""
    from versioned_catalog.maintain.column_tables import rows_of

    rows = rows_of(session.catalog().views())
    if not rows:
        session.check_warehouse()
    shown = [row for row in rows if row["problem"] is not None or not broken]
    show_rows(shown, ["view", "reads", "column", "column_id", "problem"])


_table = click.argument("table")
_name = click.argument("name")


@click.group(cls=Group)
def tag() -> None:
    """List, set and drop tags, which are names of versions."""


@tag.command("list")
@_table
@click.pass_obj
def list_tags(session: Session, table: str) -> None:
    """List the tags of TABLE."""
    state = session.table(table).state
    rows = [
        {"tag": name, "version": version, "keep_hours": hours_of(state.tags_kept.get(name))}
        for name, version in sorted(state.tags.items())
    ]
    show_rows(rows, ["tag", "version", "keep_hours"])


@tag.command("set")
@_table
@_name
@click.option("--version", type=int, help="Version to tag; the newest by default.")
@click.option(
    "--keep-hours",
    metavar="HOURS",
    type=float,
    help="Let expire drop it so long after the commit of the version.",
)
@click.pass_obj
def set_tag(
    session: Session, table: str, name: str, version: int | None, keep_hours: float | None
) -> None:
    """Set the tag NAME to a version of TABLE; an existing tag moves."""
    loaded = session.table(table)
    keep = None if keep_hours is None else timedelta(hours=keep_hours)
    show_commit(loaded.name, loaded.set_tag(name, version, keep=keep))


@tag.command("drop")
@_table
@_name
@click.pass_obj
def drop_tag(session: Session, table: str, name: str) -> None:
    """Drop the tag NAME; the version itself stays."""
    loaded = session.table(table)
    show_commit(loaded.name, loaded.drop_tag(name))


_SCHEMA = (
    *("column_id", "path", "type", "nullable"),
    *("write_default", "read_default", "comment"),
)
_HISTORY = (
    *("version", "time", "operation", "schema_version"),
    *("rows_added", "rows_updated", "rows_deleted", "segments_added", "segments_removed"),
    *("changes", "parameters"),
)
_WHO = ("version", "time", "operation", "user", "application", "message")
_SEGMENTS = ("path", "schema_version", "rows", "bytes", "sequence", "partition")
_PARTITIONS = ("partition", "rows", "segments")


@table_command
def describe(session: Session, table: str) -> None:
    """Show the location, newest version, size, partitioning, properties and constraints of TABLE."""
    loaded = session.table(table)
    show_object(
        {
            "table": without_credentials(loaded.name),
            "location": without_credentials(loaded.location),
            "table_uuid": loaded.state.table_uuid,
            "version": loaded.version,
            "time": loaded.state.time,
            "schema_version": loaded.schema.version,
            "rows": loaded.count(),
            "segments": loaded.inspect.segments().num_rows,
            "tags": loaded.tags,
            "partitioning": loaded.partitioning,
            "properties": loaded.properties,
            "checks": loaded.checks,
            **({"import options": kept} if (kept := loaded.import_options()) else {}),
            "comment": loaded.comment,
            "hidden_columns": [column.text for column in loaded.state.hidden_columns],
        }
    )


@table_command
@click.option("--as-of", metavar="VERSION|TAG", help="Show the schema of this version.")
@click.option(
    "--timestamp", metavar="TIME", help="Show the schema at this time (UTC if it has no offset)."
)
def schema(session: Session, table: str, as_of: str | None, timestamp: str | None) -> None:
    """Show the columns and nested fields of TABLE, now or at an earlier version."""
    from versioned_catalog.maintain.column_tables import rows_of

    at_most_one({"--as-of": as_of, "--timestamp": timestamp})
    loaded = session.table(table)
    then = loaded.at(version_of(as_of), timestamp).schema.version
    every = rows_of(loaded.inspect.schemas())
    show_rows([row for row in every if row["schema_version"] == then], _SCHEMA)
    if then == loaded.schema.version:
        for column in loaded.state.hidden_columns:
            warn(column.text, "note")


@table_command
@click.option("--limit", type=click.IntRange(min=1), help="Show this many of the newest commits.")
@click.option("--who", is_flag=True, help="Show who made them: user, application and message.")
def history(session: Session, table: str, limit: int | None, who: bool) -> None:
    """Show the commits of TABLE, or the newest of them, oldest first. With --json, all of each."""
    show_table(session.table(table).inspect.history(limit), _WHO if who else _HISTORY)


@table_command
def snapshots(session: Session, table: str) -> None:
    """Show every readable version of TABLE with its size and tags."""
    show_table(session.table(table).inspect.snapshots())


@table_command
def segments(session: Session, table: str) -> None:
    """Show the live segments (data files) of TABLE and their schema versions."""
    from versioned_catalog.maintain.column_tables import rows_of

    loaded = session.table(table)
    schemas = loaded.state.schemas
    rows = rows_of(loaded.inspect.segments())
    _show_partitions(rows, _SEGMENTS, lambda row: schemas[row["schema_version"]])


@table_command
def partitions(session: Session, table: str) -> None:
    """Show the partitions of TABLE under its current partitioning."""
    from versioned_catalog.maintain.column_tables import rows_of

    loaded = session.table(table)
    _show_partitions(
        rows_of(loaded.inspect.partitions()), _PARTITIONS, lambda row: loaded.state.schema
    )


def _show_partitions(
    rows: list[dict[str, Any]], columns: Sequence[str], schema_of: Callable[[Row], Schema]
) -> None:
    """Print rows with partitions, whose days, months and such are dates for people."""
    from versioned_catalog.model.transforms import parse_transform, shown_value

    if not wants_json():
        for row in (row for row in rows if row["partition"] is not None):
            fields = schema_of(row).partitioning
            row["partition"] = [
                shown_value(parse_transform(field.transform), text)
                for field, text in zip(fields, row["partition"], strict=True)
            ]
    show_rows(rows, columns)


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
    feed = session.table(table).changes(first, version_of(end), net=net)
    show_table(feed.to_arrow() if limit is None else feed.head(limit))
