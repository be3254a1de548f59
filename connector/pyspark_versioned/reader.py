"""Readers of the data source: planned on the driver, read by executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from pyspark_versioned.projection import finder
from pyspark_versioned.pushdown import to_unbound
from pyspark_versioned.unseen import Shared
from pyspark_versioned.worker_errors import shows_errors
from versioned_catalog import CorruptTableError, NotFoundError
from versioned_catalog.datafile.read_ahead import read_segments
from versioned_catalog.datafile.tasks import Task, restrict
from versioned_catalog.errors import naming_table
from versioned_catalog.expressions.filter_binding import bind_if_known
from versioned_catalog.expressions.filters import And, BoundFilter
from versioned_catalog.log.state import TableState
from versioned_catalog.projection.arrays import recast
from versioned_catalog.scan.packing import TARGET_BYTES, pack
from versioned_catalog.scan.scan import Scan
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location, Store
from versioned_catalog.types.types import Column

MIN_SPLIT_BYTES = 8 * 1024 * 1024
WANTED_SPLITS = 16
"""Enough to keep a few cores busy to the end; the number of cores is not known here."""


@dataclass
class Split(InputPartition):
    """The segments, or parts of segments, that one Spark task reads."""

    tasks: tuple[Task, ...]
    shared: Shared

    def __init__(self, tasks: tuple[Task, ...], shared: Shared) -> None:
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
        only: the paths of the segments to read, or None for all.
        where: filters of which all hold for the rows to read.
    """

    def __init__(
        self,
        store: Store,
        parts: Sequence[Part],
        shape: pa.Schema,
        table: str,
        only: frozenset[str] | None = None,
        where: Sequence[BoundFilter] = (),
    ) -> None:
        self._location: Location = store.location
        self._columns = parts[0][1] if parts else ()
        self._shape = shape
        self._table = table
        self._only = only
        self._where = tuple(where)
        self._planning: tuple[Store, Sequence[Part]] | None = (store, parts)

    def __getstate__(self) -> dict[str, Any]:
        # Executors only need their splits; the snapshot stays on the driver.
        return {**self.__dict__, "_planning": None}

    def partitions(self) -> list[InputPartition]:
        """Plan the scan: pack the segments into splits, each of which one Spark task reads."""
        assert self._planning is not None
        store, parts = self._planning
        self._check_only([path for state, _ in parts for path in state.segments.paths])
        where = And(self._where) if self._where else None
        found: list[InputPartition] = []
        for state, columns in parts:
            shared = Shared.of(columns)
            scan = Scan(store, state, shared.read, where)
            tasks = scan.tasks() if self._only is None else _only(scan.tasks(), self._only)
            total = sum(size for _, size in tasks)
            wanted = max(MIN_SPLIT_BYTES, min(TARGET_BYTES, total // WANTED_SPLITS))
            found += [Split(split, shared) for split in pack(tasks, wanted)]
        return found

    def _check_only(self, paths: Iterable[str]) -> None:
        """Check that the snapshot has the wanted segments; a new table at the same path has others."""
        lost = None if self._only is None else self._only.difference(paths)
        if lost:
            raise NotFoundError(
                f"{self._table} has no segment {min(lost)} any more; it was dropped or replaced while "
                "the query ran, run it again",
                condition="VERSION_NOT_FOUND",
            )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a split."""
        if not isinstance(partition, Split):
            return  # Spark's own partition for a read without splits
        store = reopen(self._location)
        with naming_table(self._table):
            for batch in read_segments(store, partition.tasks):
                yield shaped(partition.shared.split(batch), self._shape)


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


def _only(tasks: list[tuple[Task, int]], paths: frozenset[str]) -> list[tuple[Task, int]]:
    """The tasks that read the given segments."""
    found = ((restrict(task, paths), size) for task, size in tasks)
    return [(task, size) for task, size in found if task is not None]


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
