"""The command ``clone``."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import show_object
from versioned_catalog.cli.program import Session, at_most_one, table_command, version_of
from versioned_catalog.cli.running import show_progress
from versioned_catalog.errors import InvalidRequestError


@table_command
@click.argument("source")
@click.option("--shallow", is_flag=True, help="Read the files of SOURCE instead of copying them.")
@click.option("--as-of", metavar="VERSION|TAG", help="Version of SOURCE; the newest by default.")
@click.option(
    "--timestamp", metavar="TIME", help="Version of SOURCE at this time (UTC if it has no offset)."
)
@click.option("--replace", is_flag=True, help="Replace a table of that name, with its history.")
@click.option("--if-not-exists", is_flag=True, help="Do nothing if there is a table of that name.")
@click.option(
    "--set", "properties", metavar="KEY=VALUE", multiple=True, help="Property to set; may repeat."
)
def clone(
    session: Session,
    table: str,
    source: str,
    shallow: bool,
    as_of: str | None,
    timestamp: str | None,
    replace: bool,
    if_not_exists: bool,
    properties: tuple[str, ...],
) -> None:
    """Create TABLE with the rows, columns, keys and properties of the table SOURCE.

    With --shallow, SOURCE keeps the files of the cloned version, and can't be dropped, as long as TABLE
    reads them.
    """
    at_most_one({"--as-of": as_of, "--timestamp": timestamp})
    pairs = [text.partition("=") for text in properties]
    if not all(equals for _, equals, _ in pairs):
        raise InvalidRequestError("--set takes KEY=VALUE", condition="INVALID_OPTION")
    with show_progress(
        "there is no clone unless tables lists it; run the command again"
    ) as progress:
        done = session.catalog().clone_and_tell(
            table,
            session.table(source),
            shallow=shallow,
            version=version_of(as_of),
            timestamp=timestamp,
            or_replace=replace,
            if_not_exists=if_not_exists,
            properties={key: value for key, _, value in pairs},
            progress=progress,
        )
    if done is None:
        show_object({"table": table, "cloned": "no, since there is a table"})
        return
    show_object(
        {
            "table": done.table.name,
            "version": done.table.version,
            "source": done.source,
            "source version": done.version,
            "kind": "shallow" if done.shallow else "deep",
            "source files": done.source_files,
            "source bytes": done.source_bytes,
            "files copied": done.copied_files,
            "bytes copied": done.copied_bytes,
            "files removed": done.removed_files,
            "bytes removed": done.removed_bytes,
        }
    )
