"""Import journals and schema files that are damaged, or not text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, CorruptTableError, InvalidRequestError


def test_a_damaged_journal_is_reported_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    pq.write_table(pa.table({"n": [1]}), tmp_path / "raw/a.parquet")
    catalog = Catalog(tmp_path / "warehouse")
    catalog.import_files("t", tmp_path / "raw", copy=True)
    journal = tmp_path / "warehouse/t/_versioned/imports/00000000000000000000-c.json"
    journal.parent.mkdir()  # earlier writers kept journals: FORMAT.md, section 6.3
    row = ["a", 1, 2, ""]
    whole = {
        "commit_id": "c",
        "table_uuid": catalog.load_table("t").state.table_uuid,
        "base_version": 0,
        "copied": True,
        "files": [row],
    }
    members: list[dict[str, Any]] = [
        {"files": None},
        {"files": [1]},
        {"files": [[*row, 5]]},
        {"files": [[1, *row[1:]]]},
        {"files": [["a", "1", 2, ""]]},
        {"empty": {}},
        {"commit_id": 7},
        {"table_uuid": None},
        {"base_version": "1"},
        {"copied": 1},
    ]
    damages = [json.dumps({**whole, **one}).encode() for one in members]
    damages += [
        b"",
        b"[]",
        b"\xff\xfe",
        json.dumps(whole).encode()[:-5],
        b'{"files": []}',
        b"[" * 9999,
    ]
    for data in damages:
        journal.write_bytes(data)
        with pytest.raises(
            CorruptTableError, match=r"imports/\d+-c\.json is damaged; restore it from a copy"
        ):
            catalog.import_files("t", tmp_path / "raw", copy=True)
    assert catalog.load_table("t").count() == 1


def test_a_schema_file_that_is_no_text_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    pq.write_table(pa.table({"n": [1]}), tmp_path / "raw/a.parquet")
    catalog, file = Catalog(tmp_path / "warehouse"), tmp_path / "s.sql"
    for data in ("n INT".encode("utf-16"), b"n INT \xe9", None):
        file.unlink(missing_ok=True)
        file.write_bytes(data) if data is not None else file.symlink_to("gone")
        with pytest.raises(InvalidRequestError, match=r"s\.sql can't be read: .*s\.sql"):
            catalog.import_files("t", tmp_path / "raw", copy=True, schema=file)
    file.unlink()
    file.write_bytes("\ufeffn BIGINT".encode())
    catalog.import_files("t", tmp_path / "raw", copy=True, schema=file)
    assert str(catalog.load_table("t").schema) == "n BIGINT"
