"""Segment records (FORMAT.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import SEGMENT_BYTES, SEGMENT_ROWS
from versioned_catalog.log.delta import PLAIN, Delta, delta_from_json, delta_to_json
from versioned_catalog.log.external import (
    Constants,
    check_external,
    constants_from_json,
    constants_to_json,
)
from versioned_catalog.schema.id_map import IdMap
from versioned_catalog.schema.wire import Json, check_members, member, optional
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
        id_map, constants: members of segments that somebody else wrote.
    """

    path: str
    schema_version: int
    rows: int
    bytes: int
    partition: tuple[str | None, ...] = ()
    columns: Mapping[int, ColumnStats] = field(default_factory=dict)
    checksum: str | None = None
    delta: Delta = PLAIN
    id_map: IdMap | None = None
    constants: Constants = field(default_factory=dict)


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


def record_to_json(record: SegmentRecord, id_map: int | None = None) -> Json:
    """The JSON of a record.

    Args:
        id_map: the index of the record's map among those of its entry; None if it has none, or if the
            map stands elsewhere, as in a manifest.
    """
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
    if id_map is not None:
        out["id_map"] = id_map
    if record.constants:
        out["constants"] = constants_to_json(record.constants)
    out["columns"] = columns_to_json(record.columns)
    return out


_MEMBERS = frozenset(
    {
        *("path", "schema_version", "rows", "bytes", "partition", "checksum", "columns"),
        *("id_map", "constants", "order", "sequences", "ops", "patch"),
    }
)


def record_from_json(value: Json, id_map: IdMap | None = None) -> SegmentRecord:
    """A record from its JSON and its ID map, which stands elsewhere.

    Raises:
        CorruptTableError: a member is missing, or has another type.
    """
    rows, size = member(value, "rows", int), member(value, "bytes", int)
    check_members(value, _MEMBERS)
    if not (0 <= rows <= SEGMENT_ROWS and 0 <= size <= SEGMENT_BYTES):
        raise CorruptTableError("a segment has an impossible number of rows or bytes")
    path, delta = safe_path(member(value, "path", str)), delta_from_json(value)
    constants = constants_from_json(optional(value, "constants", dict) or {})
    check_external(path, id_map, constants, delta)
    return SegmentRecord(
        path=path,
        schema_version=member(value, "schema_version", int),
        rows=rows,
        bytes=size,
        partition=_partition(optional(value, "partition", list) or []),
        columns=columns_from_json(optional(value, "columns", dict) or {}),
        checksum=optional(value, "checksum", str),
        delta=delta,
        id_map=id_map,
        constants=constants,
    )


def _partition(values: list[Any]) -> tuple[str | None, ...]:
    if not all(value is None or isinstance(value, str) for value in values):
        raise CorruptTableError("a partition value is neither text nor null")
    return tuple(values)
