"""The command ``export``: a whole version of a table as Parquet, Iceberg or Delta."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import show_object
from versioned_catalog.cli.program import Session, table_command, version_of
from versioned_catalog.cli.running import show_progress


@table_command
@click.option("--to", "folder", required=True, metavar="FOLDER", help="A new or an empty folder.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["parquet", "iceberg", "delta"]),
    default="parquet",
    show_default=True,
    help="What to write.",
)
@click.option(
    "--version", metavar="VERSION|TAG", help="Export this version; the newest if omitted."
)
@click.option(
    "--no-partition-folders",
    is_flag=True,
    help="No folders such as day=2026-01-31, of Parquet and Delta: the columns are in the files.",
)
def export(
    session: Session,
    table: str,
    folder: str,
    kind: str,
    version: str | None,
    no_partition_folders: bool,
) -> None:
    """Copy the rows of TABLE to a local folder, which then needs neither TABLE nor this program."""
    loaded = session.table(table)
    with show_progress("what was written was deleted; the same command starts again") as progress:
        done = loaded.export(
            folder,
            format=kind,
            version=version_of(version),
            partition_folders=not no_partition_folders,
            progress=progress,
        )
    show_object(
        {
            "table": done.table,
            "version": done.version,
            "format": done.format,
            "folder": done.folder,
            "rows": done.rows,
            "files": done.files,
            "bytes": done.bytes,
            "left out": list(done.left_out),
        }
    )
