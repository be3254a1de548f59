"""Read changes as the jar does, without a JVM."""

from __future__ import annotations

from typing import Any

from versioned_catalog.read.dialects import parse_filters
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.change_reading import read_changes
from versioned_catalog.stream.change_tasks import feed_of
from versioned_catalog.stream.wanted_changes import Wanted, feed_column


def rows_of(changes: Changes) -> list[dict[str, Any]]:
    """The changes; segments that are read whole are scanned with the columns of the feed."""
    plan, rows = changes.plan, list[dict[str, Any]]()
    for read in plan.whole:
        scan = read.scan((*plan.columns, *feed_of(read.type)))
        tasks = [task for task, _ in scan.tasks()]
        assert [scan.plan(layout) for layout in scan.layouts] == [task.plan for task in tasks]
        assert not scan.merged_paths()
        rows += scan.to_arrow().to_pylist()
    for task in plan.compared:
        rows += [row for batch in read_changes(changes.store, task) for row in batch.to_pylist()]
    return rows


def wanted(filters: Any) -> Wanted:
    """The changes that match filters on columns of the feed; as of ``Table.scan``."""
    unbound = parse_filters(filters)
    assert unbound is not None
    return Wanted(bind_filter(unbound, feed_column))
