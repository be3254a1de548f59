"""Clustering: sort the rows of many segments along a Z-order curve, in bounded memory.

A position interleaves the bits of the ranks of a row's values (Morton, 1966). Ranks from a sample, as
in Delta Lake's OPTIMIZE ZORDER, give every column equal weight whatever its distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.type_text import parse_path, render_path
from versioned_catalog.model.types import Column, is_compared, is_repeated
from versioned_catalog.model.widening import type_name
from versioned_catalog.read.arrays import ColumnPath, column_at
from versioned_catalog.read.row_keys import comparable
from versioned_catalog.read.segment_file import SegmentTask
from versioned_catalog.write.writer import Spill, buffered

MOST_BITS = 10
"""Bits of a rank: the values of a column fall into about a thousand ranges."""
MOST_COLUMNS = 6
"""The most columns: their ranks fit into 64 bits, and with more, each would hardly count."""

Positions = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Curve:
    """A curve: for each column, sorted values that split it into ranges of equal size.

    Frequent values repeat.
    """

    cuts: tuple[pa.Array, ...]

    @staticmethod
    def of(sample: Sequence[pa.Array]) -> Curve:
        """Return the curve for rows that are distributed as the columns of a sample, of plain values."""
        return Curve(tuple(_cuts(comparable(column)) for column in sample))

    def positions(self, columns: Sequence[pa.Array]) -> Positions:
        """Return the positions of rows on the curve; NaN ranks after all numbers, and null last."""
        ranks = [
            _ranks(cuts, comparable(column))
            for cuts, column in zip(self.cuts, columns, strict=True)
        ]
        positions = np.zeros(len(columns[0]), np.uint64)
        for bit in reversed(range(MOST_BITS)):
            for rank in ranks:
                positions = (positions << np.uint64(1)) | ((rank >> np.uint64(bit)) & np.uint64(1))
        return positions


def _cuts(column: pa.Array) -> pa.Array:
    valid = column.drop_null()
    most = min(2**MOST_BITS - 1, len(valid))
    at = (np.arange(1, most + 1) * len(valid)) // (most + 1)
    return valid.take(pc.array_sort_indices(valid).take(pa.array(at)))


def _ranks(cuts: pa.Array, column: pa.Array) -> Positions:
    """Ranks of values by the cuts; a value that equals several cuts ranks in their middle."""
    order = pc.array_sort_indices(pa.concat_arrays([cuts, column])).to_numpy()
    is_cut = order < len(cuts)  # the sort is stable: a cut comes before the values equal to it
    above = np.empty(len(column), np.int64)
    above[order[~is_cut] - len(cuts)] = np.cumsum(is_cut)[~is_cut]
    twice = above + _below(cuts, column, above)
    ranks: Positions = (twice * 2**MOST_BITS // (2 * len(cuts) + 1)).astype(np.uint64)
    return ranks


def _below(cuts: pa.Array, column: pa.Array, above: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Count the cuts less than each value, given the count of cuts not greater."""
    if not len(cuts):
        return above
    again = pc.equal(cuts.slice(1), cuts.slice(0, len(cuts) - 1)).to_numpy(zero_copy_only=False)
    first = np.arange(len(cuts))
    first[1:][again] = 0
    first = np.maximum.accumulate(first)
    last = np.maximum(above - 1, 0)
    is_cut = pc.fill_null(pc.equal(column, cuts.take(pa.array(last))), False)
    return np.where(is_cut.to_numpy(zero_copy_only=False), first[last], above)


SAMPLE_ROWS = 128 * 1024
"""Rows sampled to learn the distribution of the values."""
HELD_BYTES = 512 * 1024 * 1024
"""Bytes of Arrow data sorted at once; a larger bucket is sorted in chunks."""


@dataclass(frozen=True)
class Clustering:
    """How to cluster rows.

    Args:
        lines: the columns to cluster by, each preceded by its ancestors.
        sampled: tasks that read the top-level columns of these, of the same rows.
        buckets: number of ranges of the curve; rows are sorted bucket by bucket.
    """

    lines: tuple[ColumnPath, ...]
    sampled: tuple[SegmentTask, ...]
    buckets: int


def bind_zorder(schema: Schema, names: Sequence[str]) -> tuple[ColumnPath, ...]:
    """Return the columns at these paths, each preceded by its ancestors, to cluster by.

    Raises:
        NotFoundError: there is no such column.
        InvalidRequestError: the table cannot be clustered by these columns.
    """
    if isinstance(names, str) or not 0 < len(names) <= MOST_COLUMNS:
        raise InvalidRequestError(
            f"zorder must be the names of 1 to {MOST_COLUMNS} columns, got {names!r}"
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
    if many or not is_compared(column.type):
        why = "has many values in one row" if many else f"is {type_name(column.type)}"
        raise InvalidRequestError(
            f"the table cannot be clustered by {schema.path_text(column.id)}, which {why}; cluster by "
            "columns of plain values, such as a struct's fields"
        )


def _check_free(schema: Schema) -> None:
    """Require that no row key or sort order determines the order of the rows."""
    if schema.row_key:
        key = ", ".join(render_path(schema.path(column_id)) for column_id in schema.row_key)
        raise InvalidRequestError(
            f"the table is sorted by its row key ({key}) and cannot be clustered by other columns; "
            "leave out zorder"
        )
    if schema.sort_by:
        raise InvalidRequestError(
            "the table is sorted by the property sort_by and cannot be clustered; leave out zorder, "
            "or unset sort_by"
        )


def top_columns(lines: Iterable[ColumnPath]) -> tuple[Column, ...]:
    """The top-level columns that contain these columns."""
    return tuple({line[0].id: line[0] for line in lines}.values())


def clustered(
    batches: Iterable[pa.RecordBatch],
    sampled: Iterable[pa.RecordBatch],
    columns: Sequence[Column],
    clustering: Clustering,
    scratch: str | None = None,
) -> Iterator[pa.Table]:
    """Yield rows sorted along the curve, bucket by bucket; buckets are spilled to the local disk.

    ``sampled`` are the batches of ``clustering.sampled``; ``scratch`` is a local folder for buckets.
    """
    if not any(task.shown_rows for task in clustering.sampled):
        return
    curve, ends = _curve_and_ends(sampled, clustering)
    with Spill(scratch, range(clustering.buckets)) as spill:
        for batch in batches:
            positions = curve.positions(_leaves(batch, columns, clustering.lines))
            for bucket, rows in _split(batch, positions, ends):
                spill.add(bucket, pa.Table.from_batches([rows]))
        for _, bucket_rows in spill.drain():
            yield from map(_sorted, buffered(bucket_rows, HELD_BYTES))


def _leaves(
    rows: pa.RecordBatch, columns: Sequence[Column], lines: Iterable[ColumnPath]
) -> list[pa.Array]:
    return [column_at(rows, columns, line) for line in lines]


def _curve_and_ends(
    sampled: Iterable[pa.RecordBatch], clustering: Clustering
) -> tuple[Curve, Positions]:
    """Compute the curve and the ends of its buckets from a sample of all rows."""
    total = sum(task.shown_rows for task in clustering.sampled)
    step, seen = max(1, total // SAMPLE_ROWS), 0
    columns = top_columns(clustering.lines)
    samples: list[list[pa.Array]] = []
    for batch in sampled:
        rows = batch.take(pa.array(np.arange(-seen % step, batch.num_rows, step)))
        seen += batch.num_rows
        samples.append(_leaves(rows, columns, clustering.lines))
    sample = [pa.concat_arrays(chunks) for chunks in zip(*samples, strict=True)]
    curve = Curve.of(sample)
    positions = np.sort(curve.positions(sample))
    at = np.arange(1, clustering.buckets) * len(positions) // clustering.buckets
    return curve, np.unique(positions[at])


def _split(
    batch: pa.RecordBatch, positions: Positions, ends: Positions
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Split a batch by bucket, with the positions as the last column."""
    buckets = np.searchsorted(ends, positions, side="right")
    order = np.argsort(buckets, kind="stable")
    placed = batch.append_column("", pa.array(positions)).take(pa.array(order))
    starts = np.searchsorted(buckets[order], np.arange(len(ends) + 2))
    for bucket, (start, end) in enumerate(pairwise(starts)):
        if start < end:
            yield bucket, placed.slice(start, end - start)


def _sorted(table: pa.Table) -> pa.Table:
    last = table.num_columns - 1
    order = np.argsort(table.column(last).to_numpy(), kind="stable")
    return table.select(range(last)).take(pa.array(order))
