"""Writers of the data source: planned on the driver, written by executors, committed at once."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyspark_versioned.options import MAIN, NO_KEY, OF_BATCHES, KeyOptions, Options, Target
from pyspark_versioned.tracing import traced_task
from pyspark_versioned.worker_errors import shows_errors
from pyspark_versioned.write_options import (
    Replaces,
    check_applied_by,
    check_no_batch,
    check_overwrites,
    check_table_stays,
    replaced_rows,
)
from versioned_catalog import (
    AlreadyExistsError,
    Catalog,
    InvalidRequestError,
    Table,
    VersionedError,
)
from versioned_catalog.commit.branch_rules import staging
from versioned_catalog.commit.operations import Create, Replace
from versioned_catalog.log.entry import Batch
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.keys import key_properties
from versioned_catalog.model.partitioning import partition_fields
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.transforms import parse_partitioning, parse_transform
from versioned_catalog.model.type_text import parse_path
from versioned_catalog.model.types import Column, Map, children, with_children
from versioned_catalog.names.creation import creation
from versioned_catalog.observe.tracing import span, traceparent
from versioned_catalog.storage.opening import reopen
from versioned_catalog.transaction import Transaction
from versioned_catalog.write.conditions import RowCondition
from versioned_catalog.write.delta_rows import check_feed
from versioned_catalog.write.plan import WritePlan
from versioned_catalog.write.row_level import share_keys


@dataclass
class Written(WriterCommitMessage):
    """The segments that a task wrote."""

    records: list[SegmentRecord]


@shows_errors
class PlannedWriter(DataSourceArrowWriter):
    """A write with its plan. The commit ID is chosen before anything is written, so that it can be found
    out later whether the commit landed."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan
        self._commit_id = str(uuid.uuid4())
        self._trace = traceparent()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task as segments that no snapshot holds yet."""
        with traced_task(self._trace):
            return Written(write_planned(self._plan, iterator))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete nothing: the commit may have landed before its process died."""


def write_planned(plan: WritePlan, rows: Iterator[pa.RecordBatch]) -> list[SegmentRecord]:
    """Write the rows of a task as segments that no snapshot holds yet."""
    first = next(rows, None)
    if first is None:
        return []
    return plan.write(first.schema, itertools.chain([first], rows), scratch=scratch())


def scratch() -> str | None:
    """The folder for data that does not fit in memory: the first of Spark's, or None."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None


def records_of(messages: list[WriterCommitMessage | None]) -> tuple[SegmentRecord, ...]:
    """The segments that all tasks wrote."""
    written = (message for message in messages if isinstance(message, Written))
    return tuple(record for message in written for record in message.records)


def check_keys_apart(plan: WritePlan, tasks: Sequence[Sequence[SegmentRecord]]) -> None:
    """Refuse changes of one row key that several tasks wrote, since tasks have no order.

    Args:
        tasks: the segments of each.

    Raises:
        InvalidRequestError: two tasks wrote the same row key.
    """
    written = [records for records in tasks if records]
    if plan.change_column is None or len(written) < 2:
        return
    if share_keys(reopen(plan.location), plan.spec, written):
        schema = plan.seen.schema
        names = ", ".join(repr(schema.column(column_id).name) for column_id in schema.row_key)
        raise InvalidRequestError(
            f"{plan.table}: several tasks wrote changes of the same row key, of which only the last "
            f"may count; write changes.repartition({names}), or by table name with the jar, which does "
            "so by itself; nothing was changed",
            condition="NOT_SUPPORTED",
        )


@shows_errors
class TableWriter(PlannedWriter):
    """Appends to an existing table, or replaces its rows; a batch only once."""

    def __init__(
        self,
        target: Target,
        plan: WritePlan,
        batch: Batch | None,
        replaces: Replaces,
        staged: str | None = None,
    ) -> None:
        super().__init__(plan)
        self._target = target
        self._batch = batch
        self._replaces = replaces
        self._staged = staged

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the segments of all tasks."""
        with traced_task(self._trace), span("versioned.commit_write"):
            check_keys_apart(self._plan, [m.records for m in messages if isinstance(m, Written)])
            transaction = self._target.load().transaction()
            records = records_of(messages)
            with staging(self._staged):
                transaction.once(self._batch, lambda: self._commit(transaction, records))

    def _commit(self, to: Transaction, records: tuple[SegmentRecord, ...]) -> int:
        plan, commit_id, batch = self._plan, self._commit_id, self._batch
        match self._replaces:
            case Replaces.NOTHING:
                return to.commit_append(plan, records, commit_id=commit_id, batch=batch)
            case Replaces.ALL:
                return to.commit_overwrite(plan, records, commit_id=commit_id, batch=batch)
            case Replaces.PARTITIONS:
                return to.commit_overwrite_partitions(
                    plan, records, commit_id=commit_id, batch=batch
                )
            case Replaces.MATCHING:
                assert plan.only is not None
                return to.commit_overwrite_where(
                    plan, records, plan.only.unbound, commit_id=commit_id
                )


@shows_errors
class CreatingWriter(PlannedWriter):
    """Creates a table with its first rows, in one commit."""

    def __init__(self, target: Target, plan: WritePlan, operation: Create) -> None:
        super().__init__(plan)
        self._target = target
        self._operation = operation

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Create the table with the segments of all tasks."""
        operation = replace(self._operation, records=records_of(messages))
        target = self._target
        if target.warehouse is None:
            Catalog.commit_path(self._plan.location, operation, self._commit_id)
        else:
            catalog = Catalog(target.warehouse, target.storage)
            catalog.commit_table(target.path, self._plan.location, operation, self._commit_id)


@shows_errors
class ReplacingWriter(PlannedWriter):
    """Replaces an existing table by another, in one commit."""

    def __init__(self, plan: WritePlan, operation: Replace) -> None:
        super().__init__(plan)
        self._operation = operation

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Replace the table by one with the segments of all tasks."""
        creation = replace(self._operation.creation, records=records_of(messages))
        operation = replace(self._operation, creation=creation)
        plan = self._plan
        Catalog.commit_replacing(plan.location, operation, plan.table, self._commit_id)


def plan_writer(
    target: Target, schema: Schema, arrow: pa.Schema, options: Options, *, overwrite: bool
) -> PlannedWriter:
    """The writer for a frame; a frame that does not fit is refused before a row is written.

    Args:
        schema: the frame's schema in the catalog's types, for a new table.
        arrow: the same as Arrow's.
        overwrite: whether its rows replace those of the table.

    Raises:
        InvalidRequestError: the frame does not fit the table.
    """
    table = target.find()
    check_overwrites(options, target.path, overwrite=overwrite)
    keyed = options.key if table is None else table.schema
    _check_partial(options, keyed, target.path, overwrite=overwrite)
    if table is not None and options.creates:
        raise AlreadyExistsError(
            f"there is already a table at {table.name}; write with mode append or overwrite"
        )
    if options.branch not in (None, MAIN) and (table is None or options.overwrite_schema):
        raise InvalidRequestError(
            f"{target.path}: the option branch can't go with a write that creates or replaces the "
            "table; leave it out, or write to the table as it is",
            condition="NOT_SUPPORTED",
        )
    if options.batch is not None and (table is None or options.overwrite_schema):
        check_no_batch(OF_BATCHES, target.path)
    if options.change_column is not None and (table is None or options.overwrite_schema):
        check_table_stays(target.path)
    loose = loosened(schema)
    if table is None:
        return _creating(target, loose, arrow, options)
    if options.overwrite_schema:
        return _replacing(table, loose, arrow, options)
    check_key(options.key, table)
    check_partitioning(options.partition_by, table.schema, table.name)
    if options.change_column is not None:
        check_applied_by("overwrite" if overwrite else "append", table.name)
        check_feed(arrow, options.change_column, table.name, versioned=True)
    plan = table.transaction().plan_write(
        arrow,
        merge_schema=options.merge_schema,
        partial=options.partial,
        change_column=options.change_column,
    )
    plan = _conditioned(plan, options)
    replaces = replaced_rows(options, table, overwrite)
    return TableWriter(target, plan, options.batch, replaces, options.staged)


def _conditioned(plan: WritePlan, options: Options) -> WritePlan:
    """The plan of a write, with the condition that its rows must match."""
    if options.replace_where is None:
        return plan
    return replace(plan, only=RowCondition.of(options.replace_where, plan.seen, plan.table))


def _creating(target: Target, schema: Schema, arrow: pa.Schema, options: Options) -> CreatingWriter:
    args = {**asdict(options.key), "partitioned_by": options.partition_by or ()}
    if target.warehouse is None:
        plan, operation = Catalog.plan_path(target.path, schema, arrow, target.storage, **args)
    else:
        catalog = Catalog(target.warehouse, target.storage)
        plan, operation = catalog.plan_table(target.path, schema, arrow, **args)
    return CreatingWriter(target, _conditioned(plan, options), operation)


def _replacing(table: Table, schema: Schema, arrow: pa.Schema, options: Options) -> ReplacingWriter:
    """Partitioning, row key, properties and comment stay, unless options set them."""
    table_key = key_properties(table.schema)
    key = {} if options.key == NO_KEY else asdict(options.key)
    kept = {k: text for k, text in table.properties.items() if not (key and k in table_key)}
    partitioning = table.partitioning if options.partition_by is None else options.partition_by
    try:
        operation = creation(schema, partitioning, kept, table.comment, **key)
        plan, replacement = Catalog.plan_replacing(table, operation, arrow)
    except VersionedError as error:
        raise InvalidRequestError(
            f"{table.name}: partitioning, row key and sort order stay when the schema is overwritten, "
            f"but do not fit the frame: {error}; give another partitionBy or primaryKey, or unset the "
            "property"
        ) from None
    return ReplacingWriter(plan, replacement)


def check_partitioning(fields: tuple[str, ...] | None, schema: Schema, table: str) -> None:
    """Refuse a partitioning that differs from the table's.

    Args:
        schema: the table's, as the writer sees it.
    """
    if fields is None:
        return
    wanted = [(schema.get(path).id, step) for path, step in parse_partitioning(fields)]
    if wanted != [
        (field.source, parse_transform(field.transform)) for field in schema.partitioning
    ]:
        shown = ", ".join(partition_fields(schema)) or "nothing"
        raise InvalidRequestError(
            f"{table} is partitioned by {shown}, not by {', '.join(fields)}; leave out partitionBy or "
            "bucketBy, or change what is written from now on with alter().set_partitioning([...])"
        )


def _check_partial(
    options: Options, keyed: Schema | KeyOptions, table: str, *, overwrite: bool
) -> None:
    """Refuse a partial update without a primary key, and one of an overwrite."""
    if options.partial and not keyed.primary_key:
        raise InvalidRequestError(
            f"{table} has no primary key, by which partialUpdate finds the rows to update; leave "
            "partialUpdate out, or make a table with the option primaryKey"
        )
    if options.partial and overwrite:
        raise InvalidRequestError(
            f"{table}: an overwrite leaves no row to update in part; append, or leave out "
            "partialUpdate"
        )


def check_key(options: KeyOptions, table: Table) -> None:
    """Refuse a row key that differs from the table's, which can't be changed."""
    schema = table.schema
    named = tuple(schema.get(parse_path(name)).id for name in options.primary_key)
    time = None if options.time_index is None else schema.get(parse_path(options.time_index)).id
    if (named and named != schema.primary_key) or (time is not None and time != schema.time_index):
        key = key_properties(schema)
        shown = " and ".join(f"the {name} {text}" for name, text in key.items()) or "no row key"
        raise InvalidRequestError(
            f"{table.name} has {shown}, which is set when a table is created and can't be changed; "
            "leave out primaryKey and timeIndex, or write to another table"
        )


def loosened(schema: Schema) -> Schema:
    """The columns of a new table: all nullable, as in Spark's CREATE TABLE AS SELECT.

    A query's column may have nulls another time.
    """
    return Schema(tuple(map(_nullable, schema.columns)))


def _nullable(column: Column) -> Column:
    """The column with nulls allowed in it and all below it, but for keys of maps."""
    loose = tuple(_nullable(child) for child in children(column.type))
    if isinstance(column.type, Map):
        loose = (replace(loose[0], nullable=False), loose[1])
    return replace(column, nullable=True, type=with_children(column.type, loose))
