"""Writing: planned on the driver, carried out by executors, committed at once."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyspark_versioned.options import NO_KEY, KeyOptions
from pyspark_versioned.scratch import scratch
from pyspark_versioned.target import Target
from pyspark_versioned.worker_errors import shows_errors
from versioned_catalog import Catalog, InvalidRequestError, Table
from versioned_catalog.log.operations import Create
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.schema.keying import key_properties
from versioned_catalog.schema.paths import parse_path
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.types import Column, Map, children, with_children
from versioned_catalog.writing.plan import WritePlan


@dataclass
class Written(WriterCommitMessage):
    """What one task wrote."""

    records: list[SegmentRecord]


@shows_errors
class PlannedWriter(DataSourceArrowWriter):
    """What all writes share. The commit ID is made here, before anything is written: whoever is
    asked later can find out whether the commit landed."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan
        self._commit_id = str(uuid.uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task as segments that no snapshot holds yet."""
        first = next(iterator, None)
        if first is None:
            return Written([])
        batches = itertools.chain([first], iterator)
        return Written(self._plan.write(first.schema, batches, scratch=scratch()))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete nothing: the commit may have landed before its process died."""


def records_of(messages: list[WriterCommitMessage | None]) -> tuple[SegmentRecord, ...]:
    """What all tasks wrote."""
    written = (message for message in messages if isinstance(message, Written))
    return tuple(record for message in written for record in message.records)


@shows_errors
class TableWriter(PlannedWriter):
    """Appends to a table that is there, or replaces its rows."""

    def __init__(self, target: Target, plan: WritePlan, *, overwrite: bool) -> None:
        super().__init__(plan)
        self._target = target
        self._overwrite = overwrite

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit what all tasks wrote."""
        table: Table = self._target.load()
        commit = table.commit_overwrite if self._overwrite else table.commit_append
        commit(self._plan, records_of(messages), commit_id=self._commit_id)


@shows_errors
class CreatingWriter(PlannedWriter):
    """Makes the table together with its first rows, in one commit."""

    def __init__(self, target: Target, plan: WritePlan, operation: Create) -> None:
        super().__init__(plan)
        self._target = target
        self._operation = operation

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Make the table with what all tasks wrote."""
        operation = replace(self._operation, records=records_of(messages))
        target = self._target
        if target.warehouse is None:
            Catalog.commit_path(self._plan.location, operation, self._commit_id)
        else:
            catalog = Catalog(target.warehouse, target.storage)
            catalog.commit_table(target.path, self._plan.location, operation, self._commit_id)


@dataclass(frozen=True)
class WriteOptions:
    """How a frame is written.

    Args:
        overwrite: replace the rows.
        merge_schema: add the columns that the table does not have.
        key: the row key of the table, where it is to be made.
        partial: leave the columns of rows that are there as they are, where the frame has none.
    """

    overwrite: bool
    merge_schema: bool = False
    key: KeyOptions = NO_KEY
    partial: bool = False


def plan_writer(
    target: Target, schema: Schema, arrow: pa.Schema, options: WriteOptions
) -> PlannedWriter:
    """The writer for a frame; what can't fit is refused before a row is written.

    Args:
        target: the table.
        schema: the frame's schema as ours, for a table in the making.
        arrow: the frame's schema as Arrow's.
        options: how it is written.

    Raises:
        InvalidRequestError: the frame does not fit the table.
    """
    table = target.find()
    _check_partial(options, options.key if table is None else table.schema, target.path)
    if table is not None:
        _check_key(options.key, table)
        plan = table.plan_write(arrow, merge_schema=options.merge_schema, partial=options.partial)
        return TableWriter(target, plan, overwrite=options.overwrite)
    # As Spark does in CREATE TABLE AS SELECT: that a query's column holds no nulls now is no promise.
    schema = Schema(tuple(map(_nullable, schema.columns)))
    key = asdict(options.key)
    if target.warehouse is None:
        plan, operation = Catalog.plan_path(target.path, schema, arrow, target.storage, **key)
    else:
        catalog = Catalog(target.warehouse, target.storage)
        plan, operation = catalog.plan_table(target.path, schema, arrow, **key)
    return CreatingWriter(target, plan, operation)


def _check_partial(options: WriteOptions, keyed: Schema | KeyOptions, table: str) -> None:
    """Refuse a partial update that has no row to find, or none that stays."""
    if options.partial and not keyed.primary_key:
        raise InvalidRequestError(
            f"{table} has no primary key, by which partialUpdate finds the rows to update; leave "
            "partialUpdate out, or make a table with the option primaryKey"
        )
    if options.partial and options.overwrite:
        raise InvalidRequestError(
            f"{table}: an overwrite leaves no row to update in part; append, or leave out "
            "partialUpdate"
        )


def _check_key(asked: KeyOptions, table: Table) -> None:
    """Refuse another row key than the table's own, which stays for ever."""
    schema = table.schema
    named = tuple(schema.get(parse_path(name)).id for name in asked.primary_key)
    time = None if asked.time_index is None else schema.get(parse_path(asked.time_index)).id
    if (named and named != schema.primary_key) or (time is not None and time != schema.time_index):
        has = key_properties(schema)
        told = " and ".join(f"the {name} {text}" for name, text in has.items()) or "no row key"
        raise InvalidRequestError(
            f"{table.name} has {told}, which is set when a table is made, and stays; leave out "
            "primaryKey and timeIndex, or write to another table"
        )


def _nullable(column: Column) -> Column:
    """The column with nulls allowed in it and all below it, but for keys of maps."""
    loose = tuple(_nullable(child) for child in children(column.type))
    if isinstance(column.type, Map):
        loose = (replace(loose[0], nullable=False), loose[1])
    return replace(column, nullable=True, type=with_children(column.type, loose))
