"""Segments that the jar wrote, as records of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_versioned.sql.protocol.rows import WrittenSegment
from versioned_catalog import CorruptTableError
from versioned_catalog.log.footer_statistics import footer_stats, read_footer
from versioned_catalog.log.record import UNASSIGNED_ROW_IDS, RowIds, SegmentRecord
from versioned_catalog.log.statistics import ColumnStats
from versioned_catalog.model.keys import ROW_ID
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.sql_literals import constant, decode, from_scalar_text, to_scalar
from versioned_catalog.model.transform_values import apply_transform
from versioned_catalog.model.transforms import Transform, parse_transform, result_type
from versioned_catalog.model.types import Column


def parse_records(
    written: Sequence[WrittenSegment], schema: Schema, table: str, base_version: int
) -> list[SegmentRecord]:
    """Records of segments that were written with a schema, by a write that was planned on a version.

    Raises:
        CorruptTableError: a footer contradicts what the jar says of its segment.
    """
    records = [_record(segment, schema, table, base_version) for segment in written]
    for at, field in enumerate(schema.partitioning):
        _check_partitions(records, at, field, schema, table)
    return records


def _record(
    segment: WrittenSegment, schema: Schema, table: str, base_version: int
) -> SegmentRecord:
    footer = read_footer(segment.footer)
    if footer.num_rows != segment.rows:
        raise CorruptTableError(
            f"{table}: the footer of {segment.path} says {footer.num_rows} rows, but {segment.rows} "
            "were written"
        )
    leaves = (footer.schema.column(at).path for at in range(footer.num_columns))
    keeps_ids = ROW_ID.physical_name in leaves
    return SegmentRecord(
        path=segment.path,
        schema_version=schema.version,
        rows=segment.rows,
        bytes=segment.bytes,
        partition=tuple(segment.partition),
        columns=footer_stats(footer, schema),
        row_ids=RowIds(stored=base_version) if keeps_ids else UNASSIGNED_ROW_IDS,
    )


def _check_partitions(
    records: Sequence[SegmentRecord], at: int, field: PartitionField, schema: Schema, table: str
) -> None:
    """Check the partitions that the jar computed against the bounds in the footers."""
    column = schema.column(field.source)
    bounds = [(r, bound) for r in records for bound in _exact(field, r.columns.get(column.id))]
    texts = _partitions_of([bound for _, bound in bounds], column, parse_transform(field.transform))
    for (record, _), value in zip(bounds, texts, strict=True):
        if record.partition[at] != value:
            raise CorruptTableError(
                f"{table}: {record.path} was written to the partition {record.partition[at]!r} of "
                f"{schema.path_text(column.id)}, but has a value of the partition {value!r}"
            )


def _exact(field: PartitionField, stats: ColumnStats | None) -> list[str]:
    """Exact bounds whose partitions must be the segment's; of buckets, only that of a single value."""
    if stats is None or (field.transform.startswith("bucket") and stats.min != stats.max):
        return []
    bounds = ((stats.min, stats.min_inexact), (stats.max, stats.max_inexact))
    return [bound for bound, inexact in bounds if bound is not None and not inexact]


def _partitions_of(
    bounds: Sequence[str], column: Column, transform: Transform
) -> Iterator[str | None]:
    """The partitions of values."""
    scalars = [
        to_scalar(constant(decode(b, column.type), column.type), column.type) for b in bounds
    ]
    if not scalars:
        return
    partitions = apply_transform(
        transform, column.type, pa.array([s.as_py() for s in scalars], scalars[0].type)
    )
    result = result_type(transform, column.type)
    for value in partitions:
        text = from_scalar_text(value, result)
        yield None if text is None else str(text)
