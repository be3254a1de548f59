"""The newest row of each key, or its images in time, from rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.op_types import DELETE_OP, PATCH, PATCH_OP, PUT, PUT_OP
from versioned_catalog.merge_on_read.chunks import RunRows, keys_of
from versioned_catalog.merge_on_read.codes import codes_of, packed
from versioned_catalog.merge_on_read.keys import key_at
from versioned_catalog.merge_on_read.ordering import (
    by_age,
    interleave,
    last_of_keys,
    numbers,
    sorted_order,
)
from versioned_catalog.merge_on_read.patching import Patches
from versioned_catalog.merge_on_read.runs import Shape
from versioned_catalog.types.arrow_values import scalar_of

_ONE = scalar_of(1, pa.int64())


def newest_rows(
    parts: Sequence[RunRows], shape: Shape, *, tombstones: bool
) -> Sequence[pa.RecordBatch]:
    """Merge all rows of their keys, given by run, into the newest of each key, sorted by row key.

    With ``tombstones``, a key whose newest row is a DELETE has that row.
    """

    def shown(rows: _Sorted) -> pa.BooleanArray:
        if tombstones or rows.greatest_op == PUT:
            return rows.last
        return pc.and_(rows.last, pc.not_equal(rows.ops, DELETE_OP))

    return _resolved(parts, shape, shown)


def images(
    parts: Sequence[RunRows], *, shape: Shape, since: int, each: bool
) -> Sequence[pa.RecordBatch]:
    """Merge all rows of their keys, given by run, into the images of each key. See ``merge_images``."""
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
    """The shown rows among those of some keys, with the values that they had at the time."""
    if len(parts) == 1 and _are_distinct_puts(parts[0].batches, shape):
        return parts[0].batches
    interleaved = interleave(part.run for part in parts)
    parts = sorted(parts, key=lambda part: by_age(part.run, interleaved))
    rows = _concatenated([batch for part in parts for batch in part.batches])
    order, last = _sorted(rows, shape, is_sorted=len(parts) == 1, by_sequence=interleaved)
    found = _Sorted(rows, shape, order, last, _greatest_op(rows.column(shape.op)))
    shown = shown_of(found)
    if found.greatest_op != PATCH:
        return [rows.take(order.filter(shown))]
    return [_patched(rows, Patches(order, found.ops, last, parts), shown, shape)]


def _are_distinct_puts(batches: Sequence[pa.RecordBatch], shape: Shape) -> bool:
    """Whether all rows are PUT rows of distinct keys."""
    keys = [keys_of(batch, shape) for batch in batches]
    return (
        all(_greatest_op(batch.column(shape.op)) == PUT for batch in batches)
        and all(key_at(some, -1) != key_at(next_, 0) for some, next_ in pairwise(keys))
        # The last key column usually tells all rows apart.
        and all(last_of_keys(reversed(some), len(some[0])).false_count == 0 for some in keys)
    )


def _greatest_op(ops: pa.Array) -> int:
    greatest: int = pc.min_max(ops)["max"].as_py()
    return greatest


def _concatenated(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
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
