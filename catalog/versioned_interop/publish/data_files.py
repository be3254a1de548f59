"""Segments as Iceberg's data files, with their statistics, in Avro.

PyIceberg's writers (0.12) refuse format v3. fastavro takes 0.25 ms for an entry of 22 columns, as long
as an encoder in Python that knows the schema, and is one small wheel without dependencies.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.interop import optional_import
from versioned_catalog.log.record import LiveSegment, SegmentRecord
from versioned_catalog.log.segment_table import statistics_of
from versioned_catalog.log.state import TableState
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.maintain.segment_check import segment_rows
from versioned_catalog.model.iceberg_values import bound, shortest
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import (
    Column,
    DataType,
    Family,
    LeafType,
    family,
    is_compared,
    is_repeated,
    walk,
)
from versioned_catalog.model.value_text import leaf_text
from versioned_interop.publish.iceberg_specs import MAPS, Layout, Specs, is_portable

Row = dict[str, Any]


def library(name: str) -> Any:
    """Import a library of the extra ``iceberg``.

    Raises:
        InvalidRequestError: it is not installed.
    """
    return optional_import(name, "publishing as Iceberg", "'pyspark-versioned[iceberg]'")


def parsed(schema: Any) -> Any:
    """Return an Avro schema in the form that ``encode`` takes.

    Raises:
        InvalidRequestError: fastavro is not installed.
    """
    return library("fastavro").parse_schema(schema)


def encode(schema: Any, rows: Sequence[Row], metadata: Mapping[str, str]) -> bytes:
    """Return an Avro file of rows, with some metadata in its header. The schema is ``parsed``."""
    out = io.BytesIO()
    library("fastavro").writer(out, schema, rows, codec="deflate", metadata=dict(metadata))
    return out.getvalue()


def decode(data: bytes, name: str) -> tuple[list[Row], dict[str, str]]:
    """Return the rows of an Avro file that ``encode`` wrote, and its header.

    Raises:
        CorruptTableError: it is not such a file; ``name`` is used in the error.
    """
    try:
        reader = library("fastavro").reader(io.BytesIO(data))
        return list(reader), dict(reader.metadata)
    except (ValueError, EOFError, KeyError, TypeError) as error:
        raise CorruptTableError(
            f"{name} is not the Avro file that was published ({error}); publish with overwrite to "
            "write all metadata again"
        ) from None


_CUT_BELOW, _CUT_ABOVE = 1, 2
"""Bits of the statistic ``inexact`` (FORMAT.md, section 8)."""


def live_records(state: TableState) -> list[LiveSegment]:
    """Return the live segments in order, with the statistics of the current schema's columns.

    Bounds are value text in the type of the current schema, whatever the segment was written with.
    """
    statistics: list[dict[int, ColumnStats]] = [{} for _ in range(state.segments.count)]
    for column, _ in walk(state.schema.columns):
        for of_segment, stats in zip(statistics, _statistics(state, column), strict=True):
            if stats is not None:
                of_segment[column.id] = stats
    return [
        replace(live, record=replace(live.record, columns=columns))
        for live, columns in zip(segment_rows(state.segments.core), statistics, strict=True)
    ]


def _statistics(state: TableState, column: Column) -> list[ColumnStats | None]:
    names = statistics_of(column.type)

    def values(name: str) -> list[Any]:
        if name not in names:
            return [None] * state.segments.count
        array = state.segments.statistic(name, column, state.schemas)
        return _texts(array, column.type) if name in ("min", "max") else list(array.to_pylist())

    columns = (values(name) for name in ("nulls", "nans", "min", "max", "inexact"))
    return [_stats(*row) for row in zip(*columns, strict=True)]


def _stats(
    nulls: int | None, nans: int | None, low: str | None, high: str | None, inexact: int | None
) -> ColumnStats | None:
    if nulls is None and nans is None and low is None and high is None:
        return None
    cut = inexact or 0
    return ColumnStats(nulls, nans, low, high, bool(cut & _CUT_BELOW), bool(cut & _CUT_ABOVE))


def _texts(array: pa.ChunkedArray, type_: DataType) -> list[str | None]:
    """The value texts of bounds; temporal values, which may exceed Python's years, pass as integers."""
    if family(type_) is Family.TEMPORAL:
        width = 32 if pa.types.is_date32(array.type) else 64
        array = array.cast(pa.int32() if width == 32 else pa.int64())
    return [None if value is None else leaf_text(value, type_) for value in array.to_pylist()]


MOST_COLUMNS = 100
"""The most columns with statistics, as in Iceberg's own writers, besides those of the row key."""

DATA, DELETES = 0, 1
"""Content of a manifest."""

POSITION_DELETES = 1
"""Content of a deletion vector."""


class DataFiles:
    """Describes the segments of one snapshot.

    Args:
        specs: the partition specs, with those of all segments.
        root: URL of the table's folder.
        wanted: the schema of the snapshot.
        first_row_ids: the first row ID of each segment, by path; empty if rows have no IDs.
    """

    def __init__(
        self, specs: Specs, root: str, wanted: Schema, first_row_ids: Mapping[str, int]
    ) -> None:
        self._specs = specs
        self._root = root
        self._wanted = wanted
        self._first_row_ids = first_row_ids
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
        return self._specs.layout(spec_id, schema)

    def data_file(self, record: SegmentRecord, schema: Schema, layout: Layout) -> Row:
        """A segment as a manifest entry holds it; ``schema`` is the one that it was written under."""
        return {
            "content": DATA,
            "file_path": self.url(record.path),
            "file_format": "PARQUET",
            "partition": layout.record(record.partition),
            "record_count": record.rows,
            "file_size_in_bytes": record.bytes,
            "first_row_id": self._first_row_ids.get(record.path),
            **self._statistics(record, schema),
        }

    def _statistics(self, record: SegmentRecord, schema: Schema) -> Row:
        values: dict[str, list[Row]] = {name: [] for name in MAPS}

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
        return {name: entries or None for name, entries in values.items()}

    def _described(self, schema: Schema) -> list[tuple[int, LeafType, tuple[int, ...]]]:
        """The columns with statistics: ID, type, and the IDs of the columns around each."""
        described = self._columns.get(schema.version)
        if described is None:
            leaves = [
                (column.id, column.type, tuple(ancestor.id for ancestor in above))
                for column, above in walk(schema.visible.columns)
                if is_compared(column.type) and not is_repeated(above)
            ]
            late = (leaf for leaf in leaves[MOST_COLUMNS:] if leaf[0] in schema.row_key)
            described = self._columns[schema.version] = [*leaves[:MOST_COLUMNS], *late]
        return described


def _nulls(record: SegmentRecord, path: Sequence[int]) -> int | None:
    """In how many rows a column is null: because of itself, or because of a column around it."""
    counts = [stats.nulls if (stats := record.columns.get(id_)) else None for id_ in path]
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
    present = [value for value in values if value is not None]
    out: Row = {"contains_null": len(present) < len(values), "contains_nan": False}
    ordered = sorted(present, key=_order(type_))
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
