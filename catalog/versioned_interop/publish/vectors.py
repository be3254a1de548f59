"""Deletion vectors: superseded rows of keyed segments, as bitmaps in Puffin files.

The forms are in Iceberg's Puffin specification (``deletion-vector-v1``) and in Roaring's format
specification. DuckDB 1.5 reads the wrong blob of a Puffin file that holds several, so each gets a file.
"""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from versioned_catalog.log.record import SegmentRecord
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.maintain.segment_check import segment_rows
from versioned_catalog.model.arrow import array_of
from versioned_catalog.read.metadata_columns import find_metadata
from versioned_catalog.read.overlaps import key_ranges, overlapping
from versioned_catalog.read.scan import Scan
from versioned_catalog.storage.store import Store
from versioned_interop.publish.data_files import (
    DELETES,
    POSITION_DELETES,
    DataFiles,
    library,
)
from versioned_interop.publish.manifests import (
    ADDED,
    Entry,
    FilesOf,
    ManifestSet,
    Writer,
    new_entry,
)

Positions = npt.NDArray[np.int64]

_PUFFIN = b"PFA1"
_VECTOR = b"\xd1\xd3\x39\x64"


@dataclass(frozen=True)
class PuffinFile:
    """A Puffin file with one deletion vector, and where its blob is."""

    data: bytes
    offset: int
    length: int


def puffin_file(path: str, positions: Positions) -> PuffinFile:
    """Return the file of the deleted positions of a data file.

    Args:
        path: the data file, as manifests name it.
        positions: sorted, without duplicates, not empty.
    """
    # Optimized bitmaps have run containers, which not every reader has met.
    bitmap = library("pyroaring").BitMap64(positions.astype(np.uint64), optimize=False)
    body = _VECTOR + bitmap.serialize()
    blob = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    described: dict[str, Any] = {
        "type": "deletion-vector-v1",
        "fields": [],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": len(_PUFFIN),
        "length": len(blob),
        "properties": {"referenced-data-file": path, "cardinality": str(len(positions))},
    }
    footer = json.dumps({"blobs": [described], "properties": {}}).encode()
    tail = _PUFFIN + footer + struct.pack("<i", len(footer)) + bytes(4) + _PUFFIN
    return PuffinFile(_PUFFIN + blob + tail, len(_PUFFIN), len(blob))


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
    table, packed = state.segments.table(state.schemas)
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
    old = manifests.vectors() if any(row["content"] == DELETES for row in manifests.rows) else {}
    positions = superseded(manifests.writer.store, state, touched)
    core = state.segments.core
    with_vectors = core.filter(pc.is_in(core["path"], array_of(list(positions), pa.string())))
    records = [live.record for live in segment_rows(with_vectors)]
    new = {
        files.url(record.path): _Vector(manifests.writer, files, record, positions[record.path])
        for record in records
        if not record.delta.deletes_only
    }
    same = {url for url, vector in new.items() if url in old and vector.is_in(old[url])}
    affected = {files.url(path) for path in (*touched, *removed)}
    manifests.remove((affected - same) & old.keys(), DELETES)
    entries: FilesOf = defaultdict(list)
    for url in new.keys() - same:
        vector = new[url]
        schema = state.schemas[vector.record.schema_version]
        layout = files.layout(vector.record, schema)
        row = vector.written() | {"partition": layout.record(vector.record.partition)}
        entries[layout, schema.version].append(new_entry(row, state.version, ADDED))
    manifests.add(entries, DELETES)


@dataclass(frozen=True)
class _Vector:
    """A deletion vector that may have to be written."""

    writer: Writer
    files: DataFiles
    record: SegmentRecord
    positions: Positions

    @property
    def start(self) -> str:
        """Prefix of the file name: identifies the segment and its deleted rows."""
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
