"""The command ``consumers``: readers whose unread versions expiry keeps."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import show_commit, show_table
from versioned_catalog.cli.program import table_command
from versioned_catalog.cli.session import Session

_COLUMNS = [
    "name",
    "version",
    "versions_behind",
    "rows_behind",
    "unread_since",
    "kept_until",
    "lapsed",
]


@table_command
@click.option("--move", metavar="NAME", help="Say instead how far this consumer has read.")
@click.option("--version", type=int, help="The version that it has read; the newest by default.")
@click.option("--drop", metavar="NAME", help="Remove this consumer instead.")
def consumers(
    session: Session, table: str, move: str | None, version: int | None, drop: str | None
) -> None:
    """List the consumers of TABLE, whose unread versions expiry keeps, and how far behind each is."""
    found = session.table(table)
    if move is not None:
        show_commit(found.name, found.move_consumer(move, version))
        return
    if drop is not None:
        show_commit(found.name, found.drop_consumer(drop))
        return
    show_table(found.inspect.consumers(), _COLUMNS)
