"""Commands about versions of a table: ``rollback`` and ``tag``."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import show_commit, show_rows
from versioned_catalog.cli.program import Group, exactly_one, table_command
from versioned_catalog.cli.session import Session

_table = click.argument("table")
_name = click.argument("name")


def version_of(text: str | None) -> int | str | None:
    """Parse a version number or a tag; a tag never consists of digits alone."""
    from versioned_catalog.conflicts.versions import version_or_tag

    return None if text is None else version_or_tag(text)


@table_command
@click.option("--to-version", metavar="VERSION", type=int, help="Roll back to this version.")
@click.option(
    "--to-timestamp", metavar="TIME", help="Roll back to this time (UTC if it has no offset)."
)
@click.option("--to-tag", metavar="NAME", help="Roll back to the version with this tag.")
def rollback(
    session: Session,
    table: str,
    to_version: int | None,
    to_timestamp: str | None,
    to_tag: str | None,
) -> None:
    """Restore the rows, columns and properties of an earlier version of TABLE, in a new commit."""
    exactly_one({"--to-version": to_version, "--to-timestamp": to_timestamp, "--to-tag": to_tag})
    found = session.table(table)
    show_commit(found.name, found.rollback(to_version, timestamp=to_timestamp, tag=to_tag))


@click.group(cls=Group)
def tag() -> None:
    """List, set and drop tags, which are names of versions."""


@tag.command("list")
@_table
@click.pass_obj
def list_tags(session: Session, table: str) -> None:
    """List the tags of TABLE."""
    tags = session.table(table).tags
    show_rows([{"tag": name, "version": tags[name]} for name in sorted(tags)], ["tag", "version"])


@tag.command("set")
@_table
@_name
@click.option("--version", type=int, help="Version to tag; the newest by default.")
@click.pass_obj
def set_tag(session: Session, table: str, name: str, version: int | None) -> None:
    """Set the tag NAME to a version of TABLE; an existing tag moves."""
    found = session.table(table)
    show_commit(found.name, found.set_tag(name, version))


@tag.command("drop")
@_table
@_name
@click.pass_obj
def drop_tag(session: Session, table: str, name: str) -> None:
    """Drop the tag NAME; the version itself stays."""
    found = session.table(table)
    show_commit(found.name, found.drop_tag(name))
