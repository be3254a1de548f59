"""The JSON of a table's entries (FORMAT.md, section 5)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from versioned_catalog.errors import CorruptTableError, InvalidRequestError, UnsupportedFeatureError
from versioned_catalog.limits import CHECKPOINT_BYTES, ID_MAPS, SCHEMA_VERSIONS, check_version
from versioned_catalog.log.bounded_files import dump_document, load_document
from versioned_catalog.log.entry import (
    HEAD_MEMBERS,
    OPERATIONS,
    Batch,
    Commit,
    Consumer,
    Manifest,
    Stub,
    consumers_from_json,
    consumers_to_json,
    head_from_json,
    head_to_json,
    is_one_of,
    stub_from_json,
)
from versioned_catalog.log.features import MANIFEST, MANIFESTS, OWN_NAME, Features
from versioned_catalog.log.ledger import LedgerChange, change_from_json, change_to_json
from versioned_catalog.log.record import (
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


def pins_to_json(pins: Mapping[str, Pin]) -> dict[str, Json]:
    """The JSON of pins by label."""
    return {label: _pin_to_json(pin) for label, pin in pins.items()}


def _pin_to_json(pin: Pin) -> Json:
    out: dict[str, Json] = {"schema_version": pin.schema_version}
    if pin.owner is not None:
        out["owner"] = pin.owner
    if pin.until is not None:
        out["until"] = time_to_text(pin.until)
    return out


def pins_from_json(value: dict[str, Json]) -> dict[str, Pin]:
    """Pins by label.

    Raises:
        CorruptTableError: one is not as FORMAT.md says.
    """
    return {label: _pin_from_json(member(value, label, dict)) for label in value}


def _pin_from_json(value: Json) -> Pin:
    version: int = member(value, "schema_version", int)
    if not 0 <= version < SCHEMA_VERSIONS:
        raise CorruptTableError(f"a pin has the schema version {str(version)[:50]}")
    until = optional(value, "until", str)
    return Pin(
        version, optional(value, "owner", str), None if until is None else time_from_text(until)
    )


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
    }
)
"""The operations of a warehouse's log (FORMAT.md, section 12), which a table's log must not hold."""


MEMBERS = HEAD_MEMBERS | {
    *("next_column_id", "schema", "properties", "comment", "id_maps", "roots", "added", "removed"),
    *("manifest", "batch", "fence", "floor", "tags", "pins", "consumers", "imported", "details"),
}
"""The members of an entry; any other is damage, or needs a feature that this library does not have."""


def commit_to_bytes(commit: Commit) -> bytes:
    """The file of an entry.

    Raises:
        InvalidRequestError: the entry is larger than readers accept.
    """
    out = head_to_json(commit.head)
    out["next_column_id"] = commit.next_column_id
    if commit.schema is not None:
        out["schema"] = schema_to_json(commit.schema)
    if commit.properties is not None:
        out["properties"] = dict(commit.properties)
    if commit.sets_comment:
        out["comment"] = commit.comment
    inside = len(commit.added) - (commit.manifest.records if commit.manifest else 0)
    if inside:
        out |= _added_to_json(commit.added[:inside])
    if commit.manifest is not None:
        named = commit.manifest
        out["manifest"] = {"path": named.path, "bytes": named.bytes, "checksum": named.checksum}
    if commit.removed:
        out["removed"] = list(commit.removed)
    if commit.batch is not None:
        out["batch"] = {"application": commit.batch.application, "id": commit.batch.id}
    if commit.fence is not None:
        out["fence"] = commit.fence
    if commit.floor is not None:
        out["floor"] = commit.floor
    if commit.tags is not None:
        out["tags"] = dict(commit.tags)
    if commit.pins is not None:
        out["pins"] = pins_to_json(commit.pins)
    if commit.consumers is not None:
        out["consumers"] = consumers_to_json(commit.consumers)
    if commit.roots is not None:
        out["roots"] = dict(commit.roots)
    if commit.imported is not None:
        out["imported"] = change_to_json(commit.imported)
    if commit.details:
        out["details"] = dict(commit.details)
    return dump_document(out)


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
    try:
        return stub_from_json(value) if value.get("stub") is True else _commit(value)
    except (CorruptTableError, UnsupportedFeatureError) as error:
        raise type(error)(f"{what}: {error}") from None
    except RecursionError:
        raise CorruptTableError(f"{what} is nested too deeply") from None


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
    schema = optional(value, "schema", dict)
    return Commit(
        head=head,
        next_column_id=column_id_from_json(value),
        schema=None if schema is None else schema_from_json(schema),
        properties=_texts(optional(value, "properties", dict)),
        comment=optional(value, "comment", str),
        sets_comment="comment" in value,
        added=_added(value),
        removed=_paths(optional(value, "removed", list) or []),
        batch=_batch(optional(value, "batch", dict)),
        fence=_fence(optional(value, "fence", int)),
        floor=_floor(value, head.version),
        tags=_tags(value, head.version - 1),
        pins=_pins(optional(value, "pins", dict)),
        consumers=_consumers(value, head.version - 1),
        roots=_texts(optional(value, "roots", dict)),
        details=_details(optional(value, "details", dict) or {}),
        manifest=_manifest(optional(value, "manifest", dict), head.features),
        imported=_imported(optional(value, "imported", dict)),
    )


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


def _manifest(value: dict[str, Any] | None, features: Features) -> Manifest | None:
    if value is None:
        return None
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


def _floor(value: Json, version: int) -> int | None:
    floor = optional(value, "floor", int)
    if floor is not None and not 0 <= floor < version:
        raise CorruptTableError(f"the floor {str(floor)[:50]} is not a version before the commit")
    return floor


def column_id_from_json(value: Json) -> int:
    """The member ``next_column_id``. Raises CorruptTableError if it is not a column ID."""
    column_id: int = member(value, "next_column_id", int)
    if not 1 <= column_id <= FIRST_INTERNAL_ID:
        raise CorruptTableError(f"the next column ID {str(column_id)[:50]} is out of range")
    return column_id


def _batch(value: dict[str, Any] | None) -> Batch | None:
    if value is None:
        return None
    check_members(value, _BATCH_MEMBERS)
    return Batch(member(value, "application", str), batch_from_json(value, "id"))


def batch_from_json(value: Json, name: str) -> int:
    """The number of a batch, from a member of an object.

    Raises:
        CorruptTableError: it is not an integer of 64 bits.
    """
    number: int = member(value, name, int)
    if not -(2**63) <= number < 2**63:
        raise CorruptTableError(f"the batch {str(number)[:50]} is out of range")
    return number


def _fence(value: int | None) -> int | None:
    return None if value is None else check_version(value, "fence")


def _imported(value: dict[str, Json] | None) -> LedgerChange | None:
    return None if value is None else change_from_json(value)


def _details(value: dict[str, Any]) -> dict[str, Any]:
    check_depth(value, "the member 'details'")
    return value


def _texts(value: dict[str, Any] | None) -> dict[str, str] | None:
    if value is not None and not all(isinstance(text, str) for text in value.values()):
        raise CorruptTableError("a property is not text")
    return value


def _tags(value: Json, newest: int) -> dict[str, int] | None:
    tags = optional(value, "tags", dict)
    return None if tags is None else tags_from_json(tags, newest)


def _pins(value: dict[str, Json] | None) -> dict[str, Pin] | None:
    return None if value is None else pins_from_json(value)


def _consumers(value: Json, newest: int) -> dict[str, Consumer] | None:
    consumers = optional(value, "consumers", dict)
    return None if consumers is None else consumers_from_json(consumers, newest)


def tags_from_json(value: dict[str, Json], newest: int) -> dict[str, int]:
    """A map of tags to versions.

    Raises:
        CorruptTableError: a version is not an integer, or is after ``newest``.
    """
    tags = {name: member(value, name, int) for name in value}
    if not all(0 <= version <= newest for version in tags.values()):
        raise CorruptTableError("a tag names a version that does not exist")
    return tags


def _paths(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise CorruptTableError("the path of a removed segment is not text")
    return tuple(map(safe_path, values))
