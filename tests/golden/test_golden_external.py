"""A table with files of somebody else, adopted once by format version 1, stays readable and writable."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table

GOLDEN = Path(__file__).parent / "v1-external"

DAYS = {n: dt.datetime(1970, 1, 1 + n) for n in (1, 2)}
LATE = {"late": "late"}
BARE: dict[str, Any] = {"s": None, "u": None, "ts": None}
NOW = [
    {
        **{"id": 5, "name": "b", "day": None, "s": None, "u": 2**32 - 1},
        **{"ts": dt.datetime(1970, 1, 1, 0, 0, 0, 1000, dt.UTC), **LATE},
    },
    {"id": 6, "name": "c", "day": None, **BARE, "u": 0, **LATE},
    {"id": 11, "name": None, "day": DAYS[1], **BARE, **LATE},
    {"id": 20, "name": "a", "day": DAYS[2], **BARE, "s": {"x": None, "y": "z"}, **LATE},
    {"id": 21, "name": None, "day": DAYS[2], **BARE, **LATE},
    {"id": 100, "name": "own", "day": None, **BARE, **LATE},
]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    return Catalog.load_path(tmp_path / "table", roots={"lake": tmp_path / "raw"})


def rows(table: Table, **how: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.scan(**how).to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def test_rows_with_and_without_the_checkpoint(table: Table) -> None:
    assert rows(table) == NOW
    shutil.rmtree(Path(table.location) / "_versioned/checkpoint")
    again = Catalog.load_path(table.location, roots={"lake": Path(table.location).parent / "raw"})
    assert rows(again) == NOW
    assert again.state.segments.paths == table.state.segments.paths
    assert again.state.roots == table.state.roots == {"lake": "memory://golden/raw"}


def test_filters_and_statistics(table: Table) -> None:
    for prune in (True, False):
        for filters, ids in [
            ([("day", "=", DAYS[2])], [20, 21]),
            ([("day", "is null")], [5, 6, 100]),
            ([("u", ">", 2**31)], [5]),
            ([("name", "=", "a")], [20]),
            ([("s.y", "=", "z")], [20]),
            ([("late", "!=", "late")], []),
        ]:
            assert [row["id"] for row in rows(table, filters=filters, prune=prune)] == ids
    assert table.scan(filters=[("day", "=", DAYS[2])]).report().pruned == 3
    assert table.maintenance.verify(deep=True, every_version=True).findings == ()


def test_earlier_versions(table: Table) -> None:
    assert [table.scan(version=v).count() for v in range(6)] == [0, 4, 6, 7, 6, 6]
    assert [row["id"] for row in rows(table, version=1)] == [10, 11, 20, 21]


def test_the_early_table_can_be_changed(table: Table) -> None:
    table.rollback(2)
    assert [row["id"] for row in rows(table)] == [5, 6, 10, 11, 20, 21]
    table.update({"host": "x"}, [("id", "<", 11)])
    assert [row["host"] for row in rows(table)] == ["x", "x", "x", None, "a", None]


def test_a_reader_needs_the_root(table: Table) -> None:
    reader = Catalog.load_path(table.location)
    assert reader.count() == 6
    with pytest.raises(InvalidRequestError, match="which was memory://golden/raw when"):
        rows(reader)
