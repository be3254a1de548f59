"""Readers of streams: of a table in Python alone, and of the parts of a micro-batch for the jar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from pyspark_versioned.projection import project
from pyspark_versioned.reader import Part, VersionedReader
from pyspark_versioned.spark_types import arrow_schema, to_spark_schema
from pyspark_versioned.sql.protocol.stream import MicroBatch
from pyspark_versioned.worker_errors import shows_errors
from versioned_catalog import InvalidRequestError
from versioned_catalog.projection.arrays import own_nulls
from versioned_catalog.schema.schema import Schema
from versioned_catalog.storage.store import Store
from versioned_catalog.streaming.limits import NO_LIMITS, Limits
from versioned_catalog.streaming.offset import Offset
from versioned_catalog.streaming.shape import shown
from versioned_catalog.streaming.stream import TableStream
from versioned_catalog.types.paths import render_path
from versioned_catalog.types.types import walk

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


def micro_batch_parts(batch: MicroBatch, schema: StructType) -> tuple[Store, Sequence[Part], str]:
    """The snapshots that make up a micro-batch, and the table's store and name."""
    from pyspark_versioned.sql.snapshots import open_stream

    stream, name = open_stream(batch.stream), batch.stream.table.name
    start, end = Offset.from_json(batch.start), Offset.from_json(batch.end)
    return stream.store, _parts(stream, start, end, schema, name), name


def _parts(
    stream: TableStream, start: Offset, end: Offset, schema: StructType, name: str
) -> Sequence[Part]:
    return [
        (state, project(schema, state.seen.schema, name)) for state in stream.states(start, end)
    ]


@shows_errors
class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the rows that are added to a table, without the jar.

    Args:
        stream: the table, in the schema of the stream.
        schema: the columns that Spark expects.
        limits: how much a micro-batch may read.
        table: the table's name in errors.
    """

    def __init__(self, stream: TableStream, schema: StructType, limits: Limits, table: str) -> None:
        columns = project(schema, stream.declared, table)
        self._stream: TableStream | None = stream
        self._reader = VersionedReader(stream.store, (), arrow_schema(schema), table)
        self._declared = columns
        self._wanted = to_spark_schema(shown(Schema(columns)).columns)
        self._limits = limits
        self._table = table
        self._until: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Executors only need their splits.
        return {**self.__dict__, "_stream": None}

    @property
    def _own(self) -> TableStream:
        assert self._stream is not None, "only executors have no stream"
        return self._stream

    def initialOffset(self) -> dict[str, Any]:
        """Where a new stream starts."""
        return self._own.initial().to_dict()

    def getDefaultReadLimit(self) -> ReadLimit:
        """A limit that stands for those of the options, which Spark hands back."""
        return ReadAllAvailable() if self._limits == NO_LIMITS else ReadMaxFiles(1)

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """Where the next micro-batch ends."""
        if start is None or limit is None:
            return self._own.newest().to_dict()
        limits = NO_LIMITS if isinstance(limit, ReadAllAvailable) else self._limits
        return self._own.latest(Offset.from_dict(start), limits, until=self._until).to_dict()

    def reportLatestOffset(self) -> dict[str, Any]:
        """Where a stream that has read everything is."""
        return self._own.newest().to_dict()

    def prepareForTriggerAvailableNow(self) -> None:
        """Read nothing that is committed from now on."""
        self._until = self._own.newest().version - 1

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Plan a micro-batch."""
        stream = self._own
        places = Offset.from_dict(start), Offset.from_dict(end)
        parts = _parts(stream, *places, self._wanted, self._table)
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
        """Refuse nulls that Spark would read as values: without the jar, it is told of NOT NULL."""
        for place, column in enumerate(self._declared):
            for inner, above in walk((column,)):
                path = (*above, inner)
                if not inner.nullable and own_nulls(batch.column(place), path):
                    shown_path = render_path(tuple(one.name for one in path))
                    raise InvalidRequestError(
                        f"{self._table}: the column {shown_path} is NOT NULL in this DataFrame, and was "
                        "dropped or made nullable since; start the query with a new DataFrame and the "
                        "same checkpoint"
                    )
