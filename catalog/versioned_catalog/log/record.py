"""Segment records (FORMAT.md, section 6), with the members of keyed tables and of files of others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import SEGMENT_BYTES, SEGMENT_ROWS, VERSIONS
from versioned_catalog.log.clones import cloned_from
from versioned_catalog.log.features import DELETE_ROW, PATCH_ROW, PUT_ROW
from versioned_catalog.log.marks import Mark
from versioned_catalog.log.statistics import ColumnStats, columns_from_json, columns_to_json
from versioned_catalog.model.id_map import IdMap, id_map_from_json, id_map_from_text
from versioned_catalog.model.schema_json import Json, check_members, member, optional
from versioned_catalog.storage.store import PREFIX, safe_path


@dataclass(frozen=True)
class Delta:
    """The order of a segment's rows among those of other segments, and their operations.

    Args:
        order: (sequence, ordinal), if they are not those of the commit that added the segment.
        sequences: least and greatest sequence of the rows, if the file holds ``__sequence``.
        ops: number of rows of each operation type, if the file holds ``__op_type``; empty if all are
            PUT, each of another key.
        patch: IDs of the columns that PATCH rows assign; None if there are no such rows.
    """

    order: tuple[int, int] | None = None
    sequences: tuple[int, int] | None = None
    ops: Mapping[int, int] = field(default_factory=dict)
    patch: tuple[int, ...] | None = None

    @property
    def deletes_only(self) -> bool:
        """Whether all rows are tombstones."""
        return set(self.ops) == {DELETE_ROW}


@dataclass(frozen=True, slots=True)
class RowIds:
    """The IDs of the rows of a segment, in a table with the property ``row_ids``.

    Args:
        first: the ID of the row at position 0; the others follow. None until a commit assigns it.
        updated: the version that wrote the rows; None for the commit that added the segment.
        stored: the file holds ``__row_id`` and ``__row_updated``, which count where they are not null
            and, for the latter, not above this version. None if the file does not hold them.
    """

    first: int | None = None
    updated: int | None = None
    stored: int | None = None


UNASSIGNED_ROW_IDS = RowIds()
"""The row IDs of a segment that a writer has written, with none in the file."""

MOST_ROW_IDS = 2**62
"""Row IDs are below this number."""


def row_ids_to_json(ids: RowIds) -> Json:
    """The member ``row_ids`` of a record; None if it would say nothing."""
    members = {"first": ids.first, "updated": ids.updated, "stored": ids.stored}
    return {name: value for name, value in members.items() if value is not None} or None


_ROW_ID_MEMBERS = frozenset({"first", "updated", "stored"})


def row_ids_from_json(value: Json, rows: int) -> RowIds:
    """The member ``row_ids`` of the record of a segment with so many rows.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
    """
    if value is None:
        return UNASSIGNED_ROW_IDS
    check_members(value, _ROW_ID_MEMBERS)
    ids = RowIds(*(optional(value, name, int) for name in ("first", "updated", "stored")))
    versions = (number for number in (ids.updated, ids.stored) if number is not None)
    if not all(0 <= number < VERSIONS for number in versions) or not (
        ids.first is None or 0 <= ids.first <= MOST_ROW_IDS - rows
    ):
        raise CorruptTableError(
            "the member 'row_ids' of a segment has numbers that are out of range"
        )
    return ids


PLAIN = Delta()
"""The delta of a segment without members of keyed tables."""


def delta_to_json(delta: Delta) -> dict[str, Json]:
    """The JSON members of a delta, without empty ones."""
    members = {
        "order": None if delta.order is None else list(delta.order),
        "sequences": None if delta.sequences is None else list(delta.sequences),
        "ops": {str(op): rows for op, rows in delta.ops.items()} or None,
        "patch": None if delta.patch is None else {"columns": list(delta.patch)},
    }
    return {name: value for name, value in members.items() if value is not None}


def delta_from_json(value: Json) -> Delta:
    """The members of a segment record.

    Raises:
        CorruptTableError: a member has another type, or contradicts another.
    """
    patch = optional(value, "patch", dict)
    delta = Delta(
        _pair(value, "order", 2**31),
        _pair(value, "sequences", VERSIONS),
        _ops(optional(value, "ops", dict) or {}),
        None if patch is None else _ids(optional(patch, "columns", list) or []),
    )
    if delta == PLAIN:
        return PLAIN
    if (PATCH_ROW in delta.ops) != (delta.patch is not None):
        raise CorruptTableError(
            "a segment that has PATCH rows must have the member 'patch', and no other segment may"
        )
    return delta


def _pair(value: Json, name: str, most: int) -> tuple[int, int] | None:
    numbers = optional(value, name, list)
    if numbers is None:
        return None
    if len(numbers) != 2 or not all(type(number) is int and number >= 0 for number in numbers):
        raise CorruptTableError(f"the member {name!r} of a segment is not a pair of numbers")
    first, second = numbers
    stated = f"the member {name!r} of a segment is {str(numbers)[:100]}"
    if first >= VERSIONS or second >= most:
        raise CorruptTableError(
            f"{stated}, and its numbers must be below {VERSIONS} and below {most}"
        )
    if name == "sequences" and first > second:
        raise CorruptTableError(f"{stated}, and the first number must not be above the second")
    return first, second


def _ops(value: dict[str, Json]) -> dict[int, int]:
    op_types = {str(op): op for op in (PUT_ROW, DELETE_ROW, PATCH_ROW)}
    for key, rows in value.items():
        if key not in op_types or type(rows) is not int or not 0 <= rows <= SEGMENT_ROWS:
            raise CorruptTableError(
                "the member 'ops' of a segment holds an unknown operation type or an impossible count"
            )
    return {op_types[key]: rows for key, rows in value.items()}


def _ids(values: list[Json]) -> tuple[int, ...]:
    if not all(type(column_id) is int and column_id > 0 for column_id in values):
        raise CorruptTableError(
            "the member 'patch' of a segment lists a column that is not a positive column ID"
        )
    return tuple(values)


Constants = Mapping[int, str | None]
"""Value texts of columns that a file does not hold, by column ID; None for null."""

_ID = re.compile(r"[1-9][0-9]{0,9}")


def constants_to_json(constants: Constants) -> Json:
    """The member ``constants`` of a record."""
    return {str(column_id): constants[column_id] for column_id in sorted(constants)}


def constants_from_json(value: Mapping[str, Json]) -> dict[int, str | None]:
    """Read the member ``constants`` of a record.

    Raises:
        CorruptTableError: it is not an object from column IDs to texts.
    """
    for key, text in value.items():
        if not _ID.fullmatch(key) or int(key) >= 2**31:
            raise CorruptTableError(f"a constant is of {key[:100]!r}, which is not a column ID")
        if not (text is None or isinstance(text, str)):
            raise CorruptTableError(f"the constant of the column ID {key} is neither text nor null")
    return {int(key): text for key, text in value.items()}


def id_maps_from_json(values: Sequence[Json]) -> list[IdMap]:
    """Read the member ``id_maps`` of an entry.

    Raises:
        CorruptTableError: one is not an ID map.
    """
    # Equal maps of all entries share one object.
    return [id_map_from_text(id_map_from_json(value).text) for value in values]


def id_map_at(value: Json, maps: Sequence[IdMap]) -> IdMap | None:
    """The map that the member ``id_map`` of a record names; None if it names none.

    Raises:
        CorruptTableError: its entry has no such map.
    """
    if not isinstance(value, dict):
        raise CorruptTableError(f"a segment record must be an object, not {str(value)[:100]!r}")
    index = optional(value, "id_map", int)
    if index is None:
        return None
    if not 0 <= index < len(maps):
        raise CorruptTableError(
            f"a segment has the ID map {str(index)[:50]}, which its entry lacks"
        )
    return maps[index]


def check_external(path: str, id_map: IdMap | None, constants: Constants, delta: Delta) -> None:
    """Refuse a record that contradicts itself.

    Raises:
        CorruptTableError: naming the segment.
    """
    if id_map is None:
        if constants or (path.startswith(PREFIX) and cloned_from(path) is None):
            raise CorruptTableError(f"the segment {path} needs an ID map, and its record has none")
        return
    if delta != PLAIN:
        raise CorruptTableError(f"the segment {path} has an ID map and is one of a keyed table")
    if not constants.keys().isdisjoint(id_map.columns):
        raise CorruptTableError(f"the segment {path} has a constant for a column that it holds")


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
        id_map, constants: members of segments that other software wrote.
        row_ids: the IDs of its rows.
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
    row_ids: RowIds = UNASSIGNED_ROW_IDS


def numbered(records: Sequence[SegmentRecord], first: int) -> tuple[tuple[SegmentRecord, ...], int]:
    """Records with row IDs from ``first`` on where they have none, and the next free row ID."""
    assigned: list[SegmentRecord] = []
    for record in records:
        if record.row_ids.first is None:
            record = replace(record, row_ids=replace(record.row_ids, first=first))
            first += record.rows
        assigned.append(record)
    return tuple(assigned), first


@dataclass(frozen=True)
class LiveSegment:
    """A segment of a snapshot: its record, and the commit that added it.

    Args:
        record: the record in the commit.
        sequence: the commit's version.
        ordinal: its place in that commit.
        commit_time: the commit's time, in UTC.
        mark: the rows of it that are deleted; None if none is.
    """

    record: SegmentRecord
    sequence: int
    ordinal: int
    commit_time: datetime
    mark: Mark | None = None


def record_to_json(record: SegmentRecord, id_map: int | None = None) -> Json:
    """The JSON of a record.

    Args:
        id_map: the index of the record's map among those of its entry; None if it has none, or if the
            map is stored elsewhere, as in a manifest.
    """
    members = {
        "path": record.path,
        "schema_version": record.schema_version,
        "rows": record.rows,
        "bytes": record.bytes,
        "partition": list(record.partition) or None,
        "checksum": record.checksum,
        **delta_to_json(record.delta),
        "id_map": id_map,
        "constants": constants_to_json(record.constants) or None,
        "row_ids": row_ids_to_json(record.row_ids),
        "columns": columns_to_json(record.columns),
    }
    return {name: value for name, value in members.items() if value is not None}


_MEMBERS = frozenset(
    {
        *("path", "schema_version", "rows", "bytes", "partition", "checksum", "columns"),
        *("id_map", "constants", "order", "sequences", "ops", "patch", "row_ids"),
    }
)


def record_from_json(value: Json, id_map: IdMap | None = None) -> SegmentRecord:
    """A record from its JSON, and from its ID map, which is stored apart.

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
        row_ids=row_ids_from_json(optional(value, "row_ids", dict), rows),
    )


def _partition(values: list[Any]) -> tuple[str | None, ...]:
    if not all(value is None or isinstance(value, str) for value in values):
        raise CorruptTableError("a partition value is neither text nor null")
    return tuple(values)
