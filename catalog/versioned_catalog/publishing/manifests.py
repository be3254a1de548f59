"""Manifests and manifest lists: their files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.iceberg.avro_schemas import entry_schema, list_schema
from versioned_catalog.iceberg.specs import avro_fields, fields_json
from versioned_catalog.limits import CHECKPOINT_BYTES
from versioned_catalog.log.state import TableState
from versioned_catalog.publishing.avro import Row, decode, encode, parsed
from versioned_catalog.publishing.data_files import DATA, DELETES, Layout, summaries
from versioned_catalog.storage.store import Store

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
    """

    store: Store
    root: str
    format_version: int
    schemas: Mapping[int, Any]
    pending: dict[str, bytes] = field(default_factory=dict)
    files: int = 0
    size: int = 0

    def put(self, name: str, data: bytes) -> str:
        """Write a file at the next ``flush``, under a name that no other file has; return its URL."""
        path = f"{METADATA}/{name}"
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


_MAPS = (
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)


def _tagged(entry: Entry) -> Entry:
    """Say which branch of its union each map takes: fastavro tries them out, in twice the time."""
    file = entry["data_file"]
    maps = {name: ("array", file[name]) for name in _MAPS if file.get(name)}
    return {**entry, "data_file": {**file, **maps}}


@lru_cache(maxsize=64)
def _entry_schema(layout: Layout, format_version: int) -> Any:
    return parsed(entry_schema(avro_fields(layout.fields, layout.types), format_version))


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
