"""A table with a primary key, written once by format version 1, stays readable and writable."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa

from versioned_catalog import Catalog, Table

GOLDEN = Path(__file__).parent / "v1-keyed"


def shown(table: Table, version: int | None = None) -> list[tuple[object, ...]]:
    names = [c for c in ("host", "name", "v", "w") if c in table.at(version).schema.names]
    found = table.scan(columns=names, version=version).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_the_keyed_golden_table_is_unchanged(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "t")
    for keep_checkpoints in (True, False):
        if not keep_checkpoints:
            shutil.rmtree(tmp_path / "t/_versioned/checkpoint")
        table = Catalog.load_path(tmp_path / "t")
        assert (table.version, table.primary_key, table.time_index) == (8, ["name"], "day")
        assert shown(table, 1) == [("a", 1, "x"), ("b", 2, "x"), ("c", 3, "x"), ("d", 4, "x")]
        assert shown(table, 3) == [("a", 1, "x"), ("b", 20, "y"), ("d", 4, "x")]
        before = [("a", 1, "patched"), ("b", 20, "y"), ("d", 4, "x"), ("e", 7, "new")]
        assert shown(table, 4) == shown(table, 5) == before
        now = [("a", 1, "again"), ("b", 20, "again"), ("d", 4, "late"), ("e", 7, "again")]
        assert shown(table) == now
        assert table.maintenance.verify(deep=True, every_version=True).findings == ()
    table.maintenance.compact()
    assert shown(table) == now
    day = pa.array([19800], pa.int32()).cast(pa.date32())
    table.upsert(pa.table({"name": ["c"], "day": day, "v": pa.array([5], pa.int32())}))
    assert ("c", 5, "again") in shown(table)
