"""Statistics of columns with a single value, and the partition that statistics show rows to be in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.segment_table import parse_texts
from versioned_catalog.projection.adapter import constant_array
from versioned_catalog.schema import transforms
from versioned_catalog.schema.partition_values import PartitionKey
from versioned_catalog.schema.schema import PartitionField, Schema
from versioned_catalog.schema.transform_values import apply_transform
from versioned_catalog.statistics.extremes import has_bounds
from versioned_catalog.statistics.stats import ColumnStats, collect
from versioned_catalog.types.types import Column, Constant, DataType, is_floating
from versioned_catalog.values.constants import from_scalar_text


@dataclass(frozen=True)
class SingleValues:
    """Statistics and partitions from single values; each different value is looked at once."""

    schema: Schema
    _stats: dict[tuple[int, Constant | None], ColumnStats] = field(default_factory=dict, init=False)
    _keys: dict[tuple[PartitionField, str, str], tuple[str | None] | None] = field(
        default_factory=dict, init=False
    )

    def stats(self, column: Column, value: Constant | None, rows: int) -> ColumnStats:
        """The statistics of a top-level column that shows one value in all of some rows.

        Raises:
            CorruptTableError: the value is not of the column's type.
        """
        if value is None:
            return ColumnStats(rows, 0 if is_floating(column.type) else None)
        key = column.id, value
        if key not in self._stats:
            self._stats[key] = _stats_of(column, value)
        found = self._stats[key]
        return replace(found, nans=rows) if found.nans else found

    def partition(self, columns: Mapping[int, ColumnStats], rows: int) -> PartitionKey | None:
        """The partition that all rows are in, by their statistics; None if they do not show one."""
        found: list[str | None] = []
        for one in self.schema.partitioning:
            value = self._value(one, columns.get(one.source, ColumnStats()), rows)
            if value is None:
                return None
            found.append(value[0])
        return tuple(found)

    def _value(
        self, one: PartitionField, stats: ColumnStats, rows: int
    ) -> tuple[str | None] | None:
        """The value of a partition field in all rows, in a tuple for it may be null; None if unknown."""
        if stats.nulls == rows and not self.schema.ancestors(one.source):
            return (None,)
        if stats.nulls != 0 or stats.min is None or stats.max is None or stats.nans:
            return None
        key = one, stats.min, stats.max
        if key not in self._keys:
            self._keys[key] = _between(one, self.schema.column(one.source).type, *key[1:])
        return self._keys[key]


def _stats_of(column: Column, value: Constant) -> ColumnStats:
    if not has_bounds(column.type):
        return ColumnStats(0)
    one = pa.record_batch([constant_array(value, column, 1)], ["_"])
    return collect((column,), one)[column.id]


def _between(one: PartitionField, type_: DataType, low: str, high: str) -> tuple[str | None] | None:
    """The partition value of all values between two, if it is one: transforms keep their order."""
    transform = transforms.parse_transform(one.transform)
    if isinstance(transform, transforms.Bucket) and low != high:
        return None
    try:
        ends = apply_transform(transform, type_, parse_texts([low, high], type_))
        result = transforms.result_type(transform, type_)
        first, last = (from_scalar_text(end, result) for end in ends)
    except (CorruptTableError, InvalidRequestError):
        return None
    return (str(first),) if first == last and first is not None else None
