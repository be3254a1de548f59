"""Reading one segment by its plan: the loop that executors run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.datafile.column_ranges import column_ranges
from versioned_catalog.datafile.file_schema import SCHEMA_VERSION, TABLE_UUID, field_id
from versioned_catalog.datafile.missing import why_missing
from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.expressions.evaluate import keep_mask
from versioned_catalog.expressions.filters import BoundFilter
from versioned_catalog.log.op_types import PUT
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.projection import metadata_columns
from versioned_catalog.projection.adapter import Adapter, batch_of_nothing
from versioned_catalog.projection.resolver import SegmentPlan
from versioned_catalog.pruning.bounds import RowGroupBounds
from versioned_catalog.pruning.inclusive import may_match
from versioned_catalog.storage.parquet import check_columns_of, open_parquet, told
from versioned_catalog.storage.ranged import RangedFile
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import repeat, scalar_of
from versioned_catalog.types.types import Array, Column, Map, Struct

BATCH_ROWS = 262_144


@dataclass(frozen=True)
class SegmentTask:
    """One segment, or a part of one, to be read by a plan. It travels to executors.

    Args:
        path, table_uuid, schema_version, rows: what the log says of it.
        sequence, commit_time: the commit that added it.
        plan: how its rows become rows of the wanted columns.
        filter: which rows are wanted, over the plan's outputs; None for all.
        shown: how many of the plan's outputs are shown; the rest is there for the filter.
        part: (first, end) in millionths of the file: row groups whose middle is there are read.
        nan_free: the columns of which the log knows that they hold no NaN.
        prune: whether row groups are skipped by their statistics.
        version: of the snapshot that holds the segment; -1 where that is not known.
        row_sequence: that of its rows, where it holds none.
    """

    path: str
    table_uuid: str
    schema_version: int
    rows: int
    sequence: int
    commit_time: datetime
    plan: SegmentPlan
    filter: BoundFilter | None
    shown: int
    part: tuple[int, int] = (0, 1_000_000)
    nan_free: frozenset[int] = field(default_factory=frozenset)
    prune: bool = True
    version: int = -1
    row_sequence: int = 0


def read_segment(
    store: Store, task: SegmentTask, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The wanted rows of a segment, at most so many in a batch.

    Raises:
        CorruptTableError: the file is missing, damaged, or not what the log says it is.
        NotFoundError: it is missing since its version is expired and was vacuumed.
    """
    with told(f"{store.url}/{task.path}"):
        yield from _read(store, task, batch_rows)


def read_marked(
    store: Store, task: SegmentTask
) -> Iterator[tuple[pa.RecordBatch, pa.BooleanArray]]:
    """All rows of a segment, and whether the task's filter is true for them, for a rewrite.

    Raises:
        CorruptTableError: as for ``read_segment``, or fewer rows were read than the log says.
    """
    total = 0
    with told(f"{store.url}/{task.path}"):
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
    what = f"{store.url}/{task.path}"
    file, source = open_segment(store, task)
    if task.filter is not None and task.prune:
        check_columns_of(source, file.metadata, what)
    adapter = Adapter(task.plan)
    try:
        for position, rows, batches in _groups(file, task, source, batch_rows):
            at = position
            for batch in batches(rows):
                count = batch.num_rows
                yield adapter.adapt(batch.columns, count, _implied(task, at, count))
                at += count
            if at != position + rows:
                raise CorruptTableError(f"{what} holds {at - position} rows where it says {rows}")
    except CorruptTableError as error:
        raise _explained(store, task, error) from error


def _explained(store: Store, task: SegmentTask, error: CorruptTableError) -> VersionedError:
    """What failed while a segment was read: far away, it may have gone after it was opened."""
    try:
        store.open(task.path)
    except CorruptTableError as gone:
        return why_missing(store, task.path, task.version, gone)
    return error


def open_segment(store: Store, task: SegmentTask) -> tuple[pq.ParquetFile, Any]:
    """A segment's file, if it is the one that the log means, and what it is read from.

    Raises:
        CorruptTableError: it is missing, damaged, or another one.
        NotFoundError: it is missing since its version is expired and was vacuumed.
    """
    try:
        source = store.open(task.path)
    except CorruptTableError as error:
        raise why_missing(store, task.path, task.version, error) from error
    what = f"{store.url}/{task.path}"
    file = open_parquet(source, what, memory_map=isinstance(source, str), pre_buffer=False)
    _check(file, what, task)
    return file, source


def _check(file: pq.ParquetFile, what: str, task: SegmentTask) -> None:
    """Whether the file is the one that the log means."""
    footer = file.metadata.metadata or {}
    if footer.get(TABLE_UUID) != task.table_uuid.encode():
        raise CorruptTableError(f"{what} is no segment of this table")
    if footer.get(SCHEMA_VERSION) != str(task.schema_version).encode():
        raise CorruptTableError(f"{what} says another schema version than the log does")
    if file.metadata.num_rows != task.rows:
        raise CorruptTableError(
            f"{what} holds {file.metadata.num_rows} rows, and {task.rows} were committed"
        )
    arrow = file.schema_arrow
    for column in task.plan.needed:
        if not _holds(arrow, column):
            raise CorruptTableError(
                f"{what} has no column {column.physical_name} with ID {column.id}, or not all of "
                "what the log says is inside it"
            )


def _holds(parent: pa.Schema | pa.DataType, column: Column) -> bool:
    """Whether a file's schema, or a struct in it, holds a column and all that is needed inside."""
    at = parent.get_field_index(column.physical_name)
    return at >= 0 and _is_same(parent.field(at), column)


def _is_same(field: pa.Field, column: Column) -> bool:
    if field_id(field) != column.id:
        return False
    match column.type:
        case Struct(fields):
            return pa.types.is_struct(field.type) and all(_holds(field.type, f) for f in fields)
        case Array(element):
            return pa.types.is_list(field.type) and _is_same(field.type.value_field, element)
        case Map(key, value):
            inside = pa.types.is_map(field.type) and _is_same(field.type.key_field, key)
            return inside and _is_same(field.type.item_field, value)
        case _:
            return True


Reading = Callable[[int], Iterator[pa.RecordBatch]]


def _groups(
    file: pq.ParquetFile, task: SegmentTask, source: Any, batch_rows: int
) -> Iterator[tuple[int, int, Reading]]:
    """The row groups to read: position of the first row, number of rows, how to read them."""
    meta = file.metadata
    wanted = _kept_groups(file, task)
    paths = task.plan.physical_paths()
    position = 0
    for group in range(meta.num_row_groups):
        rows: int = meta.row_group(group).num_rows
        if group in wanted:
            yield position, rows, _reading(file, group, paths, source, batch_rows)
        position += rows


def _reading(
    file: pq.ParquetFile, group: int, paths: list[str], source: Any, batch_rows: int
) -> Reading:
    def read(rows: int) -> Iterator[pa.RecordBatch]:
        if paths:
            if isinstance(source, RangedFile):
                source.prefetch(column_ranges(file.metadata, group, paths))
            yield from file.iter_batches(batch_rows, [group], paths, use_threads=False)
            return
        for start in range(0, rows, batch_rows):
            yield batch_of_nothing(min(batch_rows, rows - start))

    return read


def _kept_groups(file: pq.ParquetFile, task: SegmentTask) -> set[int]:
    meta = file.metadata
    mine = _groups_of_part(meta, task.part)
    if task.filter is None or not task.prune or not mine:
        return set(mine)
    bounds = RowGroupBounds(meta, mine, task.plan, task.nan_free)
    mask = may_match(task.filter, bounds, len(mine))
    return {group for group, keep in zip(mine, mask.to_pylist(), strict=True) if keep}


def _groups_of_part(meta: Any, part: tuple[int, int]) -> list[int]:
    """The row groups whose middle, counted in rows, falls into a part of the file."""
    first, end = part
    total = max(meta.num_rows, 1)
    found: list[int] = []
    position = 0
    for group in range(meta.num_row_groups):
        rows: int = meta.row_group(group).num_rows
        middle = (2 * position + rows) * 500_000 // total
        if first <= middle < end:
            found.append(group)
        position += rows
    return found


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
    asked = [o.column for o in task.plan.outputs if metadata_columns.is_metadata(o.column)]
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
