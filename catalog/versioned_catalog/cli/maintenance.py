"""Upkeep and repair: ``compact``, ``vacuum``, ``expire``, ``verify``, ``recover``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.failures import STORAGE
from versioned_catalog.cli.output import show_json, show_object, show_rows, wants_json
from versioned_catalog.cli.program import Command
from versioned_catalog.cli.session import Session, is_folder

if TYPE_CHECKING:
    from versioned_catalog.progress import Progress

_table = click.argument("table")
_execute = click.option("--execute", is_flag=True, help="Do it; without this it is only told.")
_force = click.option("--force", is_flag=True, help="Allow less than an hour.")
WEEK = 168


def _span(hours: float) -> timedelta:
    try:
        return timedelta(hours=hours)
    except (OverflowError, ValueError):
        raise click.UsageError(f"{hours} hours are too many", click.get_current_context()) from None


@contextmanager
def _progress() -> Iterator[Progress]:
    """Bars on stderr, where somebody looks at it."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield tell


@click.command(cls=Command)
@_table
@click.option(
    "--retention",
    metavar="HOURS",
    type=float,
    default=WEEK,
    show_default=True,
    help="Younger files stay, as do those of writes in flight.",
)
@_execute
@_force
@click.pass_obj
def vacuum(session: Session, table: str, retention: float, execute: bool, force: bool) -> None:
    """Delete files of TABLE that no kept version needs, or tell which.

    Of a table that was dropped, given by its folder, all data goes.
    """
    from versioned_catalog.catalog.catalog import Catalog

    span = _span(retention)
    with _progress() as progress:
        if is_folder(table):
            told = Catalog.vacuum_path(
                table,
                span,
                dry_run=not execute,
                force=force,
                progress=progress,
                storage_options=session.storage,
            )
        else:
            told = session.table(table).maintenance.vacuum(
                span, dry_run=not execute, force=force, progress=progress
            )
    kinds = {"segment": told.segments, "other": told.others, "left, not ours": told.foreign}
    files = [{"kind": kind, "path": path} for kind, paths in kinds.items() for path in paths]
    summary = {
        "table": told.table,
        "deleted": execute,
        "segments": len(told.segments),
        "others": len(told.others),
        "bytes": told.bytes,
        "left": len(told.foreign),
        "version": told.version,
    }
    if wants_json():
        show_json({**summary, "files": files})
        return
    if files:
        show_rows(files, ["kind", "path"])
    show_object(summary)


@click.command(cls=Command)
@_table
@click.option(
    "--older-than",
    metavar="HOURS",
    type=float,
    default=WEEK,
    show_default=True,
    help="Give up versions that were replaced by newer ones longer ago.",
)
@click.option(
    "--keep-last", type=int, default=1, show_default=True, help="Keep so many in any case."
)
@_execute
@_force
@click.pass_obj
def expire(
    session: Session, table: str, older_than: float, keep_last: int, execute: bool, force: bool
) -> None:
    """Give up old versions of TABLE, but for those with tags; vacuum then frees what they held."""
    span, found = _span(older_than), session.table(table)
    with _progress() as progress:
        told = found.maintenance.expire(
            span, keep_last, dry_run=not execute, force=force, progress=progress
        )
    show_object(
        {
            "table": told.table,
            "done": execute,
            "first kept": told.oldest_version,
            "expired": told.versions,
            "kept by tags": list(map(str, told.tagged)),
            "version": told.version,
        }
    )


@click.command(cls=Command)
@_table
@click.option("--deep", is_flag=True, help="Read all rows, too.")
@click.option("--every-version", is_flag=True, help="Check what older versions hold, too.")
@click.pass_obj
def verify(session: Session, table: str, deep: bool, every_version: bool) -> None:
    """Check the log, checkpoints and segments of TABLE against each other; 6 if something is wrong."""
    from versioned_catalog.catalog.catalog import Catalog

    with _progress() as progress:
        how = {"deep": deep, "every_version": every_version}
        if is_folder(table):
            told = Catalog.verify_path(
                table, **how, progress=progress, storage_options=session.storage
            )
        else:
            told = session.catalog().verify_table(table, **how, progress=progress)
    findings = [{"path": one.path, "problem": one.problem} for one in told.findings]
    summary = {
        "table": told.table,
        "clean": told.is_clean,
        "version": told.version,
        "entries": told.entries,
        "checkpoints": told.checkpoints,
        "segments": told.segments,
        "rows": told.rows,
        "bytes": told.bytes,
        "without checksum": told.unrecorded,
        "notes": list(told.notes),
    }
    if wants_json():
        show_json({**summary, "findings": findings})
    else:
        if findings:
            show_rows(findings, ["path", "problem"])
        show_object(summary)
    if findings:
        click.get_current_context().exit(STORAGE)


@click.command(cls=Command)
@click.argument("broken")
@click.argument("new")
@click.pass_obj
def recover(session: Session, broken: str, new: str) -> None:
    """Make a table in the folder NEW from what can still be read in the folder BROKEN."""
    from versioned_catalog.catalog.catalog import Catalog

    with _progress() as progress:
        told = Catalog.recover(broken, new, progress=progress, storage_options=session.storage)
    summary = {
        "table": told.table,
        "version": told.version,
        "rows": told.rows,
        "log followed up to": told.known_until,
        "segments": len(told.certain),
        "guessed": len(told.guessed),
        "left": len(told.left),
    }
    left = [{"path": path, "why": why} for path, why in told.left.items()]
    if wants_json():
        guessed = list(told.guessed)
        show_json({**summary, "guessed": guessed, "left": left, "unknown": list(told.unknown)})
        return
    show_object(summary)
    if left:
        show_rows(left, ["path", "why"])
    show_rows([{"not known": sentence} for sentence in told.unknown], ["not known"])


@click.command(cls=Command)
@_table
@click.option(
    "--where", metavar="CONDITION", help="Only where rows are that it means: \"host = 'a'\"."
)
@click.option(
    "--strategy",
    type=click.Choice(["auto", "full", "small"]),
    default="auto",
    show_default=True,
    help="Segments that are small or overlap; all; or small ones only.",
)
@click.option(
    "--zorder",
    metavar="COLUMNS",
    help='Write all segments, and cluster rows by these columns: "host, ts".',
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@click.pass_obj
def compact(
    session: Session,
    table: str,
    where: str | None,
    strategy: Any,
    zorder: str | None,
    dry_run: bool,
) -> None:
    """Write many segments of TABLE anew as few, in the newest schema; no answer changes."""
    from versioned_catalog.expressions.where import parse_where
    from versioned_catalog.schema.sorting import split_names

    filters = None if where is None else parse_where(where)
    names = () if zorder is None else split_names(zorder, "zorder")
    found = session.table(table)
    with _progress() as progress:
        told = found.maintenance.compact(
            filters, strategy, zorder=names, dry_run=dry_run, progress=progress
        )
    show_object(
        {
            "table": told.table,
            "done": not told.dry_run,
            "segments": told.removed,
            "bytes": told.removed_bytes,
            "new segments": told.added,
            "new bytes": told.added_bytes,
            "skipped": told.skipped,
            "version": told.version,
        }
    )


COMMANDS = (compact, vacuum, expire, verify, recover)
