"""The newest row of each key, or its images in time, from rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.features import DELETE_OP, PATCH_OP, PATCH_ROW, PUT_OP, PUT_ROW
from versioned_catalog.model.arrow import TRUE, array_of, repeat, scalar_of
from versioned_catalog.read.row_keys import (
    Key,
    Run,
    Shape,
    codes_of,
    comparable,
    count_below,
    key_at,
    packed,
)

CHUNK_BYTES = 1 << 30
"""The most bytes of a chunk of more than one key: a string array of Arrow holds up to 2 GiB."""


@dataclass(frozen=True)
class RunRows:
    """Sorted rows of one run; at least one."""

    run: Run
    batches: Sequence[pa.RecordBatch]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.batches)


def keys_of(batch: pa.RecordBatch, shape: Shape) -> list[pa.Array]:
    """The key columns of a batch, in comparable types."""
    return [comparable(column) for column in batch.columns[: shape.keys]]


def bounded_chunks(runs: Sequence[RunRows], shape: Shape) -> Iterator[Sequence[RunRows]]:
    """Split a chunk until each is at most ``CHUNK_BYTES``, in order; no key spans two chunks."""
    batches = [batch for part in runs for batch in part.batches]
    if sum(batch.nbytes for batch in batches) <= CHUNK_BYTES:
        yield runs
        return
    largest = max(batches, key=lambda batch: batch.nbytes)
    middle = key_at(keys_of(largest, shape), largest.num_rows // 2)
    below, rest = _split(runs, middle, shape)
    if below:
        yield from bounded_chunks(below, shape)
        yield from bounded_chunks(rest, shape)
    else:
        yield runs


def _split(
    runs: Sequence[RunRows], bound: Key, shape: Shape
) -> tuple[Sequence[RunRows], Sequence[RunRows]]:
    """Split rows at a key: the rows below it, and the rest."""
    below: list[RunRows] = []
    rest: list[RunRows] = []
    for part in runs:
        counts = [count_below(keys_of(batch, shape), bound) for batch in part.batches]
        counted = list(zip(part.batches, counts, strict=True))
        below += _non_empty(part.run, [batch.slice(0, count) for batch, count in counted])
        rest += _non_empty(part.run, [batch.slice(count) for batch, count in counted])
    return below, rest


def _non_empty(run: Run, batches: Sequence[pa.RecordBatch]) -> list[RunRows]:
    filled = [batch for batch in batches if batch.num_rows]
    return [RunRows(run, filled)] if filled else []


_FIRST_CODE = array_of([1], pa.uint64())[0]
_TRUE = repeat(True, 1)


def interleave(runs: Iterable[Run]) -> bool:
    """Whether the ages of runs interleave, so that rows of a key must be sorted by ``__sequence``.

    Otherwise, all rows of a run are newer than those of the run before.
    """
    return any(
        (older.sequences[1], older.order[1]) > (newer.sequences[0], newer.order[1])
        for older, newer in pairwise(sorted(runs, key=lambda run: run.order))
    )


def by_age(run: Run, interleaved: bool) -> tuple[int, ...]:
    """The sort key of a run, before a stable sort of rows by row key.

    If ``interleaved``, rows are sorted by ``__sequence``, too; then the ordinal decides.
    """
    return (run.order[1], run.order[0]) if interleaved else run.order


def sorted_order(columns: Sequence[pa.Array]) -> pa.Array:
    """Indices that sort rows by columns; a stable sort.

    The rows mostly are a few sorted runs, which NumPy's Timsort of integers detects and merges. It takes
    a fifth of the time of Arrow's sort for a few runs of which one is large.
    """
    if len(columns) == 1 and columns[0].type == pa.int64():
        return _merged(columns[0])
    if len(columns) == 1:
        return pc.array_sort_indices(columns[0])
    names = [str(at) for at in range(len(columns))]
    rows = pa.RecordBatch.from_arrays(list(columns), names)
    return pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in names])


def _merged(column: pa.Array) -> pa.Array:
    """``sorted_order`` of integers. PyArrow's conversions to NumPy would import pandas."""
    values = np.frombuffer(column.buffers()[1], np.int64, len(column), column.offset * 8)
    order = np.argsort(values, kind="stable")
    return pa.Array.from_buffers(pa.int64(), len(order), [None, pa.py_buffer(order)])


def numbers(count: int) -> pa.Array:
    """Ascending integers from 0."""
    return pc.subtract(pc.cumulative_sum(pa.repeat(_FIRST_CODE, count)), _FIRST_CODE)


def last_of_keys(keys: Iterable[pa.Array], rows: int) -> pa.BooleanArray:
    """Whether each of some sorted rows, at least one, is the last of its key.

    The key columns come in any order; iteration stops when all rows differ.
    """
    differ = repeat(False, rows - 1)
    for column in keys:
        differ = pc.or_(differ, pc.not_equal(column.slice(0, rows - 1), column.slice(1)))
        if differ.false_count == 0:
            break
    return pa.concat_arrays([differ, _TRUE])


_NO_ROW = pa.nulls(1, pa.uint64())[0]


@dataclass(frozen=True)
class Patches:
    """Rows sorted by key and age.

    Args:
        order: the index of each row in the unsorted rows.
        ops: its type of operation.
        last: whether it is the last of its key.
        parts: the unsorted rows, by run.
    """

    order: pa.Array
    ops: pa.Array
    last: pa.BooleanArray
    parts: Sequence[RunRows]

    def sources(self, values: int, shown: pa.BooleanArray) -> list[pa.Array]:
        """For each value column, the indices of the rows that the shown values come from."""
        bases = self._bases()
        assigners = [self._assigners(value) for value in range(values)]
        sources = {runs: self._source(bases, runs).filter(shown) for runs in set(assigners)}
        return [sources[runs] for runs in assigners]

    def _bases(self) -> pa.BooleanArray:
        """Rows that assign all values: a PATCH does if there is no older row under it."""
        first = _shifted(self.last, TRUE)
        alone = pc.or_(first, _shifted(pc.equal(self.ops, DELETE_OP), TRUE))
        return pc.or_(pc.not_equal(self.ops, PATCH_OP), alone)

    def _assigners(self, value: int) -> tuple[bool, ...]:
        """For each run, whether its PATCH rows assign a value."""
        return tuple(value in (part.run.patched or ()) for part in self.parts)

    def _source(self, bases: pa.BooleanArray, assigners: tuple[bool, ...]) -> pa.Array:
        each = zip(assigners, self.parts, strict=True)
        assigned = pa.concat_arrays([repeat(assigns, part.rows) for assigns, part in each])
        gives = pc.or_(bases, assigned.take(self.order))
        # The first row of a key is a base, so that no value comes from another key.
        return pc.fill_null_forward(pc.if_else(gives, self.order, _NO_ROW))


def _shifted(mask: pa.BooleanArray, first: pa.Scalar) -> pa.BooleanArray:
    return pa.concat_arrays([pa.repeat(first, 1), mask.slice(0, len(mask) - 1)])


_ONE = scalar_of(1, pa.int64())


def newest_rows(
    parts: Sequence[RunRows], shape: Shape, *, tombstones: bool
) -> Sequence[pa.RecordBatch]:
    """Merge all rows of some keys, by run, into the newest row of each key, sorted by row key.

    With ``tombstones``, a key whose newest row is a DELETE has that row.
    """

    def shown(rows: _Sorted) -> pa.BooleanArray:
        if tombstones or rows.greatest_op == PUT_ROW:
            return rows.last
        return pc.and_(rows.last, pc.not_equal(rows.ops, DELETE_OP))

    return _resolved(parts, shape, shown)


def images(
    parts: Sequence[RunRows], *, shape: Shape, since: int, each: bool
) -> Sequence[pa.RecordBatch]:
    """Merge all rows of some keys, by run, into the images of each key. See ``merge_images``."""
    first = scalar_of(since, pa.int64())

    def shown(rows: _Sorted) -> pa.BooleanArray:
        if each:
            epochs = pc.max_element_wise(rows.sequences, pc.subtract(first, _ONE))
        else:
            epochs = pc.greater_equal(rows.sequences, first)
        return pc.or_(rows.last, last_of_keys([epochs], len(epochs)))

    return _resolved(parts, shape, shown)


@dataclass(frozen=True)
class _Sorted:
    """Rows and how they are sorted by key and age.

    Args:
        order: the index of each sorted row in ``rows``.
        last: whether each sorted row is the last of its key.
        greatest_op: the greatest type of operation.
    """

    rows: pa.RecordBatch
    shape: Shape
    order: pa.Array
    last: pa.BooleanArray
    greatest_op: int

    @cached_property
    def ops(self) -> pa.Array:
        """The types of operation of the sorted rows."""
        return self.rows.column(self.shape.op).take(self.order)

    @cached_property
    def sequences(self) -> pa.Array:
        """The sequences of the sorted rows."""
        return self.rows.column(self.shape.sequence).take(self.order)


def _resolved(
    parts: Sequence[RunRows], shape: Shape, shown_of: Callable[[_Sorted], pa.BooleanArray]
) -> Sequence[pa.RecordBatch]:
    """The rows that ``shown_of`` selects, with the values that they had at the time."""
    if len(parts) == 1 and _are_distinct_puts(parts[0].batches, shape):
        return parts[0].batches
    interleaved = interleave(part.run for part in parts)
    parts = sorted(parts, key=lambda part: by_age(part.run, interleaved))
    rows = concatenated([batch for part in parts for batch in part.batches])
    order, last = _sorted(rows, shape, is_sorted=len(parts) == 1, by_sequence=interleaved)
    sorted_rows = _Sorted(rows, shape, order, last, _greatest_op(rows.column(shape.op)))
    shown = shown_of(sorted_rows)
    if sorted_rows.greatest_op != PATCH_ROW:
        return [rows.take(order.filter(shown))]
    return [_patched(rows, Patches(order, sorted_rows.ops, last, parts), shown, shape)]


def _are_distinct_puts(batches: Sequence[pa.RecordBatch], shape: Shape) -> bool:
    """Whether all rows are PUT rows of distinct keys."""
    keys = [keys_of(batch, shape) for batch in batches]
    return (
        all(_greatest_op(batch.column(shape.op)) == PUT_ROW for batch in batches)
        and all(key_at(some, -1) != key_at(next_, 0) for some, next_ in pairwise(keys))
        # The last key column usually differs between all rows.
        and all(last_of_keys(reversed(some), len(some[0])).false_count == 0 for some in keys)
    )


def _greatest_op(ops: pa.Array) -> int:
    greatest: int = pc.min_max(ops)["max"].as_py()
    return greatest


def concatenated(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate batches of one schema, at least one."""
    if len(batches) == 1:
        return batches[0]
    columns = zip(*(batch.columns for batch in batches), strict=True)
    arrays = [pa.concat_arrays(parts) for parts in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=batches[0].schema)


def _sorted(
    rows: pa.RecordBatch, shape: Shape, *, is_sorted: bool, by_sequence: bool
) -> tuple[pa.Array, pa.BooleanArray]:
    """Indices that sort rows by key and age, and whether each sorted row is the last of its key."""
    keys, count = keys_of(rows, shape), rows.num_rows
    if is_sorted:
        return numbers(count), last_of_keys(keys, count)
    codes = codes_of(keys)
    order = sorted_order(packed([*codes, rows.column(shape.sequence)]) if by_sequence else codes)
    cheapest_first = sorted(codes, key=lambda column: column.type != pa.int64())
    return order, last_of_keys((column.take(order) for column in cheapest_first), count)


def _patched(
    rows: pa.RecordBatch, patches: Patches, shown: pa.BooleanArray, shape: Shape
) -> pa.RecordBatch:
    """The shown rows, with each value from the row that assigned it last."""
    winners = patches.order.filter(shown)
    sources = [*[winners] * shape.keys, *patches.sources(shape.values, shown), winners]
    columns = [column.take(at) for column, at in zip(rows.columns, sources, strict=False)]
    ops = patches.ops.filter(shown)
    columns.append(pc.if_else(pc.equal(ops, PATCH_OP), PUT_OP, ops))
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
