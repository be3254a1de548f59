"""Row keys: columns in types that kernels sort, and single keys as tuples."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

Key = tuple[Any, ...]
"""A row key, or a prefix of one, which is less than every key that begins with it."""


def comparable(column: pa.Array) -> pa.Array:
    """Cast a key column to a type that sorts alike and that all kernels support.

    As Python values, timestamps would import pandas, and invalid UTF-8 would fail.
    """
    if pa.types.is_temporal(column.type):
        return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column.view(pa.binary()) if pa.types.is_string(column.type) else column


def key_of(scalar: pa.Scalar) -> Key:
    """The least key with a given value in its first column."""
    return (comparable(pa.repeat(scalar, 1))[0].as_py(),)


def keys_or_none(column: pa.Array) -> list[Key | None]:
    """``key_of`` for each value of a column; None for null."""
    return [None if value is None else (value,) for value in comparable(column).to_pylist()]


def key_at(keys: Sequence[pa.Array], row: int) -> Key:
    """The key of one row of comparable columns."""
    return tuple(column[row].as_py() for column in keys)


def count_below(keys: Sequence[pa.Array], bound: Key) -> int:
    """The number of sorted rows, given as comparable columns, that are less than a bound."""
    return bisect_left(range(len(keys[0])), bound, key=lambda row: key_at(keys, row))
