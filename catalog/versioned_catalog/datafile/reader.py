"""Reading one segment by its plan: the loop that executors run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.missing import why_missing
from versioned_catalog.datafile.segment_file import open_segment
from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.expressions.evaluate import keep_mask
from versioned_catalog.log.entry import UNIX_EPOCH
from versioned_catalog.log.op_types import PUT
from versioned_catalog.projection import metadata_columns
from versioned_catalog.projection.adapter import Adapter
from versioned_catalog.storage.parquet import translate_errors
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import repeat, scalar_of
from versioned_catalog.types.types import Column

BATCH_ROWS = 262_144


def read_segment(
    store: Store, task: SegmentTask, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The wanted rows of a segment, at most so many in a batch.

    Raises:
        CorruptTableError: the file is missing, damaged, or not what the log says it is.
        NotFoundError: it is missing since its version is expired and was vacuumed.
    """
    with translate_errors(f"{store.url}/{task.path}"):
        yield from _read(store, task, batch_rows)


def read_marked(
    store: Store, task: SegmentTask
) -> Iterator[tuple[pa.RecordBatch, pa.BooleanArray]]:
    """All rows of a segment, and whether the task's filter is true for them, for a rewrite.

    Raises:
        CorruptTableError: as for ``read_segment``, or fewer rows were read than the log says.
    """
    total = 0
    with translate_errors(f"{store.url}/{task.path}"):
        for batch in _adapted(store, replace(task, prune=False)):
            total += batch.num_rows
            yield _shown(batch, task), _mask(batch, task)
    if total != task.rows:
        raise CorruptTableError(
            f"{store.url}/{task.path}: {total} rows were read, and {task.rows} were committed; "
            "nothing is rewritten, since the others would be lost"
        )


def _read(store: Store, task: SegmentTask, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """The rows that pass, of the wanted columns."""
    for batch in _adapted(store, task, batch_rows):
        passed = batch if task.filter is None else _filtered(batch, task)
        if passed.num_rows:
            yield _shown(passed, task)


def _adapted(
    store: Store, task: SegmentTask, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The rows of the row groups that are kept, with all of the plan's outputs."""
    file, adapter = open_segment(store, task), Adapter(task.plan)
    try:
        for group, position, rows in file.row_groups():
            at = position
            for batch in file.read(group, batch_rows):
                count = batch.num_rows
                yield adapter.adapt(batch.columns, count, _implied(task, at, count))
                at += count
            if at != position + rows:
                raise CorruptTableError(
                    f"{store.url}/{task.path} holds {at - position} rows where it says {rows}"
                )
    except CorruptTableError as error:
        raise _explained(store, task, error) from error


def _explained(store: Store, task: SegmentTask, error: CorruptTableError) -> VersionedError:
    """What failed while a segment was read: far away, it may have gone after it was opened."""
    try:
        store.open(task.path)
    except CorruptTableError as gone:
        return why_missing(store, task.path, task.version, gone)
    return error


def _shown(batch: pa.RecordBatch, task: SegmentTask) -> pa.RecordBatch:
    """Without what was there for the filter only."""
    return batch if batch.num_columns == task.shown else batch.select(range(task.shown))


def _filtered(batch: pa.RecordBatch, task: SegmentTask) -> pa.RecordBatch:
    mask = _mask(batch, task)
    kept: int = pc.sum(mask).as_py() or 0
    if kept == batch.num_rows:
        return batch
    return batch.filter(mask) if kept else batch.slice(0, 0)


def _mask(batch: pa.RecordBatch, task: SegmentTask) -> pa.BooleanArray:
    """For which rows the task's filter is true."""
    if task.filter is None:
        return repeat(True, batch.num_rows)
    columns = [output.column for output in task.plan.outputs]
    return keep_mask(task.filter, Lookup(columns, batch), batch.num_rows)


class Lookup:
    """Columns of a batch by ID, nested ones through their structs.

    Args:
        columns: what the columns of the batch are.
        batch: the values.
    """

    def __init__(self, columns: Sequence[Column], batch: pa.RecordBatch) -> None:
        self._columns = columns
        self._batch = batch

    def __call__(self, column_id: int) -> pa.Array:
        for at, column in enumerate(self._columns):
            found = _inside(column, self._batch.column(at), column_id)
            if found is not None:
                return found
        raise KeyError(column_id)


def _inside(column: Any, array: pa.Array, column_id: int) -> pa.Array | None:
    if column.id == column_id:
        return array
    for at, child in enumerate(getattr(column.type, "fields", ())):
        # struct_field gives null where the parent is null.
        found = _inside(child, pc.struct_field(array, at), column_id)
        if found is not None:
            return found
    return None


def _implied(task: SegmentTask, position: int, rows: int) -> dict[int, pa.Array]:
    """The implicit columns that the plan wants."""
    asked = [o.column for o in task.plan.outputs if metadata_columns.is_implicit(o.column)]
    return {column.id: _implied_array(task, column, position, rows) for column in asked}


def _implied_array(task: SegmentTask, column: Any, position: int, rows: int) -> pa.Array:
    type_ = to_arrow_type(column.type)
    if column.id == metadata_columns.ROW_POSITION:
        # Numbers from 0, made without a Python value, which would import pandas.
        ones = pa.repeat(scalar_of(1, type_), rows)
        return pc.add(pc.cumulative_sum(ones), scalar_of(position - 1, type_))
    known: dict[int, str | int | datetime] = {
        metadata_columns.SEGMENT: task.path,
        metadata_columns.SCHEMA_VERSION: task.schema_version,
        metadata_columns.SEQUENCE: task.sequence,
        metadata_columns.COMMIT_TIME: task.commit_time,
        metadata_columns.SEQUENCE_OF_ROW: task.row_sequence,
        metadata_columns.OP_TYPE_OF_ROW: PUT,
    }
    value = known[column.id]
    if isinstance(value, datetime):
        value = (value - UNIX_EPOCH) // timedelta(microseconds=1)
    return pa.repeat(scalar_of(value, type_), rows)
