"""Readers of streams of a table, without the jar; queries that go on through changes of the schema."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pyspark_versioned.changes_reader import ChangesReader, reader_of, table_columns
from pyspark_versioned.projection import project
from pyspark_versioned.reader import VersionedReader
from pyspark_versioned.spark_types import arrow_schema, to_spark_schema
from pyspark_versioned.worker_errors import shows_errors
from versioned_catalog import InvalidRequestError, SchemaChangedError, VersionedError
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import render_path
from versioned_catalog.model.types import walk
from versioned_catalog.read.arrays import own_nulls
from versioned_catalog.stream.change_stream import ChangeStream
from versioned_catalog.stream.offsets import NO_LIMITS, Limits, Offset
from versioned_catalog.stream.row_stream import TableStream
from versioned_catalog.stream.stream_log import shown

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before Spark 4.2, which reads all there is in every batch

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Nothing: Spark does not ask."""


class AddedRows:
    """Reads the rows of a stream of added rows.

    Args:
        stream: the table, in the schema of the stream.
        schema: the columns that Spark expects.
        table: the table's name in errors.
    """

    def __init__(self, stream: TableStream, schema: StructType, table: str) -> None:
        self._declared = project(schema, stream.declared, table)
        self._reader = VersionedReader(stream.store, (), arrow_schema(schema), table)
        self._wanted = to_spark_schema(shown(Schema(self._declared)).columns)
        self._table = table

    def partitions(self, stream: TableStream, start: Offset, end: Offset) -> list[InputPartition]:
        """Plan a micro-batch."""
        parts = [
            (state, project(self._wanted, state.seen.schema, self._table))
            for state in stream.states(start, end)
        ]
        planner = VersionedReader(stream.store, parts, arrow_schema(self._wanted), self._table)
        return planner.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a split.

        Raises:
            InvalidRequestError: there is a null in a column that was NOT NULL when the stream began.
        """
        for batch in self._reader.read(partition):
            self._check_not_null(batch)
            yield batch

    def _check_not_null(self, batch: pa.RecordBatch) -> None:
        """Refuse nulls in NOT NULL columns, which Spark would read as values without the jar."""
        for place, column in enumerate(self._declared):
            for inner, above in walk((column,)):
                path = (*above, inner)
                if not inner.nullable and own_nulls(batch.column(place), path):
                    shown_path = render_path(tuple(part.name for part in path))
                    raise InvalidRequestError(
                        f"{self._table}: the column {shown_path} is NOT NULL in this DataFrame, and was "
                        "dropped or made nullable since; start the query with a new DataFrame and the "
                        "same checkpoint"
                    )


class ChangedRows:
    """Reads the rows of a stream of changes. Arguments are those of ``AddedRows``."""

    def __init__(self, stream: ChangeStream, schema: StructType, table: str) -> None:
        names = table_columns(schema)
        project(StructType([schema[name] for name in names]), stream.declared, table)  # may raise
        self._schema = schema
        self._reader = ChangesReader(stream.store.location, [], arrow_schema(schema), table)
        self._table = table

    def partitions(self, stream: ChangeStream, start: Offset, end: Offset) -> list[InputPartition]:
        """Plan a micro-batch."""
        changes = stream.changes(start, end, table_columns(self._schema))
        return reader_of(changes, self._schema, self._table).partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes of a split."""
        return self._reader.read(partition)


Rows = AddedRows | ChangedRows
"""The rows that executors read."""


@shows_errors
class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a table as a stream, without the jar.

    Args:
        stream: the rows that are added to the table, or its changes.
        schema: the columns that Spark expects.
        limits: how much a micro-batch may read.
        table: the table's name in errors.
    """

    def __init__(
        self, stream: TableStream | ChangeStream, schema: StructType, limits: Limits, table: str
    ) -> None:
        self._stream: TableStream | ChangeStream | None = stream
        self._rows: Rows = (
            ChangedRows(stream, schema, table)
            if isinstance(stream, ChangeStream)
            else AddedRows(stream, schema, table)
        )
        self._limits = limits
        self._until: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Executors only need their splits.
        return {**self.__dict__, "_stream": None}

    @property
    def _opened(self) -> TableStream | ChangeStream:
        assert self._stream is not None, "only executors have no stream"
        return self._stream

    def initialOffset(self) -> dict[str, Any]:
        """The offset at which a new stream starts."""
        return self._opened.initial().to_dict()

    def getDefaultReadLimit(self) -> ReadLimit:
        """A limit that stands for those of the options, which Spark hands back."""
        return ReadAllAvailable() if self._limits == NO_LIMITS else ReadMaxFiles(1)

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """The offset at which the next micro-batch ends."""
        if start is None or limit is None:
            return self._opened.newest().to_dict()
        limits = NO_LIMITS if isinstance(limit, ReadAllAvailable) else self._limits
        return self._opened.latest(Offset.from_dict(start), limits, until=self._until).to_dict()

    def commit(self, end: dict[str, Any]) -> None:
        """Move the consumer of the stream: Spark has done with everything before an offset."""
        self._opened.consumed(Offset.from_dict(end))

    def reportLatestOffset(self) -> dict[str, Any]:
        """The offset of a stream that has read everything."""
        return self._opened.newest().to_dict()

    def prepareForTriggerAvailableNow(self) -> None:
        """Read nothing that is committed from now on."""
        self._until = self._opened.newest().version - 1

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Plan a micro-batch."""
        places = Offset.from_dict(start), Offset.from_dict(end)
        match self._opened, self._rows:
            case ChangeStream() as stream, ChangedRows() as rows:
                return rows.partitions(stream, *places)
            case TableStream() as stream, AddedRows() as rows:
                return rows.partitions(stream, *places)
            case _:
                raise AssertionError("a stream and its rows are of one kind")

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a split."""
        return self._rows.read(partition)


@shows_errors
class RefusedStream(DataSourceStreamReader):
    """A stream that can't be read, which says why when Spark asks where it starts."""

    def __init__(self, error: VersionedError) -> None:
        self._error = error

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._error

    initialOffset = latestOffset = partitions = read = _refuse


def follow(build: Callable[[], DataStreamWriter], checkpoint: str | os.PathLike[str]) -> None:
    """Run a query that stops at changes of the schema, and build it anew after each.

    The query reads with the option ``schemaMode = stop``. A batch then ends at the ALTER, and the query
    that ``build`` makes next has the new columns. Rows are neither lost nor read twice.

    Args:
        build: makes the query: a DataFrame that is read anew, and how it is written.
        checkpoint: the query's checkpoint, which all of its runs share.

    Raises:
        StreamingQueryException: the query failed for another reason.
    """
    from pyspark.errors import StreamingQueryException

    while True:
        query = build().option("checkpointLocation", os.fspath(checkpoint)).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if f"[{SchemaChangedError('').condition}]" not in str(error):
                raise
        else:
            return
