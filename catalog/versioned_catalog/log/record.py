"""Segment records (FORMAT.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import SEGMENT_BYTES, SEGMENT_ROWS
from versioned_catalog.log.delta import PLAIN, Delta, delta_from_json, delta_to_json
from versioned_catalog.schema.wire import Json, member, optional
from versioned_catalog.statistics.stats import ColumnStats, columns_from_json, columns_to_json
from versioned_catalog.storage.store import safe_path


@dataclass(frozen=True)
class SegmentRecord:
    """A segment as a commit adds it.

    Args:
        path: path of the file in the table's folder.
        schema_version: version of the schema that it was written under.
        rows, bytes: size of the file.
        partition: the value texts of that schema's partitioning; None for null.
        columns: statistics by column ID.
        checksum: ``crc32:`` and 8 hex digits, or None.
        delta: members of segments of keyed tables.
    """

    path: str
    schema_version: int
    rows: int
    bytes: int
    partition: tuple[str | None, ...] = ()
    columns: Mapping[int, ColumnStats] = field(default_factory=dict)
    checksum: str | None = None
    delta: Delta = PLAIN


@dataclass(frozen=True)
class LiveSegment:
    """A segment of a snapshot: its record, and the commit that added it.

    Args:
        record: what the commit said.
        sequence: the commit's version.
        ordinal: its place in that commit.
        commit_time: when, in UTC.
    """

    record: SegmentRecord
    sequence: int
    ordinal: int
    commit_time: datetime


def record_to_json(record: SegmentRecord) -> Json:
    """The JSON of a record."""
    out: dict[str, Json] = {
        "path": record.path,
        "schema_version": record.schema_version,
        "rows": record.rows,
        "bytes": record.bytes,
    }
    if record.partition:
        out["partition"] = list(record.partition)
    if record.checksum is not None:
        out["checksum"] = record.checksum
    out |= delta_to_json(record.delta)
    out["columns"] = columns_to_json(record.columns)
    return out


def record_from_json(value: Json) -> SegmentRecord:
    """A record from its JSON.

    Raises:
        CorruptTableError: a member is missing, or has another type.
    """
    rows, size = member(value, "rows", int), member(value, "bytes", int)
    if not (0 <= rows <= SEGMENT_ROWS and 0 <= size <= SEGMENT_BYTES):
        raise CorruptTableError("a segment has an impossible number of rows or bytes")
    return SegmentRecord(
        path=safe_path(member(value, "path", str)),
        schema_version=member(value, "schema_version", int),
        rows=rows,
        bytes=size,
        partition=_partition(optional(value, "partition", list) or []),
        columns=columns_from_json(optional(value, "columns", dict) or {}),
        checksum=optional(value, "checksum", str),
        delta=delta_from_json(value),
    )


def _partition(values: list[Any]) -> tuple[str | None, ...]:
    if not all(value is None or isinstance(value, str) for value in values):
        raise CorruptTableError("a partition value is neither text nor null")
    return tuple(values)
