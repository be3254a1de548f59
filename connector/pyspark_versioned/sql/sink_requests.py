"""Requests about streams that write a table: their target, when they start and for each epoch."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import types as spark

from pyspark_versioned.option_names import Use
from pyspark_versioned.options import parse_options
from pyspark_versioned.sink_options import check_sink_options, sink_schema
from pyspark_versioned.spark_types import from_spark_schema
from pyspark_versioned.sql.protocol import messages
from pyspark_versioned.sql.snapshots import at_location, open_snapshot, remember
from pyspark_versioned.sql.table_description import describe
from pyspark_versioned.stream_writer import sink_table
from pyspark_versioned.target import Target
from versioned_catalog.model.schema import Schema


def open_sink(request: messages.OpenSink) -> messages.LoadedTable:
    """Load the target of a stream by its path; it is created if it is not there."""
    path = parse_options(request.options).path
    check_sink_options(request.options, path)
    options = parse_options(request.options, Use.SINK, path)
    rows = spark.StructType.fromJson(request.schema)  # type: ignore[arg-type]
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
    newest = at_location(ref.location, ref.storage).state
    written_as = ref.schema_version if version is None else version
    found = replace(ref, version=newest.version, seen=pin, written_as=written_as)
    open_snapshot(found)  # refuse another table, or a pin that is gone
    return messages.Rebased(found)


HANDLERS = (open_sink, rebase_stream)
