"""Writing segments: buffer or spill rows, group them by partition, sort and write them."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Generic, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError, StorageError
from versioned_catalog.log.features import DELETE_ROW, PATCH_ROW, PUT_ROW
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.model.arrow import scalar_of
from versioned_catalog.observe.records import DEBUG, record
from versioned_catalog.observe.tracing import carried, span
from versioned_catalog.storage.store import Store
from versioned_catalog.write.segment_writer import (
    DEFAULT_TARGET_BYTES,
    PLAIN_ROWS,
    ROW_GROUP_ROWS,
    Partition,
    SegmentKind,
    SegmentWriter,
    WriteSpec,
    in_order,
    split,
)

Key = TypeVar("Key", bound=Hashable)

FILE_BYTES = 256 * 1024 * 1024
"""Arrow bytes after which a new spill file begins."""


class Spill(Generic[Key]):
    """Rows by key on the local disk; the rows of a key keep their order.

    Args:
        scratch: a folder of the local disk; None for Python's default. It is used from the first rows
            on, and left empty.
        keys: keys that are drained first, in their order.
        compression: Arrow's codec for the files; None for none, which takes more space and less time.
    """

    def __init__(
        self,
        scratch: str | None = None,
        keys: Iterable[Key] = (),
        compression: str | None = "lz4",
    ) -> None:
        self._scratch = scratch
        self._compression = compression
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._sink: Any = None
        self._writer: Any = None
        self._schema: pa.Schema | None = None
        self._written = 0
        self._batches = 0
        self._files: list[Path] = []
        self._places: dict[Key, list[tuple[int, int]]] = {key: [] for key in keys}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._end_file()

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def add(self, key: Key, rows: pa.Table) -> None:
        """Add rows to a key. Those of another schema than the rows before go to another file.

        Raises:
            StorageError: the local disk is full, or fails.
        """
        places = self._places.setdefault(key, [])
        for batch in rows.to_batches():
            if batch.schema != self._schema:
                self._end_file()
            with self._on_disk():
                writer = self._writer or self._begin_file(batch.schema)
                writer.write_batch(batch)
            places.append((len(self._files) - 1, self._batches))
            self._batches += 1
            self._written += batch.nbytes
            if self._written >= FILE_BYTES:
                self._end_file()

    def _begin_file(self, schema: pa.Schema) -> Any:
        if self._folder is None:
            folder = TemporaryDirectory(prefix="versioned-", dir=self._scratch)
            self._folder = Path(self._stack.enter_context(folder))
        path = self._folder / str(len(self._files))
        self._files.append(path)
        options = pa.ipc.IpcWriteOptions(compression=self._compression)
        self._sink = pa.OSFile(str(path), "wb")
        self._schema = schema
        self._writer = pa.ipc.new_file(self._sink, schema, options=options)
        self._written = self._batches = 0
        return self._writer

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._writer = None  # closing it would fail again
            where = self._folder or self._scratch or gettempdir()
            raise StorageError(
                f"can't spill rows to {where}: {error}; free space there, or set spark.local.dir or "
                "TMPDIR to a larger disk"
            ) from error

    def _end_file(self) -> None:
        if self._writer is not None:
            with self._on_disk():
                self._writer.close()
                self._sink.close()
            self._writer = None

    def drain(self) -> Iterator[tuple[Key, Iterator[pa.RecordBatch]]]:
        """Read the rows of each key, further keys by their first rows; then none can be added."""
        self._end_file()
        with ExitStack() as stack:
            files = [
                stack.enter_context(pa.ipc.open_file(stack.enter_context(pa.OSFile(str(path)))))
                for path in self._files
            ]
            for key, places in self._places.items():
                yield key, (files[file].get_batch(batch) for file, batch in places)


_Group = tuple[Partition, SegmentKind]
"""The partition and the kind of the rows of a segment."""

TARGET_BYTES = "target_segment_bytes"
"""The table property with the target size of segments, in bytes of the file."""

ROW_GROUP_BYTES = 128 * 1024 * 1024
SORT_BUFFER_BYTES = 256 * 1024 * 1024
"""Arrow bytes that are sorted in memory for one segment, at most."""
SORTED_BYTES = 32 * 1024 * 1024
"""Arrow bytes of a row group of rows that come sorted, at most."""
SORTED_ROWS = 256 * 1024
"""Rows of such a row group, at most: the next ones are read while they are written."""
MAX_OPEN = 64
"""Segments that are open for writing at once, at most."""
CLOSING_THREADS = 8
"""The threads that finish segments."""


def target_bytes(properties: Mapping[str, str]) -> int:
    """The target size of segments, in bytes.

    Raises:
        InvalidRequestError: the property is not a positive number.
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
    store: Store, spec: WriteSpec, batches: Iterable[pa.RecordBatch], scratch: str | None = None
) -> list[SegmentRecord]:
    """Write rows as segments, durably. They become visible when a commit lists them.

    The rows of a partition go to one segment, and to further ones if it is full, or, if the table sorts
    its rows, if they are too many to sort in memory.

    Args:
        batches: rows of exactly the spec's columns, followed by their types of operation if the spec
            has ``ops``.
        scratch: a folder of the local disk for rows that do not fit in memory; None for Python's
            default.

    Returns:
        A record for each segment, in the order of the rows, tombstones first.
    """
    with span("versioned.write", store=store.url) as writing:
        records = _written(store, spec, batches, scratch)
        rows, size = sum(r.rows for r in records), sum(r.bytes for r in records)
        writing.set(segments=len(records), rows=rows, bytes=size)
    record(
        DEBUG,
        "%s: wrote %d rows in %d segments",
        store.url,
        rows,
        len(records),
        location=store.url,
        segments=len(records),
        rows=rows,
        bytes=size,
    )
    return records


def _written(
    store: Store, spec: WriteSpec, batches: Iterable[pa.RecordBatch], scratch: str | None
) -> list[SegmentRecord]:
    schema = spec.schema
    sorts = bool(schema.sort_by or schema.row_key)
    with _OpenSegments(store, spec, scratch) as runs:
        if sorts or schema.partitioning:
            for group, tables in _gathered(batches, spec, scratch):
                for rows in tables:
                    runs.write(group, in_order(rows, schema), last=sorts)
                runs.end(group)
        else:
            for table in buffered(batches, ROW_GROUP_BYTES, ROW_GROUP_ROWS):
                for kind, rows in _kinds(table, spec):
                    runs.write(((), kind), rows)
    return sorted(runs.done, key=lambda record: not record.delta.deletes_only)


def _gathered(
    batches: Iterable[pa.RecordBatch], spec: WriteSpec, scratch: str | None
) -> Iterator[tuple[_Group, Iterator[pa.Table]]]:
    """The rows of each partition and kind, in tables that fit in memory."""
    rest = iter(batches)
    first = next(buffered(rest, SORT_BUFFER_BYTES), None)
    more = next(rest, None)
    if first is None:
        return
    if more is None:
        for key, rows in _grouped(first, spec):
            yield key, iter([rows])
        return
    with Spill[_Group](scratch) as spill:
        for key, rows in _grouped(first, spec):
            spill.add(key, rows)
        del first, rows
        for table in buffered(chain([more], rest), SORT_BUFFER_BYTES):
            for key, rows in _grouped(table, spec):
                spill.add(key, rows)
        for key, spilled in spill.drain():
            yield key, buffered(spilled, SORT_BUFFER_BYTES)


def _grouped(table: pa.Table, spec: WriteSpec) -> Iterator[tuple[_Group, pa.Table]]:
    for kind, rows in _kinds(table, spec):
        for partition, part in split(rows, spec.schema):
            yield (partition, kind), part


Value = TypeVar("Value")


def pipelined(values: Iterable[Value]) -> Generator[Value]:
    """Compute each value in another thread while the previous value is used.

    Errors are raised here. Closing the generator waits for the value in progress, and closes the source.
    """
    rest, end = iter(values), object()
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        if isinstance(rest, Generator):
            stack.callback(rest.close)
        step = carried(next)
        following = pool.submit(step, rest, end)
        while (value := following.result()) is not end:
            following = pool.submit(step, rest, end)
            yield value  # type: ignore[misc]


def write_groups(
    store: Store,
    spec: WriteSpec,
    groups: Iterable[pa.Table],
    kind: SegmentKind = PLAIN_ROWS,
    scratch: str | None = None,
) -> list[SegmentRecord]:
    """Write rows in their order, row group by row group, as segments of the target size.

    Args:
        store, spec, scratch: as for ``write_segments``.
        groups: rows of the spec's columns, followed by their sequences if the kind has them, and by
            their types of operation if the spec has ``ops``.
        kind: the kind of the rows that are not tombstones.
    """
    with closing(pipelined(groups)) as tables, _OpenSegments(store, spec, scratch) as runs:
        for table in tables:
            for of_rows, rows in _kinds(table, spec, kind):
                for partition, part in split(rows, spec.schema):
                    runs.write((partition, of_rows), part)
    return runs.done


def _kinds(
    table: pa.Table, spec: WriteSpec, kind: SegmentKind = PLAIN_ROWS
) -> Iterator[tuple[SegmentKind, pa.Table]]:
    """The tombstones among rows, and the others, which are of a kind."""
    if spec.patch is not None:
        yield SegmentKind(PATCH_ROW, spec.patch), table
    elif spec.ops:
        for op, rows in _by_op(table):
            yield replace(kind, op=DELETE_ROW) if op == DELETE_ROW else kind, rows
    else:
        yield kind, table


def _by_op(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Split rows by the type of operation in their last column, and drop it: tombstones first."""
    ops, rows = table.column(-1 % table.num_columns), table.select(range(table.num_columns - 1))
    deletes = pc.equal(ops, scalar_of(DELETE_ROW, pa.int8()))
    count = pc.sum(deletes).as_py() or 0
    if count:
        yield DELETE_ROW, rows.filter(deletes)
    if count < rows.num_rows:
        yield PUT_ROW, rows.filter(pc.invert(deletes)) if count else rows


class _OpenSegments:
    """The open segments, one for each partition and kind, and the records of finished ones.

    Each open segment has buffers and a file. The rows of further partitions are spilled to the local
    disk, so that a segment is finished only when it is full or complete. Threads finish the segments of
    partitions, since that mostly waits for a disk or a store.
    """

    def __init__(self, store: Store, spec: WriteSpec, scratch: str | None) -> None:
        self._store = store
        self._spec = spec
        self._open: dict[_Group, SegmentWriter] = {}
        self._waiting = Spill[_Group](scratch)
        self._enders = ThreadPoolExecutor(CLOSING_THREADS)
        self._ending: deque[Future[SegmentRecord]] = deque()
        self.done: list[SegmentRecord] = []

    def __enter__(self) -> Self:
        return self

    def write(self, group: _Group, rows: pa.Table, *, last: bool = False) -> None:
        """Append rows to the segment of a group, and finish it if full or if they are the last."""
        if group in self._waiting or (group not in self._open and len(self._open) >= MAX_OPEN):
            self._waiting.add(group, rows)
            return
        self._append(group, rows)
        if last:
            self.end(group)

    def _append(self, group: _Group, rows: pa.Table) -> None:
        run = self._open.get(group)
        if run is None:
            run = self._open[group] = SegmentWriter(self._store, self._spec, *group)
        run.write(rows)
        if run.is_full:
            self.end(group)

    def end(self, group: _Group) -> None:
        """Finish the segment of a group."""
        run = self._open.pop(group, None)
        if run is None:
            return
        if not group[0]:
            self.done.append(run.close())
            return
        self._ending.append(self._enders.submit(run.close))
        if len(self._ending) > CLOSING_THREADS:
            self.done.append(self._ending.popleft().result())

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._waiting, self._enders:
            try:
                if error is None:
                    self._finish()
            finally:
                for run in self._open.values():
                    run.abandon()

    def _finish(self) -> None:
        for group in list(self._open):
            self.end(group)
        for group, batches in self._waiting.drain():
            for rows in buffered(batches, SORTED_BYTES, SORTED_ROWS):
                self._append(group, rows)
            self.end(group)
        while self._ending:
            self.done.append(self._ending.popleft().result())


def buffered(
    batches: Iterable[pa.RecordBatch], full: int, most_rows: int | None = None
) -> Iterator[pa.Table]:
    """Collect batches into tables of about ``full`` bytes, or of ``most_rows`` rows."""
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        rest = batch
        while rest.num_rows:
            part = rest if most_rows is None else rest.slice(0, most_rows - rows)
            rest = rest.slice(part.num_rows)
            pending.append(part)
            rows += part.num_rows
            size += part.nbytes
            if size >= full or rows == most_rows:
                yield pa.Table.from_batches(pending)
                pending, rows, size = [], 0, 0
    if pending:
        yield pa.Table.from_batches(pending)
