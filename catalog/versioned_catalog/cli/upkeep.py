"""Commands that look after a table, or after all tables of a warehouse: advice, and doing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.maintenance import force_option, hours_option
from versioned_catalog.cli.output import (
    Row,
    print_table,
    show_json,
    show_object,
    show_report,
    wants_json,
)
from versioned_catalog.cli.program import (
    UNEXPECTED,
    Command,
    Session,
    all_option,
    exactly_one,
    failure_of,
)
from versioned_catalog.cli.running import show_progress

if TYPE_CHECKING:
    from versioned_catalog.maintain.advice import Advice, Job, MaintenanceBounds
    from versioned_catalog.maintain.upkeep import Maintained, Unmaintained

_JOB_COLUMNS = ("job", "before", "after", "unit", "rewritten bytes", "freed bytes", "why")
_DONE_COLUMNS = (
    *("table", "due", "expired", "deleted files", "deleted bytes"),
    *("segments", "bytes", "new segments", "skipped", "version"),
)


def _upkeep_command(function: Callable[..., None]) -> click.Command:
    """Make a command on TABLE, or on all tables of ``--all``; the function gets the bounds, too."""
    for option in (
        force_option,
        click.option(
            "--most-bytes",
            type=click.IntRange(min=0),
            default=10 * 1024**3,
            show_default=True,
            help="Rewrite at most so many bytes of a table's segments.",
        ),
        click.option(
            "--keep-last",
            type=int,
            default=1,
            show_default=True,
            help="Always keep this many versions.",
        ),
        hours_option(
            "--retention", "Keep versions that were replaced since, and files that are younger."
        ),
        all_option,
        click.argument("table", required=False),
    ):
        function = option(function)
    return click.command(cls=Command)(click.pass_obj(function))


def _bounds(
    retention: timedelta, keep_last: int, most_bytes: int, force: bool
) -> MaintenanceBounds:
    from versioned_catalog.maintain.advice import MaintenanceBounds

    return MaintenanceBounds(retention, keep_last, most_bytes, force)


@_upkeep_command
def advise(session: Session, table: str | None, warehouse: str | None, **bounds: Any) -> None:
    """Show which maintenance of TABLE is due, why, and what it would gain. Nothing is changed.

    With --all, only the jobs that are due, of all tables. The exit code is 1 if a table failed.
    """
    from versioned_catalog.maintain.upkeep import Unmaintained

    exactly_one({"TABLE": table, "--all": warehouse})
    if warehouse is not None:
        results = session.of_all(warehouse).catalog().advise(_bounds(**bounds))
        jobs = [
            {"table": advice.table, **row}
            for advice in results
            if not isinstance(advice, Unmaintained)
            for row in map(_job_row, advice.due)
        ]
        _show_all(session, results, "jobs", jobs, ("table", *_JOB_COLUMNS))
        return
    advice = session.table(str(table)).maintenance.advise(_bounds(**bounds))
    summary = {
        "table": advice.table,
        "version": advice.version,
        "segments": advice.segments,
        "bytes": advice.bytes,
        "due": [job.name for job in advice.due],
    }
    columns = ["job", "due", *_JOB_COLUMNS[1:]]
    show_report(summary, "jobs", list(map(_job_row, advice.jobs)), columns)


@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@_upkeep_command
def maintain(
    session: Session, table: str | None, warehouse: str | None, dry_run: bool, **bounds: Any
) -> None:
    """Do what is due of TABLE, at once: expire, vacuum, compact; with --dry-run, only show it.

    See advise.

    With --all, look after all tables, except those with the property auto_maintain = off. The exit
    code is 1 if a table failed.
    """
    exactly_one({"TABLE": table, "--all": warehouse})
    from versioned_catalog.maintain.upkeep import Unmaintained

    with show_progress("what was done stays, and the same command goes on") as progress:
        options: Any = {"dry_run": dry_run, "progress": progress}
        if warehouse is not None:
            results = session.of_all(warehouse).catalog().maintain(_bounds(**bounds), **options)
        else:
            done = session.table(str(table)).maintenance.maintain(_bounds(**bounds), **options)
    if warehouse is not None:
        tables = [_summary(result) for result in results if not isinstance(result, Unmaintained)]
        _show_all(session, results, "maintained", tables, _DONE_COLUMNS)
        return
    show_report(_summary(done), "jobs", list(map(_job_row, done.advice.due)), _JOB_COLUMNS)


def _job_row(job: Job) -> dict[str, Any]:
    return {
        "job": job.name,
        "due": job.is_due,
        "before": job.before,
        "after": job.after,
        "unit": job.unit,
        "rewritten bytes": job.rewritten_bytes,
        "freed bytes": job.freed_bytes,
        "why": job.why,
        "figures": dict(job.figures),
    }


def _summary(done: Maintained) -> dict[str, Any]:
    return {
        "table": done.table,
        "done": not done.dry_run,
        "due": [job.name for job in done.advice.due],
        "expired": done.expired_versions,
        "deleted files": done.deleted_files,
        "deleted bytes": done.deleted_bytes,
        "segments": done.removed_segments,
        "bytes": done.removed_bytes,
        "new segments": done.added_segments,
        "new bytes": done.added_bytes,
        "skipped": done.skipped_segments,
        "version": done.version,
    }


def _show_all(
    session: Session,
    results: Sequence[Advice | Maintained | Unmaintained],
    name: str,
    rows: Sequence[Row],
    columns: Sequence[str],
) -> None:
    """Print the results of all tables, and exit with 1 if one of them failed."""
    from versioned_catalog.maintain.upkeep import Unmaintained

    left = [_left_row(session, result) for result in results if isinstance(result, Unmaintained)]
    failed = sum(row["error"] is not None for row in left)
    summary = {"tables": len(results), "left out": len(left) - failed, "failed": failed}
    if wants_json():
        show_json({**summary, name: rows, "left": left})
    else:
        if rows:
            print_table(rows, columns)
        if left:
            print_table(left, ["table", "error", "why"])
        show_object(summary)
    if failed:
        click.get_current_context().exit(UNEXPECTED)


def _left_row(session: Session, left: Unmaintained) -> dict[str, Any]:
    if left.error is None:
        return {"table": left.table, "error": None, "why": left.why}
    failure = failure_of(left.error, session.storage.values())
    return {"table": left.table, "error": failure.kind, "why": failure.message}
