"""The JSON of a table's entries (FORMAT.md, section 5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.limits import CHECKPOINT_BYTES, ID_MAPS, SCHEMA_VERSIONS, check_version
from versioned_catalog.log.bounded_files import dump_document, load_document, naming_file
from versioned_catalog.log.branches import (
    LONGEST_KEPT,
    branches_from_json,
    branches_to_json,
    on_branch_from_json,
    on_branch_to_json,
)
from versioned_catalog.log.entry import (
    HEAD_MEMBERS,
    OPERATIONS,
    Batch,
    Commit,
    Head,
    Manifest,
    Stub,
    batch_from_json,
    consumers_from_json,
    consumers_to_json,
    head_from_json,
    head_to_json,
    is_one_of,
    stub_from_json,
)
from versioned_catalog.log.features import (
    APPLICATION_RETENTION,
    BRANCHES,
    CLONES,
    MANIFEST,
    MANIFESTS,
    MARKS,
    OWN_NAME,
    RESTORE,
    ROW_IDS_FEATURE,
    Features,
)
from versioned_catalog.log.ledger import change_from_json, change_to_json
from versioned_catalog.log.marks import Mark, mark_from_json, mark_to_json
from versioned_catalog.log.record import (
    MOST_ROW_IDS,
    SegmentRecord,
    id_map_at,
    id_maps_from_json,
    record_from_json,
    record_to_json,
)
from versioned_catalog.log.times import time_from_text, time_to_text
from versioned_catalog.model.id_map import IdMap
from versioned_catalog.model.pins import Pin
from versioned_catalog.model.schema_json import (
    Json,
    check_members,
    member,
    optional,
    schema_from_json,
    schema_to_json,
)
from versioned_catalog.model.types import FIRST_INTERNAL_ID
from versioned_catalog.storage.store import safe_path
from versioned_catalog.storage.text import check_depth

Value = TypeVar("Value")
Parsed = TypeVar("Parsed")


def pins_to_json(pins: Mapping[str, Pin]) -> dict[str, Json]:
    """The JSON of pins by label."""
    return {label: _pin_to_json(pin) for label, pin in pins.items()}


def _pin_to_json(pin: Pin) -> Json:
    until = None if pin.until is None else time_to_text(pin.until)
    members = {"schema_version": pin.schema_version, "owner": pin.owner, "until": until}
    return {name: value for name, value in members.items() if value is not None}


def pins_from_json(value: dict[str, Json]) -> dict[str, Pin]:
    """Pins by label.

    Raises:
        CorruptTableError: one is not as FORMAT.md says.
    """
    return {label: _pin_from_json(member(value, label, dict)) for label in value}


_PIN_MEMBERS = frozenset({"schema_version", "owner", "until"})


def _pin_from_json(value: Json) -> Pin:
    check_members(value, _PIN_MEMBERS)
    version: int = member(value, "schema_version", int)
    if not 0 <= version < SCHEMA_VERSIONS:
        raise CorruptTableError(f"a pin has the schema version {str(version)[:50]}")
    return Pin(version, optional(value, "owner", str), _parsed(value, "until", str, time_from_text))


def _parsed(
    value: Json, name: str, kind: type[Value], parse: Callable[[Value], Parsed]
) -> Parsed | None:
    """An optional member of an object, parsed; None if it is missing or null."""
    content = optional(value, name, kind)
    return None if content is None else parse(content)


WAREHOUSE_OPERATIONS = frozenset(
    {
        "create_namespace",
        "alter_namespace",
        "drop_namespace",
        "create_table",
        "rename_table",
        "drop_table",
        "create_view",
        "alter_view",
        "rename_view",
        "drop_view",
        "guard_names",
    }
)
"""The operations of a warehouse's log (FORMAT.md, section 12), which a table's log must not hold."""


MEMBERS = HEAD_MEMBERS | {
    *("next_column_id", "schema", "properties", "comment", "id_maps", "roots", "added", "removed"),
    *(
        "marked",
        "manifest",
        "batch",
        "fence",
        "floor",
        "forget",
        "tags",
        "tags_kept",
        "pins",
        "consumers",
    ),
    *("imported", "details", "schemas", "batches", "branches", "branch"),
    *("first_schema_version", "row_ids"),
}
"""The members of an entry; any other is damage, or needs a feature that this library does not have."""


def commit_to_bytes(commit: Commit) -> bytes:
    """The file of an entry.

    Raises:
        InvalidRequestError: the entry is larger than readers accept.
    """
    inside = len(commit.added) - (commit.manifest.records if commit.manifest else 0)
    members: dict[str, Json] = {
        "next_column_id": commit.next_column_id,
        "schema": None if commit.schema is None else schema_to_json(commit.schema),
        "properties": None if commit.properties is None else dict(commit.properties),
        "comment": commit.comment,
        **(_added_to_json(commit.added[:inside]) if inside else {}),
        "manifest": None if commit.manifest is None else _manifest_to_json(commit.manifest),
        "removed": list(commit.removed) or None,
        "marked": _marked_to_json(commit.marked) or None,
        "batch": None if commit.batch is None else asdict(commit.batch),
        "fence": commit.fence,
        "floor": commit.floor,
        "forget": commit.forget,
        "tags": None if commit.tags is None else dict(commit.tags),
        "tags_kept": None if commit.tags_kept is None else tags_kept_to_json(commit.tags_kept),
        "pins": None if commit.pins is None else pins_to_json(commit.pins),
        "consumers": None if commit.consumers is None else consumers_to_json(commit.consumers),
        "roots": None if commit.roots is None else dict(commit.roots),
        "imported": None if commit.imported is None else change_to_json(commit.imported),
        "details": dict(commit.details) or None,
        "schemas": list(map(schema_to_json, commit.schemas)) or None,
        "batches": dict(commit.batches) or None,
        "branches": None if commit.branches is None else branches_to_json(commit.branches),
        "branch": None if commit.branch is None else on_branch_to_json(commit.branch),
        "first_schema_version": commit.first_schema_version,
        "row_ids": None if commit.row_ids is None else list(commit.row_ids),
    }
    unchanged = {name for name, content in members.items() if content is None}
    if commit.sets_comment:
        unchanged.discard("comment")
    changed = {name: members[name] for name in members if name not in unchanged}
    return dump_document(head_to_json(commit.head) | changed)


def _manifest_to_json(manifest: Manifest) -> Json:
    return {"path": manifest.path, "bytes": manifest.bytes, "checksum": manifest.checksum}


def _added_to_json(records: Sequence[SegmentRecord]) -> dict[str, Json]:
    """The members ``id_maps`` and ``added``; ``id_maps`` holds each different map once."""
    maps = {record.id_map: None for record in records if record.id_map is not None}
    index: dict[IdMap | None, int] = {id_map: at for at, id_map in enumerate(maps)}
    if len(maps) > ID_MAPS:
        raise InvalidRequestError(
            f"the files to commit hold their columns in {len(maps)} different ways, and one commit "
            f"takes up to {ID_MAPS}; commit fewer files at once"
        )
    added = [record_to_json(record, index.get(record.id_map)) for record in records]
    parsed = [json.loads(id_map.text) for id_map in maps]
    return {**({"id_maps": parsed} if maps else {}), "added": added}


def commit_from_bytes(data: bytes, what: str) -> Commit | Stub:
    """The commit of an entry, or the stub that replaced it.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
        UnsupportedFeatureError: this library does not implement its format version or a feature.
        InvalidRequestError: it is the first entry of a warehouse.
    """
    value = load_document(data, what)
    if is_one_of(value, WAREHOUSE_OPERATIONS) and value.get("version") == 0:
        raise InvalidRequestError(
            f"{what} belongs to a warehouse: its folder can't be that of a table. Open it with Catalog, "
            "or create the table in another folder"
        )
    with naming_file(what):
        return stub_from_json(value) if value.get("stub") is True else _commit(value)


def _commit(value: Json) -> Commit:
    head = head_from_json(value)
    if head.operation in WAREHOUSE_OPERATIONS:
        raise CorruptTableError(
            f"the operation {head.operation} is one of a warehouse: a Catalog was opened on the folder "
            "of this table by a library that did not refuse it; save the table with Catalog.recover"
        )
    if head.operation not in OPERATIONS:
        raise CorruptTableError(f"the operation {head.operation[:50]!r} is unknown")
    check_members(value, MEMBERS)
    before = head.version - 1
    return Commit(
        head=head,
        next_column_id=column_id_from_json(value),
        schema=_parsed(value, "schema", dict, schema_from_json),
        properties=_parsed(value, "properties", dict, _texts),
        comment=optional(value, "comment", str),
        sets_comment="comment" in value,
        added=_added(value),
        removed=_paths(optional(value, "removed", list) or []),
        marked=_parsed(value, "marked", dict, partial(_marked, features=head.features)) or {},
        batch=_parsed(value, "batch", dict, _batch),
        fence=_parsed(value, "fence", int, partial(check_version, what="fence")),
        floor=_parsed(value, "floor", int, partial(_floor, before=before)),
        forget=_parsed(value, "forget", int, partial(_forget, head=head)),
        tags=_parsed(value, "tags", dict, partial(tags_from_json, newest=before)),
        tags_kept=_parsed(value, "tags_kept", dict, tags_kept_from_json),
        pins=_parsed(value, "pins", dict, pins_from_json),
        consumers=_parsed(value, "consumers", dict, partial(consumers_from_json, newest=before)),
        roots=_parsed(value, "roots", dict, _texts),
        details=_parsed(value, "details", dict, _details) or {},
        manifest=_parsed(value, "manifest", dict, partial(_manifest, features=head.features)),
        imported=_parsed(value, "imported", dict, change_from_json),
        batches=_parsed(value, "batches", dict, partial(_batches, features=head.features)) or {},
        first_schema_version=_first_schema_version(value, head),
        row_ids=_parsed(value, "row_ids", list, partial(_row_ids, features=head.features)),
        **_of_branches(value, head),
    )


def _batches(value: dict[str, Any], features: Features) -> dict[str, int]:
    if {BRANCHES, RESTORE, CLONES}.isdisjoint(features.read & features.write):
        raise CorruptTableError(
            f"the entry takes over last batches without the feature {BRANCHES}, {RESTORE} or "
            f"{CLONES}"
        )
    return {name: batch_from_json(value, name) for name in value}


def _row_ids(value: list[Any], features: Features) -> tuple[int, int]:
    if ROW_IDS_FEATURE not in features.read & features.write:
        raise CorruptTableError(f"the entry assigns row IDs without the feature {ROW_IDS_FEATURE}")
    if len(value) != 2 or not all(type(number) is int for number in value):
        raise CorruptTableError("the member 'row_ids' of an entry is not a pair of numbers")
    first, following = value
    if not 0 <= first <= following <= MOST_ROW_IDS:
        raise CorruptTableError(
            "the member 'row_ids' of an entry has numbers that are out of range"
        )
    return first, following


def _first_schema_version(value: Json, head: Head) -> int | None:
    """The member ``first_schema_version``, which a restore has and no other entry."""
    if head.operation != "restore":
        if "first_schema_version" in value:
            raise CorruptTableError("an entry that restores no incarnation says how one began")
        return None
    if RESTORE not in head.features.read & head.features.write:
        raise CorruptTableError(f"the entry restores an incarnation without the feature {RESTORE}")
    version: int = member(value, "first_schema_version", int)
    if not 0 <= version < SCHEMA_VERSIONS:
        raise CorruptTableError(f"the first schema version {str(version)[:50]} is out of range")
    return version


_ONLY_BRANCHES = ("branches", "branch")
_OF_BRANCHES = ("schemas", *_ONLY_BRANCHES)


def _of_branches(value: Json, head: Head) -> dict[str, Any]:
    """The members of an entry that only a table with branches has, and the first one of a clone."""
    if value.keys().isdisjoint(_OF_BRANCHES):
        return {}
    features = head.features.read & head.features.write
    begins_clone = CLONES in features and head.operation == "create"
    if BRANCHES not in features and not (begins_clone and value.keys().isdisjoint(_ONLY_BRANCHES)):
        raise CorruptTableError(f"the entry has to do with branches without the feature {BRANCHES}")
    return {
        "schemas": tuple(map(schema_from_json, optional(value, "schemas", list) or ())),
        "branches": _parsed(
            value, "branches", dict, partial(branches_from_json, newest=head.version - 1)
        ),
        "branch": _parsed(value, "branch", dict, on_branch_from_json),
    }


def _added(value: Json) -> tuple[SegmentRecord, ...]:
    maps = optional(value, "id_maps", list) or []
    if len(maps) > ID_MAPS:
        raise CorruptTableError(
            f"the entry holds {len(maps)} ID maps, more than the {ID_MAPS} of the largest"
        )
    id_maps = id_maps_from_json(maps)
    added = optional(value, "added", list) or []
    return tuple(record_from_json(record, id_map_at(record, id_maps)) for record in added)


_MANIFEST_MEMBERS = frozenset({"path", "bytes", "checksum"})
_BATCH_MEMBERS = frozenset({"application", "id"})


def _manifest(value: dict[str, Any], features: Features) -> Manifest:
    check_members(value, _MANIFEST_MEMBERS)
    path = safe_path(member(value, "path", str))
    folder, _, name = path.rpartition("/")
    if folder != MANIFESTS or not OWN_NAME.fullmatch(name):
        raise CorruptTableError(
            f"the entry names the manifest {path[:100]!r}; it must be a file of {MANIFESTS}/ with the "
            "name of a manifest"
        )
    if MANIFEST not in features.read & features.write:
        raise CorruptTableError(f"the entry names a manifest without the feature {MANIFEST}")
    size = member(value, "bytes", int)
    if not 0 <= size <= CHECKPOINT_BYTES:
        raise CorruptTableError(f"the manifest has an impossible size, {str(size)[:50]} bytes")
    return Manifest(path, size, member(value, "checksum", str))


def _marked_to_json(marks: Mapping[str, Mark | None]) -> dict[str, Json]:
    return {path: None if mark is None else mark_to_json(mark) for path, mark in marks.items()}


def _marked(value: dict[str, Any], features: Features) -> dict[str, Mark | None]:
    if MARKS not in features.read & features.write:
        raise CorruptTableError(f"the entry marks rows without the feature {MARKS}")
    paths = list(map(safe_path, value))
    marks = (optional(value, path, dict) for path in paths)
    parsed = [None if mark is None else mark_from_json(mark) for mark in marks]
    return dict(zip(paths, parsed, strict=True))


def _floor(floor: int, before: int) -> int:
    if not 0 <= floor <= before:
        raise CorruptTableError(f"the floor {str(floor)[:50]} is not a version before the commit")
    return floor


def _forget(version: int, head: Head) -> int:
    if APPLICATION_RETENTION not in head.features.read & head.features.write:
        raise CorruptTableError(
            f"the entry forgets applications without the feature {APPLICATION_RETENTION}"
        )
    if not 0 <= version <= head.version:
        raise CorruptTableError(
            f"the entry forgets applications before {str(version)[:50]}, a version after the commit"
        )
    return version


def column_id_from_json(value: Json) -> int:
    """The member ``next_column_id``. Raises CorruptTableError if it is not a column ID."""
    column_id: int = member(value, "next_column_id", int)
    if not 1 <= column_id <= FIRST_INTERNAL_ID:
        raise CorruptTableError(f"the next column ID {str(column_id)[:50]} is out of range")
    return column_id


def _batch(value: dict[str, Any]) -> Batch:
    check_members(value, _BATCH_MEMBERS)
    return Batch(member(value, "application", str), batch_from_json(value, "id"))


def _details(value: dict[str, Any]) -> dict[str, Any]:
    check_depth(value, "the member 'details'")
    return value


def _texts(value: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(text, str) for text in value.values()):
        raise CorruptTableError("a property is not text")
    return value


def tags_from_json(value: dict[str, Json], newest: int) -> dict[str, int]:
    """A map of tags to versions.

    Raises:
        CorruptTableError: a version is not an integer, or is after ``newest``.
    """
    tags = {name: member(value, name, int) for name in value}
    if not all(0 <= version <= newest for version in tags.values()):
        raise CorruptTableError("a tag names a version that does not exist")
    return tags


def tags_kept_to_json(kept: Mapping[str, timedelta]) -> dict[str, Json]:
    """The JSON of how long tags are kept."""
    return {name: int(keep.total_seconds()) for name, keep in kept.items()}


def tags_kept_from_json(value: dict[str, Json]) -> dict[str, timedelta]:
    """A map of tags to how long they are kept.

    Raises:
        CorruptTableError: a time is not a number of seconds, or impossible.
    """
    seconds: dict[str, int] = {name: member(value, name, int) for name in value}
    if not all(0 < keep <= LONGEST_KEPT.total_seconds() for keep in seconds.values()):
        raise CorruptTableError("a tag is kept for an impossible time")
    return {name: timedelta(seconds=keep) for name, keep in seconds.items()}


def _paths(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise CorruptTableError("the path of a removed segment is not text")
    return tuple(map(safe_path, values))
