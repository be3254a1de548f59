"""Changing a table's schema and properties: ``alter``. Each run is one commit of metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from versioned_catalog.cli.escaping import printable
from versioned_catalog.cli.output import show_commit
from versioned_catalog.cli.program import Group
from versioned_catalog.cli.session import Session
from versioned_catalog.cli.usage import at_most_one, exactly_one

if TYPE_CHECKING:
    from versioned_catalog.alteration import Alteration
    from versioned_catalog.table import Table

Change = Callable[["Table"], "Alteration"]
"""What each command gives back; the group carries it out."""

_path = click.argument("path")
_first = click.option("--first", is_flag=True, help="Before all its siblings.")
_after = click.option("--after", metavar="NAME", help="After the sibling of this name.")


@click.group(cls=Group)
@click.argument("table")
def alter(table: str) -> None:
    """Change the schema or a property of TABLE; rewrites no data.

    A PATH is a column, as host, or a nested field: address.zip, tags.element.name. A VALUE is a
    constant as SQL writes it: 5, "'text'", "DATE '2026-01-31'", NULL.
    """


@alter.result_callback()
@click.pass_obj
def commit(session: Session, change: Change, table: str) -> None:
    """Carry out what a command gave."""
    found = session.table(table)
    broken = session.view_problems(table)
    show_commit(found.name, change(found).commit())
    for text in session.view_problems(table):
        if text not in broken:
            click.echo(f"warning: {printable(text)}", err=True)


@alter.command()
@_path
@click.argument("type_", metavar="TYPE")
@click.option("--default", metavar="VALUE", help="What old rows show, and new ones without it.")
@click.option("--not-null", is_flag=True, help="Forbid nulls; needs a default.")
@click.option("--comment", metavar="TEXT", help="For people.")
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
    """Add a column or nested field of TYPE, as "DECIMAL(10,2)"."""
    at_most_one({"--first": first, "--after": after})

    def change(table: Table) -> Alteration:
        from versioned_catalog.evolution.changes import UNSET
        from versioned_catalog.schema.ddl import parse_type
        from versioned_catalog.values.literals import constant_from_sql

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
    """Drop a column. Its values never come back, even under its name."""
    return lambda table: table.alter().drop_column(path)


@alter.command()
@_path
@click.argument("new_name")
def rename(path: str, new_name: str) -> Change:
    """Give a column another name."""
    return lambda table: table.alter().rename_column(path, new_name)


@alter.command("type")
@_path
@click.argument("type_", metavar="TYPE")
def change_type(path: str, type_: str) -> Change:
    """Widen the type of a column."""
    return lambda table: table.alter().change_type(path, type_)


@alter.command()
@_path
@_first
@_after
def move(path: str, first: bool, after: str | None) -> Change:
    """Put a column before all its siblings, or after one."""
    exactly_one({"--first": first, "--after": after})
    return lambda table: table.alter().move_column(path, first=first, after=after)


@alter.command()
@_path
def set_not_null(path: str) -> Change:
    """Forbid nulls in a column that holds none."""
    return lambda table: table.alter().set_not_null(path)


@alter.command()
@_path
def drop_not_null(path: str) -> Change:
    """Allow nulls in a column."""
    return lambda table: table.alter().drop_not_null(path)


# A value may begin with a minus.
@alter.command(context_settings={"ignore_unknown_options": True})
@_path
@click.argument("value")
def set_default(path: str, value: str) -> Change:
    """Set what writers store that leave the column out; rows that are there stay as they are."""

    def change(table: Table) -> Alteration:
        from versioned_catalog.types.paths import parse_path
        from versioned_catalog.values.literals import constant_from_sql

        type_ = table.schema.get(parse_path(path)).type
        return table.alter().set_default(path, constant_from_sql(value, type_))

    return change


@alter.command()
@_path
def drop_default(path: str) -> Change:
    """Let writers that leave the column out store null again."""
    return lambda table: table.alter().drop_default(path)


@alter.command()
@_path
@click.argument("text", required=False)
def comment(path: str, text: str | None) -> Change:
    """Set the comment of a column; without TEXT, take it away."""
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
    """Take a property of the table away."""
    return lambda table: table.alter().unset_property(key)


@alter.command()
@click.argument("fields", nargs=-1)
def partition_by(fields: tuple[str, ...]) -> Change:
    """Partition what is written from now on by FIELDS, as days(ts); by nothing without any."""
    return lambda table: table.alter().set_partitioning(fields)


COMMANDS = (alter,)
