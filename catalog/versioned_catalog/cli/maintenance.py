"""Commands that look after a table: compaction, vacuum, expiry, consumers, publication."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from versioned_catalog.cli.output import (
    show_commit,
    show_json,
    show_object,
    show_report,
    show_rows,
    show_table,
    wants_json,
)
from versioned_catalog.cli.program import STORAGE, Command, Session, is_folder, table_command
from versioned_catalog.cli.running import show_progress

_execute = click.option(
    "--execute",
    is_flag=True,
    help="Carry it out; without this option, only show what would be done.",
)
force_option = click.option("--force", is_flag=True, help="Allow a time below one hour.")


def _span(context: click.Context, _: click.Parameter, hours: float) -> timedelta:
    try:
        return timedelta(hours=hours)
    except (OverflowError, ValueError):
        raise click.UsageError(f"{hours} hours are out of range", context) from None


def hours_option(name: str, help_: str) -> Callable[[Any], Any]:
    """An option that is a time in hours, a week by default."""
    return click.option(
        name,
        metavar="HOURS",
        type=float,
        default=168,
        show_default=True,
        callback=_span,
        help=help_,
    )


@table_command
@hours_option("--retention", "Keep files that are younger, and those of writes in progress.")
@_execute
@force_option
def vacuum(session: Session, table: str, retention: timedelta, execute: bool, force: bool) -> None:
    """Show the files of TABLE that no retained version needs; with --execute, delete them.

    Without --execute, only list them. For a dropped table, given by its folder, delete all its data.
    """
    from versioned_catalog.catalog import Catalog

    with show_progress(
        "the files deleted so far are gone, and the same command goes on"
    ) as progress:
        if is_folder(table):
            result = Catalog.vacuum_path(
                table,
                retention,
                dry_run=not execute,
                force=force,
                progress=progress,
                storage_options=session.storage,
            )
        else:
            result = session.table(table).maintenance.vacuum(
                retention, dry_run=not execute, force=force, progress=progress
            )
    kinds = {"segment": result.segments, "other": result.others, "left, not ours": result.foreign}
    files = [{"kind": kind, "path": path} for kind, paths in kinds.items() for path in paths]
    summary = {
        "table": result.table,
        "deleted": execute,
        "segments": len(result.segments),
        "others": len(result.others),
        "bytes": result.bytes,
        "left": len(result.foreign),
        "version": result.version,
    }
    show_report(summary, "files", files, ["kind", "path"])


@table_command
@hours_option("--older-than", "Expire versions that a newer one replaced longer ago than this.")
@click.option(
    "--keep-last", type=int, default=1, show_default=True, help="Always keep this many versions."
)
@_execute
@force_option
def expire(
    session: Session, table: str, older_than: timedelta, keep_last: int, execute: bool, force: bool
) -> None:
    """Show which old versions of TABLE would expire; with --execute, expire them.

    Tagged ones stay. Vacuum can then delete their files.
    """
    loaded = session.table(table)
    with show_progress("the same command goes on") as progress:
        result = loaded.maintenance.expire(
            older_than, keep_last, dry_run=not execute, force=force, progress=progress
        )
    show_object(
        {
            "table": result.table,
            "done": execute,
            "first kept": result.oldest_version,
            "expired": result.versions,
            "kept by tags": list(map(str, result.tagged)),
            "kept for consumers": list(result.consumers),
            "lapsed consumers": list(result.lapsed),
            "forgotten applications": result.forgotten,
            "lapsed tags": list(result.tags),
            "version": result.version,
        }
    )


@table_command
@click.option("--deep", is_flag=True, help="Also read all rows.")
@click.option("--every-version", is_flag=True, help="Also check the segments of older versions.")
def verify(session: Session, table: str, deep: bool, every_version: bool) -> None:
    """Check the log, checkpoints and segments of TABLE. The exit code is 6 if there are findings."""
    from versioned_catalog.catalog import Catalog

    with show_progress("nothing was changed; the same command starts again") as progress:
        options = {"deep": deep, "every_version": every_version}
        if is_folder(table):
            result = Catalog.verify_path(
                table, **options, progress=progress, storage_options=session.storage
            )
        else:
            result = session.catalog().verify_table(table, **options, progress=progress)
    findings = [vars(finding) for finding in result.findings]
    summary = {
        "table": result.table,
        "clean": result.is_clean,
        "version": result.version,
        "entries": result.entries,
        "checkpoints": result.checkpoints,
        "segments": result.segments,
        "rows": result.rows,
        "bytes": result.bytes,
        "without checksum": result.unrecorded,
        "notes": list(result.notes),
    }
    show_report(summary, "findings", findings, ["path", "problem"])
    if findings:
        click.get_current_context().exit(STORAGE)


@click.command(cls=Command)
@click.argument("broken")
@click.argument("new")
@click.pass_obj
def recover(session: Session, broken: str, new: str) -> None:
    """Create a table in the folder NEW from the readable parts of the one in BROKEN."""
    from versioned_catalog.catalog import Catalog

    with show_progress(
        "nothing was changed in the broken table; delete the new folder, and run the command again"
    ) as progress:
        result = Catalog.recover(broken, new, progress=progress, storage_options=session.storage)
    summary = {
        "table": result.table,
        "version": result.version,
        "rows": result.rows,
        "log followed up to": result.known_until,
        "segments": len(result.certain),
        "guessed": len(result.guessed),
        "left": len(result.left),
    }
    left = [{"path": path, "why": why} for path, why in result.left.items()]
    if wants_json():
        guessed = list(result.guessed)
        show_json({**summary, "guessed": guessed, "left": left, "unknown": list(result.unknown)})
        return
    show_object(summary)
    if left:
        show_rows(left, ["path", "why"])
    show_rows([{"not known": sentence} for sentence in result.unknown], ["not known"])


@table_command
@click.option(
    "--where", metavar="CONDITION", help="Compact only segments that may match: \"host = 'a'\"."
)
@click.option(
    "--strategy",
    type=click.Choice(["auto", "full", "small", "resolve"]),
    default="auto",
    show_default=True,
    help="auto: small or overlapping segments; full: all; small: small ones only; resolve: rewrite "
    "none, but mark replaced rows of overlapping ones.",
)
@click.option(
    "--zorder",
    metavar="COLUMNS",
    help='Rewrite all segments and cluster rows by these columns: "host, ts".',
)
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
def compact(
    session: Session,
    table: str,
    where: str | None,
    strategy: Any,
    zorder: str | None,
    dry_run: bool,
) -> None:
    """Merge segments of TABLE into fewer ones, at once; with --dry-run, only show them.

    They get the newest schema. Query results stay the same.
    """
    from versioned_catalog.model.keys import split_names
    from versioned_catalog.read.where import parse_where

    filters = None if where is None else parse_where(where)
    names = () if zorder is None else split_names(zorder, "zorder")
    loaded = session.table(table)
    with show_progress(
        "nothing was committed unless history shows it; the same command starts again, and vacuum "
        "deletes what was written"
    ) as progress:
        result = loaded.maintenance.compact(
            filters, strategy, zorder=names, dry_run=dry_run, progress=progress
        )
    show_object(
        {
            "table": result.table,
            "done": not result.dry_run,
            "segments": result.removed,
            "bytes": result.removed_bytes,
            "new segments": result.added,
            "new bytes": result.added_bytes,
            "skipped": result.skipped,
            "version": result.version,
        }
    )


@table_command
@click.option("--columns", metavar="COLUMNS", help='Count those of these columns: "host, ts".')
def analyze(session: Session, table: str, columns: str | None) -> None:
    """Count the distinct values of TABLE's columns, for planners. Query results stay the same."""
    from versioned_catalog.model.keys import split_names

    names = None if columns is None else split_names(columns, "columns")
    loaded = session.table(table)
    with show_progress("nothing was committed; the same command starts again") as progress:
        result = loaded.maintenance.analyze(names, progress=progress)
    show_report(
        {"table": loaded.name, "rows": result.rows, "version": result.version},
        "columns",
        [{"column": name, "distinct": count} for name, count in result.distinct.items()],
        ["column", "distinct"],
    )


_COLUMNS = (
    *("name", "version", "versions_behind", "rows_behind"),
    *("unread_since", "kept_until", "lapsed"),
)


@table_command
@click.option("--move", metavar="NAME", help="Say instead how far this consumer has read.")
@click.option("--version", type=int, help="The version that it has read; the newest by default.")
@click.option("--drop", metavar="NAME", help="Remove this consumer instead.")
def consumers(
    session: Session, table: str, move: str | None, version: int | None, drop: str | None
) -> None:
    """List the consumers of TABLE, whose unread versions expiry keeps, and how far behind each is."""
    loaded = session.table(table)
    if move is not None:
        show_commit(loaded.name, loaded.move_consumer(move, version))
        return
    if drop is not None:
        show_commit(loaded.name, loaded.drop_consumer(drop))
        return
    show_table(loaded.inspect.consumers(), _COLUMNS)


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
    loaded = session.table(table)
    with show_progress("what was published stays; the same command starts again") as progress:
        done = loaded.maintenance.publish(
            format_version=number, overwrite=overwrite, progress=progress
        )
    show_object(
        {
            "table": done.table,
            "version": done.version,
            "metadata": done.metadata,
            **({} if done.registered is None else {"registered": done.registered}),
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
    loaded = session.table(table)
    show_object({"table": loaded.name, "deleted files": loaded.maintenance.unpublish()})
