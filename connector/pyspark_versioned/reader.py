"""Readers of the data source: planned on the driver, read by executors."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from pyspark_versioned.projection import finder
from pyspark_versioned.tracing import traced_task
from pyspark_versioned.unseen import Shared
from pyspark_versioned.worker_errors import shows_errors
from versioned_catalog import CorruptTableError
from versioned_catalog.errors import naming_table
from versioned_catalog.log.state import TableState
from versioned_catalog.model.types import Column
from versioned_catalog.observe.tracing import Span, detached
from versioned_catalog.read.arrays import recast
from versioned_catalog.read.dialects import Call, Dialect, Field, Node, Value, translate
from versioned_catalog.read.filter_binding import bind_if_known
from versioned_catalog.read.filters import And, BoundFilter, StoredText, UnboundFilter
from versioned_catalog.read.planning import TARGET_BYTES, pack
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.tasks import Task, read_segments, restrict
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.stream.change_tasks import ChangeTask

MIN_SPLIT_BYTES = 8 * 1024 * 1024
WANTED_SPLITS = 16
"""Enough to keep a few cores busy to the end; the number of cores is not known here."""


@dataclass
class Split(InputPartition):
    """The tasks that one Spark task carries out, and the columns to show of what they read.

    Tasks read segments, or parts of segments, or the changes between versions.
    """

    tasks: tuple[Any, ...]
    shared: Shared

    def __init__(self, tasks: tuple[Task | ChangeTask, ...], shared: Shared) -> None:
        super().__init__(None)
        self.tasks = tasks
        self.shared = shared


Part = tuple[TableState, tuple[Column, ...]]
"""A snapshot, and the columns to read of it."""


@shows_errors
class VersionedReader(DataSourceReader):
    """Reads the wanted columns of one snapshot, or of those that make up a micro-batch of a stream.

    Args:
        parts: the snapshots, each with the wanted columns as it has them.
        shape: the Arrow schema that Spark expects of every batch.
        table: the table's name in errors.
        where: the filter of the rows; None for all.
    """

    def __init__(
        self,
        store: Store,
        parts: Sequence[Part],
        shape: pa.Schema,
        table: str,
        where: BoundFilter | None = None,
    ) -> None:
        self._location: Location = store.location
        self._columns = parts[0][1] if parts else ()
        self._shape = shape
        self._table = table
        self._where: tuple[BoundFilter, ...] = () if where is None else (where,)
        self._planning: tuple[Store, Sequence[Part]] | None = (store, parts)

    def __getstate__(self) -> dict[str, Any]:
        # Executors only need their splits; the snapshot stays on the driver.
        return {**self.__dict__, "_planning": None}

    def partitions(self) -> list[InputPartition]:
        """Plan the scan: pack the segments into splits, each of which one Spark task reads."""
        assert self._planning is not None
        store, parts = self._planning
        where = And(self._where) if self._where else None
        planned_splits: list[InputPartition] = []
        for state, columns in parts:
            shared = Shared.of(columns)
            planned_splits += splits(Scan(store, state, shared.read, where), shared)
        return planned_splits

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a split."""
        if not isinstance(partition, Split):
            return  # Spark's own partition for a read without splits
        store = reopen(self._location)
        with naming_table(self._table), _reading(store.url) as span:
            rows = 0
            for batch in read_segments(store, partition.tasks):
                rows += batch.num_rows
                yield shaped(partition.shared.split(batch), self._shape)
            span.set(rows=rows)


@contextmanager
def _reading(store: str) -> Iterator[Span]:
    """The span of reading a split. Spark takes its rows in steps, so it is nobody's parent."""
    with traced_task():
        reading = detached("versioned.read", store=store)
        span = reading.__enter__()
    with ExitStack() as stack:
        stack.push(reading)
        yield span


@shows_errors
class PushdownReader(VersionedReader):
    """A reader of one snapshot with filter pushdown; Spark refuses it unless its setting is on."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Take the filters that are applied exactly, and return the others to Spark."""
        column_at = finder(self._columns)
        for pushed in filters:
            unbound = to_unbound(pushed)
            bound = None if unbound is None else bind_if_known(unbound, column_at)
            if bound is None:
                yield pushed
            else:
                self._where += (bound,)


def to_unbound(pushed: Filter) -> UnboundFilter | None:
    """The filter that means the same, or None if there is none; Spark applies that filter itself."""
    return translate(_node(pushed), Dialect.SPARK_FILTER)


def _node(pushed: Filter) -> Node:
    """The call of a filter, whose class has the column, and the value if there is one, as fields."""
    match pushed, [getattr(pushed, field.name) for field in fields(pushed)]:
        case datasource.Not(), [child]:
            arguments: list[Node] = [_node(child)]
        case datasource.In(), [path, values]:
            arguments = [Field(path), *(Value(StoredText.of(value)) for value in values)]
        case _, [path, *values]:
            arguments = [Field(path), *(Value(StoredText.of(value)) for value in values)]
        case _:
            arguments = []
    return Call(type(pushed).__name__, tuple(arguments))


def splits(scan: Scan, shared: Shared, only: Collection[str] | None = None) -> list[InputPartition]:
    """The tasks of a scan, packed for Spark.

    Args:
        only: the paths of the segments to read; None for all.
    """
    tasks = scan.tasks()
    if only is not None:
        restricted = ((restrict(task, only), size) for task, size in tasks)
        tasks = [(task, size) for task, size in restricted if task is not None]
    total = sum(size for _, size in tasks)
    wanted = max(MIN_SPLIT_BYTES, min(TARGET_BYTES, total // WANTED_SPLITS))
    return [Split(split, shared) for split in pack(tasks, wanted)]


@dataclass(frozen=True)
class ReadPartition:
    """The function by which an executor reads a partition, which comes pickled in a batch of one row."""

    reader: DataSourceReader

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        for batch in batches:
            yield from self.reader.read(pickle.loads(batch.column(0)[0].as_py()))


def planned_read(
    reader: DataSourceReader, partitions: Sequence[InputPartition], schema: StructType
) -> bytes:
    """A planned read, as Spark's own worker (``plan_data_source_read``) sends it to the JVM."""
    pickled = map(pickle.dumps, ((ReadPartition(reader), schema), *partitions))
    function, *parts = [struct.pack(">i", len(content)) + content for content in pickled]
    return b"".join((function, struct.pack(">i", len(parts)), *parts))


def shaped(batch: pa.RecordBatch, shape: pa.Schema) -> pa.RecordBatch:
    """A batch with the schema that Spark expects; Spark checks the first batch only.

    Raises:
        CorruptTableError: the batch has other columns or fields, or can't be cast to the schema.
    """
    if batch.schema.equals(shape):
        return batch
    try:
        if batch.schema.names != shape.names:
            raise ValueError(f"the columns are {batch.schema.names} instead of {shape.names}")
        arrays = [
            recast(array, field.type) for array, field in zip(batch.columns, shape, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=shape)
    except (pa.ArrowException, ValueError) as error:
        raise CorruptTableError(
            f"the rows do not have the schema that Spark expects: {error}"
        ) from error
