"""The tables in tests/golden, written by format version 1, stay readable and writable."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table

GOLDEN = Path(__file__).parent / "v1"


def at(month: int, day: int) -> dt.datetime:
    return dt.datetime(2024, month, day, 12, tzinfo=dt.UTC)


Row = dict[str, Any]

FIRST: list[Row] = [  # the rows of version 1
    {
        "ts": at(2, 29),
        "host": "a",
        "user": 10,
        "place": {"dc": "x", "rack": 1},
        "tags": [{"k": "t"}, None],
        "attrs": [("p", 1), ("q", None)],
    },
    {"ts": at(2, 29), "host": None, "user": None, "place": None, "tags": [], "attrs": None},
    {
        "ts": at(3, 1),
        "host": "b",
        "user": 20,
        "place": {"dc": None, "rack": None},
        "tags": None,
        "attrs": None,
    },
]

NOW: list[Row] = [
    {
        "ts": at(2, 29),
        "usage_user": 10,
        "place": {"dc": "x", "rack": 1, "row": 7},
        "tags": [{"k": "t", "v": None}, None],
        "attrs": [("p", 1), ("q", None)],
        "host": "unknown",
    },
    {
        "ts": at(2, 29),
        "usage_user": None,
        "place": None,
        "tags": [],
        "attrs": None,
        "host": "unknown",
    },
    {
        "ts": at(3, 1),
        "usage_user": 20,
        "place": {"dc": None, "rack": None, "row": 7},
        "tags": None,
        "attrs": None,
        "host": "unknown",
    },
    {
        "ts": at(3, 2),
        "usage_user": 2**40,
        "place": {"dc": "y", "rack": 2, "row": 3},
        "tags": [{"k": "u", "v": 9}],
        "attrs": [("r", 2**33)],
        "host": "unknown",
    },
    *(
        {
            "ts": at(3, day),
            "usage_user": 5,
            "place": None,
            "tags": None,
            "attrs": None,
            "host": host,
        }
        for day, host in [(2, "d"), (3, "e"), (3, "f")]
    ),
]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    shutil.copytree(GOLDEN, tmp_path / "v1")
    return Catalog(tmp_path / "v1")


@pytest.fixture
def cpu(catalog: Catalog) -> Table:
    return catalog.load_table("metrics.cpu")


def rows(table: Table, **how: Any) -> list[Row]:
    """The rows ordered by time and host, as in the lists above."""
    found = table.scan(**how).to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["ts"], row["host"] is None, str(row["host"])))


def by_time(found: list[Row]) -> list[Row]:
    return sorted(found, key=lambda row: (row["ts"], row["usage_user"] is None, row["host"]))


def test_column_names_of_each_version(catalog: Catalog) -> None:
    assert catalog.list_namespaces() == ["metrics"]
    assert catalog.list_tables("metrics") == ["cpu"]
    assert catalog.list_tables() == ["lives"]


def test_every_row_of_the_early_table_is_read(cpu: Table) -> None:
    for prune in (True, False):
        assert by_time(cpu.scan(prune=prune).to_arrow().to_pylist()) == by_time(NOW)
    assert cpu.count() == 7
    assert (cpu.version, cpu.schema.version, cpu.properties) == (
        *(7, 3),
        {"sort_by": "ts", "owner": "dev"},
    )
    assert cpu.state.comment == "processors"


@pytest.mark.parametrize("without", ["", "checkpoint", "last_checkpoint.json"])
def test_rows_with_and_without_the_checkpoint(catalog: Catalog, without: str) -> None:
    folder = Path(catalog.load_table("metrics.cpu").location) / "_versioned"
    assert (folder / "last_checkpoint.json").exists()
    if without == "checkpoint":
        shutil.rmtree(folder / without)
    elif without:
        (folder / without).unlink()
    found = catalog.load_table("metrics.cpu").scan().to_arrow().to_pylist()
    assert by_time(found) == by_time(NOW)


def test_filters_of_the_early_table_are_pruned_right(cpu: Table) -> None:
    for prune in (True, False):
        found = [
            cpu.scan(filters=filters, prune=prune).count()
            for filters in (
                [("host", "=", "unknown")],
                [("host", "=", "a")],  # the dropped column's values
                [("host", "in", ["e", "d"])],
                [("place.row", "=", 7)],
                [("place.row", "is null")],
                [("usage_user", ">", 19), ("ts", "<", at(3, 2))],
                [("ts", ">=", at(3, 2))],
            )
        ]
        assert found == [4, 0, 2, 2, 4, 1, 4]


def test_time_travel(cpu: Table) -> None:
    assert rows(cpu, version=1) == FIRST
    assert cpu.scan(version=0).to_arrow().num_rows == 0
    assert cpu.scan(version=3).schema.names == [
        "ts",
        "usage_user",
        "host",
        "place",
        "tags",
        "attrs",
    ]
    assert [cpu.scan(version=v).count() for v in range(8)] == [0, 3, 3, 4, 4, 5, 5, 7]
    time = cpu.inspect.history()["time"][1].as_py()
    assert rows(cpu, timestamp=time) == FIRST
    assert cpu.inspect.history()["operation"].to_pylist() == [
        *("create", "append", "alter", "append", "alter", "append", "alter", "append")
    ]


def test_append_and_alter(cpu: Table) -> None:
    more = {"ts": [at(3, 4)], "place": [{"dc": "z"}]}
    cpu.append(pa.table(more | {"ts": pa.array(more["ts"], pa.timestamp("us", "UTC"))}))
    alter = cpu.alter().set_partitioning([]).drop_column("host")
    alter.add_column("host", "int").commit()
    assert cpu.schema.column(16).physical_name == "host_16"
    (last,) = cpu.scan(filters=[("ts", "=", at(3, 4))]).to_arrow().to_pylist()
    assert last == {
        "ts": at(3, 4),
        "usage_user": 5,
        "place": {"dc": "z", "rack": None, "row": 7},
        "tags": None,
        "attrs": None,
        "host": None,
    }


def test_a_table_that_was_dropped_and_created_again(catalog: Catalog) -> None:
    table = catalog.load_table("lives")
    assert table.scan().to_arrow().to_pylist() == [{"b": "new", "a": Decimal("2.00")}]
    assert table.scan(version=1).to_arrow().to_pylist() == [{"a": 1, "b": "old"}]
    assert [column.id for column in table.schema.columns] == [3, 4]


def test_the_golden_tables_are_small() -> None:
    files = [path for path in GOLDEN.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 60_000
    assert {json.loads(p.read_bytes())["format"] for p in files if "log" in p.parts} == {1}
