"""The commands ``ddl``, ``plan`` and ``apply``: schemas in files, for git and CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from versioned_catalog.cli.output import printable, show_json, wants_json, warn
from versioned_catalog.cli.program import PLANNED, Command, Session

if TYPE_CHECKING:
    from versioned_catalog.cli.schema_files import FilePlan

_allow_drop = click.option(
    "--allow-drop",
    metavar="NAME",
    multiple=True,
    help="Column that may be dropped with its values, such as note or db.t.note, or 'ttl = 7 days' if "
    "that may hide rows; may be repeated.",
)


@click.command(cls=Command)
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option("--ids", is_flag=True, help="Add a comment with the column ID to each line.")
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Write one file a table, such as FOLDER/db/t.sql, always with IDs.",
)
@click.pass_obj
def ddl(session: Session, tables: tuple[str, ...], ids: bool, out: Path | None) -> None:
    """Print the CREATE TABLE statement of each TABLE; of all tables if none is given."""
    from versioned_catalog.cli import schema_files

    names = tables or tuple(schema_files.all_tables(session.catalog()))
    loaded = [session.table(name) for name in names]
    if out is not None:
        files = [(schema_files.path_of(out, table.name), table) for table in loaded]
        for file, table in files:
            schema_files.write(file, table)
    if wants_json():
        show_json([{"table": table.name, "ddl": table.ddl(ids)} for table in loaded])
    elif out is None:
        click.echo("\n".join(table.ddl(ids) for table in loaded), nl=False)


@click.command(cls=Command)
@click.argument("source", metavar="FOLDER", type=click.Path(path_type=Path))
@_allow_drop
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the plan to a JSON file, for apply.",
)
@click.option("--sql", is_flag=True, help="Also print the SQL of each change.")
@click.pass_obj
@click.pass_context
def plan(
    context: click.Context,
    session: Session,
    source: Path,
    allow_drop: tuple[str, ...],
    out: Path | None,
    sql: bool,
) -> None:
    """Show what would make the tables what the schema files in FOLDER declare.

    Nothing is changed, and no rows are read. The exit code is 0 if there is nothing to do, 7 if changes
    are planned, and 4 if apply would refuse them whatever the rows are. What is shown as "may conflict",
    apply refuses if a row forbids it.
    """
    from versioned_catalog.cli.schema_files import plan_files
    from versioned_catalog.storage.text import write_text

    plans = plan_files(source, session.catalog(), allow_drop)
    if out is not None:
        write_text(out, json.dumps(_document(plans), indent=2) + "\n")
    _show(plans, sql=sql)
    for planned in plans:
        planned.plan.check_allowed()
    if not all(planned.plan.is_empty for planned in plans):
        context.exit(PLANNED)


@click.command(cls=Command)
@click.argument("source", metavar="FOLDER|PLAN", type=click.Path(path_type=Path))
@_allow_drop
@click.option(
    "--one-by-one",
    is_flag=True,
    help="Change each table in a commit of its own; if one fails, those before it are changed.",
)
@click.pass_obj
def apply(session: Session, source: Path, allow_drop: tuple[str, ...], one_by_one: bool) -> None:
    """Make the tables what the schema files in FOLDER declare, or carry out a PLAN (*.json).

    All tables are changed at once, or none, and only if their schemas are still those that were planned
    on. Then the files are written again, with the IDs of new columns, unless they were edited since the
    plan.
    """
    from versioned_catalog.cli.schema_changes import apply_files
    from versioned_catalog.cli.schema_files import plan_files, read_plans

    catalog = session.catalog()
    if source.suffix == ".json":
        if allow_drop:
            raise click.UsageError("a plan holds its --allow-drop; give it to plan")
        plans = read_plans(source, catalog)
    else:
        plans = plan_files(source, catalog, allow_drop)
    if not wants_json():
        _show(plans)
    for planned in plans:
        planned.plan.check_allowed()
    done = apply_files(plans, catalog, one_by_one=one_by_one)
    if wants_json():
        show_json(_document(done))
        return
    for planned in done:
        if not planned.plan.is_empty:
            click.echo(f"{printable(planned.plan.table)} is at version {planned.plan.committed}")
        if not planned.written:
            warn(
                f"{planned.file} is not the file that was planned, so it was "
                "left as it is; new columns have their IDs in: versioned ddl "
                f"{planned.plan.table} --ids"
            )


def _document(plans: Sequence[FilePlan]) -> dict[str, object]:
    return {
        "changes": sum(len(planned.plan.changes) + planned.plan.creates for planned in plans),
        "refused": [
            f"{planned.plan.table}.{name}" for planned in plans for name in planned.plan.refused
        ],
        "plans": [planned.to_json() for planned in plans],
    }


def _show(plans: Sequence[FilePlan], *, sql: bool = False) -> None:
    if wants_json():
        show_json(_document(plans))
        return
    for planned in plans:
        if planned.plan.is_empty and not planned.plan.notes:
            continue
        click.echo(planned.plan.text(), nl=False)
        for statement in planned.plan.sql if sql else ():
            click.echo(f"  {statement};")
    click.echo(_summary(plans))


def _summary(plans: Sequence[FilePlan]) -> str:
    from versioned_catalog.migrate.schema_plan import allowing

    kinds = [change.kind for planned in plans for change in planned.plan.changes]
    adds, drops = kinds.count("add"), kinds.count("drop")
    counts = {
        "to create": sum(planned.plan.creates for planned in plans),
        "to add": adds,
        "to change": len(kinds) - adds - drops,
        "to drop": drops,
    }
    shown = ", ".join(f"{count} {label}" for label, count in counts.items() if count)
    refused = [name for planned in plans for name in planned.plan.refused]
    text = f"Plan: {shown or 'nothing to change'}."
    if kinds:
        text += " Data rewritten: none."
    if refused:
        text += f" Refused without {allowing(refused)}."
    return text
