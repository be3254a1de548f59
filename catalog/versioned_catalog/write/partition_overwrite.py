"""Find the segments that an overwrite of partitions replaces, or refuse it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.log.segment_table import parse_texts
from versioned_catalog.log.state import TableState
from versioned_catalog.pruning.bounds import SegmentBounds
from versioned_catalog.schema.partition_values import PartitionKey, key_reader
from versioned_catalog.schema.schema import PartitionField, Schema
from versioned_catalog.schema.transform_values import apply_transform
from versioned_catalog.schema.transforms import monotone, parse_transform, render_field, result_type
from versioned_catalog.types.arrow_values import FALSE, TRUE, ZERO, array_of, repeat
from versioned_catalog.types.types import DataType


def segments_of_partitions(
    state: TableState, schema: Schema, keys: Iterable[PartitionKey], table: str
) -> tuple[str, ...]:
    """Return the paths of the segments whose rows are all in one of the given partitions.

    The partition values are of ``schema``, which is partitioned as the snapshot's.

    Raises:
        InvalidRequestError: a segment of another partitioning may hold rows of such a partition and
            others.
    """
    wanted = frozenset(keys)
    core = state.segments.core
    found: list[str] = []
    others: list[int] = []
    for version in pc.unique(core["schema_version"]).to_pylist():
        read = key_reader(state.schemas[version], schema)
        if read is None:
            others.append(version)
            continue
        mine = core.filter(_of_versions(core, [version]))
        pairs = zip(mine["path"].to_pylist(), mine["partition"].to_pylist(), strict=True)
        found += [path for path, key in pairs if read(tuple(key or ())) in wanted]
    if others:
        found += _of_other_partitioning(state, schema, _of_versions(core, others), wanted, table)
    return tuple(found)


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
    bounds = SegmentBounds(state, state.schema)
    fields = [_Field.of(field, schema, bounds, chosen) for field in schema.partitioning]
    found = repeat(False, len(paths))
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
        found = pc.or_(found, every)
    kept: list[str] = paths.filter(found).to_pylist()
    return kept


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
        known = bounds(field.source)
        assert known is not None, "partition fields are never inside a list or map"
        low, high = known.min.filter(chosen), known.max.filter(chosen)
        if not monotone(transform):
            unknown = pa.nulls(1, low.type)[0]
            low = high = pc.if_else(pc.equal(low, high), low, unknown)
        return _Field(
            render_field(schema.path(field.source), transform),
            result_type(transform, source),
            known.rows.filter(chosen),
            known.nulls.filter(chosen),
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
