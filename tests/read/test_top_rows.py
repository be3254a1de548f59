"""ORDER BY with LIMIT reads only the segments that its rows may be in."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.read.top_rows import top_bound

Make = Callable[..., Table]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    alone = {"properties": {"auto_maintain": "off", "row_changes": "mark"}}
    return lambda ddl, **more: Catalog.create_path(tmp_path / "t", ddl, **(alone | more))


def filled(make: Make, kind: str, *segments: list[Any]) -> Table:
    """Create a table with a column c; each list of values becomes a segment."""
    table = make(f"c {kind}")
    for values in segments:
        table.append(pa.table({"c": values}, table.scan().schema))
    return table


def bounds(table: Table, count: int) -> tuple[str | None, str | None]:
    """The bounds of ORDER BY c LIMIT count, ascending and descending."""
    scan = table.scan()
    column = scan.state.schema.get(("c",))
    least, greatest = (top_bound(scan, column, count, descending=way) for way in (False, True))
    return least, greatest


SEGMENTS = [[1, 2, 3], [4, None, 5], [None, None], [6, 7, 9]]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, ("3", "6")),
        (3, ("3", "6")),
        (4, ("5", "4")),  # of the second segment, two values count
        (5, ("5", "4")),
        (6, (None, None)),  # no segment lies beyond the last bound; nulls never do
        (8, (None, None)),
        (9, (None, None)),
        (2**31 - 1, (None, None)),
    ],
)
def test_bounds(make: Make, count: int, expected: tuple[str | None, str | None]) -> None:
    assert bounds(filled(make, "INT", *SEGMENTS), count) == expected


@pytest.mark.parametrize(
    ("kind", "segments", "expected"),
    [
        ("STRING", [["a", "bb"], ["c", "d"]], ("bb", "c")),
        ("STRING", [["x" * 70, "y" * 70], ["z" * 70]], ("y" * 63 + "z", "z" * 64)),  # cut bounds
        ("DOUBLE", [[1.0], [2.0]], (None, None)),
        ("DECIMAL(5,2)", [[Decimal("1.00")], [Decimal("2.00")]], ("1.00", "2.00")),
        ("ARRAY<INT>", [[[1]], [[2]]], (None, None)),
        ("INT", [], (None, None)),
        ("INT", [[None], [None]], (None, None)),
    ],
)
def test_types(make: Make, kind: str, segments: list[Any], expected: tuple[Any, Any]) -> None:
    table = make(f"c {kind}")
    schema = table.scan().schema
    for values in segments:
        table.append(pa.table({"c": pa.array(values).cast(schema.field("c").type)}, schema))
    assert bounds(table, 1) == expected


def test_marked_rows_do_not_count(make: Make) -> None:
    table = filled(make, "INT", [*range(10)], [*range(20, 30)])
    table.delete([("c", "<", 8)])
    assert table.state.segments.has_marks
    assert table.scan().to_arrow()["c"].to_pylist() == [8, 9, *range(20, 30)]
    assert bounds(table, 2)[0] == "9"
    assert bounds(table, 3)[0] is None  # with 29 as the bound, no segment lies beyond


def test_a_column_added_later_counts_by_its_default(make: Make) -> None:
    table = make("n INT")
    table.append(pa.table({"n": [1, 2]}, table.scan().schema))
    table.alter_sql("ALTER TABLE t ADD COLUMN c INT DEFAULT 5").commit()
    table.append(pa.table({"n": [3, 4], "c": [8, 9]}, table.scan().schema))
    assert bounds(table, 2) == ("5", "8")
    assert bounds(table, 3) == (None, None)


def test_rows_of_a_merge_do_not_count(make: Make) -> None:
    table = make("k INT NOT NULL, c INT", primary_key=["k"], properties={})
    table.append(pa.table({"k": [1, 2], "c": [100, 200]}, table.scan().schema))
    table.append(pa.table({"k": [1, 2], "c": [1, 2]}, table.scan().schema))  # replaces both
    table.append(pa.table({"k": [10, 11], "c": [50, 60]}, table.scan().schema))
    assert bounds(table, 1) == ("60", "50")
    assert bounds(table, 3) == (None, None)


def test_rows_that_are_too_old_do_not_count(make: Make) -> None:
    how = {"primary_key": ["k"], "time_index": "ts", "properties": {"ttl": "7 days"}}
    table = make("k INT NOT NULL, ts TIMESTAMP, c INT", **how)
    now = dt.datetime.now(dt.UTC)
    old = now - dt.timedelta(days=30)
    for keys, times, values in (
        ([1, 2], [old, now], [100, 80]),
        ([3], [now], [60]),
        ([9], [now], [1]),
    ):
        table.append(pa.table({"k": keys, "ts": times, "c": values}, table.scan().schema))
    assert sorted(table.scan().to_arrow()["c"].to_pylist()) == [1, 60, 80]
    assert bounds(table, 2)[1] is None


@pytest.mark.parametrize("seed", range(20))
def test_random_segments(make: Make, seed: int) -> None:
    """The bound of each count keeps the rows that sorting in Python puts first."""
    chance = random.Random(seed)
    segments = [
        [chance.choice([None, chance.randrange(40)]) for _ in range(chance.randrange(1, 6))]
        for _ in range(chance.randrange(1, 8))
    ]
    table = filled(make, "INT", *segments)
    values = sorted(value for segment in segments for value in segment if value is not None)
    for count in range(1, len(values) + 2):
        least, greatest = bounds(table, count)
        if least is not None:
            assert values[count - 1] <= int(least)
            assert any(_least(segment) > int(least) for segment in segments)
        if greatest is not None:
            assert values[-count] >= int(greatest)


def _least(segment: list[int | None]) -> int:
    return min((value for value in segment if value is not None), default=-1)
