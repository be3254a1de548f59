"""The commands ``convert`` and ``sync``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from versioned_catalog.cli.output import show_object
from versioned_catalog.cli.program import table_command
from versioned_catalog.cli.session import Session
from versioned_catalog.interop import interop

if TYPE_CHECKING:
    from versioned_catalog.conversion.convert import Synced


@table_command
@click.argument("source")
@click.option(
    "--format", "kind", type=click.Choice(["iceberg", "delta"]), help="Found out if omitted."
)
@click.option("--root-name", help="External root that holds the source; found out if omitted.")
@click.option(
    "--version", type=int, help="Snapshot ID of Iceberg or version of Delta; the newest if omitted."
)
@click.option("--copy", is_flag=True, help="Copy the rows of all files into the table.")
@click.option(
    "--primary-key", multiple=True, help="Column that identifies a row, for a copy; may repeat."
)
@click.option(
    "--deletes",
    type=click.Choice(["copy", "refuse"]),
    default="copy",
    show_default=True,
    help="What to do with files that have deleted rows.",
)
def convert(
    session: Session,
    table: str,
    source: str,
    kind: str | None,
    root_name: str | None,
    version: int | None,
    copy: bool,
    primary_key: tuple[str, ...],
    deletes: str,
) -> None:
    """Convert the Iceberg or Delta table at SOURCE in place, to the new TABLE.

    The files stay where they are, and their owner's. SOURCE is the table's folder, or an Iceberg
    metadata file. It must lie below an external root: see --root.
    """
    request = interop("Request")(source, kind, root_name, version)
    how = interop("Conversion")(copy, primary_key, deletes)
    found, done = session.catalog().convert_and_tell(table, request, how)
    _show(found.name, done)


@table_command
@click.option("--source", help="Where the source is now; where it was converted from if omitted.")
def sync(session: Session, table: str, source: str | None) -> None:
    """Follow what the source of the converted TABLE has committed since."""
    found = session.table(table)
    _show(found.name, found.sync(source))


def _show(name: str, done: Synced) -> None:
    roots = [f"--root {root}={url}" for root, url in sorted(done.roots.items())]
    show_object(
        {
            "table": name,
            "version": done.version,
            "source version": done.source_version,
            "files adopted": done.adopted,
            "files copied": done.copied,
            "files removed": done.removed,
            "schema changes": done.schemas,
            "not taken over": ", ".join(done.dropped) or None,
            "readers need": " ".join(roots),
        }
    )
