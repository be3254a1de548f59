"""Writing segments: buffer, split by partition, sort, write, and tell what was written."""

from __future__ import annotations

import itertools
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.errors import InvalidRequestError, StorageError
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.schema.literals import from_scalar_text
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.transforms import apply, parse_transform, result_type
from versioned_catalog.segments.file_schema import file_schema, to_file
from versioned_catalog.statistics.stats import StatsCollector
from versioned_catalog.storage.store import Sink, Store

TARGET_BYTES = "target_segment_bytes"
"""The table property that says how large segments should be, in bytes of file."""

DEFAULT_TARGET_BYTES = 128 * 1024 * 1024
ROW_GROUP_ROWS = 1024 * 1024
ROW_GROUP_BYTES = 128 * 1024 * 1024
SORT_BUFFER_BYTES = 256 * 1024 * 1024
"""How much, as Arrow, is held to be sorted into one segment."""


@dataclass(frozen=True)
class WriteSpec:
    """What a writer of segments must know; it travels to executors.

    Args:
        table_uuid, base_version: what the write was planned on.
        schema: what the rows are, and what the segments are tagged with.
        target_bytes: at which size of file a new segment is begun.
    """

    table_uuid: str
    base_version: int
    schema: Schema
    target_bytes: int = DEFAULT_TARGET_BYTES


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
            f"the property {TARGET_BYTES} is {text!r}; it must be a positive number of bytes"
        )
    return int(text)


def write_segments(
    store: Store, spec: WriteSpec, batches: Iterable[pa.RecordBatch]
) -> list[SegmentRecord]:
    """Write rows as segments, durably. Nobody sees them before a commit names them.

    Args:
        store: the table's folder.
        spec: what to write them as.
        batches: rows of exactly the spec's columns.

    Returns:
        A record a segment, in the order of the rows; none for no rows.
    """
    arranged = bool(spec.schema.partitioning or spec.schema.sort_by)
    full = SORT_BUFFER_BYTES if arranged else ROW_GROUP_BYTES
    runs: dict[tuple[str | None, ...], _Run] = {}
    done: list[SegmentRecord] = []
    try:
        for table in _buffered(batches, full, None if arranged else ROW_GROUP_ROWS):
            for key, part in split(table, spec.schema):
                run = runs.get(key) or runs.setdefault(key, _Run(store, spec, key))
                run.write(_sorted(part, spec.schema))
                if arranged or run.is_full:
                    done += runs.pop(key).close()
        for run in runs.values():
            done += run.close()
    except BaseException:
        for run in runs.values():
            run.abandon()
        raise
    return done


def _buffered(
    batches: Iterable[pa.RecordBatch], full: int, most_rows: int | None
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


def _column(table: pa.Table, schema: Schema, column_id: int) -> pa.ChunkedArray:
    """A column by ID, through the structs that hold it."""
    line = (*schema.ancestors(column_id), schema.column(column_id))
    found = table.column(next(i for i, c in enumerate(schema.columns) if c.id == line[0].id))
    for parent, child in itertools.pairwise(line):
        found = pc.struct_field(found, parent.type.fields.index(child))  # type: ignore[union-attr]
    return found


def split(table: pa.Table, schema: Schema) -> Iterator[tuple[tuple[str | None, ...], pa.Table]]:
    """The rows of each partition, with its value texts."""
    if not schema.partitioning:
        yield (), table
        return
    keys: list[pa.ChunkedArray] = []
    for part in schema.partitioning:
        transform = parse_transform(part.transform)
        source = _column(table, schema, part.source)
        type_ = schema.column(part.source).type
        made = apply(transform, type_, source.combine_chunks())
        keys.append(_texts(made, result_type(transform, type_)))
    names = [f"k{i}" for i in range(len(keys))]
    index = pa.array(range(table.num_rows), pa.int64()) if not table.num_rows else None
    if index is None:
        index = pc.subtract(
            pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), table.num_rows)), 1
        )
    grouped = pa.table([*keys, index], names=[*names, "row"]).group_by(names, use_threads=False)
    groups = grouped.aggregate([("row", "list")])
    for group in range(groups.num_rows):
        key = tuple(groups[name][group].as_py() for name in names)
        yield key, table.take(groups["row_list"][group].values)


def _texts(values: pa.Array, type_: Any) -> pa.Array:
    """Partition values as value texts; the few distinct ones are rendered, not every row."""
    encoded = values.dictionary_encode()
    texts = [from_scalar_text(value, type_) for value in encoded.dictionary]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _sorted(table: pa.Table, schema: Schema) -> pa.Table:
    """The rows in the table's sort order."""
    if not schema.sort_by:
        return table
    keys = [_column(table, schema, s.source) for s in schema.sort_by]
    names = [f"k{i}" for i in range(len(keys))]
    # Nulls first ascending and last descending is one rule: null is the smallest. Arrow has one
    # placement for all keys, so whether a value is null is a key of its own.
    columns: list[pa.ChunkedArray] = []
    order: list[tuple[str, str]] = []
    for name, key, by in zip(names, keys, schema.sort_by, strict=True):
        direction = "descending" if by.descending else "ascending"
        columns += [pc.is_valid(key), key]
        order += [(f"{name}_valid", direction), (name, direction)]
    table_of_keys = pa.table(columns, names=[n for n, _ in order])
    return table.take(pc.sort_indices(table_of_keys, sort_keys=order))


class _Run:
    """One segment in the making."""

    def __init__(self, store: Store, spec: WriteSpec, partition: tuple[str | None, ...]) -> None:
        self._spec = spec
        self._partition = partition
        self._path = f"data/{max(spec.base_version, 0)}-{uuid.uuid4().hex}.parquet"
        self._target = file_schema(spec.schema, spec.table_uuid)
        self._stats = StatsCollector(spec.schema.columns)
        self._rows = 0
        self._context: AbstractContextManager[Sink] = store.create(self._path)
        self._sink = _Counting(self._context.__enter__())
        self._writer = pq.ParquetWriter(
            self._sink, self._target, compression="zstd", store_schema=False
        )
        # Without Arrow's own schema, PyArrow leaves the metadata of ours out as well.
        self._writer.add_key_value_metadata(self._target.metadata)

    @property
    def is_full(self) -> bool:
        """Whether the file has the size that is wanted."""
        return self._sink.size >= self._spec.target_bytes

    def write(self, rows: pa.Table) -> None:
        """Append a row group (or a few)."""
        self._stats.update(rows)
        self._rows += rows.num_rows
        self._writer.write_table(to_file(rows, self._spec.schema, self._target), ROW_GROUP_ROWS)

    def close(self) -> list[SegmentRecord]:
        """Finish the file and tell what it is."""
        self._writer.close()
        self._context.__exit__(None, None, None)
        record = SegmentRecord(
            path=self._path,
            schema_version=self._spec.schema.version,
            rows=self._rows,
            bytes=self._sink.size,
            partition=self._partition,
            columns=self._stats.finish(),
            checksum=f"crc32:{self._sink.crc:08x}",
        )
        return [record]

    def abandon(self) -> None:
        """Give up: what stands on storage is left for vacuum."""
        error = StorageError("the write was abandoned")
        try:
            self._context.__exit__(type(error), error, None)
        except StorageError:
            return


class _Counting:
    """A sink that knows the size and the checksum of what went through it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.size = 0
        self.crc = 0
        self.closed = False

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self.size += view.nbytes
        self.crc = zlib.crc32(view, self.crc)
        self._sink.write(view)
        return view.nbytes

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        """Nothing: the store syncs at the end."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True
