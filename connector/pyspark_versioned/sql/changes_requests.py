"""Requests about the changes between versions of a table."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.types import StructType

from pyspark_versioned.changes_reader import ChangesReader, changes_reader
from pyspark_versioned.reader import planned_read
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.scan_requests import merged_plan
from pyspark_versioned.sql.snapshots import open_table
from pyspark_versioned.sql.table_description import describe_columns
from versioned_catalog import NotFoundError, Table
from versioned_catalog.commit.version_rules import version_or_tag
from versioned_catalog.log.times import moment_of_micros
from versioned_catalog.read.metadata_columns import feed_columns
from versioned_catalog.stream.change_planner import Request


def load_changes(request: messages.LoadChanges) -> messages.LoadedChanges:
    """The columns of the changes, and the range by versions, which later commits do not change.

    Without a start, there are only columns, and no changes.
    """
    ref, bounds = request.table, request.range
    table, state = open_table(ref)
    if bounds.start is None and bounds.start_time is None:
        start, end = state.version + 1, state.version
    else:
        start, end = _start(table, bounds), _end(table, bounds)
    changes = Request(bounds.net, bounds.carryovers, bounds.updates)
    plan = table.changes_between(start, end, changes).plan
    versions = messages.VersionRange(start, end, bounds.net, bounds.carryovers, bounds.updates)
    return messages.LoadedChanges(describe_columns(feed_columns(plan.columns)), versions)


def plan_changes(request: messages.PlanChanges) -> messages.ScanPlan:
    """The changes of a range."""
    table, _ = open_table(request.table)
    schema = StructType.fromJson(request.schema)  # type: ignore[arg-type]
    reader = changes_reader(table, request.changes, schema, request.filters)
    return plan_of_changes(reader, schema)


def plan_of_changes(reader: ChangesReader, schema: StructType) -> messages.ScanPlan:
    """A plan of changes, which only Python reads; it has no segments."""
    tasks = planned_read(reader, reader.partitions(), schema)
    return replace(merged_plan(()), groups=[messages.PythonGroup(tasks)])


def _start(table: Table, bounds: messages.ChangeRange) -> int:
    if bounds.start is not None:
        return table.version_of(version_or_tag(bounds.start)) + (not bounds.start_inclusive)
    assert bounds.start_time is not None, "a range without a start has no changes"
    try:
        return _version_at(table, bounds.start_time, inclusive=not bounds.start_inclusive) + 1
    except NotFoundError:
        return table.state.created_version  # before the table was created


def _end(table: Table, bounds: messages.ChangeRange) -> int:
    if bounds.end is not None:
        return table.version_of(version_or_tag(bounds.end)) - (not bounds.end_inclusive)
    if bounds.end_time is not None:
        return _version_at(table, bounds.end_time, inclusive=bounds.end_inclusive)
    return table.version


def _version_at(table: Table, micros: int, *, inclusive: bool) -> int:
    """The last version at or before a time, or before it."""
    time = moment_of_micros(micros if inclusive else micros - 1, "the timestamp")
    return table.version_at(time)


HANDLERS = (load_changes, plan_changes)
