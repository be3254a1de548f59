"""Commands about branches."""

from __future__ import annotations

from datetime import timedelta

import click

from versioned_catalog.cli.output import hours_of, show_commit, show_rows
from versioned_catalog.cli.program import Group, Session

_table = click.argument("table")
_name = click.argument("name")


@click.group(cls=Group)
def branch() -> None:
    """List, create, merge and drop branches, which are written and altered apart from the table."""


@branch.command("list")
@_table
@click.pass_obj
def list_branches(session: Session, table: str) -> None:
    """List the branches of TABLE, and what each would bring."""
    loaded = session.table(table)
    rows = []
    for name in sorted(loaded.branches):
        registered, on_branch = loaded.branches[name], loaded.branch(name)
        rows.append(
            {
                "branch": name,
                "begins_at": registered.base,
                "version": on_branch.version,
                "merged": None if registered.merged is None else registered.merged[0],
                "keep_hours": hours_of(registered.keep),
            }
        )
    show_rows(rows, ["branch", "begins_at", "version", "merged", "keep_hours"])


@branch.command("create")
@_table
@_name
@click.option("--version", type=int, help="Version that it begins at; the newest by default.")
@click.option(
    "--keep-hours",
    metavar="HOURS",
    type=float,
    help="Let expire drop it after so long without a commit.",
)
@click.option("--replace", is_flag=True, help="Let a branch of that name begin anew.")
@click.pass_obj
def create_branch(
    session: Session,
    table: str,
    name: str,
    version: int | None,
    keep_hours: float | None,
    replace: bool,
) -> None:
    """Begin the branch NAME of TABLE; no data is copied."""
    loaded = session.table(table)
    keep = None if keep_hours is None else timedelta(hours=keep_hours)
    show_commit(loaded.name, loaded.create_branch(name, version, keep=keep, replace=replace))


@branch.command("merge")
@_table
@_name
@click.option("--fast-forward", is_flag=True, help="Refuse if the table has changed meanwhile.")
@click.pass_obj
def merge_branch(session: Session, table: str, name: str, fast_forward: bool) -> None:
    """Take over what the branch NAME has changed, rows and columns, in one commit of TABLE."""
    loaded = session.table(table)
    show_commit(loaded.name, loaded.merge_branch(name, fast_forward=fast_forward))


@branch.command("drop")
@_table
@_name
@click.pass_obj
def drop_branch(session: Session, table: str, name: str) -> None:
    """Drop the branch NAME with what was not merged."""
    loaded = session.table(table)
    show_commit(loaded.name, loaded.drop_branch(name))
