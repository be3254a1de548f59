"""Clustering: rows of many segments along a Z-order curve, a bucket of them in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from versioned_catalog.compaction.z_order import MOST_COLUMNS, Curve, Places
from versioned_catalog.datafile.arrange import ColumnPath, column_at
from versioned_catalog.datafile.segment_task import SegmentTask
from versioned_catalog.datafile.writer import buffered
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.projection.arrays import one_array
from versioned_catalog.schema.schema import Schema
from versioned_catalog.types.paths import parse_path, render_path
from versioned_catalog.types.types import Column, is_nested, is_opaque, is_repeated
from versioned_catalog.types.widening import type_name

SAMPLE_ROWS = 128 * 1024
"""How many rows are looked at to see how values are spread."""
HELD_BYTES = 512 * 1024 * 1024
"""How much of a bucket is sorted at once, as Arrow; a larger one is sorted in parts."""


@dataclass(frozen=True)
class Clustering:
    """How rows are put along a curve.

    Args:
        lines: the columns by whose values, each after those that it is inside.
        sampled: reads the columns that these are in, and no others, of the same rows.
        buckets: into how many stretches of the curve rows are parted before they are sorted.
    """

    lines: tuple[ColumnPath, ...]
    sampled: tuple[SegmentTask, ...]
    buckets: int


def bind_zorder(schema: Schema, names: Sequence[str]) -> tuple[ColumnPath, ...]:
    """The columns that rows are to be clustered by.

    Args:
        schema: of the table.
        names: of columns, or paths to fields of structs.

    Raises:
        NotFoundError: one is not there.
        InvalidRequestError: rows can't be clustered by these.
    """
    if isinstance(names, str) or not 0 < len(names) <= MOST_COLUMNS:
        raise InvalidRequestError(
            f"zorder is {names!r}; give the names of 1 to {MOST_COLUMNS} columns"
        )
    _check_free(schema)
    columns = [schema.get(parse_path(name)) for name in names]
    if len({column.id for column in columns}) < len(columns):
        raise InvalidRequestError(f"zorder names a column twice: {', '.join(names)}")
    for column in columns:
        _check_plain(schema, column)
    return tuple((*schema.ancestors(column.id), column) for column in columns)


def _check_plain(schema: Schema, column: Column) -> None:
    many = is_repeated(schema.ancestors(column.id))
    if many or is_nested(column.type) or is_opaque(column.type):
        why = "has many values in one row" if many else f"is {type_name(column.type)}"
        raise InvalidRequestError(
            f"rows can't be clustered by {schema.path_text(column.id)}, which {why}; cluster by "
            "columns of plain values, such as a struct's fields"
        )


def _check_free(schema: Schema) -> None:
    """Check that nothing else says how rows are sorted."""
    if schema.row_key:
        key = ", ".join(render_path(schema.path(column_id)) for column_id in schema.row_key)
        raise InvalidRequestError(
            f"rows are sorted by the row key ({key}), and can't be clustered by other columns; leave "
            "out zorder"
        )
    if schema.sort_by:
        raise InvalidRequestError(
            "rows are sorted by the property sort_by, and can't be clustered besides; leave out "
            "zorder, or unset sort_by"
        )


def tops(lines: Iterable[ColumnPath]) -> tuple[Column, ...]:
    """The columns of the table that some columns are, or are in."""
    return tuple({line[0].id: line[0] for line in lines}.values())


def clustered(
    batches: Iterable[pa.RecordBatch],
    sampled: Iterable[pa.RecordBatch],
    columns: Sequence[Column],
    clustering: Clustering,
    scratch: str | None = None,
) -> Iterator[pa.Table]:
    """Rows along a curve, bucket by bucket; they lie on the local disk on the way.

    Args:
        batches: the rows.
        sampled: what ``clustering.sampled`` reads.
        columns: of the rows.
        clustering: how they are put along it.
        scratch: a folder of the local disk; None for Python's own.
    """
    if not any(task.rows for task in clustering.sampled):
        return
    curve, ends = _spread(sampled, clustering)
    with TemporaryDirectory(prefix="versioned-", dir=scratch) as folder, ExitStack() as stack:
        buckets = _Buckets(Path(folder), stack)
        for batch in batches:
            places = curve.places(_leaves(batch, columns, clustering.lines))
            for bucket, rows in _parted(batch, places, ends):
                buckets.write(bucket, rows)
        stack.close()
        yield from buckets.read()


def _leaves(rows: Any, columns: Sequence[Column], lines: Iterable[ColumnPath]) -> list[pa.Array]:
    table = pa.table(rows.columns, names=[str(at) for at in range(rows.num_columns)])
    return [one_array(column_at(table, columns, line)) for line in lines]


def _spread(sampled: Iterable[pa.RecordBatch], clustering: Clustering) -> tuple[Curve, Places]:
    """The curve, and where on it buckets end, by some rows from everywhere."""
    total = sum(task.rows for task in clustering.sampled)
    step, seen = max(1, total // SAMPLE_ROWS), 0
    columns = tops(clustering.lines)
    found: list[list[pa.Array]] = []
    for batch in sampled:
        rows = batch.take(pa.array(np.arange(-seen % step, batch.num_rows, step)))
        seen += batch.num_rows
        found.append(_leaves(rows, columns, clustering.lines))
    sample = [pa.concat_arrays(chunks) for chunks in zip(*found, strict=True)]
    curve = Curve.of(sample)
    places = np.sort(curve.places(sample))
    at = np.arange(1, clustering.buckets) * len(places) // clustering.buckets
    return curve, np.unique(places[at])


def _parted(
    batch: pa.RecordBatch, places: Places, ends: Places
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each bucket, with their places as the last column."""
    buckets = np.searchsorted(ends, places, side="right")
    order = np.argsort(buckets, kind="stable")
    placed = batch.append_column("", pa.array(places)).take(pa.array(order))
    starts = np.searchsorted(buckets[order], np.arange(len(ends) + 2))
    for bucket, (start, end) in enumerate(pairwise(starts)):
        if start < end:
            yield bucket, placed.slice(start, end - start)


class _Buckets:
    """Rows on the local disk, in files of Arrow, a bucket each."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._open: dict[int, Any] = {}

    def write(self, bucket: int, rows: pa.RecordBatch) -> None:
        """Add rows to a bucket."""
        if bucket not in self._open:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            sink = self._stack.enter_context(pa.OSFile(str(self._folder / str(bucket)), "wb"))
            writer = pa.ipc.new_stream(sink, rows.schema, options=options)
            self._open[bucket] = self._stack.enter_context(writer)
        self._open[bucket].write_batch(rows)

    def read(self) -> Iterator[pa.Table]:
        """The buckets in order, the rows of each sorted; the files go on the way."""
        for bucket in sorted(self._open):
            path = self._folder / str(bucket)
            with pa.ipc.open_stream(pa.memory_map(str(path))) as rows:
                yield from map(_sorted, buffered(rows, HELD_BYTES))
            path.unlink()


def _sorted(table: pa.Table) -> pa.Table:
    last = table.num_columns - 1
    order = np.argsort(table.column(last).to_numpy(), kind="stable")
    return table.select(range(last)).take(pa.array(order))
