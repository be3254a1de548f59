"""The commands ``publish`` and ``unpublish``."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import show_object
from versioned_catalog.cli.program import table_command
from versioned_catalog.cli.session import Session


@table_command
@click.option(
    "--format-version",
    type=click.Choice(["2", "3"]),
    help="Of Iceberg. By default that of the last publication, at first 3.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Write all metadata again, also over what another engine wrote.",
)
def publish(session: Session, table: str, format_version: str | None, overwrite: bool) -> None:
    """Publish TABLE as Iceberg metadata beside its files, for other engines. No data is copied."""
    number = None if format_version is None else int(format_version)
    found = session.table(table)
    done = found.maintenance.publish(format_version=number, overwrite=overwrite)
    show_object(
        {
            "table": done.table,
            "version": done.version,
            "metadata": done.metadata,
            "format version": done.format_version,
            "snapshots": done.snapshots,
            "files written": done.files,
            "bytes written": done.bytes,
            "versions left out": done.left_out,
        }
    )


@table_command
def unpublish(session: Session, table: str) -> None:
    """Delete the published Iceberg metadata of TABLE. The table stays."""
    found = session.table(table)
    show_object({"table": found.name, "deleted files": found.maintenance.unpublish()})
