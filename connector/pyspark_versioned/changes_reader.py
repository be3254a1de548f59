"""Reads of the changes between versions: planned on the driver, computed by executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pyspark_versioned.projection import project
from pyspark_versioned.reader import Split, shaped
from pyspark_versioned.spark_types import arrow_schema
from pyspark_versioned.sql.predicates import all_of, translated
from pyspark_versioned.sql.protocol.common import Term
from pyspark_versioned.sql.protocol.table import VersionRange
from pyspark_versioned.unseen import Shared
from pyspark_versioned.worker_errors import shows_errors
from versioned_catalog import Table
from versioned_catalog.errors import naming_table
from versioned_catalog.model.schema import Schema
from versioned_catalog.read.filter_binding import bind_if_known
from versioned_catalog.read.filters import AllOf
from versioned_catalog.read.metadata_columns import CHANGE_COLUMNS, feed_columns
from versioned_catalog.read.planning import TARGET_BYTES, next_fit
from versioned_catalog.read.scan_columns import resolve
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.change_planner import Request
from versioned_catalog.stream.change_reading import read_changes


@shows_errors
class ChangesReader(DataSourceReader):
    """Reads the changes of a plan.

    Args:
        shape: the Arrow schema that Spark expects of every batch.
        table: the table's name in errors.
    """

    def __init__(
        self, location: Location, splits: list[Split], shape: pa.Schema, table: str
    ) -> None:
        self._location = location
        self._splits = splits
        self._shape = shape
        self._table = table

    def partitions(self) -> list[InputPartition]:
        """The splits of the plan."""
        return list(self._splits)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes of a split."""
        if not isinstance(partition, Split):
            return  # Spark's own partition for a read without splits
        store = reopen(self._location)
        with naming_table(self._table):
            for task in partition.tasks:
                for batch in read_changes(store, task):
                    yield shaped(partition.shared.split(batch), self._shape)


def table_columns(schema: StructType) -> list[str]:
    """The names of the columns of the table in a schema of changes."""
    return [name for name in schema.names if name.lower() not in CHANGE_COLUMNS.names]


def changes_reader(
    table: Table, span: VersionRange, schema: StructType, filters: Sequence[Term] = ()
) -> ChangesReader:
    """The reader of the columns of a schema, of the changes of a range."""
    where = _translated(filters, table.at(span.end).seen.schema)
    columns = table_columns(schema)
    request = Request(span.net, span.carryovers, span.updates, columns, where)
    return reader_of(table.changes_between(span.start, span.end, request), schema, table.name)


def reader_of(changes: Changes, schema: StructType, name: str) -> ChangesReader:
    """The reader of the columns of a schema, of planned changes.

    Args:
        schema: the columns; structs may lack fields, which the changes have.
    """
    columns = changes.plan.columns
    feed = feed_columns(columns)
    shared = Shared(project(schema, Schema(columns), name, feed[len(columns) :]), feed)
    sizes = [(task, task.bytes) for task in changes.plan.tasks]
    splits = [Split(tasks, shared) for tasks in next_fit(sizes, TARGET_BYTES)]
    return ChangesReader(changes.store.location, splits, arrow_schema(schema), name)


def _translated(filters: Sequence[Term], schema: Schema) -> AllOf | None:
    """The filters on columns of the table that the catalog understands; Spark applies all of them."""
    column_at = partial(resolve, schema)
    return all_of(f for f in translated(filters) if bind_if_known(f, column_at) is not None)
