"""Streams that write a table by its path, in Python alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from pyspark_versioned.options import Options
from pyspark_versioned.sink_options import check_sink_options
from pyspark_versioned.target import Target
from pyspark_versioned.worker_errors import shows_errors
from pyspark_versioned.writer import (
    check_key,
    check_partitioning,
    loosened,
    write_planned,
)
from versioned_catalog import AlreadyExistsError, Catalog, Table
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.through import replaced_under_stream
from versioned_catalog.schema.schema import Schema
from versioned_catalog.write.plan import WritePlan

QUERY = "sql.streaming.queryId"
"""The local property by which Spark tells tasks the ID of their query."""


@dataclass(frozen=True)
class Began:
    """The table when the query was started.

    Args:
        table_uuid: the incarnation; None if there was no table.
        schema_version: the schema in which the rows name their columns; None if there was no table.
    """

    table_uuid: str | None
    schema_version: int | None

    def sink_schema(self, table: Table) -> int:
        """The schema version of the rows of the query.

        Raises:
            NotFoundError: the table was replaced since.
        """
        if self.table_uuid is None or self.schema_version is None:
            return table.state.first_schema_version  # the first epoch created it
        if table.state.table_uuid != self.table_uuid:
            raise replaced_under_stream(table.name)
        return self.schema_version


@dataclass
class WrittenEpoch(WriterCommitMessage):
    """The segments that a task wrote, and their plan: Spark makes another writer for the commit."""

    query: str
    plan: WritePlan
    records: list[SegmentRecord]


@shows_errors
class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the epochs of a query; each is committed once."""

    def __init__(
        self, target: Target, schema_version: int, plan: WritePlan, *, overwrite: bool
    ) -> None:
        self._target = target
        self._schema_version = schema_version
        self._plan = plan
        self._overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenEpoch:
        """Write the rows of a task as segments that no snapshot holds yet."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY)
        assert query is not None, "Spark names the query of each task of a stream"
        return WrittenEpoch(query, self._plan, write_planned(self._plan, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit what all tasks wrote, unless this epoch was committed already."""
        written = [message for message in messages if isinstance(message, WrittenEpoch)]
        if not written:
            return
        records = [record for message in written for record in message.records]
        first, table = written[0], self._target.load()
        sink = table.sink(first.query, schema_version=self._schema_version)
        sink.commit(first.plan, records, batchId, replace=self._overwrite)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Delete nothing: the commit may have landed before its process died."""


def stream_writer(
    target: Target,
    began: Began,
    columns: Schema,
    arrow: pa.Schema,
    options: Options,
    given: Iterable[str],
    *,
    overwrite: bool,
) -> StreamWriter:
    """The writer for an epoch of a query. A table that is not there is created first, empty.

    Args:
        columns: the columns of the rows in the catalog's types, for a new table.
        arrow: the same as Arrow's.
        given: the names of the options, as the user gave them.
        overwrite: whether the rows of each epoch replace those of the table.

    Raises:
        InvalidRequestError: the rows or the options do not fit the table.
        NotFoundError: the table was dropped or replaced since the query was started.
    """
    check_sink_options(given, target.path)
    is_new = began.table_uuid is None and target.find() is None
    table = _created(target, columns, options) if is_new else target.load()
    version = began.sink_schema(table)
    if not is_new:
        check_key(options.key, table)
        check_partitioning(options.partition_by, table)
    plan = table.sink("", schema_version=version).plan(arrow)
    return StreamWriter(target, version, plan, overwrite=overwrite)


def _created(target: Target, columns: Schema, options: Options) -> Table:
    """A new table for the rows of a stream."""
    given = {**asdict(options.key), "partitioned_by": options.partition_by or ()}
    schema = loosened(columns)
    try:
        if target.warehouse is None:
            return Catalog.create_path(target.path, schema, storage_options=target.storage, **given)
        return Catalog(target.warehouse, target.storage).create_table(target.path, schema, **given)
    except AlreadyExistsError:
        return target.load()  # another process was first
