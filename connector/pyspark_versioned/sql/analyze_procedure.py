"""``CALL <catalog>.system.analyze``: read by a Spark job, recorded on the driver."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructType

from pyspark_versioned.reader import planned_read
from pyspark_versioned.sql.procedure import TABLE, Invocation, Procedure, Row, optional
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.names import ProcedureJob
from pyspark_versioned.worker_errors import shows_errors
from versioned_catalog import Table
from versioned_catalog.maintain.analyze import (
    Sketches,
    analyzable,
    record,
    sketches_of,
)
from versioned_catalog.model.keys import split_names
from versioned_catalog.model.types import Column
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.sketches import Sketch
from versioned_catalog.read.tasks import Task
from versioned_catalog.storage.opening import reopen
from versioned_catalog.storage.store import Location

FOUND = StructType().add("rows", StringType()).add("sketches", StringType())
"""One row a Spark task: the number of rows, and a list of the sketches of the columns as JSON."""


@dataclass
class Part(InputPartition):
    """The segments that one Spark task reads."""

    tasks: tuple[Task, ...]

    def __init__(self, tasks: tuple[Task, ...]) -> None:
        super().__init__(None)
        self.tasks = tasks


@shows_errors
class AnalyzingReader(DataSourceReader):
    """Reads segments, and returns one row of sketches for each part."""

    def __init__(self, location: Location, columns: int) -> None:
        self._location = location
        self._columns = columns

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Sketch the columns of one part."""
        assert isinstance(partition, Part)
        rows, sketches = sketches_of(reopen(self._location), partition.tasks, self._columns)
        texts = json.dumps([sketch.text() for sketch in sketches])
        yield pa.RecordBatch.from_arrays([pa.array([str(rows)]), pa.array([texts])], FOUND.names)


def _columns(call: Invocation, table: Table) -> tuple[Column, ...]:
    text = call.arguments["columns"]
    if text == "":
        return ()
    names = None if text is None else split_names(text, "columns")
    return analyzable(table.state, table.name, names)


def _job(call: Invocation) -> ProcedureJob | None:
    table = call.table
    if call.landed(table) is not None:
        return None
    columns = _columns(call, table)
    parts = Scan(table.store, table.state, columns).partitions()
    if not parts or not columns:
        return None
    reader = AnalyzingReader(table.store.location, len(columns))
    read = planned_read(reader, list(map(Part, parts)), FOUND)
    return ProcedureJob(json.dumps(table.version), SparkType(FOUND.jsonValue()), read)


def _analyze(call: Invocation) -> Iterable[Row]:
    table = call.table
    if call.landed(table) is not None:  # the response was lost, and so are the numbers
        return
    planned = table if call.request.job is None else table.as_of(json.loads(call.request.job))
    columns = _columns(call, planned)
    if not columns:
        return
    found = [_part(rows, texts) for rows, texts in call.request.results]
    done = record(table.handle, columns, found, commit_id=call.commit.id)
    for name, distinct in done.distinct.items():
        yield name, done.rows, distinct, done.version


def _part(rows: str, texts: str) -> Sketches:
    return int(rows), tuple(map(Sketch.of_text, json.loads(texts)))


ANALYZE = Procedure(
    "Counts the distinct values of columns, for the planners of joins and filters.",
    (
        TABLE,
        optional("columns", "STRING", "columns, as in 'host, day'; by default all, if empty none"),
    ),
    "STRUCT<column: STRING, rows: BIGINT, distinct_values: BIGINT, version: BIGINT>",
    _analyze,
    writes=False,
    job=_job,
)

PROCEDURES = {"analyze": ANALYZE}
