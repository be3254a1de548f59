"""A compaction spread over executors: each piece is a task, and what was written comes back as rows."""

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
from versioned_catalog.compaction.tasks import CompactionTask
from versioned_catalog.expressions.where import parse_where
from versioned_catalog.log.record import record_to_json
from versioned_catalog.schema.sorting import split_names
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location

DONE = StructType().add("paths", StringType()).add("records", StringType())
"""Of each piece: the paths of the segments that go, and the records of those that come, as JSON."""


@dataclass
class Work(InputPartition):
    """What one Spark task does."""

    piece: CompactionTask

    def __init__(self, piece: CompactionTask) -> None:
        super().__init__(None)
        self.piece = piece


def planned(table: Table, request: Mapping[str, Any]) -> list[CompactionTask]:
    """The pieces of a compaction: the same whoever plans it.

    Args:
        table: the table.
        request: ``version``, ``where`` (a condition, or null), ``strategy``, and ``zorder`` (names of
            columns, or null).
    """
    where = None if request["where"] is None else parse_where(request["where"])
    asked = request["zorder"]
    zorder = () if asked is None else split_names(asked, "zorder")
    then = table.as_of(request["version"])
    return then.maintenance.plan_compaction(where, request["strategy"], zorder=zorder)


@shows_errors
class CompactingReader(DataSourceReader):
    """Carries out pieces, and gives a row a piece.

    Args:
        table: the table.
        request: as for ``planned``.
    """

    def __init__(self, table: Table, request: Mapping[str, Any]) -> None:
        self._location: Location = table.store.location
        self._pieces = planned(table, request)

    def partitions(self) -> list[InputPartition]:
        """The pieces."""
        return [Work(piece) for piece in self._pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Carry out a piece."""
        if not isinstance(partition, Work):
            return  # what Spark makes of a read that has no pieces
        records = partition.piece.run(reopen(self._location), scratch())
        told = [list(partition.piece.paths), [record_to_json(one) for one in records]]
        yield pa.RecordBatch.from_arrays([pa.array([json.dumps(one)]) for one in told], DONE.names)
