"""Writing segments: buffer, group by partition, sort, write, and tell what was written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.datafile.arrange import in_order, split
from versioned_catalog.datafile.one_ahead import one_ahead
from versioned_catalog.datafile.open_segment import (
    DEFAULT_TARGET_BYTES,
    PLAIN_ROWS,
    ROW_GROUP_ROWS,
    TOMBSTONES,
    Kind,
    OpenSegment,
    Partition,
    WriteSpec,
)
from versioned_catalog.datafile.spilling import Spill
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.op_types import DELETE, PATCH, PUT
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.storage.store import Store
from versioned_catalog.types.arrow_values import scalar_of

_Run = tuple[Partition, Kind]
"""What the rows of one segment have in common."""

TARGET_BYTES = "target_segment_bytes"
"""The table property that says how large segments should be, in bytes of file."""

ROW_GROUP_BYTES = 128 * 1024 * 1024
SORT_BUFFER_BYTES = 256 * 1024 * 1024
"""How much, as Arrow, is held to be sorted into one segment."""
SORTED_BYTES = 32 * 1024 * 1024
"""How much of rows that are sorted already goes into a row group, as Arrow."""
SORTED_ROWS = 256 * 1024
"""How many of them do, at most: while they are written, the next ones are read."""
MOST_OPEN = 64
"""Segments that are written at once."""
ENDERS = 8
"""Threads that end segments."""


def target_bytes(properties: Mapping[str, str]) -> int:
    """The wanted size of segments, in bytes.

    Raises:
        InvalidRequestError: the property is no positive number.
    """
    text = properties.get(TARGET_BYTES)
    if text is None:
        return DEFAULT_TARGET_BYTES
    if not isinstance(text, str) or not text.isdecimal() or int(text) == 0:
        raise InvalidRequestError(
            f"the property {TARGET_BYTES} is {text!r}; it must be a positive number of bytes",
            condition="INVALID_OPTION",
        )
    return int(text)


def write_segments(
    store: Store,
    spec: WriteSpec,
    batches: Iterable[pa.RecordBatch],
    scratch: str | None = None,
) -> list[SegmentRecord]:
    """Write rows as segments, durably. Nobody sees them before a commit names them.

    Rows of a partition go to one segment, and to another one only where that is full; those of a table
    that sorts its rows, where they are too many to be sorted in memory.

    Args:
        store: the table's folder.
        spec: what to write them as.
        batches: rows of exactly the spec's columns, and of their types of operation where the spec
            says so.
        scratch: a folder of the local disk, for rows of many partitions that do not fit in memory;
            None for Python's own.

    Returns:
        A record a segment, in the order of the rows, tombstones before others; none for no rows.
    """
    schema = spec.schema
    sorts = bool(schema.sort_by or schema.row_key)
    with _Runs(store, spec, scratch) as runs:
        if sorts or schema.partitioning:
            for (partition, kind), tables in _gathered(batches, spec, scratch):
                for rows in tables:
                    runs.write(partition, kind, in_order(rows, schema), last=sorts)
                runs.end(partition, kind)
        else:
            for table in buffered(batches, ROW_GROUP_BYTES, ROW_GROUP_ROWS):
                for kind, rows in _kinds(table, spec):
                    runs.write((), kind, rows)
    return sorted(runs.done, key=lambda record: not record.delta.deletes_only)


def _gathered(
    batches: Iterable[pa.RecordBatch], spec: WriteSpec, scratch: str | None
) -> Iterator[tuple[_Run, Iterator[pa.Table]]]:
    """All rows of a partition and kind, then those of the next, in tables that fit in memory."""
    rest = iter(batches)
    first = next(buffered(rest, SORT_BUFFER_BYTES), None)
    more = next(rest, None)
    if first is None:
        return
    if more is None:
        for key, rows in _grouped(first, spec):
            yield key, iter([rows])
        return
    with Spill[_Run](scratch) as spill:
        for key, rows in _grouped(first, spec):
            spill.add(key, rows)
        del first, rows
        for table in buffered(chain([more], rest), SORT_BUFFER_BYTES):
            for key, rows in _grouped(table, spec):
                spill.add(key, rows)
        for key, found in spill.drain():
            yield key, buffered(found, SORT_BUFFER_BYTES)


def _grouped(table: pa.Table, spec: WriteSpec) -> Iterator[tuple[_Run, pa.Table]]:
    for kind, rows in _kinds(table, spec):
        for partition, part in split(rows, spec.schema):
            yield (partition, kind), part


def write_sorted(
    store: Store,
    spec: WriteSpec,
    batches: Iterable[pa.RecordBatch],
    kind: Kind = PLAIN_ROWS,
    scratch: str | None = None,
) -> list[SegmentRecord]:
    """Write rows as they come, batch by batch, as segments of the wanted size.

    Args:
        store, spec, scratch: as for ``write_segments``.
        batches: rows of the spec's columns; of their sequences, where the kind says so; of their types
            of operation, where the spec says so.
        kind: what the rows are that are no tombstones.
    """
    tables = buffered(batches, SORTED_BYTES, SORTED_ROWS)
    return write_groups(store, spec, tables, kind, scratch)


def write_groups(
    store: Store,
    spec: WriteSpec,
    groups: Iterable[pa.Table],
    kind: Kind = PLAIN_ROWS,
    scratch: str | None = None,
) -> list[SegmentRecord]:
    """``write_sorted`` of row groups; a segment ends with one of them."""
    tombstones = replace(kind, op=DELETE)
    with closing(one_ahead(groups)) as tables, _Runs(store, spec, scratch) as runs:
        for table in tables:
            for op, rows in _by_op(table) if spec.ops else [(PUT, table)]:
                for key, part in split(rows, spec.schema):
                    runs.write(key, tombstones if op == DELETE else kind, part)
    return runs.done


def _kinds(table: pa.Table, spec: WriteSpec) -> Iterator[tuple[Kind, pa.Table]]:
    if spec.patch is not None:
        yield Kind(PATCH, spec.patch), table
    elif spec.ops:
        for op, rows in _by_op(table):
            yield TOMBSTONES if op == DELETE else PLAIN_ROWS, rows
    else:
        yield PLAIN_ROWS, table


def _by_op(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The rows without their types of operation, the last column: tombstones, then the others."""
    ops, rows = table.column(-1 % table.num_columns), table.select(range(table.num_columns - 1))
    deletes = pc.equal(ops, scalar_of(DELETE, pa.int8()))
    count = pc.sum(deletes).as_py() or 0
    if count:
        yield DELETE, rows.filter(deletes)
    if count < rows.num_rows:
        yield PUT, rows.filter(pc.invert(deletes)) if count else rows


class _Runs:
    """The segments that are open, one a partition and kind, and the records of those that are done.

    Each open segment holds buffers, and a file. Rows of further partitions wait on the local disk, so
    that no segment ends before it is full, or all of its rows are there. Threads end the segments of
    partitions, of which there may be many: most of that is waiting for a disk or a store.
    """

    def __init__(self, store: Store, spec: WriteSpec, scratch: str | None) -> None:
        self._store = store
        self._spec = spec
        self._open: dict[_Run, OpenSegment] = {}
        self._waiting = Spill[_Run](scratch)
        self._enders = ThreadPoolExecutor(ENDERS)
        self._ending: deque[Future[list[SegmentRecord]]] = deque()
        self.done: list[SegmentRecord] = []

    def __enter__(self) -> Self:
        return self

    def write(
        self, partition: Partition, kind: Kind, rows: pa.Table, *, last: bool = False
    ) -> None:
        """Append rows to the segment of a partition, which ends when it is full, or ``last`` says so."""
        key = partition, kind
        if key in self._waiting or (key not in self._open and len(self._open) >= MOST_OPEN):
            self._waiting.add(key, rows)
            return
        self._append(partition, kind, rows)
        if last:
            self.end(partition, kind)

    def _append(self, partition: Partition, kind: Kind, rows: pa.Table) -> None:
        run = self._open.get((partition, kind))
        if run is None:
            run = OpenSegment(self._store, self._spec, partition, kind)
            self._open[partition, kind] = run
        run.write(rows)
        if run.is_full:
            self.end(partition, kind)

    def end(self, partition: Partition, kind: Kind) -> None:
        """No more rows of a partition will come."""
        run = self._open.pop((partition, kind), None)
        if run is None:
            return
        if not partition:
            self.done += run.close()
            return
        self._ending.append(self._enders.submit(run.close))
        if len(self._ending) > ENDERS:
            self.done += self._ending.popleft().result()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._waiting, self._enders:
            try:
                if error is None:
                    self._finish()
            finally:
                for run in self._open.values():
                    run.abandon()

    def _finish(self) -> None:
        for partition, kind in list(self._open):
            self.end(partition, kind)
        for (partition, kind), batches in self._waiting.drain():
            for rows in buffered(batches, SORTED_BYTES, SORTED_ROWS):
                self._append(partition, kind, rows)
            self.end(partition, kind)
        while self._ending:
            self.done += self._ending.popleft().result()


def buffered(
    batches: Iterable[pa.RecordBatch], full: int, most_rows: int | None = None
) -> Iterator[pa.Table]:
    """Tables of several batches, each of about so many bytes or rows."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if size >= full or (most_rows is not None and rows >= most_rows):
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)
