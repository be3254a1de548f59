"""Tables that are written by hand, after FORMAT.md, and what both readers make of them."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sealing import sealed
from second_reader.agreement import agree, bag
from second_reader.reader import Problem, open_table
from versioned_catalog import Catalog, VersionedError

TABLE = "aaaaaaaa-0000-4000-8000-000000000000"
NEXT = "aaaaaaaa-0000-4000-8000-000000000001"


def column(
    number: int, name: str, kind: Any, *, nullable: bool = True, **more: Any
) -> dict[str, Any]:
    return {"id": number, "name": name, "type": kind, "nullable": nullable, **more}


def schema(version: int, *columns: dict[str, Any]) -> dict[str, Any]:
    rest = {"primary_key": [], "time_index": None, "partitioning": [], "sort_by": []}
    return {"schema_version": version, "columns": [*columns], **rest}


class ByHand:
    """A table whose entries are put one after the other."""

    def __init__(self, folder: Path, *features: str) -> None:
        self.folder, self.version, self.files, self.uuid = folder, -1, 0, TABLE
        self.features = {"read": sorted(features), "write": sorted({*features, "checksums"})}
        for name in ("_versioned/log", "data"):
            (folder / name).mkdir(parents=True)

    def path(self, version: int) -> Path:
        return self.folder / f"_versioned/log/{version:020}.json"

    def put(self, operation: str, /, **members: Any) -> None:
        self.version += 1
        entry = {
            **{
                "format": 1,
                "features": self.features,
                "table_uuid": self.uuid,
                "version": self.version,
            },
            **{"commit_id": str(uuid.uuid4()), "base_version": self.version - 1},
            **{"time": f"2026-11-01T00:00:00.{self.version:06}Z", "operation": operation},
            **{"writer": "by hand", "next_column_id": 100},
            **members,
        }
        self.path(self.version).write_text(sealed(entry))

    def segment(
        self, written: dict[str, Any], fields: pa.Schema, rows: list[dict[str, Any]]
    ) -> Any:
        """Write a segment, whose fields have the IDs of the schema's columns; its record."""
        self.files += 1
        path = self.folder / f"data/0-{self.files:032x}.parquet"
        metadata = {
            "versioned.table_uuid": self.uuid,
            "versioned.schema_version": str(written["schema_version"]),
            "versioned.schema": json.dumps(written),
        }
        pq.write_table(pa.Table.from_pylist(rows, fields.with_metadata(metadata)), path)
        size = path.stat().st_size
        record = {"path": f"data/{path.name}", "schema_version": written["schema_version"]}
        return {**record, "rows": len(rows), "bytes": size}


def field(number: int, name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def shown(folder: Path) -> list[Any]:
    """The rows that both readers show of the newest version; they agree on every version."""
    second = open_table(folder)
    assert agree(Catalog.load_path(folder), second) == sum(
        second.read(version).num_rows for version in (None, *second.versions)
    )
    return second.read().to_pylist()


def identified(folder: Path) -> Counter[str]:
    """The rows with their IDs, which both readers show alike."""
    shown(folder)
    return bag(open_table(folder).read(row_ids=True))


def refused(folder: Path, by_second: type[Problem], by_ours: type[VersionedError]) -> None:
    """Both readers refuse the table, or its rows."""
    with pytest.raises(by_second):
        open_table(folder).read()
    with pytest.raises(by_ours):
        Catalog.load_path(folder).scan().to_arrow()
