"""Manifests and manifest lists of one snapshot after another."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.limits import CHECKPOINT_BYTES
from versioned_catalog.log.state import TableState
from versioned_catalog.model.iceberg_values import read_partition_value
from versioned_catalog.storage.store import Store
from versioned_interop.publish.data_files import (
    DATA,
    DELETES,
    Row,
    decode,
    encode,
    parsed,
    summaries,
)
from versioned_interop.publish.iceberg_specs import (
    MAPS,
    Layout,
    Specs,
    entry_schema,
    fields_json,
    list_schema,
)

METADATA = "iceberg/metadata"
"""The folder of everything that is published."""

EXISTING, ADDED, DELETED = 0, 1, 2
"""Status of an entry of a manifest."""

MOST_AT_ONCE = 8
"""Number of files that are written at once."""

WRITTEN = "versioned.schema-version"
"""In the header of a manifest: a schema version whose partitioning is that of its files."""

Entry = Row
"""An entry of a manifest."""

ManifestRow = Row
"""A manifest as the manifest list holds it."""


@dataclass
class Writer:
    """Writes the metadata of one publication, and counts its files.

    Args:
        store: the table's folder.
        root: URL of that folder.
        format_version: of Iceberg, 2 or 3.
        schemas: JSON of a schema version.
        folder: where it is, below the table's folder.
    """

    store: Store
    root: str
    format_version: int
    schemas: Mapping[int, Any]
    folder: str = METADATA
    pending: dict[str, bytes] = field(default_factory=dict)
    files: int = 0
    size: int = 0

    def put(self, name: str, data: bytes) -> str:
        """Write a file at the next ``flush``, under a name that no other file has; return its URL."""
        path = f"{self.folder}/{name}"
        self.pending[path] = data
        self.files += 1
        self.size += len(data)
        return f"{self.root}/{path}"

    def flush(self) -> None:
        """Write the files that wait: at once, if each waits for an answer from afar."""
        if not self.store.is_remote:
            for path, data in self.pending.items():
                self.store.overwrite(path, data)
        else:
            with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
                list(pool.map(self.store.overwrite, self.pending.keys(), self.pending.values()))
        self.pending.clear()

    def path(self, url: str) -> str:
        """The path of a file of this table.

        Raises:
            CorruptTableError: the file is elsewhere.
        """
        start = f"{self.root}/"
        if not url.startswith(start):
            raise CorruptTableError(
                f"the published metadata names {url[:200]}, which is not below it"
            )
        return url[len(start) :]

    def read(self, url: str) -> tuple[list[Row], dict[str, str]]:
        """The rows of an Avro file of this table, and its header.

        Raises:
            CorruptTableError: it is missing or damaged.
        """
        path = self.path(url)
        data = self.pending.get(path) or self.store.read(path, CHECKPOINT_BYTES)
        if data is None:
            raise CorruptTableError(
                f"{url} is missing; publish with overwrite to write all metadata again"
            )
        return decode(data, url)

    def manifest(
        self, entries: Sequence[Row], layout: Layout, content: int, state: TableState, written: int
    ) -> Row:
        """Write a manifest of the snapshot of a state, and return its row in the manifest list.

        ``written`` is a schema version whose partitioning is that of the files.
        """
        kind = "deletes" if content == DELETES else "data"
        header = {
            "schema": json.dumps(self.schemas[state.schema_version]),
            "schema-id": str(state.schema_version),
            "partition-spec": json.dumps(fields_json(layout.fields)),
            "partition-spec-id": str(layout.spec_id),
            "format-version": str(self.format_version),
            "content": kind,
            WRITTEN: str(written),
        }
        rows = list(map(_tagged, entries))
        data = encode(_entry_schema(layout, self.format_version), rows, header)
        url = self.put(f"{state.version}-{uuid.uuid4().hex}-{kind}.avro", data)
        return _row(url, len(data), entries, layout, content, state.version)

    def list_file(self, rows: Sequence[Row], version: int, parent: int | None) -> str:
        """Write the manifest list of a version, and return its URL."""
        header = {
            "snapshot-id": str(version),
            "sequence-number": str(version + 1),
            "format-version": str(self.format_version),
        }
        if parent is not None:
            header["parent-snapshot-id"] = str(parent)
        data = encode(_list_schema(self.format_version), rows, header)
        return self.put(f"snap-{version}-{uuid.uuid4().hex}.avro", data)

    def live_entries(self, row: ManifestRow) -> tuple[list[Entry], int]:
        """The live entries of a manifest, and a schema version that has its partitioning.

        They hold what they inherit from the manifest's row in the list.
        """
        entries, header = self.read(row["manifest_path"])
        first = row.get("first_row_id")
        for entry in entries:
            file = entry["data_file"]
            if entry["status"] == ADDED:
                entry["snapshot_id"] = row["added_snapshot_id"]
                for name in ("sequence_number", "file_sequence_number"):
                    if entry[name] is None:
                        entry[name] = row["sequence_number"]
            if row["content"] == DATA and first is not None and file.get("first_row_id") is None:
                file["first_row_id"] = first
                first += file["record_count"]
        live = [{**entry, "status": EXISTING} for entry in entries if entry["status"] != DELETED]
        return live, int(header[WRITTEN])


def _tagged(entry: Entry) -> Entry:
    """Say which branch of its union each map takes: fastavro tries them out, in twice the time."""
    file = entry["data_file"]
    maps = {name: ("array", file[name]) for name in MAPS if file.get(name)}
    return {**entry, "data_file": {**file, **maps}}


@lru_cache(maxsize=64)
def _entry_schema(layout: Layout, format_version: int) -> Any:
    return parsed(entry_schema(layout, format_version))


@cache
def _list_schema(format_version: int) -> Any:
    return parsed(list_schema(format_version))


def _row(
    url: str, size: int, entries: Sequence[Row], layout: Layout, content: int, version: int
) -> Row:
    def count(status: int) -> int:
        return sum(entry["status"] == status for entry in entries)

    def rows(status: int) -> int:
        files = (entry["data_file"] for entry in entries if entry["status"] == status)
        return sum(file["record_count"] for file in files)

    sequences = [entry["sequence_number"] for entry in entries if entry["status"] == EXISTING]
    return {
        "manifest_path": url,
        "manifest_length": size,
        "partition_spec_id": layout.spec_id,
        "content": content,
        "sequence_number": version + 1,
        "min_sequence_number": min(sequences, default=version + 1),
        "added_snapshot_id": version,
        "added_files_count": count(ADDED),
        "existing_files_count": count(EXISTING),
        "deleted_files_count": count(DELETED),
        "added_rows_count": rows(ADDED),
        "existing_rows_count": rows(EXISTING),
        "deleted_rows_count": rows(DELETED),
        "partitions": summaries(layout, [entry["data_file"]["partition"] for entry in entries]),
        "first_row_id": None,
    }


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
            removed = {url for entry in entries if (url := named_file(entry)) in left}
            if not removed:
                kept.append(row)
                continue
            left -= removed
            marked = [_without(entry, removed, self.state.version) for entry in entries]
            layout = self._layout(row, schema_version)
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
        files: FilesOf = defaultdict(list)
        for row in rows:
            entries, schema_version = self.writer.live_entries(row)
            files[self._layout(row, schema_version), schema_version] += entries
        self.add(merged(files), content)

    def _layout(self, row: ManifestRow, schema_version: int) -> Layout:
        """The layout of a manifest that names a schema version."""
        return self.specs.layout(row["partition_spec_id"], self.state.schemas[schema_version])

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


def _without(entry: Entry, removed: Collection[str], version: int) -> Entry:
    """An entry, marked as deleted if its file leaves in a version."""
    if named_file(entry) not in removed:
        return entry
    return {**entry, "status": DELETED, "snapshot_id": version}


def merged(files: FilesOf) -> FilesOf:
    """The same entries by layout alone, under the newest schema version of each."""
    newest: dict[Layout, int] = {}
    for layout, version in files:
        newest[layout] = max(version, newest.get(layout, 0))
    entries_of: FilesOf = defaultdict(list)
    for (layout, _), entries in files.items():
        entries_of[layout, newest[layout]] += entries
    return entries_of


def new_entry(data_file: Row, version: int, status: int) -> Entry:
    """The entry of a file that a version added; one that it adds now inherits its sequence number."""
    sequence = None if status == ADDED else version + 1
    return {
        "status": status,
        "snapshot_id": version,
        "sequence_number": sequence,
        "file_sequence_number": sequence,
        "data_file": data_file,
    }
