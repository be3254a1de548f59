"""The command ``import``: take files of somebody else into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.maintenance import show_progress
from versioned_catalog.cli.output import show_object
from versioned_catalog.cli.program import Command
from versioned_catalog.cli.session import Session, is_folder
from versioned_catalog.interop import interop

if TYPE_CHECKING:
    from versioned_catalog.importing.import_files import Imported


@click.command("import", cls=Command)
@click.argument("table")
@click.argument("source")
@click.option("--copy", is_flag=True, help="Copy the rows; ORC, CSV and JSON are always copied.")
@click.option("--format", help="parquet, orc, csv or json; by the names of the files if omitted.")
@click.option(
    "--schema", metavar="DDL|FILE.sql", help="Provided schema: what is known of the files."
)
@click.option("--strict", is_flag=True, default=None, help="Take only the columns of --schema.")
@click.option("--alias", "aliases", metavar="OLD=NEW", multiple=True, help="New name of a column.")
@click.option("--exclude", metavar="COLUMN", multiple=True, help="Column to leave out.")
@click.option("--evolve", is_flag=True, help="Let the table get new columns and wider types.")
@click.option("--no-path-columns", is_flag=True, help="Take no columns from name=value in paths.")
@click.option("--binary-as-string", is_flag=True, help="Binaries without annotation are text.")
@click.option(
    "--nanoseconds", help="refuse or truncate digits below a microsecond.", default="refuse"
)
@click.option("--delimiter", help="Between the values of CSV.")
@click.option("--no-header", is_flag=True, help="The first line of CSV is a row.")
@click.option("--null", default="", help="The text of null in CSV.")
@click.option(
    "--again", help="changed or all: import known files again that have changed, or all of them."
)
@click.option("--skip-unreadable", is_flag=True, help="Leave out files that can't be read.")
@click.pass_obj
def import_(
    session: Session,
    /,
    table: str,
    source: str,
    aliases: tuple[str, ...],
    no_path_columns: bool,
    no_header: bool,
    **options: Any,
) -> None:
    """Import the files in SOURCE, a folder, file or pattern, into TABLE, which is created if need be.

    Parquet files stay where they are, below a --root. A second call imports what is new.
    """
    options |= {
        "aliases": interop("parse_aliases")(", ".join(aliases)),
        "path_columns": not no_path_columns,
        "header": not no_header,
        "dialect": interop("Dialect").CLI,
    }
    with show_progress() as progress:
        into = session.table(table) if is_folder(table) else None
        if into is not None:
            found = into.import_files(source, progress=progress, **options)
        else:
            found = session.catalog().import_files(table, source, progress=progress, **options)
    _show(table, found)


def _show(table: str, found: Imported) -> None:
    show_object(
        {
            "table": table,
            "version": found.version,
            "files": found.files,
            "rows": found.rows,
            "known": found.known,
            "changed": list(found.changed),
            "missing": list(found.missing),
            "unreadable": [f"{one.path}: {one.reason}" for one in found.unreadable],
        }
    )
