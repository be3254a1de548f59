"""Segments that the jar has written, as records of the log."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from versioned_catalog import CorruptTableError
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.schema.literals import constant, decode, from_scalar_text, to_scalar
from versioned_catalog.schema.schema import PartitionField, Schema
from versioned_catalog.schema.transforms import Transform, apply, parse_transform, result_type
from versioned_catalog.schema.types import Column
from versioned_catalog.statistics.footers import footer_stats, read_footer
from versioned_catalog.statistics.stats import ColumnStats

Json = dict[str, Any]


def parse_records(written: Sequence[Json], schema: Schema, table: str) -> list[SegmentRecord]:
    """Records of segments.

    Args:
        written: of each ``path``, ``rows``, ``bytes``, ``partition`` and ``footer``, in base64.
        schema: what they were written under.
        table: the table, for errors.

    Raises:
        CorruptTableError: a segment is not what it is said to be.
    """
    return [_record(one, schema, table) for one in written]


def _record(one: Json, schema: Schema, table: str) -> SegmentRecord:
    footer = read_footer(base64.b64decode(one["footer"]))
    if footer.num_rows != one["rows"]:
        raise CorruptTableError(
            f"{table}: {one['path']} holds {footer.num_rows} rows, and {one['rows']} were written"
        )
    record = SegmentRecord(
        path=one["path"],
        schema_version=schema.version,
        rows=one["rows"],
        bytes=one["bytes"],
        partition=tuple(one["partition"]),
        columns=footer_stats(footer, schema),
    )
    _check_partition(record, schema, table)
    return record


def _check_partition(record: SegmentRecord, schema: Schema, table: str) -> None:
    """The jar computes partitions by itself; that its bounds are of them can be told from here."""
    for field, value in zip(schema.partitioning, record.partition, strict=True):
        column = schema.column(field.source)
        stats = record.columns.get(column.id, ColumnStats())
        for bound, inexact in ((stats.min, stats.min_inexact), (stats.max, stats.max_inexact)):
            if bound is None or inexact:
                continue
            found = _partition_of(bound, column, parse_transform(field.transform))
            if _is_ordered(field, stats) and found != value:
                raise CorruptTableError(
                    f"{table}: {record.path} is said to be of the partition {value!r} by "
                    f"{schema.path_text(column.id)}, but holds a value of {found!r}"
                )


def _is_ordered(field: PartitionField, stats: ColumnStats) -> bool:
    return not field.transform.startswith("bucket") or stats.min == stats.max


def _partition_of(bound: str, column: Column, transform: Transform) -> str | None:
    """The partition of one value."""
    exact = constant(decode(bound, column.type), column.type)
    scalar = to_scalar(exact, column.type)
    made = apply(transform, column.type, pa.array([scalar.as_py()], scalar.type))
    text = from_scalar_text(made[0], result_type(transform, column.type))
    return None if text is None else str(text)
