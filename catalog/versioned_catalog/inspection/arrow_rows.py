"""Convert rows of metadata to Arrow tables, and back, without pandas.

``pa.Table.from_pylist``, and ``to_pylist`` of timestamps, import pandas if it is installed, which takes
a second.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from versioned_catalog.types.arrow_values import array_of

TIME = pa.timestamp("us", tz="UTC")
"""The Arrow type of times."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Convert rows of Python values by field name to a table; a missing field is null.

    The schema has numbers, booleans, text, timestamps (microseconds, UTC), and lists of these.
    """
    arrays = [_array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_list(type_):
        return _lists(values, type_)
    if pa.types.is_timestamp(type_):
        values = [None if one is None else (one - _EPOCH) // _MICROSECOND for one in values]
    return array_of(values, type_)


def _lists(values: Sequence[list[Any] | None], type_: pa.DataType) -> pa.Array:
    lists = [one or [] for one in values]
    ends = array_of(list(itertools.accumulate(map(len, lists), initial=0)), pa.int32())
    items = _array(list(itertools.chain.from_iterable(lists)), type_.value_type)
    valid = array_of([one is not None for one in values], pa.bool_())
    buffers = [valid.buffers()[1], ends.buffers()[1]]
    return pa.Array.from_buffers(type_, len(values), buffers, children=[items])


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Convert a table to rows of Python values, timestamps in UTC; not timestamps inside lists."""
    columns = [_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    micros = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    return [None if one is None else _EPOCH + timedelta(microseconds=one) for one in micros]
