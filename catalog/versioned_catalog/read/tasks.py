"""Tasks of a scan, a segment or segments to merge, and reading them as executors do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, VersionedError
from versioned_catalog.log.features import DELETE_OP, PUT_ROW
from versioned_catalog.log.times import UNIX_EPOCH
from versioned_catalog.model.arrow import ONE, repeat, scalar_of, to_arrow_schema, to_arrow_type
from versioned_catalog.model.keys import ROW_UPDATED
from versioned_catalog.model.types import Column, is_metadata
from versioned_catalog.observe.tracing import carried, detached
from versioned_catalog.read import metadata_columns
from versioned_catalog.read.apply_plan import Adapter, Narrowing, batch_of_nothing, constant_array
from versioned_catalog.read.evaluators import Lookup, keep_mask
from versioned_catalog.read.filters import BoundFilter
from versioned_catalog.read.merge import Run, Shape, merge
from versioned_catalog.read.projection import Metadata, StoredOr
from versioned_catalog.read.row_keys import Key
from versioned_catalog.read.segment_file import SegmentTask, missing_segment_error, open_segment
from versioned_catalog.storage.opening import open_file
from versioned_catalog.storage.parquet import translate_errors
from versioned_catalog.storage.store import Store, shown_path

BATCH_ROWS = 262_144


def read_segment(
    store: Store, task: SegmentTask, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of a segment, at most ``batch_rows`` in a batch.

    Raises:
        CorruptTableError: the file is missing, damaged, or not the file that the log records.
        NotFoundError: its version is expired, and it was vacuumed.
    """
    url = shown_path(store, task.path)
    with translate_errors(url):
        for batch in _adapted(store, task, batch_rows):
            passed = batch if task.filter is None else _filtered(batch, task)
            if passed.num_rows:
                shown = _shown(passed, task)
                yield shown if task.narrowing is None else task.narrowing.show(shown, url)


def read_with_matches(
    store: Store, task: SegmentTask
) -> Iterator[tuple[pa.RecordBatch, pa.BooleanArray]]:
    """Read all rows of a segment that are not marked, with a mask of those that match the filter.

    Raises:
        CorruptTableError: as for ``read_segment``, or the number of rows differs from the log's.
    """
    total, url = 0, shown_path(store, task.path)
    with translate_errors(url):
        for batch in _adapted(store, replace(task, prune=False)):
            total += batch.num_rows
            shown = _shown(batch, task)
            narrowed = shown if task.narrowing is None else task.narrowing.show(shown, url)
            yield narrowed, _mask(batch, task)
    if total != task.shown_rows:
        raise CorruptTableError(
            f"{shown_path(store, task.path)}: {total} rows were read, and {task.shown_rows} were "
            "committed; nothing is rewritten, since the others would be lost"
        )


def read_with_mask(
    store: Store, task: SegmentTask
) -> Iterator[tuple[pa.RecordBatch, pa.BooleanArray]]:
    """Read the rows of a task as they are shown, with a mask of those that match its filter.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    url = shown_path(store, task.path)
    with translate_errors(url):
        for batch in _adapted(store, replace(task, prune=False)):
            shown, narrowing = _shown(batch, task), task.narrowing
            yield shown if narrowing is None else narrowing.show(shown, url), _mask(batch, task)


def _adapted(
    store: Store, task: SegmentTask, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """Read the selected rows of the kept row groups, with all outputs of the plan."""
    file, adapter = open_segment(store, task), Adapter(task.plan)
    try:
        for group, position, rows in file.row_groups():
            at = position
            for count, arrays in file.read(group, batch_rows):
                if file.selection.count(at, count):
                    arrays = _with_versions(task, arrays)
                    batch = adapter.adapt(arrays, count, _metadata_columns(task, at, count))
                    yield file.selection.of(batch, at)
                at += count
            if at != position + rows:
                raise CorruptTableError(
                    f"{shown_path(store, task.path)}: a row group holds {at - position} rows, and "
                    f"states {rows}"
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
    return _matching(task.filter, columns, batch, task.narrowing)


def _matching(
    filter: BoundFilter,
    columns: Sequence[Column],
    batch: pa.RecordBatch,
    narrowing: Narrowing | None,
) -> pa.BooleanArray:
    """Whether a filter is true, for each row of stored values, of which some may be shown as null."""
    if narrowing is None:
        return keep_mask(filter, Lookup(columns, batch), batch.num_rows)
    shown = Lookup(columns, narrowing.for_filter(batch))
    if narrowing.aged is None:
        return keep_mask(filter, shown, batch.num_rows)
    young, rest = narrowing.aged
    mask = keep_mask(young, Lookup(columns, batch), batch.num_rows)
    return mask if rest is None else pc.and_(mask, keep_mask(rest, shown, batch.num_rows))


def _metadata_columns(task: SegmentTask, position: int, rows: int) -> dict[int, pa.Array]:
    """The metadata columns among the outputs of the plan."""
    asked = [o.column for o in task.plan.outputs if isinstance(o.step, Metadata | StoredOr)]
    return {column.id: _metadata_column(task, column, position, rows) for column in asked}


def _metadata_column(task: SegmentTask, column: Any, position: int, rows: int) -> pa.Array:
    if not is_metadata(column):
        return constant_array(task.constants[column.id], column, rows)
    type_ = to_arrow_type(column.type)
    if column.id == metadata_columns.ROW_POSITION:
        return _counting(position, rows)
    if column.id == metadata_columns.ROW_ID:
        return _counting((task.first_row_id or 0) + position, rows)
    values: dict[int, str | int | datetime] = {
        metadata_columns.SEGMENT: task.path,
        metadata_columns.SCHEMA_VERSION: task.schema_version,
        metadata_columns.SEQUENCE: task.sequence,
        metadata_columns.COMMIT_TIME: task.commit_time,
        metadata_columns.SEQUENCE_OF_ROW: task.row_sequence,
        metadata_columns.OP_TYPE_OF_ROW: PUT_ROW,
        metadata_columns.ROW_UPDATED: task.row_updated,
    }
    value = values[column.id]
    if isinstance(value, datetime):
        value = (value - UNIX_EPOCH) // timedelta(microseconds=1)
    return pa.repeat(scalar_of(value, type_), rows)


def _counting(first: int, rows: int) -> pa.Int64Array:
    """The numbers from ``first`` on; for Python values, Arrow would import pandas."""
    ones = pa.repeat(scalar_of(1, pa.int64()), rows)
    return pc.add(pc.cumulative_sum(ones), scalar_of(first - 1, pa.int64()))


def _with_versions(task: SegmentTask, arrays: list[pa.Array]) -> list[pa.Array]:
    """The columns of a file; versions count from 1 there, and those of a merged branch do not count."""
    if task.row_ids_stored is None:
        return arrays
    most = scalar_of(task.row_ids_stored, pa.int64())

    def versions(stored: pa.Array) -> pa.Array:
        version = pc.subtract(stored, ONE)
        return pc.if_else(pc.less_equal(version, most), version, _NO_VERSION)

    columns = zip(arrays, task.plan.needed, strict=True)
    return [versions(array) if c.id == ROW_UPDATED.id else array for array, c in columns]


_NO_VERSION = pa.nulls(1, pa.int64())[0]

PREFETCH_SEGMENTS = 16
"""The most segments that are prefetched."""

PREFETCH_ROWS = 2 * BATCH_ROWS
"""The most prefetched rows, so that large segments are read batch by batch."""


class MergePrefetch:
    """Reads the segments of a merge, in about their order, and prefetches the next small segments."""

    def __init__(
        self, store: Store, tasks: Sequence[SegmentTask], pool: ThreadPoolExecutor
    ) -> None:
        self._store = store
        self._tasks = tasks
        self._pool = pool
        self._next = 0
        self._buffered = 0
        self._running: dict[int, Future[list[pa.RecordBatch]]] = {}

    def read(self, at: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Read a segment by its place, once, in batches of at most ``batch_rows`` rows."""
        self._start(at)
        running = self._running.pop(at, None)
        if running is None:
            yield from read_segment(self._store, self._tasks[at], batch_rows)
            return
        for batch in running.result():
            for first in range(0, batch.num_rows, batch_rows):
                yield batch.slice(first, batch_rows)
        self._buffered -= self._tasks[at].rows

    def _start(self, at: int) -> None:
        self._next = max(self._next, at)
        while self._next < len(self._tasks):
            rows = self._tasks[self._next].rows
            if self._buffered + rows > PREFETCH_ROWS or len(self._running) >= PREFETCH_SEGMENTS:
                return
            task = self._tasks[self._next]
            self._running[self._next] = self._pool.submit(
                carried(_listed), read_segment, self._store, task
            )
            self._buffered += rows
            self._next += 1


@dataclass(frozen=True)
class Member:
    """One segment of a merge.

    Args:
        task: reads the row key, then the values, the sequence and the type of operation. Its filter
            concerns the row key only.
        order: (sequence, ordinal), by which its rows replace others of their keys.
        sequences: the least and the greatest sequence of its rows.
        patched: the places of the values that its PATCH rows assign; None if it has no such rows.
        lower, upper: bounds of the first column of the row key; None where unknown.
    """

    task: SegmentTask
    order: tuple[int, int]
    sequences: tuple[int, int]
    patched: frozenset[int] | None
    lower: Key | None
    upper: Key | None


@dataclass(frozen=True)
class MergeTask:
    """The task of merging segments. The driver decides its values, executors read.

    Args:
        keys, values: the number of columns of the row key in merged rows, and of those after it.
        columns: the wanted columns.
        places: their places in merged rows.
        filter: which rows are wanted, over ``columns``; None for all. It is applied to merged rows.
        shown: the number of columns that are shown; only the filter needs the rest.
        tombstones: whether deleted rows are wanted, too, with their type of operation.
        narrowing: as of ``SegmentTask``, over ``columns``.
    """

    members: tuple[Member, ...]
    keys: int
    values: int
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    filter: BoundFilter | None
    shown: int
    tombstones: bool = False
    narrowing: Narrowing | None = None

    @property
    def rows(self) -> int:
        """The number of rows to read."""
        return sum(member.task.rows for member in self.members)

    @property
    def bytes(self) -> int:
        """The size of the files to read."""
        return sum(member.task.bytes for member in self.members)

    @property
    def shape(self) -> Shape:
        """The layout of merged rows."""
        return Shape(self.keys, self.values)


def read_merged(store: Store, task: MergeTask, threads: int = 0) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of a merge, sorted by row key.

    Args:
        threads: the number of threads that read small segments ahead from a local disk.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    merging = detached("versioned.merge", store=store.url, segments=len(task.members))
    with merging as span, open_runs(store, task, threads) as runs:
        schema, rows = to_arrow_schema(task.columns), 0
        for batch in merge(runs, task.shape, tombstones=task.tombstones):
            wanted = _wanted(batch, task, schema)
            rows += wanted.num_rows
            if wanted.num_rows:
                yield _narrowed(wanted, task, store)
        span.set(rows=rows)


@contextmanager
def open_runs(store: Store, task: MergeTask, threads: int = 0) -> Iterator[list[Run]]:
    """The runs of a merge, read ahead until the end of the block by threads, as ``read_merged`` says."""
    threads = PREFETCH_SEGMENTS if store.is_remote else threads
    if not threads:
        yield [_run(member, partial(read_segment, store, member.task)) for member in task.members]
        return
    with ThreadPoolExecutor(threads) as pool:
        ahead = MergePrefetch(store, [member.task for member in task.members], pool)
        yield [_run(member, partial(ahead.read, at)) for at, member in enumerate(task.members)]


Reading = Callable[[int], Iterator[pa.RecordBatch]]


def _run(member: Member, reading: Reading) -> Run:
    return Run(
        member.order, member.sequences, member.patched, member.lower, member.task.rows, reading
    )


def _wanted(batch: pa.RecordBatch, task: MergeTask, schema: pa.Schema) -> pa.RecordBatch:
    if not task.places:
        return batch_of_nothing(batch.num_rows)
    rows = pa.RecordBatch.from_arrays([batch.column(at) for at in task.places], schema=schema)
    if task.filter is not None:
        rows = rows.filter(_matching(task.filter, task.columns, rows, task.narrowing))
    if task.shown == 0:
        return batch_of_nothing(rows.num_rows)
    return rows if task.shown == len(task.places) else rows.select(range(task.shown))


def _narrowed(rows: pa.RecordBatch, task: MergeTask, store: Store) -> pa.RecordBatch:
    if task.narrowing is None:
        return rows
    if task.tombstones:
        rows = _without_deleted_values(rows, task)
    first = shown_path(store, task.members[0].task.path)
    return task.narrowing.show(rows, f"{first}, or a segment that is merged with it,")


def _without_deleted_values(rows: pa.RecordBatch, task: MergeTask) -> pa.RecordBatch:
    """The rows with nulls for the values of tombstones, which have no meaning, in narrowed columns."""
    assert task.narrowing is not None
    ids = [column.id for column in task.columns]
    deleted = pc.equal(rows.column(ids.index(metadata_columns.OP_TYPE_OF_ROW)), DELETE_OP)
    arrays = list(rows.columns)
    for narrowed in task.narrowing.columns:
        array = arrays[narrowed.place]
        arrays[narrowed.place] = pc.if_else(deleted, pa.nulls(1, array.type)[0], array)
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


Task = SegmentTask | MergeTask


def restrict(task: Task, paths: Container[str]) -> Task | None:
    """Restrict a task to some segments; None if none is left."""
    if isinstance(task, SegmentTask):
        return task if task.path in paths else None
    members = tuple(member for member in task.members if member.task.path in paths)
    return replace(task, members=members) if members else None


def read_task(store: Store, task: Task) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of a task.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    return read_segment(store, task) if isinstance(task, SegmentTask) else read_merged(store, task)


class Readable(Protocol):
    """Something that is read in a store."""

    @property
    def rows(self) -> int:
        """The number of rows to read, at most."""


Reads = TypeVar("Reads", bound=Readable)
Read = Callable[[Store, Reads], Iterator[pa.RecordBatch]]


def read_segments(store: Store, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of tasks, in order.

    Raises:
        CorruptTableError: as for ``read_segment``.
    """
    return read_ahead(store, tasks, PREFETCH_SEGMENTS if store.is_remote else 0, read_task)


def read_ahead(
    store: Store, tasks: Iterable[Reads], threads: int, read: Read[Reads]
) -> Iterator[pa.RecordBatch]:
    """Read tasks in order, with threads that read small tasks ahead; 0 for none."""
    if not threads:
        for task in tasks:
            yield from read(store, task)
        return

    with ThreadPoolExecutor(threads) as pool:
        yield from _ahead(store, deque(tasks), pool, read)


def _ahead(
    store: Store, tasks: deque[Reads], pool: ThreadPoolExecutor, read: Read[Reads]
) -> Iterator[pa.RecordBatch]:
    running: deque[tuple[int, Future[list[pa.RecordBatch]]]] = deque()
    try:
        while tasks or running:
            rows = sum(count for count, _ in running)
            while (
                tasks and len(running) < PREFETCH_SEGMENTS and rows + tasks[0].rows <= PREFETCH_ROWS
            ):
                task = tasks.popleft()
                rows += task.rows
                running.append((task.rows, pool.submit(carried(_listed), read, store, task)))
            if running:
                yield from running.popleft()[1].result()
            else:
                yield from read(store, tasks.popleft())
    finally:
        for _, future in running:
            future.cancel()


def _listed(read: Read[Reads], store: Store, task: Reads) -> list[pa.RecordBatch]:
    return list(read(store, task))
