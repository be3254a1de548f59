"""The manifests of one snapshot after another: added to, rewritten where files left, and merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from versioned_catalog.iceberg.specs import UNPARTITIONED, Specs, result_types
from versioned_catalog.iceberg.values import read_partition_value
from versioned_catalog.log.state import TableState
from versioned_catalog.publishing.data_files import DATA, DELETES, Layout
from versioned_catalog.publishing.manifests import (
    ADDED,
    DELETED,
    EXISTING,
    Entry,
    ManifestRow,
    Writer,
)

MOST_ENTRIES = 1000
"""Entries of a manifest; a rewrite of one costs some 10 milliseconds then."""

MERGE_AT, MERGED = 32, 16
"""With more than ``MERGE_AT`` manifests of one kind, the smallest ``MERGED`` become one."""

FilesOf = dict[tuple[Layout, int], list[Entry]]
"""Entries by the layout of their partitions, and a schema version that has this layout."""


@dataclass
class ManifestSet:
    """The manifests of the newest snapshot so far.

    Args:
        writer: writes new ones.
        specs: the partition specs, with those of all segments.
        state: what the snapshot shows.
        next_row_id: the next row ID that no file has.
        rows: the manifests, as the manifest list holds them.
    """

    writer: Writer
    specs: Specs
    state: TableState
    next_row_id: int
    rows: list[ManifestRow] = field(default_factory=list)

    def without_dead(self) -> None:
        """Leave out manifests whose files had all been removed by earlier snapshots."""
        self.rows = [row for row in self.rows if _live_files(row)]

    def without_vectors(self) -> None:
        """Leave out all deletion vectors: the snapshot shows each row of its files."""
        self.rows = [row for row in self.rows if row["content"] != DELETES]

    def add(self, files: FilesOf, content: int) -> None:
        """Add manifests of new files, or of those of a first snapshot."""
        for (layout, schema_version), entries in files.items():
            for start in range(0, len(entries), MOST_ENTRIES):
                some = entries[start : start + MOST_ENTRIES]
                self.rows.append(self._written(some, layout, content, schema_version))

    def remove(self, urls: Collection[str], content: int) -> None:
        """Rewrite the manifests of files that leave. Deletion vectors leave with their data file."""
        left, kept = set(urls), list[ManifestRow]()
        if not left:
            return
        for row in reversed(self.rows):
            if row["content"] != content or not left:
                kept.append(row)
                continue
            entries, schema_version = self.writer.live_entries(row)
            gone = {url for entry in entries if (url := named_file(entry)) in left}
            if not gone:
                kept.append(row)
                continue
            left -= gone
            marked = [_without(entry, gone, self.state.version) for entry in entries]
            layout = self.layout(row, schema_version)
            kept.append(self._written(marked, layout, content, schema_version))
        self.rows = kept[::-1]

    def merge(self) -> None:
        """Merge small manifests of one kind where there are many."""
        kinds: dict[tuple[int, int], list[ManifestRow]] = defaultdict(list)
        for row in self.rows:
            kinds[row["content"], row["partition_spec_id"]].append(row)
        for (content, _), rows in kinds.items():
            if len(rows) > MERGE_AT:
                chosen = sorted(rows, key=_live_files)[:MERGED]
                self._merge([row for row in rows if row in chosen], content)

    def _merge(self, rows: Sequence[ManifestRow], content: int) -> None:
        urls = {row["manifest_path"] for row in rows}
        self.rows = [row for row in self.rows if row["manifest_path"] not in urls]
        merged: dict[Layout, list[Entry]] = defaultdict(list)
        newest: dict[Layout, int] = {}
        for row in rows:
            entries, schema_version = self.writer.live_entries(row)
            layout = self.layout(row, schema_version)
            merged[layout] += entries
            newest[layout] = max(schema_version, newest.get(layout, 0))
        files = {(layout, newest[layout]): entries for layout, entries in merged.items()}
        self.add(files, content)

    def layout(self, row: ManifestRow, schema_version: int) -> Layout:
        """The layout of a manifest that names a schema version."""
        spec_id = row["partition_spec_id"]
        if spec_id == UNPARTITIONED:
            return Layout()
        types = result_types(self.state.schemas[schema_version])
        return Layout(spec_id, self.specs.specs[spec_id], types)

    def vectors(self) -> dict[str, Entry]:
        """The live deletion vectors, by the URL of their data file."""
        rows = [row for row in self.rows if row["content"] == DELETES]
        entries = (entry for row in rows for entry in self.writer.live_entries(row)[0])
        return {named_file(entry): entry for entry in entries}

    def _written(
        self,
        entries: Sequence[Entry],
        layout: Layout,
        content: int,
        schema_version: int,
    ) -> ManifestRow:
        entries = [_as_written(entry, layout) for entry in entries]
        row = self.writer.manifest(entries, layout, content, self.state, schema_version)
        if content == DATA and self.writer.format_version >= 3:
            row["first_row_id"] = self.next_row_id
            new = (entry["data_file"] for entry in entries)
            self.next_row_id += sum(
                file["record_count"] for file in new if file.get("first_row_id") is None
            )
        return row


def _live_files(row: ManifestRow) -> int:
    return int(row["added_files_count"] + row["existing_files_count"])


def named_file(entry: Entry) -> str:
    """The data file that an entry is about."""
    file = entry["data_file"]
    return str(file.get("referenced_data_file") or file["file_path"])


def _as_written(entry: Entry, layout: Layout) -> Entry:
    """An entry whose partition is as the writer takes it, also if it was read."""
    file = entry["data_file"]
    values = {
        field.name: read_partition_value(file["partition"][field.name], type_)
        for field, type_ in zip(layout.fields, layout.types, strict=True)
    }
    return {**entry, "data_file": {**file, "partition": values}}


def _without(entry: Entry, gone: Collection[str], version: int) -> Entry:
    """An entry, marked as deleted if its file leaves in a version."""
    if named_file(entry) not in gone:
        return entry
    return {**entry, "status": DELETED, "snapshot_id": version}


def added(data_file: Entry, version: int) -> Entry:
    """The entry of a file that a version adds; it inherits its sequence number."""
    return {
        "status": ADDED,
        "snapshot_id": version,
        "sequence_number": None,
        "file_sequence_number": None,
        "data_file": data_file,
    }


def existing(data_file: Entry, version: int) -> Entry:
    """The entry of a file that a version added, in a snapshot that begins with later ones."""
    return {
        "status": EXISTING,
        "snapshot_id": version,
        "sequence_number": version + 1,
        "file_sequence_number": version + 1,
        "data_file": data_file,
    }
