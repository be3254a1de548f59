"""Compaction on executors: each task is a Spark task, and its results come back as rows."""

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
from versioned_catalog.compaction.tasks import Piece
from versioned_catalog.expressions.where import parse_where
from versioned_catalog.log.record import record_to_json
from versioned_catalog.schema.sorting import split_names
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location

DONE = StructType().add("paths", StringType()).add("records", StringType())
"""For each task: the paths of the removed segments, and the records of the added ones, as JSON."""


@dataclass
class CompactionTask(InputPartition):
    """What one Spark task compacts."""

    piece: Piece

    def __init__(self, piece: Piece) -> None:
        super().__init__(None)
        self.piece = piece


def planned(table: Table, request: Mapping[str, Any]) -> list[Piece]:
    """The tasks of a compaction; the plan is deterministic.

    Args:
        table: the table.
        request: the option ``compact``: ``version``, ``where`` (a condition or null), ``strategy`` and
            ``zorder`` (columns or null).
    """
    where = None if request["where"] is None else parse_where(request["where"])
    asked = request["zorder"]
    zorder = () if asked is None else split_names(asked, "zorder")
    then = table.as_of(request["version"])
    return then.plan_compaction(where, request["strategy"], zorder=zorder)


@shows_errors
class CompactingReader(DataSourceReader):
    """Compacts, and yields one row for each task.

    Args:
        table: the table.
        request: as for ``planned``.
    """

    def __init__(self, table: Table, request: Mapping[str, Any]) -> None:
        self._location: Location = table.store.location
        self._pieces = planned(table, request)

    def partitions(self) -> list[InputPartition]:
        """The tasks."""
        return [CompactionTask(piece) for piece in self._pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Compact the segments of a task."""
        if not isinstance(partition, CompactionTask):
            return  # Spark's own partition for a read without tasks
        records = partition.piece.carry_out(reopen(self._location), scratch())
        found = [list(partition.piece.paths), [record_to_json(one) for one in records]]
        yield pa.RecordBatch.from_arrays([pa.array([json.dumps(one)]) for one in found], DONE.names)
