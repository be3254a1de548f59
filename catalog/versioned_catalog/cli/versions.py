"""Versions of a table: ``rollback`` and ``tag``."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import show_commit, show_rows
from versioned_catalog.cli.program import Command, Group
from versioned_catalog.cli.session import Session
from versioned_catalog.cli.usage import exactly_one

_table = click.argument("table")
_name = click.argument("name")


def version_of(text: str | None) -> int | str | None:
    """A version from digits; other text is the name of a tag, which can't be digits alone."""
    from versioned_catalog.conflicts.tags import version_or_tag

    return None if text is None else version_or_tag(text)


@click.command(cls=Command)
@_table
@click.option("--to-version", metavar="VERSION", type=int, help="To this version.")
@click.option("--to-timestamp", metavar="TIME", help="To this time; without an offset it is UTC.")
@click.option("--to-tag", metavar="NAME", help="To the version that this tag names.")
@click.pass_obj
def rollback(
    session: Session,
    table: str,
    to_version: int | None,
    to_timestamp: str | None,
    to_tag: str | None,
) -> None:
    """Make TABLE what it was: rows, columns, properties. A commit of its own; nothing is lost."""
    exactly_one({"--to-version": to_version, "--to-timestamp": to_timestamp, "--to-tag": to_tag})
    found = session.table(table)
    show_commit(found.name, found.rollback(to_version, timestamp=to_timestamp, tag=to_tag))


@click.group(cls=Group)
def tag() -> None:
    """List, set and drop names of versions."""


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
@click.option("--version", type=int, help="Which version; the newest without it.")
@click.pass_obj
def set_tag(session: Session, table: str, name: str, version: int | None) -> None:
    """Let NAME mean a version of TABLE, whatever it meant before."""
    found = session.table(table)
    show_commit(found.name, found.set_tag(name, version))


@tag.command("drop")
@_table
@_name
@click.pass_obj
def drop_tag(session: Session, table: str, name: str) -> None:
    """Take NAME away; its version stays."""
    found = session.table(table)
    show_commit(found.name, found.drop_tag(name))


COMMANDS = (rollback, tag)
