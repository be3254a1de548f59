"""The command ``pin``: declare that jobs use earlier schemas of a table."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import printable, show_commit, show_object, show_table
from versioned_catalog.cli.program import Group
from versioned_catalog.cli.session import Session

_table = click.argument("table")
_label = click.argument("label")

_COLUMNS = ["label", "schema_version", "owner", "until", "needs_hidden", "writes", "last_version"]


@click.group(cls=Group)
def pin() -> None:
    """List, set and retire schema pins: jobs that use an earlier schema of a table."""


@pin.command("list")
@_table
@click.pass_obj
def list_pins(session: Session, table: str) -> None:
    """List the pins of TABLE, and the schemas through which others wrote."""
    show_table(session.table(table).inspect.schema_pins(), _COLUMNS)


@pin.command("set")
@_table
@_label
@click.option(
    "--schema-version",
    type=int,
    help="Schema version to pin; the current one by default, for a new pin.",
)
@click.option("--owner", help="Whom to ask about the job.")
@click.option("--until", metavar="DATE", help="When the job will have moved on.")
@click.pass_obj
def set_pin(
    session: Session,
    table: str,
    label: str,
    schema_version: int | None,
    owner: str | None,
    until: str | None,
) -> None:
    """Pin a schema version of TABLE under LABEL; of an existing pin, only what is given changes."""
    found = session.table(table)
    version = found.pin_schema(label, schema_version, owner=owner, until=until)
    show_commit(found.name, version)
    pinned, current = found.state.pins[label].schema_version, found.state.schema_version
    if schema_version is None and pinned != current:
        click.echo(
            f"note: {printable(label)} stays on schema {pinned}, and the current one is {current}; "
            f"--schema-version {current} moves it",
            err=True,
        )


@pin.command("retire")
@_table
@_label
@click.option("--dry-run", is_flag=True, help="Only show what would be dropped.")
@click.pass_obj
def retire_pin(session: Session, table: str, label: str, dry_run: bool) -> None:
    """Remove the pin LABEL, and drop the hidden columns that no other pin needs."""
    found = session.table(table)
    done = found.retire_schema(label, dry_run=dry_run)
    show_object(
        {
            "table": found.name,
            "version": done.version,
            "dropped": list(done.dropped),
            "segments": done.segments,
            "rows": done.rows,
        }
    )
