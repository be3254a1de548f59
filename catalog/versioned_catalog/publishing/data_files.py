"""Segments as Iceberg's data files, with their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from versioned_catalog.iceberg.specs import (
    UNPARTITIONED,
    SpecField,
    Specs,
    is_portable,
    partition_record,
    result_types,
)
from versioned_catalog.iceberg.values import bound, shortest
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.publishing.avro import Row
from versioned_catalog.schema.schema import Schema
from versioned_catalog.statistics.stats import ColumnStats
from versioned_catalog.types.leaves import Family
from versioned_catalog.types.types import LeafType, NestedType, family, is_opaque, is_repeated, walk

MOST_COLUMNS = 100
"""How many columns of a segment have statistics in Iceberg, as in Iceberg's own writers; those of the
row key always have."""

DATA, DELETES = 0, 1
"""Content of a manifest."""

POSITION_DELETES = 1
"""Content of a deletion vector."""


@dataclass(frozen=True)
class Layout:
    """What the partitions of the files in one manifest have in common.

    Args:
        spec_id: ID of the partition spec.
        fields: its fields.
        types: the types of the partition values.
    """

    spec_id: int = UNPARTITIONED
    fields: tuple[SpecField, ...] = ()
    types: tuple[LeafType, ...] = ()


class DataFiles:
    """Describes the segments of one snapshot.

    Args:
        specs: the partition specs, with those of all segments.
        root: URL of the table's folder.
        wanted: the schema of the snapshot.
    """

    def __init__(self, specs: Specs, root: str, wanted: Schema) -> None:
        self._specs = specs
        self._root = root
        self._wanted = wanted
        self._columns: dict[int, list[tuple[int, LeafType, tuple[int, ...]]]] = {}

    def url(self, path: str) -> str:
        """The absolute path of a segment."""
        return f"{self._root}/{path}"

    def layout(self, record: SegmentRecord, schema: Schema) -> Layout:
        """The layout of a segment; unpartitioned where other engines would prune wrong."""
        if not is_portable(schema, self._wanted, record.partition):
            return Layout()
        spec_id = self._specs.find(schema)
        assert spec_id is not None, "the specs include those of all segments"
        if spec_id == UNPARTITIONED:
            return Layout()
        return Layout(spec_id, self._specs.specs[spec_id], result_types(schema))

    def data_file(self, record: SegmentRecord, schema: Schema, layout: Layout) -> Row:
        """A segment as a manifest entry holds it; ``schema`` is the one that it was written under."""
        partition = record.partition if layout.fields else ()
        return {
            "content": DATA,
            "file_path": self.url(record.path),
            "file_format": "PARQUET",
            "partition": partition_record(layout.fields, layout.types, partition),
            "record_count": record.rows,
            "file_size_in_bytes": record.bytes,
            **self._statistics(record, schema),
        }

    def _statistics(self, record: SegmentRecord, schema: Schema) -> Row:
        values: dict[str, list[Row]] = {
            name: []
            for name in (
                "value_counts",
                "null_value_counts",
                "nan_value_counts",
                "lower_bounds",
                "upper_bounds",
            )
        }

        def add(name: str, key: int, value: Any) -> None:
            if value is not None:
                values[name].append({"key": key, "value": value})

        for column_id, type_, above in self._described(schema):
            stats = record.columns.get(column_id)
            if stats is None:
                continue
            add("value_counts", column_id, record.rows)
            add("null_value_counts", column_id, _nulls(record, (*above, column_id)))
            add("nan_value_counts", column_id, stats.nans)
            add("lower_bounds", column_id, _bound(stats, type_, upper=False))
            add("upper_bounds", column_id, _bound(stats, type_, upper=True))
        return {name: found or None for name, found in values.items()}

    def _described(self, schema: Schema) -> list[tuple[int, LeafType, tuple[int, ...]]]:
        """The columns with statistics: ID, type, and the IDs of the columns around each."""
        found = self._columns.get(schema.version)
        if found is None:
            leaves = [
                (column.id, column.type, tuple(one.id for one in above))
                for column, above in walk(schema.visible.columns)
                if not isinstance(column.type, NestedType)
                and not is_opaque(column.type)
                and not is_repeated(above)
            ]
            late = (leaf for leaf in leaves[MOST_COLUMNS:] if leaf[0] in schema.row_key)
            found = self._columns[schema.version] = [*leaves[:MOST_COLUMNS], *late]
        return found


def _nulls(record: SegmentRecord, path: Sequence[int]) -> int | None:
    """In how many rows a column is null: because of itself, or because of a column around it."""
    counts = [stats.nulls if (stats := record.columns.get(one)) else None for one in path]
    return None if None in counts else sum(count for count in counts if count is not None)


def _bound(stats: ColumnStats, type_: LeafType, *, upper: bool) -> bytes | None:
    """A bound, if Iceberg's readers may use it for pruning and, of numbers, for MIN and MAX."""
    text, cut = (stats.max, stats.max_inexact) if upper else (stats.min, stats.min_inexact)
    if text is None or (cut and family(type_) not in (Family.TEXT, Family.BINARY)):
        return None
    if upper and stats.nans != 0 and family(type_) is Family.FLOAT:
        return None  # NaN is above all numbers, here and in Spark; Iceberg's pruning leaves it out
    return bound(text, type_, upper=upper)


def summaries(layout: Layout, partitions: Sequence[Row]) -> list[Row] | None:
    """The ranges of the partition values of a manifest's files; None without partitioning."""
    if not layout.fields:
        return None
    return [
        _summary(type_, [partition[field.name] for partition in partitions])
        for field, type_ in zip(layout.fields, layout.types, strict=True)
    ]


def _summary(type_: LeafType, values: Sequence[Any]) -> Row:
    known = [value for value in values if value is not None]
    out: Row = {"contains_null": len(known) < len(values), "contains_nan": False}
    ordered = sorted(known, key=_order(type_))
    if ordered:
        out["lower_bound"] = _single_value(ordered[0], type_)
        out["upper_bound"] = _single_value(ordered[-1], type_)
    return out


def _order(type_: LeafType) -> Any:
    if family(type_) is Family.DECIMAL:
        return lambda value: int.from_bytes(value, "big", signed=True)
    return None


def _single_value(value: Any, type_: LeafType) -> bytes:
    """The bytes of a partition value as the Avro writer takes it."""
    match family(type_):
        case Family.TEXT:
            return str(value).encode()
        case Family.BINARY:
            return bytes(value)
        case Family.DECIMAL:
            return shortest(int.from_bytes(value, "big", signed=True))
        case Family.BOOLEAN:
            return b"\x01" if value else b"\x00"
        case _:
            return bound(str(value), type_, upper=False)
