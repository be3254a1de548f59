"""Streams that write a table by its path, in Python alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from pyspark_versioned.options import Options, Target
from pyspark_versioned.projection import bound
from pyspark_versioned.worker_errors import shows_errors
from pyspark_versioned.write_options import check_sink_options, check_table_stays, sink_schema
from pyspark_versioned.writer import (
    check_key,
    check_keys_apart,
    check_partitioning,
    loosened,
    write_planned,
)
from versioned_catalog import AlreadyExistsError, Catalog, CommitConflictError, Table
from versioned_catalog.log.pinned_state import replaced_under_stream
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import walk
from versioned_catalog.write.delta_rows import check_feed, row_fields
from versioned_catalog.write.plan import WritePlan

QUERY = "sql.streaming.queryId"
"""The local property by which Spark tells tasks the ID of their query."""


@dataclass(frozen=True)
class Began:
    """The table as a process first found it.

    Spark makes the data source anew for each write, and keeps one for all commits of a run.

    Args:
        table_uuid: the incarnation; None if there was no table.
        schema_version: its newest schema version; None if there was no table.
    """

    table_uuid: str | None
    schema_version: int | None

    def schema_of(self, table: Table) -> int:
        """The schema version at that time.

        Raises:
            NotFoundError: the table was replaced since.
        """
        if self.table_uuid is None or self.schema_version is None:
            return table.state.first_schema_version
        if table.state.table_uuid != self.table_uuid:
            raise replaced_under_stream(table.name)
        return self.schema_version


@dataclass
class WrittenEpoch(WriterCommitMessage):
    """The segments that a task wrote, and their plan: Spark makes another writer for the commit."""

    query: str
    plan: WritePlan
    records: list[SegmentRecord]


@dataclass(frozen=True)
class SinkOptions:
    """The target of a query, as its options define it.

    Args:
        schema_version: the schema version in which the rows name columns; None if no option says it.
    """

    target: Target
    options: Options
    schema_version: int | None

    @staticmethod
    def of(options: Options, names: Iterable[str]) -> SinkOptions:
        """Parse the options of a query.

        Raises:
            InvalidRequestError: an option has no meaning for a stream.
        """
        check_sink_options(names, options.path)
        pin, version = sink_schema(options.schema)
        return SinkOptions(replace(Target.of(options), schema=pin), options, version)


@shows_errors
class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the epochs of a query; each is committed once.

    Args:
        columns: those of the rows.
        plan: made for the schema version in which the rows name columns: that of the option; by
            default the current one in a writer, and that of the run's first commit in a committer.
    """

    def __init__(
        self, target: Target, columns: Schema, plan: WritePlan, *, overwrite: bool
    ) -> None:
        self._target = target
        self._columns = columns
        self._plan = plan
        self._overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenEpoch:
        """Write the rows of a task as segments that no snapshot holds yet."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY)
        assert query is not None, "Spark names the query of each task of a stream"
        return WrittenEpoch(query, self._plan, write_planned(self._plan, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit the segments of all tasks, unless this epoch was committed already.

        Raises:
            CommitConflictError: a name means another column than at the start of the query.
        """
        written = [message for message in messages if isinstance(message, WrittenEpoch)]
        if not written:
            return
        records = [record for message in written for record in message.records]
        query, plan, table = written[0].query, written[0].plan, self._target.load()
        check_keys_apart(plan, [message.records for message in written])
        if self._ids(plan) != self._ids(self._plan):
            raise CommitConflictError(
                f"{table.name}: a column that the query writes was renamed, or dropped and added again, "
                "since the query was started, and without the jar a stream can't go on by column ID. "
                "Nothing was written; start the query again to write by the names of now, or give it "
                "the option schemaVersion, with the number of the schema whose names it has"
            )
        sink = table.sink(query)
        sink.commit(plan, records, batchId, replace=self._overwrite)

    def _ids(self, plan: WritePlan) -> list[int]:
        """The columns that the rows name under a plan."""
        bound_columns = bound(self._columns.columns, plan.seen.schema.columns)
        return [column.id for column, _ in walk(bound_columns)]

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Delete nothing: the commit may have landed before its process died."""


def stream_writer(
    sink: SinkOptions, began: Began, columns: Schema, arrow: pa.Schema, *, overwrite: bool
) -> StreamWriter:
    """The writer for an epoch of a query, or its committer. A table that is not there is created first.

    Args:
        columns: the columns of the rows in the catalog's types.
        arrow: the same as Arrow's.
        overwrite: whether the rows of each epoch replace those of the table.

    Raises:
        InvalidRequestError: the rows or the options do not fit the table.
        NotFoundError: the table was dropped or replaced since the query was started.
    """
    is_new = began.table_uuid is None
    change_column = sink.options.change_column
    if change_column is not None:
        if is_new:
            check_table_stays(sink.options.path)
        check_feed(arrow, change_column, sink.options.path, versioned=True)
        names = row_fields(arrow, change_column).names
        columns = Schema(tuple(column for column in columns.columns if column.name in names))
    table = sink_table(sink.target, columns, sink.options) if is_new else sink.target.load()
    version = began.schema_of(table)
    if sink.schema_version is not None:
        version = sink.schema_version
    plan = table.sink("", schema_version=version).plan(arrow, change_column=change_column)
    return StreamWriter(sink.target, columns, plan, overwrite=overwrite)


def sink_table(target: Target, columns: Schema, options: Options) -> Table:
    """The target of a stream. One that is not there is created, empty.

    Raises:
        InvalidRequestError: the table has another row key or partitioning than options say.
    """
    table = target.find()
    if table is None:
        return _created(target, columns, options)
    check_key(options.key, table)
    check_partitioning(options.partition_by, table.schema, table.name)
    return table


def _created(target: Target, columns: Schema, options: Options) -> Table:
    """A new table for the rows of a stream."""
    args = {**asdict(options.key), "partitioned_by": options.partition_by or ()}
    schema = loosened(columns)
    try:
        if target.warehouse is None:
            return Catalog.create_path(target.path, schema, storage_options=target.storage, **args)
        return Catalog(target.warehouse, target.storage).create_table(target.path, schema, **args)
    except AlreadyExistsError:
        return target.load()  # another process was first
