"""``CALL <catalog>.system.compact``: planned and committed on the driver, carried out by a Spark job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructType

from pyspark_versioned.reader import planned_read
from pyspark_versioned.sql.procedure import TABLE, Invocation, Procedure, Row, optional
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.names import ProcedureJob
from pyspark_versioned.worker_errors import shows_errors
from pyspark_versioned.writer import scratch
from versioned_catalog import Table
from versioned_catalog.log.record import record_from_json, record_to_json
from versioned_catalog.model.keys import split_names
from versioned_catalog.read.where import parse_where
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location
from versioned_catalog.write.compaction import Done
from versioned_catalog.write.compaction_choice import CompactionTask
from versioned_catalog.write.writer import target_bytes

RESOLVE = "resolve"

DONE = StructType().add("paths", StringType()).add("records", StringType())
"""One row a compaction task: paths of the removed segments and records of the new ones, as JSON."""


@dataclass
class Work(InputPartition):
    """The input of one Spark task."""

    task: CompactionTask

    def __init__(self, task: CompactionTask) -> None:
        super().__init__(None)
        self.task = task


def _planned(table: Table, request: Mapping[str, Any]) -> list[CompactionTask]:
    """Plan the tasks of a compaction; every process plans the same.

    Args:
        table: the table.
        request: ``version``, ``where`` (SQL condition or null), ``strategy``, and ``zorder`` (column
            names or null), and ``least_files`` (leave out groups of fewer segments that are not large
            enough for one, or null).
    """
    where = None if request["where"] is None else parse_where(request["where"])
    names = request["zorder"]
    zorder = () if names is None else split_names(names, "zorder")
    snapshot = table.as_of(request["version"])
    tasks = snapshot.maintenance.plan_compaction(where, request["strategy"], zorder=zorder)
    least = request["least_files"]
    if least is None:
        return tasks
    enough = target_bytes(snapshot.state.properties)
    return [task for task in tasks if len(task.paths) >= least or task.bytes >= enough]


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


def _request(call: Invocation, version: int) -> dict[str, Any]:
    """The request of the job."""
    arguments = call.arguments
    return {
        "version": version,
        "where": arguments["where"],
        "strategy": arguments["strategy"] or "auto",
        "zorder": arguments["zorder"],
        "least_files": call.number("least_files") if "least_files" in arguments else None,
    }


def _job(call: Invocation) -> ProcedureJob | None:
    table = call.table
    if call.flag("dry_run", False) or call.landed(table) is not None:
        return None
    request = _request(call, table.version)
    tasks = _planned(table, request)
    if not tasks:
        return None
    return compacting_job(table, tasks, request)


def compacting_job(
    table: Table, tasks: Sequence[CompactionTask], request: Mapping[str, Any]
) -> ProcedureJob:
    """The Spark job that runs compaction tasks; the next invocation gets ``request`` again."""
    read = planned_read(CompactingReader(table.store.location), list(map(Work, tasks)), DONE)
    return ProcedureJob(json.dumps(request), SparkType(DONE.jsonValue()), read)


def results_of(call: Invocation, tasks: Sequence[CompactionTask]) -> list[Done]:
    """The tasks that the job has run, with the segments that they wrote."""
    by_paths = {task.paths: task for task in tasks}
    return [
        (by_paths[tuple(json.loads(paths))], tuple(map(record_from_json, json.loads(records))))
        for paths, records in call.request.results
    ]


def _compact(call: Invocation) -> Iterable[Row]:
    table = call.table
    before = call.landed(table)
    if before is not None:  # the response was lost
        yield 0, 0, 0, 0, 0, before
        return
    dry_run = call.flag("dry_run", False)
    request = _request(call, table.version)
    if request["strategy"] == RESOLVE and not dry_run:
        yield _resolve(call, table, request)
        return
    if call.request.job is None:
        plans = _planned(table, request)
        removed, size = sum(len(p.paths) for p in plans), sum(p.bytes for p in plans)
        yield removed, size, 0, 0, 0, table.version
        return
    request = json.loads(call.request.job)
    plans = _planned(table, request)
    snapshot = table.as_of(request["version"])
    done = results_of(call, plans)
    result = snapshot.maintenance.commit_compaction(plans, done, commit_id=call.commit.id)
    yield (
        result.removed,
        result.removed_bytes,
        result.added,
        result.added_bytes,
        result.skipped,
        result.version,
    )


def _resolve(call: Invocation, table: Table, request: Mapping[str, Any]) -> Row:
    """Mark the hidden rows of overlapping segments, which reads keys only; it needs no job."""
    _planned(table, request)  # refuses arguments that do not go together
    where = None if request["where"] is None else parse_where(request["where"])
    resolved = table.maintenance.resolve(where, commit_id=call.commit.id)
    return 0, 0, 0, 0, resolved.skipped, resolved.version


COMPACT = Procedure(
    "Rewrites many segments as few, in the newest schema; query results stay the same.",
    (
        TABLE,
        optional(
            "where",
            "STRING",
            "a condition: compacts only segments with such rows; by default all",
        ),
        optional(
            "strategy",
            "STRING",
            "auto (small and overlapping segments), full, small, or resolve (rewrites none, but "
            "marks replaced rows of overlapping segments); by default auto",
        ),
        optional("dry_run", "BOOLEAN", "true only reports"),
        optional(
            "zorder",
            "STRING",
            "columns, as in 'host, ts': rewrites all segments, rows clustered by these",
        ),
    ),
    "STRUCT<removed_segments: BIGINT, removed_bytes: BIGINT, added_segments: BIGINT, "
    "added_bytes: BIGINT, skipped_segments: BIGINT, version: BIGINT>",
    _compact,
    job=_job,
)

PROCEDURES = {"compact": COMPACT}
