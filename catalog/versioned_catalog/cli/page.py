"""The command ``page``: a table as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from versioned_catalog.cli.output import printable, show_json, wants_json
from versioned_catalog.cli.program import table_command
from versioned_catalog.cli.session import Session
from versioned_catalog.storage.credentials import without_credentials


@table_command
@click.option(
    "--output", "-o", metavar="FILE", required=True, help="HTML file to write; it is replaced."
)
def page(session: Session, table: str, output: str) -> None:
    """Write one HTML page about TABLE: columns over time, sizes and history. It loads nothing."""
    found = session.table(table)
    text = found.page().encode()
    try:
        Path(output).write_bytes(text)
    except OSError as error:
        raise click.UsageError(f"{output} can't be written: {error.strerror}") from error
    if wants_json():
        show_json({"table": without_credentials(found.name), "file": output, "bytes": len(text)})
    else:
        click.echo(f"wrote {printable(output)}")
