"""Deletion vectors as files: those of the segments in groups that changed replace the ones before."""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.iceberg.deletion_vectors import Positions, puffin_file
from versioned_catalog.iceberg.specs import partition_record
from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.state import TableState
from versioned_catalog.publishing.data_files import DELETES, POSITION_DELETES, DataFiles
from versioned_catalog.publishing.manifest_set import FilesOf, ManifestSet, added
from versioned_catalog.publishing.manifests import Entry, Writer
from versioned_catalog.publishing.vectors import superseded
from versioned_catalog.types.arrow_values import array_of


def change_vectors(
    manifests: ManifestSet,
    files: DataFiles,
    state: TableState,
    touched: Collection[str],
    removed: Collection[str],
) -> None:
    """Replace the deletion vectors of some segments.

    Args:
        manifests: of the snapshot before, with the data files of this one.
        touched: live segments whose rows may be shown or hidden now: whole groups of overlapping ones.
        removed: segments that are no longer live.
    """
    old = manifests.vectors() if any(row["content"] == DELETES for row in manifests.rows) else {}
    positions = superseded(manifests.writer.store, state, touched)
    new = {
        files.url(record.path): _Vector(manifests.writer, files, record, positions[record.path])
        for record in _records(state, positions)
        if not record.delta.deletes_only
    }
    same = {url for url, vector in new.items() if url in old and vector.is_in(old[url])}
    affected = {files.url(path) for path in (*touched, *removed)}
    manifests.remove((affected - same) & old.keys(), DELETES)
    found: FilesOf = defaultdict(list)
    for url in new.keys() - same:
        vector = new[url]
        schema = state.schemas[vector.record.schema_version]
        layout = files.layout(vector.record, schema)
        partition = vector.record.partition if layout.fields else ()
        row = vector.written() | {
            "partition": partition_record(layout.fields, layout.types, partition)
        }
        found[layout, schema.version].append(added(row, state.version))
    manifests.add(found, DELETES)


@dataclass(frozen=True)
class _Vector:
    """A deletion vector that may have to be written."""

    writer: Writer
    files: DataFiles
    record: SegmentRecord
    positions: Positions

    @property
    def start(self) -> str:
        """The start of its file's name, which says what it deletes from which segment."""
        content = self.record.path.encode() + self.positions.astype("<i8").tobytes()
        return f"dv-{hashlib.sha256(content).hexdigest()[:40]}-"

    def is_in(self, entry: Entry) -> bool:
        """Whether an entry names this very vector."""
        return f"/{self.start}" in entry["data_file"]["file_path"]

    def written(self) -> dict[str, Any]:
        """Write the file, and return its members of a manifest entry."""
        url = self.files.url(self.record.path)
        file = puffin_file(url, self.positions)
        return {
            "content": POSITION_DELETES,
            "file_path": self.writer.put(f"{self.start}{uuid.uuid4().hex}.puffin", file.data),
            "file_format": "PUFFIN",
            "record_count": len(self.positions),
            "file_size_in_bytes": len(file.data),
            "referenced_data_file": url,
            "content_offset": file.offset,
            "content_size_in_bytes": file.length,
        }


def _records(state: TableState, paths: Collection[str]) -> list[SegmentRecord]:
    """The records of live segments, without statistics."""
    wanted = pc.is_in(state.segments.core["path"], array_of(list(paths), pa.string()))
    rows = state.segments.core.filter(wanted).to_pylist()
    deltas = state.segments.deltas.filter(wanted.combine_chunks()).decode()
    return [
        SegmentRecord(
            path=row["path"],
            schema_version=row["schema_version"],
            rows=row["rows"],
            bytes=row["bytes"],
            partition=tuple(row["partition"] or ()),
            delta=delta,
        )
        for row, delta in zip(rows, deltas, strict=True)
    ]
