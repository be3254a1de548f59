"""Writing segments: buffer, split by partition, sort, write, and tell what was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.arrow_values import scalar_of
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.merging.ops import DELETE, PATCH, PUT
from versioned_catalog.segments.arranging import in_order, split
from versioned_catalog.segments.one_ahead import one_ahead
from versioned_catalog.segments.open_segment import (
    DEFAULT_TARGET_BYTES,
    PLAIN_ROWS,
    ROW_GROUP_ROWS,
    TOMBSTONES,
    Kind,
    OpenSegment,
    Partition,
    WriteSpec,
)
from versioned_catalog.storage.store import Store

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
    store: Store, spec: WriteSpec, batches: Iterable[pa.RecordBatch]
) -> list[SegmentRecord]:
    """Write rows as segments, durably. Nobody sees them before a commit names them.

    Args:
        store: the table's folder.
        spec: what to write them as.
        batches: rows of exactly the spec's columns, and of their types of operation where the spec
            says so.

    Returns:
        A record a segment, in the order of the rows, tombstones before others; none for no rows.
    """
    schema = spec.schema
    arranged = bool(schema.partitioning or schema.sort_by or schema.row_key)
    full = SORT_BUFFER_BYTES if arranged else ROW_GROUP_BYTES
    with _Runs(store, spec) as runs:
        for table in buffered(batches, full, None if arranged else ROW_GROUP_ROWS):
            for kind, rows in _kinds(table, spec):
                for key, part in split(rows, schema):
                    runs.write(key, kind, in_order(part, schema), last=arranged)
    return sorted(runs.done, key=lambda record: not record.delta.deletes_only)


def write_sorted(
    store: Store, spec: WriteSpec, batches: Iterable[pa.RecordBatch], kind: Kind = PLAIN_ROWS
) -> list[SegmentRecord]:
    """Write rows as they come, batch by batch, as segments of the wanted size.

    Args:
        store, spec: as for ``write_segments``.
        batches: rows of the spec's columns; of their sequences, where the kind says so; of their types
            of operation, where the spec says so.
        kind: what the rows are that are no tombstones.
    """
    return write_groups(store, spec, buffered(batches, SORTED_BYTES, SORTED_ROWS), kind)


def write_groups(
    store: Store, spec: WriteSpec, groups: Iterable[pa.Table], kind: Kind = PLAIN_ROWS
) -> list[SegmentRecord]:
    """``write_sorted`` of row groups; a segment ends with one of them."""
    tombstones = replace(kind, op=DELETE)
    with closing(one_ahead(groups)) as tables, _Runs(store, spec) as runs:
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
    """The segments that are open, one a partition and kind, and the records of those that are done."""

    def __init__(self, store: Store, spec: WriteSpec) -> None:
        self._store = store
        self._spec = spec
        self._open: dict[tuple[Partition, Kind], OpenSegment] = {}
        self.done: list[SegmentRecord] = []

    def __enter__(self) -> Self:
        return self

    def write(
        self, partition: Partition, kind: Kind, rows: pa.Table, *, last: bool = False
    ) -> None:
        """Append rows to the segment of a partition, which ends when it is full, or ``last`` says so."""
        run = self._open.pop((partition, kind), None)
        if run is None:
            self._make_room()
            run = OpenSegment(self._store, self._spec, partition, kind)
        self._open[partition, kind] = run
        run.write(rows)
        if last or run.is_full:
            self.done += self._open.pop((partition, kind)).close()

    def _make_room(self) -> None:
        """Each open segment holds buffers; the one not written to for longest ends first."""
        if len(self._open) >= MOST_OPEN:
            self.done += self._open.pop(next(iter(self._open))).close()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            try:
                for key in list(self._open):
                    self.done += self._open.pop(key).close()
                return
            except BaseException:
                self._abandon()
                raise
        self._abandon()

    def _abandon(self) -> None:
        for run in self._open.values():
            run.abandon()


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
