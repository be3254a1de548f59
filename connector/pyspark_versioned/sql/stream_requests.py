"""Requests about changes between versions, and about streams: offsets, micro-batches, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import types as spark

from pyspark_versioned.changes_reader import (
    ChangesReader,
    changes_of,
    reader_of,
    table_columns,
)
from pyspark_versioned.option_names import Use
from pyspark_versioned.options import Target, parse_options
from pyspark_versioned.projection import project
from pyspark_versioned.reader import planned_read
from pyspark_versioned.spark_types import from_spark_schema, struct_from_json
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.protocol.base import SparkStruct
from pyspark_versioned.sql.scan_requests import merged_plan, planned
from pyspark_versioned.sql.snapshots import (
    at_location,
    open_snapshot,
    open_stream,
    open_table,
    remember,
)
from pyspark_versioned.sql.table_description import describe, describe_columns
from pyspark_versioned.sql.values import parse_timestamp
from pyspark_versioned.stream_options import stream_limits
from pyspark_versioned.stream_writer import sink_table
from pyspark_versioned.unseen import Shared
from pyspark_versioned.write_options import check_sink_options, sink_schema
from versioned_catalog import NotFoundError, Table
from versioned_catalog.commit.version_rules import version_or_tag
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.metadata_columns import feed_columns
from versioned_catalog.read.scan import Scan
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.change_stream import ChangeStream
from versioned_catalog.stream.change_tasks import feed_of
from versioned_catalog.stream.offsets import NO_LIMITS, Offset
from versioned_catalog.stream.row_stream import TableStream


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
    columns = table.columns_of_changes(start, end)
    versions = messages.VersionRange(start, end, bounds.net, bounds.carryovers, bounds.updates)
    return messages.LoadedChanges(describe_columns(feed_columns(columns)), versions)


def plan_changes(request: messages.PlanChanges) -> messages.ScanPlan:
    """The changes of a range."""
    table, _ = open_table(request.table)
    schema = struct_from_json(request.schema)
    changes = changes_of(table, request.changes, schema, request.filters)
    scan_request = _scan_request(
        request.table, request.schema, request.filters, request.allow_native
    )
    return _plan_of(changes, scan_request)


def _scan_request(
    table: messages.TableRef, schema: SparkStruct, filters: Sequence[messages.Term], native: bool
) -> messages.PlanScan:
    return messages.PlanScan(
        *(table, schema, filters, None, native),
        grouped=False,
        ordered=False,
        whole=False,
        in_python=None,
    )


def _plan_of(changes: Changes, request: messages.PlanScan) -> messages.ScanPlan:
    """The plan of changes: segments whose rows are all changes of one type, and tasks of Python."""
    wanted, plan = struct_from_json(request.schema), changes.plan
    tasks = plan.compared if request.allow_native else plan.tasks
    plans = (
        [_in_python(reader_of(changes, wanted, request.table.name, tasks), wanted)] if tasks else []
    )
    for read in plan.whole if request.allow_native else ():
        columns = project(wanted, Schema(plan.columns), request.table.name, feed_of(read.type))
        shared = Shared.of(columns)
        plans.append(planned(read.scan(shared.read), shared, request))
    return merged_plan(plans)


def _in_python(reader: ChangesReader, schema: spark.StructType) -> messages.ScanPlan:
    """A plan of tasks of Python alone. Their reader also reads the segments of other plans."""
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
    return table.version_at(parse_timestamp(micros if inclusive else micros - 1))


def stream_start(request: messages.StreamStart) -> messages.StreamPlace:
    """The offset at which a new stream starts."""
    return _place(open_stream(request.stream).initial())


def stream_latest(request: messages.StreamLatest) -> messages.StreamAhead:
    """The offset at which the next micro-batch ends, and what comes after it."""
    stream, ref = open_stream(request.stream), request.stream
    limits = stream_limits(ref.options, ref.table.name) if request.limited else NO_LIMITS
    until = None if request.until is None else Offset.from_json(request.until).version - 1
    place = stream.latest(Offset.from_json(request.start), limits, until=until)
    return messages.StreamAhead(place.to_json(), stream.newest().to_json(), _lag(stream, place))


def stream_newest(request: messages.StreamNewest) -> messages.StreamPlace:
    """The offset of a stream that has read everything."""
    return _place(open_stream(request.stream).newest())


def stream_behind(request: messages.StreamBehind) -> messages.StreamLag:
    """What comes after an offset."""
    return _lag(open_stream(request.stream), Offset.from_json(request.offset))


def stream_consumed(request: messages.StreamConsumed) -> messages.Done:
    """Move the consumer of a stream: Spark has done with everything before an offset."""
    open_stream(request.stream).consumed(Offset.from_json(request.offset))
    return messages.Done()


def plan_micro_batch(request: messages.PlanMicroBatch) -> messages.ScanPlan:
    """The segments of a micro-batch, planned as a scan of each schema version's; or its changes."""
    batch, plans = request.batch, []
    stream, table = open_stream(batch.stream), batch.stream.table
    start, end = Offset.from_json(batch.start), Offset.from_json(batch.end)
    scan_request = _scan_request(table, request.schema, (), request.allow_native)
    wanted = struct_from_json(request.schema)
    if isinstance(stream, ChangeStream):
        changes = stream.changes(start, end, table_columns(wanted))
        return _plan_of(changes, scan_request)
    for state in stream.states(start, end):
        shared = Shared.of(project(wanted, state.seen.schema, table.name))
        plans.append(planned(Scan(stream.store, state, shared.read), shared, scan_request))
    return merged_plan(plans)


def _lag(stream: TableStream | ChangeStream, offset: Offset) -> messages.StreamLag:
    lag = stream.behind(offset)
    return messages.StreamLag(lag.versions, lag.segments, lag.rows, lag.bytes)


def _place(offset: Offset) -> messages.StreamPlace:
    return messages.StreamPlace(offset.to_json())


def open_sink(request: messages.OpenSink) -> messages.LoadedTable:
    """Load the target of a stream by its path; it is created if it is not there."""
    path = parse_options(request.options).path
    check_sink_options(request.options, path)
    options = parse_options(request.options, Use.SINK, path)
    rows = struct_from_json(request.schema)
    target, storage = replace(Target.of(options), schema=None), dict(options.storage)
    table = remember(sink_table(target, Schema(from_spark_schema(rows)), options), storage)
    return describe(table, table.state, storage)


def rebase_stream(request: messages.RebaseStream) -> messages.Rebased:
    """Find the version on which a stream writes its next epoch.

    Raises:
        NotFoundError: the table was dropped or replaced.
        InvalidRequestError: an option has no meaning for a stream.
    """
    ref = request.table
    check_sink_options(request.options, ref.name)
    pin, version = sink_schema(request.seen or ref.seen)
    newest = at_location(ref).state
    written_as = ref.schema_version if version is None else version
    rebased = replace(ref, version=newest.version, seen=pin, written_as=written_as)
    open_snapshot(rebased)  # refuse another table, or a pin that is gone
    return messages.Rebased(rebased)


HANDLERS = (
    load_changes,
    plan_changes,
    stream_start,
    stream_latest,
    stream_newest,
    stream_behind,
    stream_consumed,
    plan_micro_batch,
    open_sink,
    rebase_stream,
)
