"""Reading of a segment, as executors run it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.log.features import PUT_ROW
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.model.arrow import repeat, scalar_of, to_arrow_type
from versioned_catalog.model.types import Column
from versioned_catalog.read import metadata_columns
from versioned_catalog.read.apply_plan import Adapter, constant_array
from versioned_catalog.read.evaluate import keep_mask
from versioned_catalog.read.projection import Metadata
from versioned_catalog.read.segment_file import SegmentTask, missing_segment_error, open_segment
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.parquet import translate_errors
from versioned_catalog.storage.store import Store

Value = TypeVar("Value")


def pipelined(values: Iterable[Value]) -> Generator[Value]:
    """Compute each value in another thread while the previous value is used.

    Errors are raised here. Closing the generator waits for the value in progress, and closes the source.
    """
    rest, end = iter(values), object()
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        if isinstance(rest, Generator):
            stack.callback(rest.close)
        following = pool.submit(next, rest, end)
        while (value := following.result()) is not end:
            following = pool.submit(next, rest, end)
            yield value  # type: ignore[misc]


BATCH_ROWS = 262_144


def read_segment(
    store: Store, task: SegmentTask, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of a segment, at most ``batch_rows`` in a batch.

    Raises:
        CorruptTableError: the file is missing, damaged, or not the file that the log records.
        NotFoundError: its version is expired, and it was vacuumed.
    """
    with translate_errors(f"{store.url}/{task.path}"):
        yield from _read(store, task, batch_rows)


def read_marked(
    store: Store, task: SegmentTask
) -> Iterator[tuple[pa.RecordBatch, pa.BooleanArray]]:
    """Read all rows of a segment for a rewrite, with a mask of those that match the filter.

    Raises:
        CorruptTableError: as for ``read_segment``, or the number of rows differs from the log's.
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
    """Read the rows that match the filter, with the shown columns."""
    for batch in _adapted(store, task, batch_rows):
        passed = batch if task.filter is None else _filtered(batch, task)
        if passed.num_rows:
            shown = _shown(passed, task)
            where = f"{store.url}/{task.path}"
            yield shown if task.narrowing is None else task.narrowing.show(shown, where)


def _adapted(
    store: Store, task: SegmentTask, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """Read the kept row groups, with all outputs of the plan."""
    file, adapter = open_segment(store, task), Adapter(task.plan)
    try:
        for group, position, rows in file.row_groups():
            at = position
            for count, arrays in file.read(group, batch_rows):
                yield adapter.adapt(arrays, count, _metadata_columns(task, at, count))
                at += count
            if at != position + rows:
                raise CorruptTableError(
                    f"{store.url}/{task.path}: a row group holds {at - position} rows, and states {rows}"
                )
    except CorruptTableError as error:
        raise _read_error(store, task, error) from error


def _read_error(store: Store, task: SegmentTask, error: CorruptTableError) -> VersionedError:
    """The error of a read: on remote storage, a file may vanish after it was opened."""
    try:
        open_file(store, task.path, task.recorded_roots)
    except CorruptTableError as missing:
        return missing_segment_error(store, task.path, task.version, missing)
    return error


def _shown(batch: pa.RecordBatch, task: SegmentTask) -> pa.RecordBatch:
    """Drop the columns that only the filter needs."""
    return batch if batch.num_columns == task.shown else batch.select(range(task.shown))


def _filtered(batch: pa.RecordBatch, task: SegmentTask) -> pa.RecordBatch:
    mask = _mask(batch, task)
    kept: int = pc.sum(mask).as_py() or 0
    if kept == batch.num_rows:
        return batch
    return batch.filter(mask) if kept else batch.slice(0, 0)


def _mask(batch: pa.RecordBatch, task: SegmentTask) -> pa.BooleanArray:
    """Whether the filter of a task is true, for each row."""
    if task.filter is None:
        return repeat(True, batch.num_rows)
    columns = [output.column for output in task.plan.outputs]
    if task.narrowing is not None:
        batch = task.narrowing.for_filter(batch)
    return keep_mask(task.filter, Lookup(columns, batch), batch.num_rows)


class Lookup:
    """Looks up columns of a batch by ID, also inside structs."""

    def __init__(self, columns: Sequence[Column], batch: pa.RecordBatch) -> None:
        self._columns = columns
        self._batch = batch

    def __call__(self, column_id: int) -> pa.Array:
        for at, column in enumerate(self._columns):
            values = _inside(column, self._batch.column(at), column_id)
            if values is not None:
                return values
        raise KeyError(column_id)


def _inside(column: Any, array: pa.Array, column_id: int) -> pa.Array | None:
    if column.id == column_id:
        return array
    for at, child in enumerate(getattr(column.type, "fields", ())):
        # struct_field gives null where the parent is null.
        values = _inside(child, pc.struct_field(array, at), column_id)
        if values is not None:
            return values
    return None


def _metadata_columns(task: SegmentTask, position: int, rows: int) -> dict[int, pa.Array]:
    """The metadata columns among the outputs of the plan."""
    asked = [o.column for o in task.plan.outputs if isinstance(o.step, Metadata)]
    return {column.id: _metadata_column(task, column, position, rows) for column in asked}


def _metadata_column(task: SegmentTask, column: Any, position: int, rows: int) -> pa.Array:
    if not metadata_columns.is_metadata(column):
        return constant_array(task.constants[column.id], column, rows)
    type_ = to_arrow_type(column.type)
    if column.id == metadata_columns.ROW_POSITION:
        # Computed without a Python value, for which Arrow would import pandas.
        ones = pa.repeat(scalar_of(1, type_), rows)
        return pc.add(pc.cumulative_sum(ones), scalar_of(position - 1, type_))
    values: dict[int, str | int | datetime] = {
        metadata_columns.SEGMENT: task.path,
        metadata_columns.SCHEMA_VERSION: task.schema_version,
        metadata_columns.SEQUENCE: task.sequence,
        metadata_columns.COMMIT_TIME: task.commit_time,
        metadata_columns.SEQUENCE_OF_ROW: task.row_sequence,
        metadata_columns.OP_TYPE_OF_ROW: PUT_ROW,
    }
    value = values[column.id]
    if isinstance(value, datetime):
        value = (value - UNIX_EPOCH) // timedelta(microseconds=1)
    return pa.repeat(scalar_of(value, type_), rows)
