"""Partitions of written rows: their distribution, their overwrite, and what statistics show of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.log.segment_table import parse_texts
from versioned_catalog.log.state import TableState
from versioned_catalog.log.statistics import ColumnStats, collect, has_bounds
from versioned_catalog.model import transforms
from versioned_catalog.model.arrow import FALSE, TRUE, ZERO, array_of, repeat
from versioned_catalog.model.constants import from_scalar_text
from versioned_catalog.model.partitioning import PartitionKey, key_reader
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.transform_values import apply_transform
from versioned_catalog.model.transforms import monotone, parse_transform, render_field, result_type
from versioned_catalog.model.types import Column, Constant, DataType, is_floating
from versioned_catalog.read.apply_plan import constant_array
from versioned_catalog.read.bounds import SegmentBounds
from versioned_catalog.spelling import one_of

DISTRIBUTION_MODE = "distribution_mode"
"""Table property: which rows go to the same task."""


class DistributionMode(Enum):
    """Which rows go to the same task.

    NONE: no shuffle. HASH: rows of a partition. RANGE: rows of a range of the sort order.
    """

    NONE = "none"
    HASH = "hash"
    RANGE = "range"


def parse_mode(text: str, what: str) -> DistributionMode:
    """Parse a mode; ``what`` names the property or option in errors.

    Raises:
        InvalidRequestError: there is no such mode.
    """
    return one_of(DistributionMode, text.lower() if isinstance(text, str) else text, what)


def mode_of(properties: Mapping[str, str]) -> DistributionMode | None:
    """Return the mode that the table property sets; None if it is not set.

    Raises:
        InvalidRequestError: there is no such mode.
    """
    text = properties.get(DISTRIBUTION_MODE)
    return None if text is None else parse_mode(text, f"the property {DISTRIBUTION_MODE}")


def default_mode(schema: Schema, *, ordered: bool) -> DistributionMode:
    """Return the mode of a table that sets none; ``ordered`` says whether the order of the rows matters.

    In a table with a primary key the last row of a key wins, and a shuffle loses the order.
    """
    if not schema.partitioning or (schema.is_keyed and ordered):
        return DistributionMode.NONE
    return DistributionMode.HASH


def segments_of_partitions(
    state: TableState, schema: Schema, keys: Iterable[PartitionKey], table: str
) -> tuple[str, ...]:
    """Return the paths of the segments whose rows are all in one of these partitions.

    The partition values are of ``schema``, which is partitioned as the snapshot's.

    Raises:
        InvalidRequestError: a segment of another partitioning may hold rows of such a partition and
            others.
    """
    wanted = frozenset(keys)
    core = state.segments.core
    paths: list[str] = []
    others: list[int] = []
    for version in pc.unique(core["schema_version"]).to_pylist():
        read = key_reader(state.schemas[version], schema)
        if read is None:
            others.append(version)
            continue
        segments = core.filter(_of_versions(core, [version]))
        pairs = zip(segments["path"].to_pylist(), segments["partition"].to_pylist(), strict=True)
        paths += [path for path, key in pairs if read(tuple(key or ())) in wanted]
    if others:
        paths += _of_other_partitioning(state, schema, _of_versions(core, others), wanted, table)
    return tuple(paths)


def _of_versions(core: pa.Table, versions: list[int]) -> pa.ChunkedArray:
    return pc.is_in(core["schema_version"], array_of(versions, pa.int32()))


def _of_other_partitioning(
    state: TableState,
    schema: Schema,
    chosen: pa.ChunkedArray,
    wanted: frozenset[PartitionKey],
    table: str,
) -> list[str]:
    """Segments of another partitioning that qualify, by the bounds of their columns."""
    paths = state.segments.core["path"].filter(chosen)
    bounds = SegmentBounds(state, state.reads.stored)
    fields = [_Field.of(field, schema, bounds, chosen) for field in schema.partitioning]
    matching = repeat(False, len(paths))
    for key in wanted:
        every, some = repeat(True, len(paths)), repeat(True, len(paths))
        for partition, text in zip(fields, key, strict=True):
            every = pc.and_(every, partition.every(text))
            some = pc.and_(some, partition.some(text))
        partial = paths.filter(pc.and_not(some, every))
        if len(partial):
            shown = [f"{field.name}={text}" for field, text in zip(fields, key, strict=True)]
            raise InvalidRequestError(
                f"{table}: {len(partial)} segments, such as {partial[0]}, were written under another "
                f"partitioning and may hold rows of partition {', '.join(shown)} and others, but an "
                "overwrite of partitions replaces whole segments; overwrite all rows instead (a static "
                "INSERT OVERWRITE, Table.overwrite), or compact with strategy 'full' first"
            )
        matching = pc.or_(matching, every)
    matching_paths: list[str] = paths.filter(matching).to_pylist()
    return matching_paths


@dataclass(frozen=True)
class _Field:
    """Statistics of one partition field, one element a segment.

    Args:
        name: the field as a user writes it.
        rows, nulls: number of rows, and of null values; null if unknown.
        low, high: bounds of the values; null if unknown.
    """

    name: str
    type: DataType
    rows: pa.Array
    nulls: pa.Array
    low: pa.Array
    high: pa.Array

    @staticmethod
    def of(
        field: PartitionField, schema: Schema, bounds: SegmentBounds, chosen: pa.ChunkedArray
    ) -> _Field:
        """Compute the statistics of a field for the chosen segments."""
        transform = parse_transform(field.transform)
        source = schema.column(field.source).type
        column_bounds = bounds(field.source)
        assert column_bounds is not None, "partition fields are never inside a list or map"
        low, high = column_bounds.min.filter(chosen), column_bounds.max.filter(chosen)
        if not monotone(transform):
            unknown = pa.nulls(1, low.type)[0]
            low = high = pc.if_else(pc.equal(low, high), low, unknown)
        return _Field(
            render_field(schema.path(field.source), transform),
            result_type(transform, source),
            column_bounds.rows.filter(chosen),
            column_bounds.nulls.filter(chosen),
            apply_transform(transform, source, low),
            apply_transform(transform, source, high),
        )

    def every(self, text: str | None) -> pa.Array:
        """Which segments hold this value only."""
        if text is None:
            return pc.fill_null(pc.equal(self.nulls, self.rows), FALSE)
        value = parse_texts([text], self.type)[0]
        only = pc.and_kleene(pc.equal(self.low, value), pc.equal(self.high, value))
        return pc.fill_null(pc.and_kleene(only, pc.equal(self.nulls, ZERO)), FALSE)

    def some(self, text: str | None) -> pa.Array:
        """Which segments may hold this value."""
        if text is None:
            return pc.fill_null(pc.greater(self.nulls, ZERO), TRUE)
        value = parse_texts([text], self.type)[0]
        among = pc.and_kleene(pc.less_equal(self.low, value), pc.greater_equal(self.high, value))
        return pc.fill_null(pc.and_kleene(among, pc.less(self.nulls, self.rows)), TRUE)


DISTINCT = 64 * 1024
"""Number of values whose statistics and partitions are kept, since many files share them."""


@dataclass(frozen=True)
class SingleValues:
    """Statistics and partitions from single values."""

    schema: Schema

    def stats(self, column: Column, value: Constant | None, rows: int) -> ColumnStats:
        """The statistics of a top-level column that has the same value in all rows.

        Raises:
            CorruptTableError: the value is not of the column's type.
        """
        if value is None:
            return ColumnStats(rows, 0 if is_floating(column.type) else None)
        stats = _stats_of(column, value)
        return replace(stats, nans=rows) if stats.nans else stats

    def partition(self, columns: Mapping[int, ColumnStats], rows: int) -> PartitionKey | None:
        """The partition that all rows are in, by their statistics; None if they do not show one."""
        texts: list[str | None] = []
        for by in self.schema.partitioning:
            value = self._value(by, columns.get(by.source, ColumnStats()), rows)
            if value is None:
                return None
            texts.append(value[0])
        return tuple(texts)

    def _value(self, by: PartitionField, stats: ColumnStats, rows: int) -> tuple[str | None] | None:
        """The value of a partition field in all rows, in a tuple as it may be null; None if unknown."""
        if stats.nulls == rows and not self.schema.ancestors(by.source):
            return (None,)
        if stats.nulls != 0 or stats.min is None or stats.max is None or stats.nans:
            return None
        return _between(by, self.schema.column(by.source).type, stats.min, stats.max)


@lru_cache(DISTINCT)
def _stats_of(column: Column, value: Constant) -> ColumnStats:
    if not has_bounds(column.type):
        return ColumnStats(0)
    batch = pa.record_batch([constant_array(value, column, 1)], ["_"])
    return collect((column,), batch)[column.id]


@lru_cache(DISTINCT)
def _between(by: PartitionField, type_: DataType, low: str, high: str) -> tuple[str | None] | None:
    """The partition value that all values between two share, if any: transforms keep their order."""
    transform = transforms.parse_transform(by.transform)
    if isinstance(transform, transforms.Bucket) and low != high:
        return None
    try:
        ends = apply_transform(transform, type_, parse_texts([low, high], type_))
        result = transforms.result_type(transform, type_)
        first, last = (from_scalar_text(end, result) for end in ends)
    except (CorruptTableError, InvalidRequestError):
        return None
    return (str(first),) if first == last and first is not None else None
