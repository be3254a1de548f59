"""Segment records, in entries and in manifests (FORMAT.md, sections 6, 8.1)."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .documents import crc32, members, parse, read_bytes
from .problems import Corrupt

RECORD = "path schema_version rows bytes"
MORE_RECORD = "partition checksum columns id_map constants patch order sequences ops row_ids"
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


def check_record(record: Any) -> dict[str, Any]:
    members(record, RECORD, MORE_RECORD, "a segment record")
    for statistics in record.get("columns", {}).values():
        members(statistics, "", "nulls nans min max inexact", "statistics")
    if "constants" in record and "id_map" not in record:
        raise Corrupt("constants without an ID map")
    if "patch" in record:
        members(record["patch"], "columns", "", "a patch")
    members(record.get("row_ids", {}), "", "first updated stored", "row IDs")
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
        record = parse(row["record"], manifest["path"])
        if row.get("id_map") is not None:
            record["id_map"] = parse(row["id_map"], manifest["path"])
        records.append(check_record(record))
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
