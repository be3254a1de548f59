"""Commands that take something back: rollback and undrop."""

from __future__ import annotations

from typing import Any

import click

from versioned_catalog.cli.output import printable, show_commit, show_json, show_rows, wants_json
from versioned_catalog.cli.program import Session, exactly_one, table_command, version_of


@table_command
@click.option(
    "--to", metavar="VERSION|TAG", help="Roll back to this version, or the one of this tag."
)
@click.option("--to-version", metavar="VERSION", type=int, help="Roll back to this version.")
@click.option(
    "--to-timestamp", metavar="TIME", help="Roll back to this time (UTC if it has no offset)."
)
@click.option("--to-tag", metavar="NAME", help="Roll back to the version with this tag.")
def rollback(
    session: Session,
    table: str,
    to: str | None,
    to_version: int | None,
    to_timestamp: str | None,
    to_tag: str | None,
) -> None:
    """Restore the rows, columns and properties of an earlier version of TABLE, in a new commit.

    Also of a version before the table was replaced. Acts at once; prints what else than rows is taken
    back, and versioned diff shows the rows.
    """
    exactly_one(
        {"--to": to, "--to-version": to_version, "--to-timestamp": to_timestamp, "--to-tag": to_tag}
    )
    match version_of(to):
        case int() as number:
            to_version = number
        case name if name is not None:
            to_tag = name
    loaded = session.table(table)
    before = loaded.version
    version = loaded.rollback(to_version, timestamp=to_timestamp, tag=to_tag)
    taken = () if version == before else loaded.differences(version - 1, version)
    if wants_json():
        lines = [str(difference) for difference in taken]
        show_json({"table": loaded.name, "version": version, "takes_back": lines})
        return
    show_commit(loaded.name, version)
    if version == before:
        click.echo("  nothing to take back")
        return
    click.echo(f"  rows are those of {_target(to_version, to_timestamp, to_tag)}")
    for difference in taken:
        click.echo(f"  {printable(str(difference))}")


def _target(version: int | None, timestamp: str | None, tag: str | None) -> str:
    if version is not None:
        return f"version {version}"
    return printable(f"the tag {tag}" if tag is not None else str(timestamp))


@table_command
@click.option("--uuid", help="Which of several tables that were dropped under the name.")
@click.option("--as", "new_name", metavar="NAME", help="Bring it back under another name.")
def undrop(session: Session, table: str, uuid: str | None, new_name: str | None) -> None:
    """Bring back TABLE, which was dropped: its name in the warehouse, or its folder.

    Until a vacuum deletes its files, which it does not do within 7 days unless it is forced.
    """
    from versioned_catalog.catalog import Catalog
    from versioned_catalog.model.table_text import is_folder

    if is_folder(table):
        if uuid is not None or new_name is not None:
            raise click.UsageError("--uuid and --as are for names; a folder has one table")
        undropped = Catalog.undrop_path(table, storage_options=session.storage)
    else:
        undropped = session.catalog().undrop(table, uuid=uuid, new_name=new_name)
    show_commit(undropped.name, undropped.version)


def show_dropped(session: Session, namespace: str | None) -> None:
    """List the dropped tables."""
    from versioned_catalog.model.type_text import render_path

    dropped = session.catalog().dropped_tables(namespace)
    rows: list[dict[str, Any]] = [
        {
            "table": render_path(table.name),
            "uuid": table.uuid,
            "dropped": table.dropped,
            "by": table.user,
            "undrop until": table.until,
        }
        for table in dropped
    ]
    show_rows(rows, ["table", "uuid", "dropped", "by", "undrop until"])
