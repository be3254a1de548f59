"""Compaction on executors: one Spark task a compaction task; the written segments come back as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructType

from pyspark_versioned.scratch import scratch
from pyspark_versioned.worker_errors import shows_errors
from versioned_catalog import Table
from versioned_catalog.log.record import record_to_json
from versioned_catalog.model.keys import split_names
from versioned_catalog.read.where import parse_where
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location
from versioned_catalog.write.compaction_choice import CompactionTask

DONE = StructType().add("paths", StringType()).add("records", StringType())
"""One row a compaction task: paths of the removed segments and records of the new ones, as JSON."""


@dataclass
class Work(InputPartition):
    """The input of one Spark task."""

    task: CompactionTask

    def __init__(self, task: CompactionTask) -> None:
        super().__init__(None)
        self.task = task


def planned(table: Table, request: Mapping[str, Any]) -> list[CompactionTask]:
    """Plan the tasks of a compaction; every process plans the same.

    Args:
        table: the table.
        request: ``version``, ``where`` (SQL condition or null), ``strategy``, and ``zorder`` (column
            names or null).
    """
    where = None if request["where"] is None else parse_where(request["where"])
    names = request["zorder"]
    zorder = () if names is None else split_names(names, "zorder")
    snapshot = table.as_of(request["version"])
    return snapshot.maintenance.plan_compaction(where, request["strategy"], zorder=zorder)


@shows_errors
class CompactingReader(DataSourceReader):
    """Runs compaction tasks, and returns one row each."""

    def __init__(self, location: Location) -> None:
        self._location = location

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Run a compaction task."""
        assert isinstance(partition, Work)
        records = partition.task.run(reopen(self._location), scratch())
        row = [list(partition.task.paths), [record_to_json(record) for record in records]]
        yield pa.RecordBatch.from_arrays([pa.array([json.dumps(cell)]) for cell in row], DONE.names)
