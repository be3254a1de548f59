"""Partitioning that changes: old segments keep theirs, and filters return the same rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from pairwise import some
from versioned_catalog import Catalog, Table

INTS = pa.int32()
Make = Callable[..., Table]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda ddl, **more: Catalog.create_path(tmp_path / "t", ddl, **more)


def data(keys: list[Any], kind: pa.DataType = INTS) -> pa.Table:
    return pa.table({"k": pa.array(keys, kind), "v": pa.array(range(len(keys)), INTS)})


def found(table: Table, *filters: Any) -> list[Any]:
    """The keys of the rows that match, by a fresh reader; asserts that pruning changes nothing."""
    fresh = Catalog.load_path(table.location)
    ways = [
        fresh.scan(columns=["k"], filters=list(filters) or None, prune=prune).to_arrow()
        for prune in (True, False)
    ]
    keys = [sorted(way["k"].to_pylist(), key=repr) for way in ways]
    assert keys[0] == keys[1]
    return keys[0]


def read(table: Table, *filters: Any) -> int:
    """The number of segments that a filter leaves to read."""
    report = table.scan(filters=list(filters)).report()
    return report.segments - report.pruned


# Partition values in the log.


def test_old_segments_keep_their_partitions(make: Make) -> None:
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([1, 2]))
    table.alter().set_partitioning(["bucket(4, k)", "truncate(10, v)"]).commit()
    table.append(data([1]))
    table.alter().set_partitioning([]).commit()
    table.append(data([1, 2]))
    table.log.write_checkpoint(table.state)
    for one in (table, Catalog.load_path(table.location)):
        segments = one.inspect.segments()
        assert segments["schema_version"].to_pylist() == [0, 0, 1, 2]
        texts = segments["partition"].to_pylist()
        assert texts[:2] == [["1"], ["2"]]
        assert len(texts[2]) == 2
        assert texts[2][1] == "0"
        assert texts[3] is None
    assert found(table) == [1, 1, 1, 2, 2]
    assert found(table, ("k", "=", 1)) == [1, 1, 1]
    assert read(table, ("k", "=", 1)) == 3
    assert table.partitioning == []


@pytest.mark.thorough
def test_filters_on_a_widened_column_with_buckets(make: Make) -> None:
    """5 as INT, BIGINT and DECIMAL, each in the bucket of the type that it was written in."""
    table = make(
        "k INT, v INT", partitioned_by=["bucket(64, k)"], properties={"auto_maintain": "off"}
    )
    keys = list(range(30))
    table.append(data(keys))
    table.alter().change_type("k", "long").commit()
    table.append(data(keys, pa.int64()))
    table.alter().change_type("k", "decimal(22,2)").commit()
    table.append(data(list(map(Decimal, keys)), pa.decimal128(22, 2)))
    versions = table.inspect.segments()["schema_version"].to_pylist()
    assert {*versions} == {0, 1, 2}
    for key in keys:
        assert found(table, ("k", "=", key)) == [Decimal(key).quantize(Decimal("0.01"))] * 3
    assert found(table, ("k", "in", [3, 700])) == [Decimal("3.00")] * 3
    assert found(table, ("k", "=", Decimal("5.50"))) == []
    reads = [read(table, ("k", "=", key)) for key in keys]
    assert max(reads) < len(versions) / 3, "buckets prune"


@pytest.mark.thorough
def test_filters_on_buckets_of_dates_widened_to_timestamps(make: Make) -> None:
    table = make("k DATE, v INT", partitioned_by=["bucket(64, k)"])
    days = [dt.date(2024, 1, 1) + dt.timedelta(n) for n in range(20)]
    table.append(data(days, pa.date32()))
    table.alter().change_type("k", "timestamp_ntz").commit()
    midnights = [dt.datetime.combine(day, dt.time()) for day in days]
    table.append(data(midnights, pa.timestamp("us")))
    for midnight in midnights:
        assert found(table, ("k", "=", midnight)) == [midnight] * 2
        assert found(table, ("k", "=", midnight + dt.timedelta(hours=1))) == []


# Random histories.

PARTITIONINGS = [
    [],
    ["k"],
    ["bucket(3, k)"],
    ["bucket(5, k)", "v"],
    ["truncate(4, k)"],
    ["v", "bucket(3, k)"],
]
KINDS: list[tuple[str, Callable[[int], Any], Any]] = [
    ("int", int, INTS),
    ("long", int, pa.int64()),
    ("decimal(22,2)", Decimal, pa.decimal128(22, 2)),
]


@pytest.mark.parametrize("seed", some({0, 1}, range(8)))
def test_filters_after_random_changes_of_the_partitioning(make: Make, seed: int) -> None:
    random = Random(seed)
    table, level = make("k INT, v INT"), 0
    kept: list[int | None] = []
    for _ in range(10):
        match random.choice(["append", "append", "partition", "widen", "checkpoint"]):
            case "append":
                keys = [random.choice([None, *range(-6, 12)]) for _ in range(random.randint(1, 8))]
                _, convert, kind = KINDS[level]
                table.append(data([None if k is None else convert(k) for k in keys], kind))
                kept += keys
            case "partition":
                table.alter().set_partitioning(random.choice(PARTITIONINGS)).commit()
            case "widen" if level + 1 < len(KINDS):
                level += 1
                table.alter().change_type("k", KINDS[level][0]).commit()
            case _:
                table.log.write_checkpoint(table.state)
    for key in (-7, -6, -1, 0, 5, 11):
        assert found(table, ("k", "=", key)) == [key] * kept.count(key)
        among = sorted(k for k in kept if k in (key, key + 2))
        assert sorted(map(int, found(table, ("k", "in", [key, key + 2, None])))) == among
    assert len(found(table, ("k", "is null"))) == kept.count(None)
    assert len(found(table)) == len(kept)
    partitions = table.inspect.partitions()
    assert sum(partitions["rows"].to_pylist()) <= len(kept)
    if table.partitioning == ["k"]:
        assert partitions.num_rows == len({tuple(p) for p in partitions["partition"].to_pylist()})


# table.inspect.partitions()


def shown(table: Table) -> list[tuple[Any, ...]]:
    rows = Catalog.load_path(table.location).inspect.partitions().to_pylist()
    return [(*row["partition"], row["rows"], row["segments"]) for row in rows]


def test_inspect_partitions(make: Make) -> None:
    table = make("k INT, v INT", partitioned_by=["k", "bucket(1, v)"])
    assert shown(table) == []
    assert table.inspect.partitions().schema.names == ["partition", "rows", "segments"]
    table.append(data([10, 9, None, 9]))
    table.append(data([9, -1]))
    assert shown(table) == [
        (None, "0", 1, 1),
        ("-1", "0", 1, 1),
        ("9", "0", 3, 2),
        ("10", "0", 1, 1),
    ]
    table.overwrite_partitions(data([9]))
    assert shown(table)[2] == ("9", "0", 1, 1)


def test_inspect_partitions_of_a_widened_column(make: Make) -> None:
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([5, 6]))
    table.alter().change_type("k", "decimal(12,2)").rename_column("v", "w").commit()
    rows = pa.table({"k": pa.array([Decimal(5)], pa.decimal128(12, 2))})
    table.append(rows)
    assert shown(table) == [("5.00", 2, 2), ("6.00", 1, 1)]


def test_inspect_partitions_of_the_current_partitioning_only(make: Make) -> None:
    table = make("k INT, v INT", partitioned_by=["k"])
    table.append(data([5]))
    table.alter().set_partitioning(["truncate(10, k)"]).commit()
    assert shown(table) == []
    table.append(data([17, -1]))
    assert shown(table) == [("-10", 1, 1), ("10", 1, 1)]
    table.alter().set_partitioning([]).commit()
    table.append(data([1]))
    assert shown(table) == []
    table.alter().set_partitioning(["k"]).commit()
    assert shown(table) == [("5", 1, 1)]


@pytest.mark.parametrize(
    "ddl, kind, keys",
    [
        ("STRING", pa.string(), ["a", "zoë", "é"]),
        ("BOOLEAN", pa.bool_(), [False, True]),
        ("INTERVAL DAY TO SECOND", pa.duration("us"), [dt.timedelta(-10), dt.timedelta(9)]),
        ("DATE", pa.date32(), [dt.date(1969, 1, 1), dt.date(2024, 1, 1)]),
        ("BINARY", pa.binary(), [b"\x00", b"\xff"]),
    ],
)
def test_inspect_partitions_sorts_by_value(
    make: Make, ddl: str, kind: pa.DataType, keys: list[Any]
) -> None:
    table = make(f"k {ddl}, v INT", partitioned_by=["k"])
    table.append(data([*reversed(keys), None], kind))
    texts = [row[0] for row in shown(table)]
    assert texts[0] is None
    in_order = [table.scan(filters=[("k", "=", key)]).tasks()[0][0].path for key in sorted(keys)]
    by_path = dict(
        zip(
            table.inspect.segments()["path"].to_pylist(),
            table.inspect.segments()["partition"].to_pylist(),
            strict=True,
        )
    )
    assert [by_path[path][0] for path in in_order] == texts[1:]
