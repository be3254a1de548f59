"""Pruning by bucket. For all other transforms, the bounds of the source column do the same."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.expressions.filters import And, BoundFilter, Compare, In, Literal, Op
from versioned_catalog.log.state import TableState
from versioned_catalog.projection.arrays import one_array
from versioned_catalog.schema.schema import PartitionField, Schema
from versioned_catalog.schema.transform_values import apply_transform
from versioned_catalog.schema.transforms import Bucket, parse_transform
from versioned_catalog.types.arrow import to_arrow_type
from versioned_catalog.types.arrow_values import array_of, repeat


def partition_may_match(bound: BoundFilter, state: TableState) -> pa.BooleanArray:
    """Which live segments may hold a row for which a filter is true, by their buckets.

    Buckets are computed in the column type *that the segment was written under*, since 5 and 5.0 hash
    differently.
    """
    core = state.segments.core
    mask = repeat(True, core.num_rows)
    wanted = dict(_equalities(bound))
    if not wanted:
        return mask
    for version in pc.unique(core["schema_version"]).to_pylist():
        schema = state.schemas[version]
        for at, field in enumerate(schema.partitioning):
            buckets = _buckets(field, schema, wanted)
            if buckets is not None:
                mask = pc.and_(mask, _among(core, version, at, buckets))
    return mask


def _equalities(bound: BoundFilter) -> Iterator[tuple[int, tuple[Literal, ...]]]:
    """Columns that must have one of the given values for the filter to be true."""
    match bound:
        case And(parts):
            for part in parts:
                yield from _equalities(part)
        case Compare(column_id, Op.EQ, value):
            yield column_id, (value,)
        case In(column_id, values, _, False):
            yield column_id, values
        case _:
            return


def _buckets(
    field: PartitionField, schema: Schema, wanted: dict[int, tuple[Literal, ...]]
) -> list[str] | None:
    """The value texts of the wanted values' buckets; None if unknown or not a bucket field."""
    transform = parse_transform(field.transform)
    if field.source not in wanted or not isinstance(transform, Bucket):
        return None
    type_ = schema.column(field.source).type
    literals = wanted[field.source]
    if not literals:
        return []
    try:
        values = array_of([literal.value for literal in literals], literals[0].type)
        array = values.cast(to_arrow_type(type_))
    except pa.ArrowException:
        return None
    return [str(bucket) for bucket in apply_transform(transform, type_, array).to_pylist()]


def _among(core: pa.Table, version: int, at: int, buckets: list[str]) -> pa.BooleanArray:
    """Which segments have another schema version or are in one of the buckets."""
    other = pc.not_equal(core["schema_version"], version)
    values = pc.list_element(pc.if_else(other, None, core["partition"]), at)
    found = pc.is_in(values, array_of(buckets, pa.string()))
    return one_array(pc.or_(other, found))
