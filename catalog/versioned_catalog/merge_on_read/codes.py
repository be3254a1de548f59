"""Encoding keys as integers in the same order.

Arrow sorts one column of integers three times as fast as strings, or as several columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.types.arrow_values import scalar_of

SAMPLE = 1024
"""The number of rows whose distinct values are counted, to decide whether encoding pays off."""

FEW = 8
"""The frequency of values from which encoding pays off, by measurement."""

_RUN_END_ENCODED = pa.run_end_encoded(pa.int32(), pa.int64())

_ROOM = 1 << 63
"""The number of non-negative int64 values."""


def codes_of(keys: Sequence[pa.Array]) -> list[pa.Array]:
    """Columns that sort and compare as the given ones, usually a single int64 column.

    The given ones are comparable, without nulls, and have at least one row.
    """
    return packed([_numbered(column) for column in keys])


def packed(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Combine neighbouring int64 columns into one if their ranges fit."""
    found: list[pa.Array] = []
    room = _ROOM
    for column in columns:
        low, span = _low_and_span(column)
        if room * span < _ROOM:
            found[-1] = pc.add(pc.multiply(found[-1], _int64(span)), _from(low, column))
            room *= span
        else:
            found.append(_from(low, column) if span < _ROOM else column)
            room = span
    return found


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
