"""The commands ``diff`` and ``tail``: what is different between versions, and what comes."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from versioned_catalog.cli.output import print_table, show_line, show_report, wants_json
from versioned_catalog.cli.program import Session, table_command, version_of
from versioned_catalog.cli.running import Interrupted
from versioned_catalog.errors import InvalidRequestError, NotFoundError

if TYPE_CHECKING:
    from versioned_catalog.table import Table

INSERT, DELETE, UPDATE = "insert", "delete", "update_postimage"


@table_command
@click.argument("before", metavar="FROM")
@click.argument("after", metavar="[TO]", required=False)
@click.option("--no-rows", is_flag=True, help="Compare columns and properties only: reads no rows.")
def diff(session: Session, table: str, before: str, after: str | None, no_rows: bool) -> None:
    """Show what is different in TABLE between two versions or tags; TO is the newest by default.

    Columns by ID, keys, properties, constraints and pins; and how many rows are added, removed and
    updated. A row that is written again with the same values is not different.
    """
    loaded = session.table(table)
    first, last = _version(loaded, before), _version(loaded, after)
    rows = [
        {"kind": one.kind, "name": one.name, "before": one.before, "after": one.after}
        for one in loaded.differences(first, last)
    ]
    summary: dict[str, Any] = {"table": loaded.name, "from": first, "to": last}
    if not no_rows:
        try:
            summary |= _row_counts(loaded, first, last)
        except (InvalidRequestError, NotFoundError) as error:
            raise type(error)(f"{error}; or give --no-rows") from error
    show_report(summary, "differences", rows, ["kind", "name", "before", "after"])


def _version(table: Table, text: str | None) -> int:
    return table.version if text is None else table.at(version_of(text)).version


def _row_counts(table: Table, first: int, last: int) -> dict[str, int]:
    """How many rows are added, removed and updated; backwards, if the first version is the later."""
    low, high = sorted((first, last))
    counts: Counter[str] = Counter()
    if low < high:
        feed = table.changes(low + 1, high, net=True)
        for batch in feed.to_batches():
            counts.update(batch.column("_change_type").to_pylist())
    added, removed = counts[INSERT], counts[DELETE]
    if first > last:
        added, removed = removed, added
    return {"rows added": added, "rows removed": removed, "rows updated": counts[UPDATE]}


@table_command
@click.option(
    "--from", "start", metavar="VERSION|TAG", help="The first version; by default the newest."
)
@click.option("--follow", "-f", is_flag=True, help="Go on with new versions, until Ctrl-C.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0.01),
    default=2,
    show_default=True,
    help="How often --follow looks for new versions.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N changes.")
def tail(
    session: Session,
    table: str,
    start: str | None,
    follow: bool,
    interval: float,
    limit: int | None,
) -> None:
    """Show the rows that the newest version of TABLE changed, or all versions since --from.

    With --json, one object a line. After Ctrl-C, a line says which --from goes on.
    """
    loaded = session.table(table)
    following = _first_version(loaded, start)
    left = limit
    try:
        while True:
            newest = loaded.refresh().version
            if following <= newest:
                left = _show_changes(loaded, following, newest, left)
                following = newest + 1
            if not follow or left == 0:
                return
            time.sleep(interval)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; what came until version {following - 1} was shown: --from {following} goes on"
        ) from None


def _first_version(table: Table, start: str | None) -> int:
    """The version to begin with, which may be the one after the newest."""
    following = table.version + 1
    return following if version_of(start) == following else _version(table, start)


def _show_changes(table: Table, first: int, last: int, left: int | None) -> int | None:
    """Print the changes of versions, and return how many may follow."""
    from versioned_catalog.maintain.column_tables import rows_of

    feed = table.changes(first, last)
    changes = feed.to_arrow() if left is None else feed.head(left)
    rows = rows_of(changes.sort_by("_commit_version"))
    if wants_json():
        for row in rows:
            show_line(row)
    elif rows:
        print_table(rows, changes.column_names)
    return None if left is None else left - len(rows)
