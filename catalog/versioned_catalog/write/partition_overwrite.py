"""Which segments an overwrite of partitions replaces: whole ones, or it is refused."""

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
from versioned_catalog.schema.transforms import (
    monotone,
    parse_transform,
    render_field,
    result_type,
)
from versioned_catalog.types.arrow_values import FALSE, TRUE, ZERO, array_of, repeat
from versioned_catalog.types.types import DataType


def _shown(field: PartitionField, schema: Schema) -> str:
    return render_field(schema.path(field.source), parse_transform(field.transform))


def segments_of_partitions(
    state: TableState, schema: Schema, keys: Iterable[PartitionKey], table: str
) -> tuple[str, ...]:
    """The segments all of whose rows are in one of some partitions.

    Args:
        state: the snapshot.
        schema: what the partitions are told in; it partitions as the snapshot's schema does.
        keys: the partitions.
        table: the table, for errors.

    Raises:
        InvalidRequestError: a segment that is partitioned otherwise may hold such rows and others.
    """
    wanted = frozenset(keys)
    core = state.segments.core
    found: list[str] = []
    strangers: list[int] = []
    for version in pc.unique(core["schema_version"]).to_pylist():
        read = key_reader(state.schemas[version], schema)
        if read is None:
            strangers.append(version)
            continue
        mine = core.filter(_of_versions(core, [version]))
        pairs = zip(mine["path"].to_pylist(), mine["partition"].to_pylist(), strict=True)
        found += [path for path, key in pairs if read(tuple(key or ())) in wanted]
    if strangers:
        found += _among_strangers(state, schema, _of_versions(core, strangers), wanted, table)
    return tuple(found)


def _of_versions(core: pa.Table, versions: list[int]) -> pa.ChunkedArray:
    return pc.is_in(core["schema_version"], array_of(versions, pa.int32()))


def _among_strangers(
    state: TableState,
    schema: Schema,
    strange: pa.ChunkedArray,
    wanted: frozenset[PartitionKey],
    table: str,
) -> list[str]:
    """Those of the segments that are partitioned otherwise, by the bounds of their columns."""
    paths = state.segments.core["path"].filter(strange)
    bounds = SegmentBounds(state, state.schema)
    fields = [_Field.of(field, schema, bounds, strange) for field in schema.partitioning]
    found = repeat(False, len(paths))
    for key in wanted:
        every, some = repeat(True, len(paths)), repeat(True, len(paths))
        for field, text in zip(fields, key, strict=True):
            every, some = pc.and_(every, field.every(text)), pc.and_(some, field.some(text))
        torn = paths.filter(pc.and_not(some, every))
        if len(torn):
            shown = [f"{field.name}={text}" for field, text in zip(fields, key, strict=True)]
            raise InvalidRequestError(
                f"{table}: {len(torn)} segments, such as {torn[0]}, were written under another "
                f"partitioning and may hold rows of the partition {', '.join(shown)} beside others, and "
                "an overwrite replaces whole segments; overwrite all rows (a static INSERT OVERWRITE, "
                "Table.overwrite), which writes them under the partitioning of now"
            )
        found = pc.or_(found, every)
    kept: list[str] = paths.filter(found).to_pylist()
    return kept


@dataclass(frozen=True)
class _Field:
    """What is known of the values of one part of a partitioning, one element a segment.

    Args:
        name: the part as a user writes it.
        type: what its values are.
        rows, nulls: how many rows there are, and how many of them have no value; null if unknown.
        low, high: no value is less or greater; null if unknown.
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
        """That of some of the segments."""
        transform = parse_transform(field.transform)
        source = schema.column(field.source).type
        known = bounds(field.source)
        assert known is not None, "what a table is partitioned by is in no list or map"
        low, high = known.min.filter(chosen), known.max.filter(chosen)
        if not monotone(transform):
            unknown = pa.nulls(1, low.type)[0]
            low = high = pc.if_else(pc.equal(low, high), low, unknown)
        return _Field(
            _shown(field, schema),
            result_type(transform, source),
            known.rows.filter(chosen),
            known.nulls.filter(chosen),
            apply_transform(transform, source, low),
            apply_transform(transform, source, high),
        )

    def every(self, text: str | None) -> pa.Array:
        """Where all rows have the value."""
        if text is None:
            return pc.fill_null(pc.equal(self.nulls, self.rows), FALSE)
        value = parse_texts([text], self.type)[0]
        only = pc.and_kleene(pc.equal(self.low, value), pc.equal(self.high, value))
        return pc.fill_null(pc.and_kleene(only, pc.equal(self.nulls, ZERO)), FALSE)

    def some(self, text: str | None) -> pa.Array:
        """Where a row may have the value."""
        if text is None:
            return pc.fill_null(pc.greater(self.nulls, ZERO), TRUE)
        value = parse_texts([text], self.type)[0]
        among = pc.and_kleene(pc.less_equal(self.low, value), pc.greater_equal(self.high, value))
        return pc.fill_null(pc.and_kleene(among, pc.less(self.nulls, self.rows)), TRUE)
