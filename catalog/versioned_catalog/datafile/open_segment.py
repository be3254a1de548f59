"""One segment in the making, and what the log will say of it."""

from __future__ import annotations

import uuid
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from versioned_catalog.datafile.file_schema import DELTA, file_schema, text_paths, to_file
from versioned_catalog.errors import StorageError
from versioned_catalog.log.delta import PLAIN, Delta, delta_to_text
from versioned_catalog.log.op_types import DELETE, PUT
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.store import OP_TYPE, SEQUENCE, arranged_columns
from versioned_catalog.statistics.stats import StatsCollector
from versioned_catalog.storage.store import Sink, Store
from versioned_catalog.types.arrow_values import scalar_of
from versioned_catalog.types.types import Column

ROW_GROUP_ROWS = 1024 * 1024
KEYED_ROW_GROUP_ROWS = 128 * 1024
"""Rows of a row group that is sorted by row key: ranges of it are read, and merges hold one of each
run."""

BESIDE_ROWS = 64 * 1024
"""From so many rows on, statistics are told by a thread beside the one that writes."""

Partition = tuple[str | None, ...]


@dataclass(frozen=True)
class Kind:
    """What the rows of one segment are.

    Args:
        op: what all of them do: PUT, DELETE or PATCH.
        patch: the IDs of the columns that they assign, where they are PATCH.
        order: (sequence, ordinal) of rows that were written before; None for those of the commit.
        sequences: whether each of them has a sequence of its own, the last column.
    """

    op: int = PUT
    patch: tuple[int, ...] | None = None
    order: tuple[int, int] | None = None
    sequences: bool = False


PLAIN_ROWS = Kind()
TOMBSTONES = Kind(DELETE)


@dataclass(frozen=True)
class _Layout:
    """Where the columns of rows go in a file.

    Args:
        columns: what the file holds, in order.
        places: for each but the type of operation, its place in the rows.
        told: those, from the first, that statistics are kept of.
        op: the type of operation of all rows, where the file holds it.
    """

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    told: tuple[Column, ...]
    op: int | None

    @staticmethod
    def of(schema: Schema, kind: Kind) -> _Layout:
        """The layout of rows of a kind."""
        arranged = arranged_columns(schema)
        by_id = {column.id: at for at, column in enumerate(schema.columns)}
        places = tuple(by_id[column.id] for column in arranged)
        told = arranged[: len(schema.row_key)] if kind.op == DELETE else arranged
        # A tombstone holds its key; the rest means nothing, and is null.
        kept = {column.id for column in told}
        stored = tuple(
            column if column.id in kept else replace(column, nullable=True) for column in arranged
        )
        if kind.sequences:
            stored, places = (*stored, SEQUENCE), (*places, len(schema.columns))
        op = None if kind.op == PUT else kind.op
        return _Layout(stored if op is None else (*stored, OP_TYPE), places, told, op)

    def lay(self, rows: pa.Table) -> pa.Table:
        """Rows as the file holds them."""
        if self.op is None and self.places == tuple(range(rows.num_columns)):
            return rows
        columns = [rows.column(at) for at in self.places]
        if self.op is not None:
            columns.append(pa.repeat(scalar_of(self.op, pa.int8()), rows.num_rows))
        return pa.table(columns, names=[str(at) for at in range(len(columns))])


DEFAULT_TARGET_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class WriteSpec:
    """What a writer of segments must know; it travels to executors.

    Args:
        table_uuid, base_version: what the write was planned on.
        schema: what the rows are, and what the segments are tagged with.
        target_bytes: at which size of file a new segment is begun.
        ops: whether rows come with their types of operation, after the columns.
        patch: the IDs of the columns that the rows assign, where they are partial upserts.
    """

    table_uuid: str
    base_version: int
    schema: Schema
    target_bytes: int = DEFAULT_TARGET_BYTES
    ops: bool = False
    patch: tuple[int, ...] | None = None


class OpenSegment:
    """One segment in the making."""

    def __init__(
        self, store: Store, spec: WriteSpec, partition: Partition, kind: Kind = PLAIN_ROWS
    ) -> None:
        self._spec = spec
        self._partition = partition
        self._kind = kind
        self._layout = _Layout.of(spec.schema, kind)
        self._path = f"data/{max(spec.base_version, 0)}-{uuid.uuid4().hex}.parquet"
        self._target = file_schema(spec.schema, spec.table_uuid, self._layout.columns)
        self._stats = StatsCollector(self._layout.told)
        self._sequences: tuple[int, int] | None = None
        self._rows = 0
        self._context: AbstractContextManager[Sink] = store.create(self._path)
        self._sink = _Counting(self._context.__enter__())
        self._writer = pq.ParquetWriter(
            self._sink,
            self._target,
            compression="zstd",
            store_schema=False,
            use_dictionary=text_paths(self._layout.columns),
        )
        # Without Arrow's own schema, PyArrow leaves the metadata of ours out as well.
        self._writer.add_key_value_metadata(self._target.metadata)

    @property
    def is_full(self) -> bool:
        """Whether the file has the size that is wanted."""
        return self._sink.size >= self._spec.target_bytes

    def write(self, rows: pa.Table) -> None:
        """Append a row group (or a few).

        Args:
            rows: of the schema's columns, in its order; after them their sequences, where the kind
                says that each has its own.
        """
        laid = self._layout.lay(rows)
        told = laid.select(range(len(self._layout.told)))
        if rows.num_rows < BESIDE_ROWS:
            self._stats.update(told)
            self._append(laid, rows)
            return
        with ThreadPoolExecutor(1) as pool:
            telling = pool.submit(self._stats.update, told)
            self._append(laid, rows)
            telling.result()

    def _append(self, laid: pa.Table, rows: pa.Table) -> None:
        self._rows += rows.num_rows
        if self._kind.sequences:
            self._note(laid.column(len(self._spec.schema.columns)))
        size = KEYED_ROW_GROUP_ROWS if self._spec.schema.row_key else ROW_GROUP_ROWS
        self._writer.write_table(to_file(laid, self._layout.columns, self._target), size)

    def _note(self, sequences: pa.ChunkedArray) -> None:
        found = pc.min_max(sequences)
        least, greatest = found["min"].as_py(), found["max"].as_py()
        old = self._sequences or (least, greatest)
        self._sequences = min(old[0], least), max(old[1], greatest)

    def close(self) -> list[SegmentRecord]:
        """Finish the file and tell what it is."""
        delta = self._delta()
        text = delta_to_text(delta)
        if text is not None:
            self._writer.add_key_value_metadata({DELTA: text.encode()})
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
            delta=delta,
        )
        return [record]

    def _delta(self) -> Delta:
        ops = {} if self._kind.op == PUT else {self._kind.op: self._rows}
        order = self._kind.order
        if order is not None and self._sequences is not None:
            order = (self._sequences[1], order[1])
        delta = Delta(order, self._sequences, ops, self._kind.patch)
        return PLAIN if delta == PLAIN else delta

    def abandon(self) -> None:
        """Give up: what is left on storage, if anything, is for vacuum."""
        error = StorageError("the write was abandoned")
        with suppress(StorageError):
            self._context.__exit__(type(error), error, None)
        # PyArrow's writer would write its footer whenever Python frees it.
        self._sink.deaf = True
        with suppress(pa.ArrowException, OSError):
            self._writer.close()


class _Counting:
    """A sink that knows the size and the checksum of what went through it."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.size = 0
        self.crc = 0
        self.closed = False
        self.deaf = False

    def write(self, data: Any) -> int:
        view = memoryview(data)
        if self.deaf:
            return view.nbytes
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
