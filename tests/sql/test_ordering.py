"""The order of rows that a scan reports to Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyspark_versioned.sql.grouping import grouping_of
from pyspark_versioned.sql.ordering import ordering_of
from versioned_catalog import Catalog, Table
from versioned_catalog.model.types import Column
from versioned_catalog.read.scan import Scan

UNMAINTAINED = {"auto_maintain": "off"}
Order = tuple[list[str], list[int], int, int]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


def create(catalog: Catalog, ddl: str, key: Sequence[str], **more: Any) -> Table:
    """An empty table of one test."""
    name = f"t{len(catalog.list_tables())}"
    return catalog.create_table(name, ddl, primary_key=key, properties=UNMAINTAINED, **more)


def append(table: Table, *columns: Sequence[Any]) -> None:
    """Append one segment, or one for each partition, whose columns have the table's types."""
    arrow = table.refresh().scan().schema
    arrays = [pa.array(c, field.type) for c, field in zip(columns, arrow, strict=True)]
    table.append(pa.table(arrays, schema=arrow))


def order(table: Table, *shown: str, version: int | None = None) -> Order | None:
    """Names, ranks of segments, and how many columns hold: in the whole scan, and in a partition."""
    state = table.refresh().state if version is None else table.at(version)
    columns: Sequence[Column] = state.seen.schema.columns
    columns = [state.seen.schema.get((name,)) for name in shown] or columns
    scan = Scan(table.handle.store, state, columns)
    found = ordering_of(scan, grouping_of(scan))
    if found is None:
        return None
    return list(found.columns), list(found.rank), found.whole, found.grouped


def test_segments_are_read_by_their_keys(catalog: Catalog) -> None:
    table = create(catalog, "v INT, k INT", ["k"])
    for first in (20, 0, 10):
        append(table, [0, 0], [first, first + 9])
    assert order(table) == (["k"], [2, 0, 1], 1, 1)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ddl", "values"),
    [
        ("BOOLEAN", [False, True]),
        ("TINYINT", [-128, 127]),
        ("DECIMAL(9, 2)", [Decimal("-2.00"), Decimal("10.00")]),
        ("DATE", [dt.date(1969, 12, 31), dt.date(1970, 1, 1)]),
        (
            "TIMESTAMP",
            [dt.datetime(1969, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)],
        ),
        ("STRING", ["", "A", "a", "z", "é", "\uffff", "\U0001f600"]),
        ("VARCHAR(9)", ["Z", "a"]),
        ("BINARY", [b"", b"\0", b"\x7f", b"\x80", b"\xff"]),
    ],
)
def test_values_are_in_the_order_of_spark(catalog: Catalog, ddl: str, values: list[Any]) -> None:
    """Numbers by value, texts and bytes by unsigned bytes: UTF-16 would swap the last two texts."""
    table = create(catalog, f"k {ddl}, v INT", ["k"])
    for value in reversed(values):
        append(table, [value], [1])
    ranks = [*reversed(range(len(values)))]
    assert order(table) == (["k"], ranks, 1, 1)


@pytest.mark.thorough
@pytest.mark.parametrize("ddl", ["CHAR(3)", "TIME(6)"])
def test_other_types_are_not_reported(catalog: Catalog, ddl: str) -> None:
    value = "a  " if "CHAR" in ddl else dt.time(1)
    table = create(catalog, f"k {ddl}, v INT", ["k"])
    append(table, [value], [1])
    assert order(table) is None


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("segments", "columns"),
    [
        # (a, b) of the rows of each segment, and how many of the two columns are sorted over all.
        ([[(1, 1), (2, 9)], [(3, 0), (4, 0)]], 2),
        ([[(1, 1), (2, 4)], [(2, 5), (3, 5)]], 2),
        # The bounds of b reach over those of the other segment, although the rows with a = 2 do not.
        ([[(1, 9), (2, 4)], [(2, 5), (3, 5)]], 1),
        ([[(1, 1), (2, 6)], [(2, 5), (3, 5)]], 1),
        ([[(1, 1), (3, 1)], [(2, 5), (4, 5)]], 0),
        ([[(5, 1), (5, 3)], [(5, 4), (5, 9)], [(5, 10), (6, 11)]], 2),
        ([[(5, 1), (5, 3)], [(5, 4), (5, 9)], [(6, 10), (6, 12)], [(6, 11), (7, 1)]], 1),
        ([[(5, 1), (5, 9)], [(5, 4), (5, 6)]], 1),
    ],
)
def test_as_many_columns_hold_as_bounds_prove(
    catalog: Catalog, segments: list[list[tuple[int, int]]], columns: int
) -> None:
    """Segments in every order of their commits."""
    for turn in range(len(segments)):
        table = create(catalog, "a INT, b INT", ["a", "b"])
        turned = segments[turn:] + segments[:turn]
        for rows in turned:
            append(table, *zip(*rows, strict=True))
        found = order(table)
        if not columns:
            assert found is None
        else:
            ranks = [segments.index(rows) for rows in turned]
            assert found == (["a", "b"][:columns], ranks, columns, columns)


def test_partitions_are_sorted_by_themselves(catalog: Catalog) -> None:
    table = create(catalog, "k INT, d INT", ["k", "d"], partitioned_by=["d"])
    append(table, [1, 9, 2, 8], [0, 0, 1, 1])
    append(table, [10, 20, 9, 20], [0, 0, 1, 1])
    found = order(table)
    assert found is not None
    names, ranks, whole, grouped = found
    assert (names, whole, grouped) == (["k", "d"], 0, 2)
    places = table.state.segments.core["partition"].to_pylist()
    assert [places[at] for at in sorted(range(4), key=ranks.__getitem__)] == [
        ["0"],
        ["1"],
        ["1"],
        ["0"],
    ]
    append(table, [5], [1])
    assert order(table) is None
    apart = create(catalog, "k INT, d INT", ["k", "d"], partitioned_by=["d"])
    for keys, d in (([1, 9], 0), ([2], 1), ([3], 0)):
        append(apart, keys, [d] * len(keys))
    assert order(apart) is None


def test_a_column_that_is_not_shown_ends_the_order(catalog: Catalog) -> None:
    table = create(catalog, "a INT, b INT, c INT", ["a", "b", "c"])
    append(table, [1], [1], [1])
    assert order(table, "c", "b", "a") == (["a", "b", "c"], [0], 3, 3)
    assert order(table, "a", "c") == (["a"], [0], 1, 1)
    assert order(table, "b", "c") is None


def test_columns_are_found_by_id(catalog: Catalog) -> None:
    """After the two swapped their names, and while values were written before the key was widened."""
    table = create(catalog, "k INT, v INT", ["k"])
    append(table, [7], [1])
    table.alter().change_type("k", "LONG").commit()
    append(table, [-3], [9])
    table.alter().rename_column("k", "x").rename_column("v", "k").rename_column("x", "v").commit()
    append(table, [5], [5])
    assert order(table) == (["v"], [2, 0, 1], 1, 1)
    assert order(table, "k") is None
    table.alter().drop_column("k").add_column("k", "INT").commit()
    assert order(table) == (["v"], [2, 0, 1], 1, 1)


@pytest.mark.thorough
def test_a_past_version_has_its_own_order(catalog: Catalog) -> None:
    table = create(catalog, "k INT, v INT", ["k"])
    append(table, [1, 5], [0, 0])
    append(table, [4, 9], [0, 0])
    assert order(table) is None
    assert order(table, version=1) == (["k"], [0], 1, 1)


@pytest.mark.thorough
def test_a_pin_shows_the_order_by_its_names_as_far_as_it_shows_types_unchanged(
    catalog: Catalog,
) -> None:
    table = create(catalog, "a INT, b INT, c INT", ["a", "b", "c"])
    append(table, [1], [1], [1])
    table.alter().rename_column("a", "first").change_type("b", "LONG").commit()
    assert order(table) == (["first", "b", "c"], [0], 3, 3)
    for overflow in ("error", "null"):
        pinned = table.seen_as("0", overflow=overflow)
        assert order(pinned) == (["a"], [0], 1, 1)


def test_tables_without_a_primary_key_report_nothing(catalog: Catalog) -> None:
    """A writer may leave segments unsorted that do not fit in memory (FORMAT.md, section 6.1)."""
    plain = catalog.create_table("plain", "k INT", properties={"sort_by": "k DESC"})
    append(plain, [1, 2])
    assert order(plain) is None
    timed = catalog.create_table("timed", "ts TIMESTAMP, k INT", time_index="ts")
    append(timed, [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)], [1])
    assert order(timed) is None


@pytest.mark.thorough
def test_a_segment_without_bounds_may_hold_any_key(catalog: Catalog) -> None:
    """The bounds of a text that has no greater short text are left out."""
    table = create(catalog, "k STRING, v INT", ["k"])
    append(table, ["a"], [1])
    assert order(table) == (["k"], [0], 1, 1)
    append(table, ["\U0010ffff" * 200], [1])
    bounds = table.refresh().state.segments
    assert bounds.count == 2
    assert order(table) is None


@pytest.mark.thorough
def test_an_empty_table_reports_nothing(catalog: Catalog) -> None:
    assert order(create(catalog, "k INT, v INT", ["k"])) is None
