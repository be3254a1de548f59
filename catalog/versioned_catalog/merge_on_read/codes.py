"""Keys as few integers that sort and compare alike: Arrow sorts one column of integers three times as
fast as text, or as a few columns of whatever type."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.types.arrow_values import scalar_of

SAMPLE = 1024
"""Of how many rows the number of different values is counted, to tell whether numbering them pays."""

FEW = 8
"""It pays if a value is there this often, by measurement."""

_STRETCHES = pa.run_end_encoded(pa.int32(), pa.int64())

_ROOM = 1 << 63
"""More than the values of such an integer, from 0."""


def codes_of(keys: Sequence[pa.Array]) -> list[pa.Array]:
    """Columns by which rows sort and differ as they do by the given ones; most often one of int64.

    Args:
        keys: comparable columns without nulls, of at least one row.
    """
    return packed([_numbered(column) for column in keys])


def packed(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """The same, where neighbours of int64 are made one wherever their values leave room for it."""
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
    """The least value and how many there are up to the greatest; too many if they are no int64."""
    if column.type != pa.int64():
        return 0, _ROOM
    extremes = pc.min_max(column)
    low: int = extremes["min"].as_py()
    return low, extremes["max"].as_py() - low + 1


def _from(low: int, column: pa.Array) -> pa.Array:
    return pc.subtract(column, _int64(low))


def _numbered(column: pa.Array) -> pa.Array:
    """A column's values as int64 in the same order, where these are found fast; else as they are."""
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.int64())
    sample = column.slice(0, SAMPLE)
    if pc.count_distinct(sample).as_py() * FEW > len(sample):
        return column
    stretches = pc.run_end_encode(column)  # of which there are few, where runs are sorted by it
    encoded = stretches.values.dictionary_encode()
    ranks = pc.array_sort_indices(pc.array_sort_indices(encoded.dictionary)).cast(pa.int64())
    # PyArrow's own way to make such an array imports pandas.
    parts = [stretches.run_ends, ranks.take(encoded.indices)]
    return pc.run_end_decode(pa.Array.from_buffers(_STRETCHES, len(column), [None], children=parts))


def _int64(value: int) -> pa.Scalar:
    return scalar_of(value, pa.int64())
