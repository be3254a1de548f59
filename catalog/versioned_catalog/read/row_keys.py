"""Row keys: as columns that kernels sort, as integers, and in the sorted runs of a merge.

Arrow sorts one column of integers three times as fast as strings, or as several columns.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.model.arrow import scalar_of

Key = tuple[Any, ...]
"""A row key, or a prefix of one, which is less than every key that begins with it."""


def comparable(column: pa.Array) -> pa.Array:
    """Cast a key column to a type that sorts alike and that all kernels support.

    As Python values, timestamps would import pandas, and invalid UTF-8 would fail.
    """
    if pa.types.is_temporal(column.type):
        return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column.view(pa.binary()) if pa.types.is_string(column.type) else column


def keys_or_none(column: pa.Array) -> list[Key | None]:
    """The least key with each value in its first column; None for null."""
    return [None if value is None else (value,) for value in comparable(column).to_pylist()]


def key_at(keys: Sequence[pa.Array], row: int) -> Key:
    """The key of one row of comparable columns."""
    return tuple(column[row].as_py() for column in keys)


def count_below(keys: Sequence[pa.Array], bound: Key) -> int:
    """The number of sorted rows, in comparable columns, that are less than a bound."""
    return bisect_left(range(len(keys[0])), bound, key=lambda row: key_at(keys, row))


SAMPLE = 1024
"""The number of rows whose distinct values are counted, to decide whether encoding pays off."""

FEW = 8
"""The frequency of values from which encoding pays off, by measurement."""

_RUN_END_ENCODED = pa.run_end_encoded(pa.int32(), pa.int64())

_ROOM = 1 << 63
"""The number of non-negative int64 values."""


def codes_of(keys: Sequence[pa.Array]) -> list[pa.Array]:
    """Encode columns to columns that sort and compare alike, usually to a single int64 column.

    They are comparable, without nulls, and have at least one row.
    """
    return packed([_numbered(column) for column in keys])


def packed(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Combine neighbouring int64 columns into one if their ranges fit."""
    combined: list[pa.Array] = []
    room = _ROOM
    for column in columns:
        low, span = _low_and_span(column)
        if room * span < _ROOM:
            combined[-1] = pc.add(pc.multiply(combined[-1], _int64(span)), _from(low, column))
            room *= span
        else:
            combined.append(_from(low, column) if span < _ROOM else column)
            room = span
    return combined


def _low_and_span(column: pa.Array) -> tuple[int, int]:
    """The least value, and the size of the range of values; ``_ROOM`` for other types than int64."""
    if column.type != pa.int64():
        return 0, _ROOM
    extremes = pc.min_max(column)
    low: int = extremes["min"].as_py()
    return low, extremes["max"].as_py() - low + 1


def _from(low: int, column: pa.Array) -> pa.Array:
    return pc.subtract(column, _int64(low))


def _numbered(column: pa.Array) -> pa.Array:
    """Encode values as int64 in the same order if they repeat often; else return the column."""
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.int64())
    sample = column.slice(0, SAMPLE)
    if pc.count_distinct(sample).as_py() * FEW > len(sample):
        return column
    encoded_runs = pc.run_end_encode(column)  # few, since runs are sorted
    encoded = encoded_runs.values.dictionary_encode()
    ranks = pc.array_sort_indices(pc.array_sort_indices(encoded.dictionary)).cast(pa.int64())
    # RunEndEncodedArray.from_arrays would import pandas.
    children = [encoded_runs.run_ends, ranks.take(encoded.indices)]
    return pc.run_end_decode(
        pa.Array.from_buffers(_RUN_END_ENCODED, len(column), [None], children=children)
    )


def _int64(value: int) -> pa.Scalar:
    return scalar_of(value, pa.int64())


@dataclass(frozen=True)
class Shape:
    """The layout of rows: the row key, the values, ``__sequence`` (int64), ``__op_type`` (int8).

    Args:
        keys: the number of columns of the row key. None holds a null, and none is nested or a float.
        values: the number of columns between them and the last two.
    """

    keys: int
    values: int

    @property
    def sequence(self) -> int:
        """The index of ``__sequence``."""
        return self.keys + self.values

    @property
    def op(self) -> int:
        """The index of ``__op_type``."""
        return self.keys + self.values + 1


@dataclass(frozen=True)
class Run:
    """Rows sorted by row key, and within a key by ``__sequence`` and position: usually a segment.

    Args:
        order: (sequence, ordinal). The age of a row is its ``__sequence``, this ordinal, and its
            position.
        sequences: the least and the greatest ``__sequence`` of its rows.
        patched: the value columns that its PATCH rows assign, counted from 0; None if it has no such
            rows.
        lower: a lower bound of its keys; None if unknown.
        rows: the approximate number of rows.
        open: reads it in batches of at most the given number of rows. All runs have one schema.
    """

    order: tuple[int, int]
    sequences: tuple[int, int]
    patched: frozenset[int] | None
    lower: Key | None
    rows: int
    open: Callable[[int], Iterator[pa.RecordBatch]]
