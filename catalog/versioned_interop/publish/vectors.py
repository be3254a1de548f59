"""Deletion vectors of segments, in Puffin files: their marks, or superseded rows of keyed segments."""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.bitmaps import Positions, blob_of, puffin_file, referenced_file
from versioned_catalog.log.marks import FileMark, InlineMark, mark_file
from versioned_catalog.log.record import LiveSegment, SegmentRecord
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.segment_check import segment_rows
from versioned_catalog.model.arrow import array_of
from versioned_catalog.read.metadata_columns import find_metadata
from versioned_catalog.read.overlaps import key_ranges, overlapping
from versioned_catalog.read.scan import Scan
from versioned_catalog.storage.store import Store
from versioned_interop.publish.data_files import DELETES, POSITION_DELETES, DataFiles
from versioned_interop.publish.manifests import (
    ADDED,
    Entry,
    FilesOf,
    ManifestSet,
    Writer,
    new_entry,
)

Mask = npt.NDArray[np.bool_]


def neighbours(state: TableState, paths: Collection[str]) -> set[str]:
    """Return the live segments in the groups of overlapping segments that some paths are in."""
    live = state.segments.paths
    if not live or not paths or not state.schema.is_keyed:
        return set(paths).intersection(live)
    groups = overlapping(key_ranges(state), np.arange(len(live)))
    touched = {int(groups[place]) for place, path in enumerate(live) if path in paths}
    return {path for place, path in enumerate(live) if int(groups[place]) in touched}


def superseded(store: Store, state: TableState, paths: Collection[str]) -> dict[str, Positions]:
    """Return the positions of the rows that a snapshot does not show, by segment, where there are any.

    Args:
        paths: whole groups of overlapping segments, if the table has a primary key.
    """
    if not paths:
        return {}
    part = _restricted(state, paths)
    columns = [find_metadata(name) for name in ("_segment", "_row_position")]
    scan = Scan(store, part, [column for column in columns if column is not None])
    core = part.segments.core
    rows: Mapping[str, int] = dict(
        zip(core["path"].to_pylist(), core["rows"].to_pylist(), strict=True)
    )
    dead = {path: np.ones(count, np.bool_) for path, count in rows.items()}
    for batch in scan.to_batches():
        _mark_shown(batch, dead)
    hidden = {path: np.flatnonzero(mask).astype(np.int64) for path, mask in dead.items()}
    return {path: positions for path, positions in hidden.items() if len(positions)}


def _mark_shown(batch: pa.RecordBatch, dead: Mapping[str, Mask]) -> None:
    encoded = pc.dictionary_encode(batch.column(0))
    codes = encoded.indices.to_numpy()
    positions = batch.column(1).to_numpy()
    for code, path in enumerate(encoded.dictionary.to_pylist()):
        dead[path][positions[codes == code]] = False


def _restricted(state: TableState, paths: Collection[str]) -> TableState:
    """The snapshot with some of its segments only."""
    table, packed = state.segments.table(state.schemas, state.schema_version)
    wanted = pc.is_in(table["path"], array_of(list(paths), pa.string()))
    return replace(state, segments=SegmentSet.of(table.filter(wanted), packed), lens=None)


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
    positions = superseded(manifests.writer.store, state, touched)
    vectors = [
        _Vector(manifests.writer, files, live.record, len(dead), blob_of(dead))
        for live in _segments(state, positions)
        if not live.record.delta.deletes_only
        for dead in [positions[live.record.path]]
    ]
    _replace_vectors(manifests, files, state, vectors, (*touched, *removed))


def change_marks(
    manifests: ManifestSet,
    files: DataFiles,
    state: TableState,
    marked: Collection[str],
    removed: Collection[str],
) -> None:
    """Replace the deletion vectors of segments by their marks.

    Args:
        manifests: of the snapshot before, with the data files of this one.
        marked: segments whose mark may differ from that of the snapshot before.
        removed: segments that are no longer live.
    """
    vectors = [
        vector
        for live in _segments(state, marked)
        if (vector := _vector_of_mark(manifests.writer, files, live)) is not None
    ]
    _replace_vectors(manifests, files, state, vectors, (*marked, *removed))


def _segments(state: TableState, paths: Collection[str]) -> Iterable[LiveSegment]:
    """The live segments at some paths, without statistics."""
    core = state.segments.core
    return segment_rows(core.filter(pc.is_in(core["path"], array_of(list(paths), pa.string()))))


def _replace_vectors(
    manifests: ManifestSet,
    files: DataFiles,
    state: TableState,
    vectors: Iterable[_Vector | _FileVector],
    affected: Collection[str],
) -> None:
    """Replace the vectors of all affected segments."""
    old = manifests.vectors() if any(row["content"] == DELETES for row in manifests.rows) else {}
    new = {files.url(vector.record.path): vector for vector in vectors}
    same = {url for url, vector in new.items() if url in old and vector.is_in(old[url])}
    manifests.remove((set(map(files.url, affected)) - same) & old.keys(), DELETES)
    entries: FilesOf = defaultdict(list)
    for url in new.keys() - same:
        record = new[url].record
        schema = state.schemas[record.schema_version]
        layout = files.layout(record, schema)
        row = {
            "content": POSITION_DELETES,
            "file_format": "PUFFIN",
            "referenced_data_file": url,
            "partition": layout.record(record.partition),
            **new[url].written(),
        }
        entries[layout, schema.version].append(new_entry(row, state.version, ADDED))
    manifests.add(entries, DELETES)


@dataclass(frozen=True)
class _Vector:
    """A deletion vector that may have to be written."""

    writer: Writer
    files: DataFiles
    record: SegmentRecord
    rows: int
    blob: bytes

    @property
    def start(self) -> str:
        """Prefix of the file name: identifies the segment and its deleted rows."""
        content = self.record.path.encode() + self.blob
        return f"dv-{hashlib.sha256(content).hexdigest()[:40]}-"

    def is_in(self, entry: Entry) -> bool:
        """Whether an entry names this very vector."""
        return f"/{self.start}" in entry["data_file"]["file_path"]

    def written(self) -> dict[str, Any]:
        """Write the file, and return its own members of a manifest entry."""
        file = puffin_file(self.files.url(self.record.path), self.blob, self.rows)
        return {
            "file_path": self.writer.put(f"{self.start}{uuid.uuid4().hex}.puffin", file.data),
            "record_count": self.rows,
            "file_size_in_bytes": len(file.data),
            "content_offset": file.offset,
            "content_size_in_bytes": file.length,
        }


@dataclass(frozen=True)
class _FileVector:
    """A deletion vector that is the file of a mark.

    Args:
        size: the size of the file.
    """

    files: DataFiles
    record: SegmentRecord
    mark: FileMark
    size: int

    def is_in(self, entry: Entry) -> bool:
        """Whether an entry names this very vector."""
        return bool(entry["data_file"]["file_path"] == self.files.url(self.mark.path))

    def written(self) -> dict[str, Any]:
        """The file's members of a manifest entry."""
        return {
            "file_path": self.files.url(self.mark.path),
            "record_count": self.mark.rows,
            "file_size_in_bytes": self.size,
            "content_offset": self.mark.offset,
            "content_size_in_bytes": self.mark.bytes,
        }


def _vector_of_mark(
    writer: Writer, files: DataFiles, live: LiveSegment
) -> _Vector | _FileVector | None:
    """The deletion vector of a segment, if it has a mark.

    PyIceberg finds the segment by the URL in the file of the mark, which is another one after the table
    was moved.

    Raises:
        CorruptTableError: the file of the mark is missing or damaged.
    """
    record = live.record
    match live.mark:
        case None:
            return None
        case InlineMark(rows, blob):
            return _Vector(writer, files, record, rows, blob)
        case FileMark() as mark:
            data = mark_file(writer.store, mark, record.path)
            if referenced_file(data) == files.url(record.path):
                return _FileVector(files, record, mark, len(data))
            return _Vector(writer, files, record, mark.rows, mark.blob_in(data))
