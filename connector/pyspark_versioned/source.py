"""The data source: ``spark.read.format("versioned")`` and ``df.write.format("versioned")``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from pyspark_versioned.changes_reader import changes_of, reader_of
from pyspark_versioned.option_names import Use
from pyspark_versioned.options import Options, Target, parse_options
from pyspark_versioned.projection import project
from pyspark_versioned.reader import PushdownReader, VersionedReader
from pyspark_versioned.spark_types import arrow_schema, from_spark_schema, to_spark_schema
from pyspark_versioned.stream_options import (
    changes_asked,
    stream_limits,
    stream_of,
    wanted_changes,
)
from pyspark_versioned.stream_reader import RefusedStream, StreamReader
from pyspark_versioned.stream_writer import Began, SinkOptions, stream_writer
from pyspark_versioned.tracing import traced_task
from pyspark_versioned.unseen import carried_columns, shown_columns
from pyspark_versioned.worker_errors import shows_errors
from pyspark_versioned.writer import plan_writer
from versioned_catalog import InvalidRequestError, NotFoundError, Table, VersionedError
from versioned_catalog.errors import naming_table
from versioned_catalog.log.state import TableState
from versioned_catalog.model.schema import Schema
from versioned_catalog.observe.tracing import span
from versioned_catalog.read.metadata_columns import feed_columns, nullable
from versioned_catalog.read.scan_columns import bind_filters, resolve

_PUSHDOWN_MODULE = "pyspark.sql.worker.data_source_pushdown_filters"


@shows_errors
class VersionedDataSource(DataSource):
    """Versioned tables as a Python data source.

    The version is pinned when the source is created: Spark pickles the source then, and creates readers
    later, in other processes.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(dict(options))
        with _naming(options):
            self._parsed: Options = parse_options(options)
            self._target = Target.of(self._parsed)
            state = self._newest()
            if state is None:
                self._target.refuse_catalog_name(self._parsed.path)
            self._pinned = None if state is None else state.version
            self._uuid = None if state is None else state.table_uuid
            self._schema_version = None if state is None else state.schema_version

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "versioned"

    def _newest(self) -> TableState | None:
        """The snapshot to read; None if there is no table yet, which a write may create."""
        table = replace(self._target, schema=None).find()
        return None if table is None else table.at(self._parsed.version, self._parsed.timestamp)

    def _snapshot(self) -> tuple[Table, TableState]:
        table = self._target.load()
        if self._pinned is None:
            raise NotFoundError(
                f"there was no table at {table.name} when the read was planned; read it again",
                condition="TABLE_NOT_FOUND",
            )
        return table, table.at(self._pinned)

    def schema(self) -> StructType:
        """The columns of the snapshot, or those that the option ``columns`` names."""
        _, state = self._snapshot()
        names = self._parsed.columns
        schema = state.seen.schema
        wanted = None if names is None else tuple(resolve(schema, (name,), state) for name in names)
        if wanted_changes(self._parsed.stream, self._target.path) is not None:
            return to_spark_schema(feed_columns(tuple(map(nullable, wanted or schema.columns))))
        return to_spark_schema(shown_columns(state, wanted))

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of all columns, or of those in the user's schema."""
        self._check(Use.READ)
        table, state = self._snapshot()
        versions = changes_asked(self._parsed.stream, table, state.version)
        if versions is not None and self._parsed.box is not None:
            raise InvalidRequestError(
                f"{table.name}: a read of changes has no option box; filter it by other columns, or use "
                "Table.changes(filters=...) in Python",
                condition="NOT_SUPPORTED",
            )
        if versions is not None:
            return reader_of(changes_of(table, versions, schema), schema, table.name)
        columns = project(schema, state.seen.schema, table.name, carried_columns(state))
        kind = PushdownReader if self._takes_filters() and _pushing_down() else VersionedReader
        with naming_table(table.name):
            where = bind_filters(self._parsed.box, state.known, state)
        return kind(table.store, [(state, columns)], arrow_schema(schema), table.name, where)

    def _takes_filters(self) -> bool:
        """Whether to take filters that Spark pushes down.

        Up to 4.3, Spark keeps pushed filters on the relation, so another query on the same DataFrame,
        with another filter or none, reads the rows of the first (SPARK-58551). Versions without this
        bug can also push limits. On the others, the option ``pushdown`` turns it on, for a DataFrame
        that is filtered once.
        """
        if self._parsed.pushdown is not None:
            return self._parsed.pushdown
        return hasattr(DataSourceReader, "pushLimit")

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The reader of a stream: of the rows that are added to the table, or of its changes."""
        try:
            return self._stream_reader(schema)
        except VersionedError as error:
            return RefusedStream(error)  # Spark would lose the text of an error that is raised here

    def _stream_reader(self, schema: StructType) -> StreamReader:
        table = self._target.load()
        if self._parsed.version is not None or self._parsed.timestamp is not None:
            raise InvalidRequestError(
                f"{table.name}: a stream goes on with what is added, so it has no versionAsOf and no "
                "timestampAsOf; use startingVersion or startingTimestamp",
                condition="INVALID_OPTION",
            )
        self._check(Use.STREAM)
        stream = stream_of(table, self._parsed.stream, self._schema_version, table.name)
        limits = stream_limits(self._parsed.stream, table.name)
        return StreamReader(stream, schema, limits, table.name)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of a frame."""
        if self._parsed.commit is not None:
            from pyspark_versioned.sql.write_requests import JarWriter

            return JarWriter.of(self._parsed.commit)
        with _naming(self.options):
            columns, arrow = self._rows(schema)
            self._check(Use.WRITE)
            with traced_task(), span("versioned.plan_write"):
                return plan_writer(self._target, columns, arrow, self._parsed, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """The writer of an epoch of a stream."""
        with _naming(self.options):
            columns, arrow = self._rows(schema)
            sink = SinkOptions.of(self._parsed, self.options)
            self._check(Use.SINK)
            began = Began(self._uuid, self._schema_version)
            return stream_writer(sink, began, columns, arrow, overwrite=overwrite)

    def _check(self, use: Use) -> None:
        """Refuse options that this use does not honour; only now Spark makes the use known."""
        parse_options(self.options, use, self._target.path)

    def _rows(self, schema: StructType) -> tuple[Schema, pa.Schema]:
        """The columns of rows to write, also as Arrow's.

        Raises:
            InvalidRequestError: an option is for reading only.
        """
        parsed = self._parsed
        if parsed.version is not None or parsed.timestamp is not None:
            raise InvalidRequestError(
                "an older version can't be written to; leave out versionAsOf and timestampAsOf",
                condition="READ_ONLY",
            )
        if parsed.columns is not None:
            raise InvalidRequestError(
                "a write takes its columns from the frame; leave out columns",
                condition="INVALID_OPTION",
            )
        return Schema(from_spark_schema(schema)), arrow_schema(schema)


def _naming(options: Mapping[str, str]) -> AbstractContextManager[None]:
    """Have errors name the table as the options do."""
    path = next((value for key, value in options.items() if key.lower() == "path"), "")
    return naming_table(path) if path else nullcontext()


def _pushing_down() -> bool:
    """Whether Spark creates this reader to push filters into it.

    A reader that can take filters fails every read while Spark's setting is off. A worker can't see the
    setting, but it can see which module runs it.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == _PUSHDOWN_MODULE or frame.f_code.co_filename.endswith(
            "data_source_pushdown_filters.py"
        ):
            return True
    return False
