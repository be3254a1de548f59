"""The writer of one segment: the arrangement of its rows, and its record for the log."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.errors import StorageError
from versioned_catalog.log.features import DELETE_ROW, PUT_ROW
from versioned_catalog.log.record import (
    PLAIN,
    UNASSIGNED_ROW_IDS,
    Delta,
    RowIds,
    SegmentRecord,
)
from versioned_catalog.log.segment_table import delta_to_text
from versioned_catalog.log.statistics import StatsCollector
from versioned_catalog.model.arrow import ONE, integers, one_array, scalar_of
from versioned_catalog.model.keys import OP_TYPE, ROW_ID_COLUMNS, SEQUENCE, arranged_columns
from versioned_catalog.model.partitioning import PartitionKey
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.sql_literals import from_scalar_text
from versioned_catalog.model.transform_values import apply_transform
from versioned_catalog.model.transforms import parse_transform, result_type
from versioned_catalog.model.types import Column
from versioned_catalog.read.arrays import column_of
from versioned_catalog.read.newest_rows import last_of_keys, sorted_order
from versioned_catalog.read.row_hashes import groups_of, indices
from versioned_catalog.read.row_keys import comparable
from versioned_catalog.read.segment_layout import DELTA, file_schema, text_paths, to_file
from versioned_catalog.storage.store import Sink, Store, new_name


def split(table: pa.Table, schema: Schema) -> Iterator[tuple[PartitionKey, pa.Table]]:
    """Split rows by partition, each in their order, with its value texts."""
    if not schema.partitioning:
        yield (), table
        return
    if not table.num_rows:
        return
    values = [_partition_values(table, schema, field) for field in schema.partitioning]
    columns = [column.indices.cast(pa.int64()) for column, _ in values]
    codes = integers(groups_of(columns, table.num_rows))
    if codes.max() < 2**15:
        codes = codes.astype(np.int16)  # which NumPy sorts by radix
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rows = table if starts.size == 1 else table.combine_chunks().take(indices(order))
    for start, end in pairwise([*starts.tolist(), table.num_rows]):
        first = int(order[start])
        key = tuple(texts[column.indices[first].as_py()] for column, texts in values)
        yield key, rows.slice(start, end - start)


def _partition_values(
    table: pa.Table, schema: Schema, field: PartitionField
) -> tuple[pa.DictionaryArray, list[str | None]]:
    """The partition values of rows, dictionary-encoded, and the value texts of the dictionary."""
    transform, type_ = parse_transform(field.transform), schema.column(field.source).type
    source = one_array(column_of(table, schema, field.source))
    encoded = apply_transform(transform, type_, source).dictionary_encode(null_encoding="encode")
    result = result_type(transform, type_)
    texts = (from_scalar_text(value, result) for value in encoded.dictionary)
    return encoded, [None if text is None else str(text) for text in texts]


def in_order(table: pa.Table, schema: Schema) -> pa.Table:
    """Sort rows in the table's order; with a primary key, keep the last row of each key."""
    if schema.row_key:
        return _by_key(table, schema)
    if not schema.sort_by:
        return table
    keys = [column_of(table, schema, s.source) for s in schema.sort_by]
    names = [f"k{i}" for i in range(len(keys))]
    # Arrow has one null placement for all keys, so each key is preceded by one for its nulls.
    columns: list[pa.ChunkedArray] = []
    order: list[tuple[str, str]] = []
    for name, key, by in zip(names, keys, schema.sort_by, strict=True):
        way = by.direction
        columns += [pc.is_valid(key), key]
        order += [
            (f"{name}_valid", "ascending" if way.nulls_first else "descending"),
            (name, "descending" if way.descending else "ascending"),
        ]
    table_of_keys = pa.table(columns, names=[n for n, _ in order])
    return table.take(pc.sort_indices(table_of_keys, sort_keys=order))


def _by_key(table: pa.Table, schema: Schema) -> pa.Table:
    keys = key_columns(table, schema)
    order = sorted_order(keys)  # stable, so that the last row of a key stays last
    if schema.is_keyed:
        last = last_of_keys((column.take(order) for column in keys), table.num_rows)
        order = order.filter(last) if last.false_count else order
    return table.take(order)


def key_columns(table: pa.Table, schema: Schema) -> list[pa.Array]:
    """The columns of the row key, in types that kernels compare."""
    columns = (column_of(table, schema, column_id) for column_id in schema.row_key)
    return [comparable(one_array(column)) for column in columns]


ROW_GROUP_ROWS = 1024 * 1024
KEYED_ROW_GROUP_ROWS = 128 * 1024
"""Rows of a row group of a keyed table: scans read ranges of keys, and a merge holds one row group of
each segment."""

PARALLEL_ROWS = 64 * 1024
"""The number of rows from which statistics are computed in a second thread."""

_ROWS_OF_PAGE = "max_rows_per_page"
_PAGES = (
    {_ROWS_OF_PAGE: KEYED_ROW_GROUP_ROWS}
    if _ROWS_OF_PAGE in signature(pq.ParquetWriter).parameters
    else {}
)
"""Limits of a page besides its size. Newer releases of PyArrow end a page after 20,000 rows, which takes
more time and space, and serves only readers of page indexes, which segments do not have."""

PAGES_BYTES = 256 * 1024
"""Bytes of pages that are collected before Python writes them: each call of Python waits until other
threads, which read the next rows, let it run."""

Partition = tuple[str | None, ...]


@dataclass(frozen=True)
class SegmentKind:
    """The kind of the rows of one segment.

    Args:
        op: the type of operation of all rows: PUT, DELETE or PATCH.
        patch: the IDs of the columns that PATCH rows assign.
        order: (sequence, ordinal) of rewritten rows; None for those of the commit.
        sequences: whether each row has its own sequence, in the last column.
    """

    op: int = PUT_ROW
    patch: tuple[int, ...] | None = None
    order: tuple[int, int] | None = None
    sequences: bool = False


PLAIN_ROWS = SegmentKind()


@dataclass(frozen=True)
class _Layout:
    """The layout of rows in a file.

    Args:
        columns: the columns of the file, in order.
        places: the position in the rows of each column, except the type of operation.
        with_statistics: the leading columns that have statistics.
        op: the type of operation of all rows, if the file holds it.
        row_ids: whether the file holds the IDs of rows and their versions, as the last columns.
    """

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    with_statistics: tuple[Column, ...]
    op: int | None
    row_ids: bool

    @staticmethod
    def of(schema: Schema, kind: SegmentKind, *, row_ids: bool) -> _Layout:
        """The layout of rows of a kind, which ``row_ids`` may follow."""
        arranged = arranged_columns(schema)
        by_id = {column.id: at for at, column in enumerate(schema.columns)}
        places = tuple(by_id[column.id] for column in arranged)
        with_statistics = arranged[: len(schema.row_key)] if kind.op == DELETE_ROW else arranged
        # A tombstone holds only its key; other values are null.
        kept = {column.id for column in with_statistics}
        stored = tuple(
            column if column.id in kept else replace(column, nullable=True) for column in arranged
        )
        if kind.sequences:
            stored, places = (*stored, SEQUENCE), (*places, len(schema.columns))
        if row_ids:
            width = len(schema.columns)
            stored, places = (*stored, *ROW_ID_COLUMNS), (*places, width, width + 1)
        op = None if kind.op == PUT_ROW else kind.op
        columns = stored if op is None else (*stored, OP_TYPE)
        return _Layout(columns, places, with_statistics, op, row_ids)

    def arrange(self, rows: pa.Table) -> pa.Table:
        """Arrange the columns of rows as in the file."""
        unchanged = self.op is None and not self.row_ids
        if unchanged and self.places == tuple(range(rows.num_columns)):
            return rows
        columns = [rows.column(at) for at in self.places]
        if self.row_ids:
            columns[-1] = pc.add(columns[-1], ONE)  # as published, versions count from 1
        if self.op is not None:
            columns.append(pa.repeat(scalar_of(self.op, pa.int8()), rows.num_rows))
        return pa.table(columns, names=[str(at) for at in range(len(columns))])


DEFAULT_TARGET_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class WriteSpec:
    """What executors need to write segments.

    Args:
        table_uuid, base_version: the table and the snapshot that the write was planned on.
        target_bytes: the size of a file at which a new segment begins.
        ops: whether the last column of the rows is their operation (PUT, DELETE or PATCH).
        patch: the IDs of the columns that the rows of a partial upsert assign.
        tag: the first digits of the UUIDs in the names of the files, for writers that must find their
            files again; up to 16 hex digits, so that the others still make a name unique.
        row_ids: whether the last two columns of the rows are the IDs that they keep, and the versions
            that wrote them; null for a row that is new, or is written by this commit. Only of a table
            without a primary key.
        shreds: whether Spark shreds variants; Python writes them whole.
    """

    table_uuid: str
    base_version: int
    schema: Schema
    target_bytes: int = DEFAULT_TARGET_BYTES
    ops: bool = False
    patch: tuple[int, ...] | None = None
    tag: str = ""
    row_ids: bool = False
    shreds: bool = False


class SegmentWriter:
    """Writes one segment."""

    def __init__(
        self, store: Store, spec: WriteSpec, partition: Partition, kind: SegmentKind = PLAIN_ROWS
    ) -> None:
        self._spec = spec
        self._partition = partition
        self._kind = kind
        self._layout = _Layout.of(spec.schema, kind, row_ids=spec.row_ids)
        self._path = f"data/{new_name(spec.base_version, spec.tag)}.parquet"
        self._target = file_schema(spec.schema, spec.table_uuid, self._layout.columns)
        self._stats = StatsCollector(self._layout.with_statistics)
        self._sequences: tuple[int, int] | None = None
        self._rows = 0
        self._context: AbstractContextManager[Sink] = store.create(self._path)
        self._sink = _Counting(self._context.__enter__())
        self._pages = pa.BufferedOutputStream(pa.PythonFile(self._sink, "w"), PAGES_BYTES)
        self._writer = pq.ParquetWriter(
            self._pages,
            self._target,
            compression="zstd",
            store_schema=False,
            write_page_checksum=True,
            use_dictionary=text_paths(self._layout.columns),
            **_PAGES,
        )
        # With store_schema=False, PyArrow leaves out the metadata of the schema; add it by hand.
        self._writer.add_key_value_metadata(self._target.metadata)

    @property
    def is_full(self) -> bool:
        """Whether the file has reached its target size."""
        return self._sink.size >= self._spec.target_bytes

    def write(self, rows: pa.Table) -> None:
        """Append row groups: columns in the schema's order, then the sequences if the kind has them."""
        arranged = self._layout.arrange(rows)
        counted = arranged.select(range(len(self._layout.with_statistics)))
        if rows.num_rows < PARALLEL_ROWS:
            self._stats.update(counted)
            self._append(arranged, rows)
            return
        with ThreadPoolExecutor(1) as pool:
            statistics = pool.submit(self._stats.update, counted)
            self._append(arranged, rows)
            statistics.result()

    def _append(self, arranged: pa.Table, rows: pa.Table) -> None:
        self._rows += rows.num_rows
        if self._kind.sequences:
            self._note(arranged.column(len(self._spec.schema.columns)))
        size = KEYED_ROW_GROUP_ROWS if self._spec.schema.row_key else ROW_GROUP_ROWS
        self._writer.write_table(to_file(arranged, self._layout.columns, self._target), size)
        self._pages.flush()  # so that ``is_full`` counts them

    def _note(self, sequences: pa.ChunkedArray) -> None:
        bounds = pc.min_max(sequences)
        least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
        old = self._sequences or (least, greatest)
        self._sequences = min(old[0], least), max(old[1], greatest)

    def close(self) -> SegmentRecord:
        """Finish the file and return its record."""
        delta, spec = self._delta(), self._spec
        text = delta_to_text(delta)
        if text is not None:
            self._writer.add_key_value_metadata({DELTA: text.encode()})
        self._writer.close()
        self._pages.flush()
        self._context.__exit__(None, None, None)
        return SegmentRecord(
            path=self._path,
            schema_version=spec.schema.version,
            rows=self._rows,
            bytes=self._sink.size,
            partition=self._partition,
            columns=self._stats.finish(),
            checksum=f"crc32:{self._sink.crc:08x}",
            delta=delta,
            row_ids=RowIds(stored=max(spec.base_version, 0))
            if spec.row_ids
            else UNASSIGNED_ROW_IDS,
        )

    def _delta(self) -> Delta:
        ops = {} if self._kind.op == PUT_ROW else {self._kind.op: self._rows}
        order = self._kind.order
        if order is not None and self._sequences is not None:
            order = (self._sequences[1], order[1])
        delta = Delta(order, self._sequences, ops, self._kind.patch)
        return PLAIN if delta == PLAIN else delta

    def abandon(self) -> None:
        """Abandon the file; vacuum deletes its remains on storage."""
        error = StorageError("the write was abandoned")
        with suppress(StorageError):
            self._context.__exit__(type(error), error, None)
        # PyArrow's writer would write the footer when Python frees it.
        self._sink.ignores = True
        with suppress(pa.ArrowException, OSError):
            self._writer.close()


class _Counting:
    """A sink that counts bytes and computes their checksum."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.size = 0
        self.crc = 0
        self.closed = False
        self.ignores = False

    def write(self, data: Any) -> int:
        view = memoryview(data)
        if self.ignores:
            return view.nbytes
        self.size += view.nbytes
        self.crc = zlib.crc32(view, self.crc)
        self._sink.write(view)
        return view.nbytes

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        """Does nothing: the store syncs at the end."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True
