"""The state of a table at a version: the fold of its log entries (FORMAT.md, sections 5, 6, 8.1)."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .documents import check_features, crc32, members, parse, read_bytes
from .marks import check_mark
from .problems import Corrupt
from .schemas import Schema, parse_schema

ENTRY = (
    "format features table_uuid version commit_id base_version time operation writer next_column_id"
)
MORE = (
    "schema properties comment id_maps roots added removed marked manifest batch fence floor forget tags"
    " tags_kept pins consumers imported schemas batches branches branch first_schema_version details"
    " checksum"
)
RECORD = "path schema_version rows bytes"
MORE_RECORD = "partition checksum columns id_map constants patch order sequences ops"
OPERATIONS = {
    *("create", "append", "overwrite", "delete", "update", "merge", "alter", "rollback", "restore"),
    *("tag", "branch", "replace", "drop", "undrop", "purge", "fence", "expire", "compact"),
}
MANIFEST = re.compile(r"_versioned/manifest/\d+-[0-9a-f-]{32,36}\.parquet")


@dataclass(frozen=True)
class Segment:
    """A live segment: its record, and the commit that added it."""

    record: dict[str, Any]
    sequence: int
    ordinal: int

    @property
    def path(self) -> str:
        return str(self.record["path"])


@dataclass
class State:
    """What reading needs of a state."""

    features: frozenset[str] = frozenset()
    table_uuid: str = ""
    version: int = -1
    time: str = ""
    schemas: dict[int, Schema] = field(default_factory=dict)
    schema_version: int = -1
    properties: dict[str, str] = field(default_factory=dict)
    floor: int = 0
    tags: dict[str, int] = field(default_factory=dict)
    pins: dict[str, Any] = field(default_factory=dict)
    branches: dict[str, Any] = field(default_factory=dict)
    dropped: bool = False
    segments: dict[str, Segment] = field(default_factory=dict)
    marks: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        return self.schemas[self.schema_version]

    def copy(self) -> State:
        return replace(
            self, schemas=dict(self.schemas), segments=dict(self.segments), marks=dict(self.marks)
        )


def check_record(record: Any) -> dict[str, Any]:
    members(record, RECORD, MORE_RECORD, "a segment record")
    for statistics in record.get("columns", {}).values():
        members(statistics, "", "nulls nans min max inexact", "statistics")
    if "patch" in record:
        members(record["patch"], "columns", "", "a patch")
    return dict(record)


def manifest_records(folder: Path, manifest: Any) -> list[dict[str, Any]]:
    members(manifest, "path bytes checksum", "", "a manifest")
    if not MANIFEST.fullmatch(manifest["path"]):
        raise Corrupt(f"the manifest path {manifest['path']}")
    data = read_bytes(folder / manifest["path"])
    if len(data) != manifest["bytes"] or crc32(data) != manifest["checksum"]:
        raise Corrupt(f"{manifest['path']}: another size or checksum")
    try:
        rows = pq.ParquetFile(io.BytesIO(data)).read().to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise Corrupt(f"{manifest['path']}: {error}") from error
    records = []
    for row in rows:
        record = check_record(parse(row["record"], manifest["path"]))
        if row.get("id_map") is not None:
            record["id_map"] = parse(row["id_map"], manifest["path"])
        records.append(record)
    return records


def added_segments(entry: dict[str, Any], folder: Path) -> list[Segment]:
    """The segments of an entry and its manifest, with the ID maps themselves in their records."""
    records = []
    for record in entry.get("added", []):
        record = check_record(record)
        if "id_map" in record:
            record["id_map"] = entry["id_maps"][record["id_map"]]
        records.append(record)
    if "manifest" in entry:
        records += manifest_records(folder, entry["manifest"])
    return [Segment(record, entry["version"], ordinal) for ordinal, record in enumerate(records)]


def apply(state: State, entry: dict[str, Any], folder: Path) -> State:
    """The state after an entry, which is refused as corrupt if it can't follow."""
    what = f"entry {entry.get('version')}"
    features = check_features(entry, what)
    members(entry, ENTRY, MORE, what)
    operation = entry["operation"]
    begins = operation in ("create", "replace", "restore")
    if operation not in OPERATIONS or entry["version"] != state.version + 1:
        raise Corrupt(f"{what}: operation {operation} after version {state.version}")
    if not begins and entry["table_uuid"] != state.table_uuid:
        raise Corrupt(f"{what}: another table UUID")
    if not begins and "checksums" in state.features and "checksums" not in features:
        raise Corrupt(f"{what}: the feature checksums is gone")
    needs = {"manifest": "manifest", "marked": "marks", "id_maps": "id-map", "branches": "branches"}
    for member, feature in needs.items():
        if member in entry and feature not in features:
            raise Corrupt(f"{what}: {member} without the feature {feature}")
    after = state.copy()
    if begins:
        after.segments, after.marks, after.properties, after.pins, after.branches = (
            {},
            {},
            {},
            {},
            {},
        )
        after.tags = {} if operation == "create" else after.tags
    after.features, after.version, after.time = features, entry["version"], entry["time"]
    after.table_uuid, after.dropped = entry["table_uuid"], operation in ("drop", "purge")
    for schema in [*entry.get("schemas", []), *([entry["schema"]] if "schema" in entry else [])]:
        parsed = parse_schema(schema)
        after.schemas[parsed.version] = parsed
    if "schema" in entry:
        after.schema_version = entry["schema"]["schema_version"]
    for name in ("properties", "floor", "tags", "pins", "branches"):
        setattr(after, name, entry.get(name, getattr(after, name)))
    change_segments(after, entry, folder)
    return after


def change_segments(state: State, entry: dict[str, Any], folder: Path) -> None:
    what = f"entry {entry['version']}"
    for path in entry.get("removed", []):
        if state.segments.pop(path, None) is None:
            raise Corrupt(f"{what} removes {path}, which is not live")
        state.marks.pop(path, None)
    for segment in added_segments(entry, folder):
        if segment.path in state.segments or segment.record["schema_version"] not in state.schemas:
            raise Corrupt(f"{what} adds {segment.path}, which is live or has no schema")
        state.segments[segment.path] = segment
    for path, mark in entry.get("marked", {}).items():
        if path not in state.segments:
            raise Corrupt(f"{what} marks {path}, which is not live")
        state.marks.pop(path, None)
        if mark is not None:
            state.marks[path] = checked_mark(state, path, mark)


def checked_mark(state: State, path: str, mark: Any) -> dict[str, Any]:
    keyed = bool(state.schema.primary_key)
    if keyed and "resolved" not in state.features:
        raise Corrupt(f"{path}: a mark of a table with a primary key, without the feature resolved")
    check_mark(mark, resolved=keyed)
    if mark["rows"] > state.segments[path].record["rows"]:
        raise Corrupt(f"{path}: more marked rows than rows")
    return dict(mark)
