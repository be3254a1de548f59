"""Snapshots of one version after another, from the log's entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from versioned_catalog.log.clones import protection_of
from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.iceberg import schema_json
from versioned_catalog.model.identifiers import identifier_ids
from versioned_catalog.model.keys import TTL_FLOOR, user_properties
from versioned_catalog.model.type_text import render_path
from versioned_catalog.storage.store import Store
from versioned_interop.publish.data_files import DATA, DataFiles, live_records
from versioned_interop.publish.iceberg_specs import Specs
from versioned_interop.publish.manifests import (
    ADDED,
    EXISTING,
    METADATA,
    FilesOf,
    ManifestRow,
    ManifestSet,
    Writer,
    merged,
    new_entry,
)
from versioned_interop.publish.metadata import hides_rows, obstacles, operation_of, snapshot_json
from versioned_interop.publish.publication import (
    CATALOG,
    CATALOG_TABLE,
    DISCARDED,
    VERSION,
    Registration,
    sealed,
)
from versioned_interop.publish.vectors import change_marks, change_vectors, neighbours


@dataclass(frozen=True)
class Listed:
    """The manifests of a snapshot, and the URL of their list."""

    rows: Sequence[ManifestRow]
    url: str


@dataclass
class Draft:
    """The snapshots that a publication will hold.

    Args:
        store: the table's folder.
        root: URL of that folder.
        format_version: of Iceberg.
        checked: a version that Iceberg can express.
        specs: the partition specs so far.
        schemas: JSON of the schema versions so far.
        next_row_id: the next row ID that no file has.
        snapshots: in Iceberg's JSON, by version.
        newest: the manifests of the newest version; None if it has no snapshot.
        left_out: number of versions without a snapshot, since Iceberg can't express them.
        has_row_ids: whether the files of the newest version have the row IDs of the table.
        folder: where the metadata is, below the table's folder.
    """

    store: Store
    root: str
    format_version: int
    checked: int
    specs: Specs = field(default_factory=Specs)
    schemas: dict[int, Any] = field(default_factory=dict)
    next_row_id: int = 0
    snapshots: dict[int, dict[str, Any]] = field(default_factory=dict)
    newest: Listed | None = None
    left_out: int = 0
    has_row_ids: bool = False
    folder: str = METADATA

    def __post_init__(self) -> None:
        self.writer = Writer(self.store, self.root, self.format_version, self.schemas, self.folder)

    def begin(self, state: TableState) -> None:
        """Add the snapshot of a version, independent of earlier ones."""
        if self._is_left_out(state):
            return
        segments = live_records(state)
        manifests, files = self._prepared(state, [live.record for live in segments], ())
        pairs = ((live.record, live.sequence) for live in segments)
        manifests.add(merged(_entries(files, state, pairs, EXISTING)), DATA)
        if hides_rows(state):
            change_vectors(manifests, files, state, state.segments.paths, ())
        elif state.segments.has_marks:
            change_marks(manifests, files, state, state.segments.marks, ())
        self._finish(state, None, manifests)

    def follow(self, commit: Commit, before: TableState | None, state: TableState) -> None:
        """Add the snapshot of the version after the newest one.

        Args:
            before: the state before, if ``needs_before`` says so.
        """
        anew = self.newest is None or commit.head.operation in NEW_INCARNATION
        anew = anew or state.has_row_ids is not self.has_row_ids
        if anew or self._lost_sources(commit, state):
            self.begin(state)
            return
        assert self.newest is not None
        if self._is_left_out(state):
            return
        manifests, files = self._prepared(state, commit.added, self.newest.rows)
        if commit.added or commit.removed:
            manifests.without_dead()
            manifests.remove(set(map(files.url, commit.removed)), DATA)
            pairs = ((record, state.version) for record in commit.added)
            manifests.add(_entries(files, state, pairs, ADDED), DATA)
        if hides_rows(state):
            touched = _touched(commit, before, state)
            change_vectors(manifests, files, state, touched, commit.removed)
        elif state.segments.has_marks:
            # Without the property ``ttl_floor``, any segment may have lost a vector.
            everywhere = commit.properties is not None
            marked = state.segments.paths if everywhere else commit.marked
            change_marks(manifests, files, state, marked, commit.removed)
        else:
            manifests.without_vectors()
        manifests.merge()
        self._finish(state, commit, manifests)

    def _lost_sources(self, commit: Commit, state: TableState) -> bool:
        """Whether a commit drops a column by which published files are partitioned."""
        if commit.schema is None or self.newest is None:
            return False
        used = {row["partition_spec_id"] for row in self.newest.rows}
        sources = {field.source for number in used for field in self.specs.specs[number]}
        return not sources <= state.schema.visible.ids

    def _is_left_out(self, state: TableState) -> bool:
        """Whether there was no table at a version, or Iceberg can't express it.

        The newest version was checked before.
        """
        out = state.version != self.checked and (
            state.dropped or any(True for _ in obstacles(state, self.format_version))
        )
        if out:
            self.newest, self.left_out = None, self.left_out + 1
        return out

    def _prepared(
        self, state: TableState, records: Sequence[SegmentRecord], rows: Sequence[ManifestRow]
    ) -> tuple[ManifestSet, DataFiles]:
        """The builders of a snapshot; add the specs and schemas that its new files need."""
        versions = {record.schema_version for record in records} | {state.schema_version}
        for version in sorted(versions):
            self.specs, _ = self.specs.including(state.schemas[version])
        identifiers = identifier_ids(state.properties, state.schema)
        document = schema_json(state.schema, self.format_version, identifiers)
        self.schemas[state.schema_version] = document  # what identifies a row may have changed
        manifests = ManifestSet(self.writer, self.specs, state, self.next_row_id, list(rows))
        firsts = _first_row_ids(state, records)
        return manifests, DataFiles(self.specs, self.root, state.schema, firsts)

    def _finish(self, state: TableState, commit: Commit | None, manifests: ManifestSet) -> None:
        last = max(self.snapshots, default=None)
        parent = last if commit is not None else None
        rows = manifests.rows
        if self.newest is None or rows != self.newest.rows:
            url = self.writer.list_file(rows, state.version, parent)
            self.newest = Listed(rows, url)
        following = max(manifests.next_row_id, state.next_row_id)
        row_ids = self.next_row_id, following - self.next_row_id
        self.next_row_id, self.has_row_ids = following, state.has_row_ids
        self.snapshots[state.version] = snapshot_json(
            state,
            operation_of(commit),
            rows,
            self.newest.url,
            parent,
            row_ids if self.format_version >= 3 else None,
        )

    def metadata(
        self, state: TableState, discarded: Sequence[str], registration: Registration | None = None
    ) -> bytes:
        """Return the metadata file of the newest version.

        Args:
            discarded: names of metadata files of other engines whose changes are not in the table.
            registration: the entry of a catalog that shall name it.
        """
        snapshots = [self.snapshots[version] for version in sorted(self.snapshots)]
        schema_ids = {snapshot["schema-id"] for snapshot in snapshots}
        times = [{key: row[key] for key in ("snapshot-id", "timestamp-ms")} for row in snapshots]
        _, default_spec = self.specs.including(state.schema)
        document: dict[str, Any] = {
            "format-version": self.format_version,
            "table-uuid": state.table_uuid,
            "location": f"{self.root}/iceberg",
            "last-sequence-number": state.version + 1,
            "last-updated-ms": times[-1]["timestamp-ms"],
            "last-column-id": state.next_column_id - 1,
            "current-schema-id": state.schema_version,
            "schemas": [self.schemas[schema_id] for schema_id in sorted(schema_ids)],
            "default-spec-id": default_spec,
            "partition-specs": self.specs.to_json(),
            "last-partition-id": self.specs.last_field_id,
            "properties": _properties(state, discarded, registration),
            "current-snapshot-id": state.version,
            "refs": _refs(state, self.snapshots.keys()),
            "snapshots": snapshots,
            "snapshot-log": times,
            **_UNUSED,
        }
        if self.format_version >= 3:
            document["next-row-id"] = self.next_row_id
        return sealed(document)


def _first_row_ids(state: TableState, records: Sequence[SegmentRecord]) -> dict[str, int]:
    """The first row ID of segments, by path; none if rows have no IDs."""
    if not state.has_row_ids:
        return {}
    segments = state.segments.only(record.path for record in records)
    columns = (segments.column(name).to_pylist() for name in ("path", "first_row_id"))
    return dict(zip(*columns, strict=True))


MAIN = "main"
"""Iceberg's name of the current branch, which no tag can have there."""


_UNUSED: dict[str, Any] = {
    "default-sort-order-id": 0,
    "sort-orders": [{"order-id": 0, "fields": []}],
    "metadata-log": [],
    "statistics": [],
    "partition-statistics": [],
}
"""Members of Iceberg's metadata that are constant here."""


def _refs(state: TableState, published: Collection[int]) -> dict[str, Any]:
    tags = {
        name: version
        for name, version in state.tags.items()
        if version in published and protection_of(name) is None
    }
    return {
        **{name: {"snapshot-id": version, "type": "tag"} for name, version in tags.items()},
        MAIN: {"snapshot-id": state.version, "type": "branch"},
    }


def _properties(
    state: TableState, discarded: Sequence[str], registration: Registration | None
) -> dict[str, str]:
    """The user's properties, and those that keep other engines from deleting the table's files."""
    reserved = {VERSION: str(state.version), "gc.enabled": "false"}
    if discarded:
        reserved[DISCARDED] = "/".join(discarded)
    if registration is not None:
        reserved[CATALOG] = registration.catalog
        reserved[CATALOG_TABLE] = render_path(registration.table)
    comment = {"comment": state.comment} if state.comment else {}
    return {**user_properties(state.properties), **comment, **reserved}


def _entries(
    files: DataFiles,
    state: TableState,
    records: Iterable[tuple[SegmentRecord, int]],
    status: int,
) -> FilesOf:
    """The entries of segments with rows, each given with the version that added it."""
    entries: FilesOf = defaultdict(list)
    for record, version in records:
        if not record.delta.deletes_only:
            schema = state.schemas[record.schema_version]
            layout = files.layout(record, schema)
            row = files.data_file(record, schema, layout)
            entries[layout, schema.version].append(new_entry(row, version, status))
    return entries


def _touched(commit: Commit, before: TableState | None, state: TableState) -> set[str]:
    """The live segments of which a commit may show or hide rows: whole groups of overlapping ones."""
    near = {record.path for record in commit.added}
    if not state.schema.is_keyed:
        near |= commit.marked.keys()
    if needs_before(commit, state):
        assert before is not None, "the caller asked whether it is needed"
        live = set(state.segments.paths)
        if before.properties.get(TTL_FLOOR) != state.properties.get(TTL_FLOOR):
            return live
        near |= neighbours(before, commit.removed) & live
    return neighbours(state, near)


def needs_before(commit: Commit, state: TableState) -> bool:
    """Whether the snapshot of a commit depends on the rows that the state before it hid."""
    return hides_rows(state) and bool(commit.removed or commit.properties is not None)
