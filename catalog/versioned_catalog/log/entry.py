"""Log entries: one commit each (FORMAT.md, sections 3, 5 and 9)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from versioned_catalog.errors import (
    CorruptTableError,
    InvalidRequestError,
    UnsupportedFeatureError,
)
from versioned_catalog.limits import CHECKPOINT_BYTES, ENTRY_BYTES, JSON_VALUES, check_version
from versioned_catalog.log.record import SegmentRecord, record_from_json, record_to_json
from versioned_catalog.schema.schema import Schema
from versioned_catalog.schema.wire import Json, member, optional, schema_from_json, schema_to_json
from versioned_catalog.storage.json_text import check_depth, count_values, parse_json
from versioned_catalog.storage.store import safe_path
from versioned_catalog.types.types import FIRST_INTERNAL_ID

FORMAT = 1
"""The format version that this library writes, and the newest it reads."""

WRITER = "versioned/0.1.0"
"""The member ``writer`` of entries that this library writes."""

KEYED, PATCH, MANIFEST, VIEWS = "keyed", "patch", "manifest", "views"
"""Features of tables with a row key, of those that partial upserts were written to, of those with a
commit whose segments stand in a manifest, and of warehouses that hold views."""

SCHEMA_DELTAS = "schema-deltas"
"""The feature of a checkpoint that has old schemas as what they differ in."""

KNOWN_FEATURES: frozenset[str] = frozenset({KEYED, PATCH, MANIFEST, VIEWS, SCHEMA_DELTAS})
"""The features that this library implements, for reading and for writing."""

REWRITES = ("delete", "update", "merge", "overwrite")
"""Operations that put segments in the place of others."""

OPERATIONS = frozenset(
    {
        "create",
        "append",
        *REWRITES,
        "compact",
        "alter",
        "rollback",
        "tag",
        "replace",
        "drop",
        "fence",
        "expire",
    }
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
"""The operations of a warehouse's log (FORMAT.md, section 12)."""

NEW_LIFE = frozenset({"create", "replace"})
"""Operations that begin a life of a table: a new UUID, and no segments."""

MANIFESTS = "_versioned/manifest"
OWN_NAME = re.compile(r"[0-9]{1,20}-[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\.parquet")
"""Names of segments and manifests: the version that their writer planned on, and a UUID."""

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Features:
    """What a table needs of its readers and of its writers, by name."""

    read: frozenset[str] = frozenset()
    write: frozenset[str] = frozenset()

    def __or__(self, other: Features) -> Features:
        return Features(self.read | other.read, self.write | other.write)


@dataclass(frozen=True)
class Batch:
    """A batch of a sink that commits exactly once."""

    application: str
    id: int


@dataclass(frozen=True)
class Head:
    """What every entry says of itself, whatever it is about."""

    table_uuid: str
    version: int
    commit_id: str
    base_version: int
    time: datetime
    operation: str
    writer: str = ""
    features: Features = field(default_factory=Features)


@dataclass(frozen=True)
class Manifest:
    """The file that holds the last of the segments that a commit added.

    Args:
        path: where it is, in the table's folder.
        bytes, checksum: its size, and ``crc32:`` and 8 hex digits.
        records: how many it holds; 0 before it was read.
    """

    path: str
    bytes: int
    checksum: str
    records: int = 0


@dataclass(frozen=True)
class Commit:
    """One commit of a table. None and empty mean that the commit says nothing of it.

    ``added`` holds the records of the manifest, too, unless that was not read yet.
    """

    head: Head
    next_column_id: int
    schema: Schema | None = None
    properties: Mapping[str, str] | None = None
    comment: str | None = None
    sets_comment: bool = False
    added: tuple[SegmentRecord, ...] = ()
    removed: tuple[str, ...] = ()
    batch: Batch | None = None
    fence: int | None = None
    floor: int | None = None
    tags: Mapping[str, int] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    manifest: Manifest | None = None

    @property
    def bytes_beside(self) -> int:
        """The size of what the entry names and a reader of it reads, too."""
        return 0 if self.manifest is None else self.manifest.bytes


@dataclass(frozen=True)
class Stub:
    """What expiry leaves of an old entry."""

    version: int
    commit_id: str
    time: datetime
    floor: int


def time_to_text(time: datetime) -> str:
    """A time as entries hold it."""
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def time_from_text(text: str) -> datetime:
    """A time from an entry.

    Raises:
        CorruptTableError: it is none.
    """
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        raise CorruptTableError(f"{text[:50]!r} is no time") from None


def next_time(previous: datetime | None, now: datetime) -> datetime:
    """The time of a commit: now, but always after the one before.

    Raises:
        CorruptTableError: there is none after the one before.
    """
    try:
        return now if previous is None else max(previous + timedelta(microseconds=1), now)
    except OverflowError:
        raise CorruptTableError(f"the last commit is of {previous}, and no time is later") from None


def load_json(data: bytes, what: str) -> dict[str, Json]:
    """An object of a format and of features that we know.

    Raises:
        CorruptTableError: it is no JSON object.
        UnsupportedFeatureError: it needs what this library does not have.
    """
    value = parse_json(data, what)
    if not isinstance(value, dict):
        raise CorruptTableError(f"{what} is not a JSON object")
    try:
        number, needed = member(value, "format", int), features_from_json(value).read
    except CorruptTableError as error:
        raise CorruptTableError(f"{what}: {error}") from None
    if number < 1:
        raise CorruptTableError(f"{what} has format version {number}, which is none")
    if number > FORMAT:
        raise UnsupportedFeatureError(
            f"{what} has format version {number}, and this library reads up to {FORMAT}; "
            "upgrade pyspark-versioned"
        )
    if needed - KNOWN_FEATURES:
        missing = ", ".join(sorted(needed - KNOWN_FEATURES))
        raise UnsupportedFeatureError(
            f"{what} needs the feature {missing}, which this library does not have; "
            "upgrade pyspark-versioned"
        )
    return value


def is_one_of(value: Json, operations: Collection[str]) -> bool:
    """Whether an entry, of whatever log, is one of certain operations."""
    operation = value.get("operation")
    return isinstance(operation, str) and operation in operations


def check_writable(features: Features, table: str) -> None:
    """Refuse to write to a table that needs more of its writers than we have.

    Raises:
        UnsupportedFeatureError: naming the features.
    """
    missing = sorted(features.write - KNOWN_FEATURES)
    if missing:
        raise UnsupportedFeatureError(
            f"writing to {table} needs the feature {', '.join(missing)}, which this library does "
            "not have; upgrade pyspark-versioned"
        )


def dump_json(value: Json) -> bytes:
    """JSON as we write it.

    Raises:
        InvalidRequestError: nobody would read it, since it is too large or holds half a character.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError(
            f"{text[error.start : error.end][:20]!r} in a name, comment or property is half a "
            "character (an unpaired surrogate); nothing was committed"
        ) from None
    if len(data) > ENTRY_BYTES or count_values(text) > JSON_VALUES:
        raise InvalidRequestError(
            f"what is to be committed takes {len(data)} bytes of metadata, and one commit up to "
            f"{ENTRY_BYTES}; write fewer segments at once (larger ones, fewer partitions), or shorter "
            "properties and comments"
        )
    return data


def features_to_json(features: Features) -> Json:
    """The JSON of features."""
    return {"read": sorted(features.read), "write": sorted(features.write)}


def features_from_json(value: Json) -> Features:
    """Features from the object that holds them; a stub has none."""
    found = value.get("features")
    if found is None:
        return Features()
    return Features(_names(found, "read"), _names(found, "write"))


def _names(value: Json, which: str) -> frozenset[str]:
    names = member(value, which, list)
    if not all(isinstance(name, str) for name in names):
        raise CorruptTableError("features are named by text")
    return frozenset(names)


def head_to_json(head: Head) -> dict[str, Json]:
    """The members that every entry has."""
    return {
        "format": FORMAT,
        "features": features_to_json(head.features),
        "table_uuid": head.table_uuid,
        "version": head.version,
        "commit_id": head.commit_id,
        "base_version": head.base_version,
        "time": time_to_text(head.time),
        "operation": head.operation,
        "writer": head.writer,
    }


def head_from_json(value: Json) -> Head:
    """The members that every entry has, from its JSON."""
    return Head(
        table_uuid=member(value, "table_uuid", str),
        version=check_version(member(value, "version", int)),
        commit_id=member(value, "commit_id", str),
        base_version=_base_version(value),
        time=time_from_text(member(value, "time", str)),
        operation=member(value, "operation", str),
        writer=member(value, "writer", str),
        features=features_from_json({"features": member(value, "features", dict)}),
    )


def _base_version(value: Json) -> int:
    base = member(value, "base_version", int)
    if not -1 <= base < member(value, "version", int):
        raise CorruptTableError(f"the base version {str(base)[:50]} is not one before the commit")
    return base


def commit_to_bytes(commit: Commit) -> bytes:
    """The entry of a commit."""
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
        out["added"] = [record_to_json(record) for record in commit.added[:inside]]
    if commit.manifest is not None:
        made = commit.manifest
        out["manifest"] = {"path": made.path, "bytes": made.bytes, "checksum": made.checksum}
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
    if commit.details:
        out["details"] = dict(commit.details)
    return dump_json(out)


def stub_to_bytes(stub: Stub) -> bytes:
    """What expiry puts in the place of an entry."""
    return dump_json(
        {
            "format": FORMAT,
            "stub": True,
            "version": stub.version,
            "commit_id": stub.commit_id,
            "time": time_to_text(stub.time),
            "floor": stub.floor,
        }
    )


def commit_from_bytes(data: bytes, what: str) -> Commit | Stub:
    """The commit of an entry, or the stub that stands in its place.

    Args:
        data: the file's content.
        what: the file, for errors.

    Raises:
        CorruptTableError: it is not as FORMAT.md says.
        UnsupportedFeatureError: it needs what this library does not have.
        InvalidRequestError: it is the first one of a warehouse.
    """
    value = load_json(data, what)
    if is_one_of(value, WAREHOUSE_OPERATIONS) and value.get("version") == 0:
        raise InvalidRequestError(
            f"{what} belongs to a warehouse: its folder can't be that of a table. Open it with Catalog, "
            "or make the table in another folder"
        )
    try:
        return stub_from_json(value) if value.get("stub") is True else _commit(value)
    except (CorruptTableError, UnsupportedFeatureError) as error:
        raise type(error)(f"{what}: {error}") from None
    except RecursionError:
        raise CorruptTableError(f"{what} is nested too deep") from None


def stub_from_json(value: Json) -> Stub:
    """The stub that expiry left.

    Raises:
        CorruptTableError: it is none.
    """
    version = check_version(member(value, "version", int))
    floor = check_version(member(value, "floor", int), "floor")
    if floor <= version:
        # Who follows it would come back to it for ever.
        raise CorruptTableError(f"the stub of version {version} says that {floor} is kept")
    time = time_from_text(member(value, "time", str))
    return Stub(version, member(value, "commit_id", str), time, floor)


def _commit(value: Json) -> Commit:
    head = head_from_json(value)
    if head.operation in WAREHOUSE_OPERATIONS:
        raise CorruptTableError(
            f"the operation {head.operation} is one of a warehouse: a Catalog was opened on the folder "
            "of this table by a library that did not refuse it; save the table with Catalog.recover"
        )
    if head.operation not in OPERATIONS:
        raise CorruptTableError(f"the operation {head.operation[:50]!r} is unknown")
    schema = optional(value, "schema", dict)
    return Commit(
        head=head,
        next_column_id=column_id_from_json(value),
        schema=None if schema is None else schema_from_json(schema),
        properties=_texts(optional(value, "properties", dict)),
        comment=optional(value, "comment", str),
        sets_comment="comment" in value,
        added=tuple(map(record_from_json, optional(value, "added", list) or [])),
        removed=_paths(optional(value, "removed", list) or []),
        batch=_batch(optional(value, "batch", dict)),
        fence=_fence(optional(value, "fence", int)),
        floor=_floor(value, head.version),
        tags=_tags(value, head.version - 1),
        details=_details(optional(value, "details", dict) or {}),
        manifest=_manifest(optional(value, "manifest", dict), head.features),
    )


def _manifest(value: dict[str, Any] | None, features: Features) -> Manifest | None:
    if value is None:
        return None
    path = safe_path(member(value, "path", str))
    folder, _, name = path.rpartition("/")
    if folder != MANIFESTS or not OWN_NAME.fullmatch(name):
        raise CorruptTableError(
            f"the manifest {path[:100]!r} is not in {MANIFESTS}, or no manifest"
        )
    if MANIFEST not in features.read & features.write:
        raise CorruptTableError(f"a manifest is named, and the feature {MANIFEST} is not")
    size = member(value, "bytes", int)
    if not 0 <= size <= CHECKPOINT_BYTES:
        raise CorruptTableError(f"a manifest of {str(size)[:50]} bytes is none")
    return Manifest(path, size, member(value, "checksum", str))


def _floor(value: Json, version: int) -> int | None:
    floor = optional(value, "floor", int)
    if floor is not None and not 0 <= floor < version:
        raise CorruptTableError(f"the floor {str(floor)[:50]} is not one before the commit")
    return floor


def column_id_from_json(value: Json) -> int:
    """The member ``next_column_id``.

    Raises:
        CorruptTableError: it is no ID.
    """
    found: int = member(value, "next_column_id", int)
    if not 1 <= found <= FIRST_INTERNAL_ID:
        raise CorruptTableError(f"the next column ID {str(found)[:50]} is out of range")
    return found


def _batch(value: dict[str, Any] | None) -> Batch | None:
    if value is None:
        return None
    return Batch(member(value, "application", str), batch_from_json(value, "id"))


def batch_from_json(value: Json, name: str) -> int:
    """The number of a batch, from a member of an object.

    Raises:
        CorruptTableError: it is none.
    """
    found: int = member(value, name, int)
    if not -(2**63) <= found < 2**63:
        raise CorruptTableError(f"the batch {str(found)[:50]} is out of range")
    return found


def _fence(value: int | None) -> int | None:
    return None if value is None else check_version(value, "fence")


def _details(value: dict[str, Any]) -> dict[str, Any]:
    check_depth(value, "what an entry tells of itself")
    return value


def _texts(value: dict[str, Any] | None) -> dict[str, str] | None:
    if value is not None and not all(isinstance(text, str) for text in value.values()):
        raise CorruptTableError("properties are text")
    return value


def _tags(value: Json, newest: int) -> dict[str, int] | None:
    tags = optional(value, "tags", dict)
    return None if tags is None else tags_from_json(tags, newest)


def tags_from_json(value: dict[str, Json], newest: int) -> dict[str, int]:
    """A map of tags to versions.

    Raises:
        CorruptTableError: it names something else, or a version after ``newest``.
    """
    found = {name: member(value, name, int) for name in value}
    if not all(0 <= version <= newest for version in found.values()):
        raise CorruptTableError("a tag names a version that was not there")
    return found


def _paths(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise CorruptTableError("removed segments are named by path")
    return tuple(map(safe_path, values))
