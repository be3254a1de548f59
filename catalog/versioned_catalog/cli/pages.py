"""The command ``page``: a table, or a whole warehouse, as HTML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.output import printable, show_json, wants_json
from versioned_catalog.cli.program import UNEXPECTED, Command, Session, all_option, exactly_one
from versioned_catalog.cli.running import show_progress
from versioned_catalog.storage.secrets import without_credentials
from versioned_catalog.storage.text import replace_file

if TYPE_CHECKING:
    from versioned_interop.pages.warehouse_page import WarehousePage


@click.command(cls=Command)
@click.argument("table", required=False)
@all_option
@click.option("--output", "-o", metavar="FILE", help="HTML file to write; it is replaced.")
@click.option(
    "--folder",
    metavar="FOLDER",
    help="Of --all: write index.html into this folder, with links to a page of each table.",
)
@click.pass_obj
def page(
    session: Session,
    table: str | None,
    warehouse: str | None,
    output: str | None,
    folder: str | None,
) -> None:
    """Write one HTML page about TABLE: columns over time, sizes and history. It loads nothing.

    With --all, about all tables of a warehouse: sizes, small segments, what keeps old versions, which
    maintenance is due, and what can be undropped. The exit code is 1 if a table failed; the page has
    its error.
    """
    exactly_one({"TABLE": table, "--all": warehouse})
    exactly_one({"--output": output, "--folder": folder})
    if warehouse is not None:
        _show_warehouse(session, warehouse, output, folder)
        return
    if output is None:
        raise click.UsageError("--folder is for --all; give --output FILE")
    loaded = session.table(str(table))
    size = _write(output, loaded.page())
    _show(output, {"table": without_credentials(loaded.name), "file": output, "bytes": size})


def _show_warehouse(
    session: Session, warehouse: str, output: str | None, folder: str | None
) -> None:
    other = session.of_all(warehouse)
    with show_progress("the same command starts again") as progress:
        if folder is None:
            done = other.catalog().page(progress=progress)
        else:
            done = _into_folder(other, folder, progress)
    file = str(Path(folder) / "index.html") if folder is not None else str(output)
    size = len(done.html.encode()) if folder is not None else _write(file, done.html)
    facts = {"warehouse": without_credentials(str(other.warehouse)), "file": file, "bytes": size}
    _show(file, {**facts, "tables": done.tables, "failed": done.failed})
    if done.failed:
        if not wants_json():
            click.echo(
                f"{done.failed} of {done.tables} tables have problems: see the page", err=True
            )
        click.get_current_context().exit(UNEXPECTED)


def _into_folder(session: Session, folder: str, progress: Any) -> WarehousePage:
    try:
        return session.catalog().write_pages(folder, progress=progress)
    except OSError as error:
        raise click.UsageError(f"{folder} can't be written: {error.strerror}") from error


def _write(file: str, html: str) -> int:
    """Write a page, and return its size."""
    text = html.encode()
    try:
        replace_file(Path(file), text)
    except OSError as error:
        raise click.UsageError(f"{file} can't be written: {error.strerror}") from error
    return len(text)


def _show(file: str, facts: dict[str, Any]) -> None:
    if wants_json():
        show_json(facts)
    else:
        click.echo(f"wrote {printable(file)}")
