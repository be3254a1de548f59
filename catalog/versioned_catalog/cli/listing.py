"""Commands that list a warehouse: ``namespaces``, ``tables`` and ``views``."""

from __future__ import annotations

import click

from versioned_catalog.cli.output import show_rows
from versioned_catalog.cli.program import Command
from versioned_catalog.cli.session import Session


@click.command(cls=Command)
@click.argument("parent", required=False)
@click.pass_obj
def namespaces(session: Session, parent: str | None) -> None:
    """List the namespaces in PARENT, or the top-level ones."""
    found = session.catalog().list_namespaces(parent)
    if not found:
        session.check_warehouse()
    show_rows([{"namespace": name} for name in found], ["namespace"])


@click.command(cls=Command)
@click.argument("namespace", required=False)
@click.pass_obj
def tables(session: Session, namespace: str | None) -> None:
    """List the tables in NAMESPACE, or the top-level ones, by their full names."""
    from versioned_catalog.types.paths import parse_path, render_path

    names = session.catalog().list_tables(namespace)
    if not names:
        session.check_warehouse()
    above = parse_path(namespace) if namespace else ()
    show_rows([{"table": render_path((*above, name))} for name in names], ["table"])


@click.command(cls=Command)
@click.option("--broken", is_flag=True, help="List only columns that a view can no longer read.")
@click.pass_obj
def views(session: Session, broken: bool) -> None:
    """List the views, the table columns that each one reads, and any problem with them."""
    from versioned_catalog.inspection.arrow_rows import rows_of

    rows = rows_of(session.catalog().views())
    if not rows:
        session.check_warehouse()
    shown = [row for row in rows if row["problem"] is not None or not broken]
    show_rows(shown, ["view", "reads", "column", "column_id", "problem"])
