"""Row keys: columns as kernels sort them, and single keys as Python tuples."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

Key = tuple[Any, ...]
"""A row key, or only its leading columns, which is less than every key that begins with them."""


def comparable(column: pa.Array) -> pa.Array:
    """A key column's values in the same order, of a type that every kernel takes.

    As Python's values times import pandas, and text that is no UTF-8 fails.
    """
    if pa.types.is_temporal(column.type):
        return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column.view(pa.binary()) if pa.types.is_string(column.type) else column


def key_of(scalar: pa.Scalar) -> Key:
    """The least key with this value in its first column."""
    return (comparable(pa.repeat(scalar, 1))[0].as_py(),)


def keys_or_none(column: pa.Array) -> list[Key | None]:
    """For each value the least key with it in its first column; None for null."""
    return [None if value is None else (value,) for value in comparable(column).to_pylist()]


def key_at(keys: Sequence[pa.Array], row: int) -> Key:
    """The key of one row, out of comparable columns."""
    return tuple(column[row].as_py() for column in keys)


def count_below(keys: Sequence[pa.Array], bound: Key) -> int:
    """How many rows are less than a bound, out of comparable columns of sorted rows."""
    return bisect_left(range(len(keys[0])), bound, key=lambda row: key_at(keys, row))
