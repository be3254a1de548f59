"""The commands ``import``, ``convert`` and ``sync``: tables from files of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.create import create_namespaces, naming_parents
from versioned_catalog.cli.output import show_object
from versioned_catalog.cli.program import Command, Session, is_folder, table_command
from versioned_catalog.cli.running import show_progress
from versioned_catalog.interop import interop
from versioned_catalog.storage.secrets import without_credentials

if TYPE_CHECKING:
    from versioned_interop.convert.convert import Synced
    from versioned_interop.imports.import_files import Imported


@click.command("import", cls=Command)
@click.argument("table")
@click.argument("source")
@click.option(
    "--copy", is_flag=True, help="Copy the rows; ORC, Avro, CSV and JSON are always copied."
)
@click.option(
    "--format", help="parquet, orc, avro, csv or json; by the names of the files if omitted."
)
@click.option(
    "--schema", metavar="DDL|FILE.sql", help="Provided schema: what is known of the files."
)
@click.option("--strict/--no-strict", default=None, help="Take only the columns of --schema.")
@click.option("--alias", "aliases", metavar="OLD=NEW", multiple=True, help="New name of a column.")
@click.option("--exclude", metavar="COLUMN", multiple=True, help="Column to leave out.")
@click.option("--evolve", is_flag=True, help="Let the table get new columns and wider types.")
@click.option(
    "--path-columns/--no-path-columns", default=None, help="Columns from name=value in paths."
)
@click.option(
    "--dir-columns",
    metavar="NAMES",
    help="Columns from other folders: names, or true for dir0, dir1, and so on.",
)
@click.option(
    "--file-columns",
    metavar="NAMES",
    help="Columns from file_name, file_path, file_modification_time or file_size.",
)
@click.option(
    "--binary-as-string/--no-binary-as-string",
    default=None,
    help="Binaries without annotation are text.",
)
@click.option("--nanoseconds", help="refuse, the default, or truncate digits below a microsecond.")
@click.option("--delimiter", help="Between the values of CSV.")
@click.option("--header/--no-header", default=None, help="Whether CSV begins with the names.")
@click.option("--null", multiple=True, help="Text of null in CSV; may repeat.")
@click.option("--quote", help="Around values of CSV; empty if there are no quotes.")
@click.option("--escape", help="Before a character of CSV that stands for itself.")
@click.option("--decimal", help="Before the fraction of a number in CSV.")
@click.option("--thousands", help="Between groups of three digits in CSV.")
@click.option("--skip-lines", type=int, help="Lines of CSV before the header.")
@click.option("--encoding", help="Encoding of CSV and JSON; utf-8 if omitted.")
@click.option("--date-format", help="How dates are written in CSV and JSON, as in dd.MM.yyyy.")
@click.option("--timestamp-format", help="How timestamps are written in CSV and JSON.")
@click.option(
    "--kept",
    type=click.Choice(["use", "ignore", "forget"]),
    default="use",
    help="What to do with the options of earlier imports.",
)
@click.option(
    "--again", help="changed or all: import known files again that have changed, or all of them."
)
@click.option("--skip-unreadable", is_flag=True, help="Leave out files that can't be read.")
@click.option("--parents", is_flag=True, help="Create the namespaces that are missing.")
@click.pass_obj
def import_(
    session: Session,
    /,
    table: str,
    source: str,
    aliases: tuple[str, ...],
    exclude: tuple[str, ...],
    null: tuple[str, ...],
    parents: bool,
    **options: Any,
) -> None:
    """Import the files in SOURCE, a folder, file or pattern, into TABLE, which is created if need be.

    Parquet files stay where they are, below a --root. A second call imports what is new.
    """
    options |= {
        "aliases": interop("parse_aliases")(", ".join(aliases)) if aliases else None,
        "exclude": [name for name in exclude if name] if exclude else None,
        "null": null or None,
        "dialect": interop("Dialect").CLI,
    }
    with show_progress(
        "what was imported stays, and the same command imports the rest"
    ) as progress:
        if is_folder(table):
            if parents:
                raise click.UsageError("--parents is for names; TABLE is a folder")
            imported = session.table(table).import_files(source, progress=progress, **options)
        else:
            catalog = session.catalog()
            if parents:
                create_namespaces(catalog, table)
            with naming_parents():
                imported = catalog.import_files(table, source, progress=progress, **options)
    _show_import(session, table, imported)


def _show_import(session: Session, table: str, imported: Imported) -> None:
    show_object(
        {
            "table": table,
            "version": imported.version,
            "files": imported.files,
            "rows": imported.rows,
            "known": imported.known,
            "changed": list(imported.changed),
            "missing": list(imported.missing),
            "unreadable": [f"{file.path}: {file.reason}" for file in imported.unreadable],
            "options used": list(imported.options_used),
            "options kept": list(imported.options_kept),
            "readers need": _roots_text(session.table(table).state.roots),
        }
    )


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
@click.option("--parents", is_flag=True, help="Create the namespaces that are missing.")
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
    parents: bool,
) -> None:
    """Convert the Iceberg or Delta table at SOURCE in place, to the new TABLE.

    The files stay where they are, and their owner's. SOURCE is the table's folder, or an Iceberg
    metadata file. It must lie below an external root: see --root.
    """
    request = interop("Request")(source, kind, root_name, version)
    conversion = interop("Conversion")(copy, primary_key, deletes)
    catalog = session.catalog()
    if parents:
        create_namespaces(catalog, table)
    with show_progress("the same command goes on") as progress, naming_parents():
        loaded, done = catalog.convert_and_tell(table, request, conversion, progress=progress)
    _show_sync(loaded.name, done)


@table_command
@click.option("--source", help="Where the source is now; where it was converted from if omitted.")
def sync(session: Session, table: str, source: str | None) -> None:
    """Follow what the source of the converted TABLE has committed since."""
    loaded = session.table(table)
    with show_progress("what was committed stays, and the same command goes on") as progress:
        done = loaded.sync(source, progress=progress)
    _show_sync(loaded.name, done)


def _show_sync(name: str, done: Synced) -> None:
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
            "readers need": _roots_text(done.roots),
        }
    )


def _roots_text(roots: Mapping[str, str]) -> str:
    """The options that readers of a table pass; without credentials."""
    shown = ((name, without_credentials(url)) for name, url in sorted(roots.items()))
    return " ".join(f"--root {name}={url}" for name, url in shown)
