"""Reads of the changes between versions: planned on the driver, computed by executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

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
from versioned_catalog.read.filters import And
from versioned_catalog.read.metadata_columns import CHANGE_COLUMNS, feed_columns
from versioned_catalog.read.planning import TARGET_BYTES, next_fit
from versioned_catalog.read.scan_columns import resolve
from versioned_catalog.read.tasks import Task, read_task
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.stream.change_feed import Changes
from versioned_catalog.stream.change_planner import Request
from versioned_catalog.stream.change_reading import read_changes
from versioned_catalog.stream.change_tasks import ChangeTask
from versioned_catalog.stream.wanted_changes import Wanted, feed_column


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
            for batch in chain.from_iterable(_read(store, task) for task in partition.tasks):
                yield shaped(partition.shared.split(batch), self._shape)


def _read(store: Store, task: Task | ChangeTask) -> Iterator[pa.RecordBatch]:
    """The changes of a task; a task of a scan shows the columns of the feed among others."""
    if isinstance(task, Task):
        return read_task(store, task)
    return read_changes(store, task)


def table_columns(schema: StructType) -> list[str]:
    """The names of the columns of the table in a schema of changes."""
    return [name for name in schema.names if name.lower() not in CHANGE_COLUMNS.names]


def changes_of(
    table: Table, span: VersionRange, schema: StructType, filters: Sequence[Term] = ()
) -> Changes:
    """The changes of a range, with the columns of a schema."""
    unbound, column_at = translated(filters), partial(resolve, table.at(span.end).seen.schema)
    where = all_of(f for f in unbound if bind_if_known(f, column_at) is not None)
    of_feed = [bind_if_known(f, feed_column) for f in unbound]
    wanted = tuple(f for f in of_feed if f is not None)
    request = Request(
        *(span.net, span.carryovers, span.updates, table_columns(schema), where),
        wanted=Wanted(And(wanted) if wanted else None),
    )
    return table.changes_between(span.start, span.end, request)


def reader_of(
    changes: Changes, schema: StructType, name: str, tasks: Sequence[ChangeTask] | None = None
) -> ChangesReader:
    """The reader of the columns of a schema, of planned changes.

    Args:
        schema: the columns; structs may lack fields, which the changes have.
        tasks: those of the plan to carry out; None for all.
    """
    columns = changes.plan.columns
    feed = feed_columns(columns)
    shared = Shared(project(schema, Schema(columns), name, feed[len(columns) :]), feed)
    sizes = [(task, task.bytes) for task in (changes.plan.tasks if tasks is None else tasks)]
    splits = [Split(tasks, shared) for tasks in next_fit(sizes, TARGET_BYTES)]
    return ChangesReader(changes.store.location, splits, arrow_schema(schema), name)
