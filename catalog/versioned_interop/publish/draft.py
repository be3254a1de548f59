"""Snapshots of one version after another, from the log's entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from versioned_catalog.log.entry import NEW_INCARNATION, Commit
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.model.iceberg import schema_json
from versioned_catalog.model.keys import TTL_FLOOR
from versioned_catalog.storage.store import Store
from versioned_interop.publish.data_files import DATA, DataFiles, live_records
from versioned_interop.publish.iceberg_specs import Specs
from versioned_interop.publish.manifests import (
    Entry,
    FilesOf,
    ManifestRow,
    ManifestSet,
    Writer,
    added,
    existing,
)
from versioned_interop.publish.metadata import hides_rows, obstacles, operation_of, snapshot_json
from versioned_interop.publish.vectors import change_vectors, neighbours


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

    def __post_init__(self) -> None:
        self.writer = Writer(self.store, self.root, self.format_version, self.schemas)

    def begin(self, state: TableState) -> None:
        """Add the snapshot of a version, independent of earlier ones."""
        if self._is_left_out(state):
            return
        segments = live_records(state)
        manifests, files = self._prepared(state, [live.record for live in segments], ())
        entries = self._entries(
            files,
            state,
            ((live.record, lambda row, at=live.sequence: existing(row, at)) for live in segments),
        )
        manifests.add(_merged(entries), DATA)
        if hides_rows(state):
            change_vectors(manifests, files, state, state.segments.paths, ())
        self._finish(state, None, manifests)

    def follow(self, commit: Commit, before: TableState | None, state: TableState) -> None:
        """Add the snapshot of the version after the newest one.

        Args:
            before: the state before, if ``needs_before`` says so.
        """
        anew = self.newest is None or commit.head.operation in NEW_INCARNATION
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
            version = state.version
            add = ((record, lambda row: added(row, version)) for record in commit.added)
            manifests.add(self._entries(files, state, add), DATA)
        if hides_rows(state):
            touched = _touched(commit, before, state)
            change_vectors(manifests, files, state, touched, commit.removed)
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
        """Whether Iceberg can't express a version; the newest one was checked before."""
        out = state.version != self.checked and any(
            True for _ in obstacles(state, self.format_version)
        )
        if out:
            self.newest, self.left_out = None, self.left_out + 1
        return out

    def _prepared(
        self, state: TableState, records: Iterable[SegmentRecord], rows: Sequence[ManifestRow]
    ) -> tuple[ManifestSet, DataFiles]:
        """The builders of a snapshot; add the specs and schemas that its new files need."""
        versions = {record.schema_version for record in records} | {state.schema_version}
        for version in sorted(versions):
            self.specs, _ = self.specs.including(state.schemas[version])
        if state.schema_version not in self.schemas:
            document = schema_json(state.schema, self.format_version)
            self.schemas[state.schema_version] = document
        manifests = ManifestSet(self.writer, self.specs, state, self.next_row_id, list(rows))
        return manifests, DataFiles(self.specs, self.root, state.schema)

    def _entries(self, files: DataFiles, state: TableState, records: Iterable[Any]) -> FilesOf:
        """The entries of segments, each given with the function that makes a file's entry."""
        entries: FilesOf = defaultdict(list)
        for record, entry_of in records:
            if record.delta.deletes_only:
                continue
            schema = state.schemas[record.schema_version]
            layout = files.layout(record, schema)
            entry = entry_of(files.data_file(record, schema, layout))
            entries[layout, schema.version].append(entry)
        return entries

    def _finish(self, state: TableState, commit: Commit | None, manifests: ManifestSet) -> None:
        last = max(self.snapshots, default=None)
        parent = last if commit is not None else None
        rows = manifests.rows
        if self.newest is None or rows != self.newest.rows:
            url = self.writer.list_file(rows, state.version, parent)
            self.newest = Listed(rows, url)
        row_ids = self.next_row_id, manifests.next_row_id - self.next_row_id
        self.next_row_id = manifests.next_row_id
        self.snapshots[state.version] = snapshot_json(
            state,
            operation_of(commit),
            rows,
            self.newest.url,
            parent,
            row_ids if self.format_version >= 3 else None,
        )


def _merged(entries_of: FilesOf) -> FilesOf:
    """The same entries by layout alone, under the newest schema version of each."""
    newest: dict[Any, int] = {}
    for layout, version in entries_of:
        newest[layout] = max(version, newest.get(layout, 0))
    merged: dict[Any, list[Entry]] = defaultdict(list)
    for (layout, _), entries in entries_of.items():
        merged[layout, newest[layout]] += entries
    return merged


def _touched(commit: Commit, before: TableState | None, state: TableState) -> set[str]:
    """The live segments of which a commit may show or hide rows: whole groups of overlapping ones."""
    near = {record.path for record in commit.added}
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
