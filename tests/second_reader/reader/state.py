"""The state of a table at a version: the fold of its log entries (FORMAT.md, section 5)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .documents import check_features, members
from .marks import check_mark
from .objects import check_objects
from .problems import Corrupt
from .row_ids import assigned
from .schemas import Schema, parse_schema
from .segment_records import Segment, added_segments
from .transactions import ABORTED

ENTRY = (
    "format features table_uuid version commit_id base_version time operation writer next_column_id"
)
MORE = (
    "schema properties comment id_maps roots added removed marked manifest batch fence floor forget tags"
    " tags_kept pins consumers imported schemas batches branches branch first_schema_version row_ids"
    " details checksum"
)
OPERATIONS = {
    *("create", "append", "overwrite", "delete", "update", "merge", "alter", "rollback", "restore"),
    *("tag", "branch", "replace", "drop", "undrop", "purge", "fence", "expire", "compact", "guard"),
}


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
    next_row_id: int = 0

    @property
    def has_row_ids(self) -> bool:
        return self.properties.get("row_ids") == "true"

    @property
    def schema(self) -> Schema:
        return self.schemas[self.schema_version]

    def copy(self) -> State:
        return replace(
            self, schemas=dict(self.schemas), segments=dict(self.segments), marks=dict(self.marks)
        )


def apply(state: State, entry: dict[str, Any], folder: Path) -> State:
    """The state after an entry, which is refused as corrupt if it can't follow."""
    what = f"entry {entry.get('version')}"
    if entry.get("operation") == ABORTED:
        return aborted(state, entry, what)
    features = check_features(entry, what)
    check_objects(members(entry, ENTRY, MORE, what), what)
    operation = entry["operation"]
    begins = operation in ("create", "replace", "restore")
    if operation not in OPERATIONS or entry["version"] != state.version + 1:
        raise Corrupt(f"{what}: operation {operation} after version {state.version}")
    if not begins and entry["table_uuid"] != state.table_uuid:
        raise Corrupt(f"{what}: another table UUID")
    if not begins and "checksums" in state.features and "checksums" not in features:
        raise Corrupt(f"{what}: the feature checksums is gone")
    needs = {"manifest": "manifest", "marked": "marks", "id_maps": "id-map", "branches": "branches"}
    needs |= {"row_ids": "row-ids"}
    for member, feature in needs.items():
        if member in entry and feature not in features:
            raise Corrupt(f"{what}: {member} without the feature {feature}")
    after = state.copy()
    if begins:
        after.segments, after.marks, after.properties = {}, {}, {}
        after.pins, after.branches, after.next_row_id = {}, {}, 0
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
    if "row_ids" in entry:
        assign_row_ids(after, entry, had=state.has_row_ids and not begins)
    return after


def aborted(state: State, entry: dict[str, Any], what: str) -> State:
    """The state after an entry of a transaction that was aborted (section 19)."""
    check_features(entry, what)
    if entry["version"] != state.version + 1:
        raise Corrupt(f"{what} after version {state.version}")
    after = state.copy()
    after.version, after.time = entry["version"], entry["time"]
    after.features |= {"transactions"}
    if state.version < 0:  # as if it had been created and dropped
        after.dropped = True
    return after


def assign_row_ids(state: State, entry: dict[str, Any], *, had: bool) -> None:
    """Assign row IDs to the segments of an entry, and to all if the table did not have the property."""
    version = entry["version"]
    if not state.has_row_ids:
        raise Corrupt(f"entry {version} assigns row IDs to a table without them")
    need = [item for item in state.segments.values() if not had or item.sequence == version]
    state.segments |= assigned(need, entry["row_ids"], state.next_row_id, f"entry {version}")
    state.next_row_id = entry["row_ids"][1]


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
