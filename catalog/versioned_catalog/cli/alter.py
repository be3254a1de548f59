"""The commands ``alter`` and ``pin``: change a table's schema, and declare who uses an earlier one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from versioned_catalog.cli.output import show_commit, show_object, show_table, warn
from versioned_catalog.cli.program import Group, Session, at_most_one, exactly_one

if TYPE_CHECKING:
    from versioned_catalog.alteration import Alteration
    from versioned_catalog.table import Table

Change = Callable[["Table"], "Alteration"]
"""Return value of each subcommand; the group applies it to the table and commits."""

_path = click.argument("path")
_first = click.option("--first", is_flag=True, help="Place it first among its siblings.")
_after = click.option("--after", metavar="NAME", help="Place it after this sibling.")


@click.group(cls=Group)
@click.argument("table")
def alter(table: str) -> None:
    """Change the schema or a property of TABLE without rewriting data.

    PATH is a column, such as host, or a nested field, such as address.zip or tags.element.name.
    VALUE is an SQL constant: 5, "'text'", "DATE '2026-01-31'", NULL.
    """


@alter.result_callback()
@click.pass_obj
def commit(session: Session, change: Change, table: str) -> None:
    """Commit the change, and warn about the views that it breaks."""
    loaded = session.table(table)
    broken = session.view_problems(table)
    before = loaded.state.schema.visible
    show_commit(loaded.name, change(loaded).commit())
    for column in loaded.state.hidden_columns:
        if column.column_id in before.ids:
            dropped = before.path_text(column.column_id)
            warn(
                f"{dropped} {column.reason}; it is dropped for good when no pin needs it any more",
                "note",
            )
    for text in session.view_problems(table):
        if text not in broken:
            warn(text)


@alter.command()
@_path
@click.argument("type_", metavar="TYPE")
@click.option(
    "--default",
    metavar="VALUE",
    help="Value of existing rows, and of new rows that omit the column.",
)
@click.option("--not-null", is_flag=True, help="Forbid nulls; requires --default.")
@click.option("--comment", metavar="TEXT", help="Comment of the column.")
@_first
@_after
def add(
    path: str,
    type_: str,
    default: str | None,
    not_null: bool,
    comment: str | None,
    first: bool,
    after: str | None,
) -> Change:
    """Add a column or nested field of TYPE, such as "DECIMAL(10,2)"."""
    at_most_one({"--first": first, "--after": after})

    def change(table: Table) -> Alteration:
        from versioned_catalog.model.changes import UNSET
        from versioned_catalog.model.ddl import parse_type
        from versioned_catalog.model.sql_literals import constant_from_sql

        parsed = parse_type(type_)
        value = UNSET if default is None else constant_from_sql(default, parsed)
        return table.alter().add_column(
            path,
            parsed,
            default=value,
            nullable=not not_null,
            comment=comment,
            first=first,
            after=after,
        )

    return change


@alter.command()
@_path
def drop(path: str) -> Change:
    """Drop a column. A new column of the same name does not bring its values back."""
    return lambda table: table.alter().drop_column(path)


@alter.command()
@_path
@click.argument("new_name")
def rename(path: str, new_name: str) -> Change:
    """Rename a column."""
    return lambda table: table.alter().rename_column(path, new_name)


@alter.command("type")
@_path
@click.argument("type_", metavar="TYPE")
def change_type(path: str, type_: str) -> Change:
    """Widen the type of a column."""
    return lambda table: table.alter().change_type(path, type_)


@alter.command()
@_path
@click.argument("type_", metavar="TYPE")
def narrow(path: str, type_: str) -> Change:
    """Narrow the type of a column; refused if a value does not fit."""
    return lambda table: table.alter().narrow(path, type_)


@alter.command()
@_path
@_first
@_after
def move(path: str, first: bool, after: str | None) -> Change:
    """Move a column to the first place, or after a sibling."""
    exactly_one({"--first": first, "--after": after})
    return lambda table: table.alter().move_column(path, first=first, after=after)


@alter.command()
@_path
def set_not_null(path: str) -> Change:
    """Forbid nulls in a column; refused if it holds any."""
    return lambda table: table.alter().set_not_null(path)


@alter.command()
@_path
def drop_not_null(path: str) -> Change:
    """Allow nulls in a column."""
    return lambda table: table.alter().drop_not_null(path)


# Options are not parsed here, since a value may start with a minus sign.
@alter.command(context_settings={"ignore_unknown_options": True})
@_path
@click.argument("value")
def set_default(path: str, value: str) -> Change:
    """Set the value of new rows that omit the column. Existing rows do not change."""

    def change(table: Table) -> Alteration:
        from versioned_catalog.model.sql_literals import constant_from_sql
        from versioned_catalog.model.type_text import parse_path

        type_ = table.schema.get(parse_path(path)).type
        return table.alter().set_default(path, constant_from_sql(value, type_))

    return change


@alter.command()
@_path
def drop_default(path: str) -> Change:
    """Remove the write default: new rows that omit the column get null."""
    return lambda table: table.alter().drop_default(path)


@alter.command()
@_path
@click.argument("text", required=False)
def comment(path: str, text: str | None) -> Change:
    """Set the comment of a column; without TEXT, remove it."""
    return lambda table: table.alter().set_comment(path, text)


@alter.command()
@click.argument("key")
@click.argument("value")
def set_property(key: str, value: str) -> Change:
    """Set a property of the table."""
    return lambda table: table.alter().set_property(key, value)


@alter.command()
@click.argument("key")
def unset_property(key: str) -> Change:
    """Remove a property of the table."""
    return lambda table: table.alter().unset_property(key)


@alter.command()
@click.argument("name")
@click.argument("condition")
def add_check(name: str, condition: str) -> Change:
    """Add a CHECK constraint: no row makes CONDITION false, such as 'usage >= 0'."""
    return lambda table: table.alter().add_check(name, condition)


@alter.command()
@click.argument("name")
def drop_check(name: str) -> Change:
    """Drop a CHECK constraint."""
    return lambda table: table.alter().drop_check(name)


@alter.command()
@click.argument("fields", nargs=-1)
def partition_by(fields: tuple[str, ...]) -> Change:
    """Partition new data by FIELDS, such as days(ts); without FIELDS, stop partitioning."""
    return lambda table: table.alter().set_partitioning(fields)


_table = click.argument("table")
_label = click.argument("label")

_COLUMNS = [
    *("label", "schema_version", "owner", "until", "needs_hidden", "writes", "last_version"),
    "retired_version",
]


@click.group(cls=Group)
def pin() -> None:
    """List, set and retire schema pins: jobs that use an earlier schema of a table."""


@pin.command("list")
@_table
@click.pass_obj
def list_pins(session: Session, table: str) -> None:
    """List the pins of TABLE, those that were retired, and the schemas through which others wrote."""
    show_table(session.table(table).inspect.schema_pins(), _COLUMNS)


@pin.command("set")
@_table
@_label
@click.option(
    "--schema-version",
    type=int,
    help="Schema version to pin; the current one by default, for a new pin.",
)
@click.option("--owner", help="Whom to ask about the job.")
@click.option("--until", metavar="DATE", help="When the job will have moved on.")
@click.pass_obj
def set_pin(
    session: Session,
    table: str,
    label: str,
    schema_version: int | None,
    owner: str | None,
    until: str | None,
) -> None:
    """Pin a schema version of TABLE under LABEL; of an existing pin, only what is given changes."""
    loaded = session.table(table)
    version = loaded.pin_schema(label, schema_version, owner=owner, until=until)
    show_commit(loaded.name, version)
    pinned, current = loaded.state.pins[label].schema_version, loaded.state.schema_version
    if schema_version is None and pinned != current:
        warn(
            f"{label} stays on schema {pinned}, and the current one is {current}; "
            f"--schema-version {current} moves it",
            "note",
        )


@pin.command("retire")
@_table
@_label
@click.option("--dry-run", is_flag=True, help="Only show what would be dropped.")
@click.pass_obj
def retire_pin(session: Session, table: str, label: str, dry_run: bool) -> None:
    """Remove the pin LABEL, and drop the hidden columns that no other pin needs."""
    loaded = session.table(table)
    done = loaded.retire_schema(label, dry_run=dry_run)
    show_object(
        {
            "table": loaded.name,
            "version": done.version,
            "dropped": list(done.dropped),
            "segments": done.segments,
            "rows": done.rows,
        }
    )
