"""COUNT, MIN and MAX are answered from metadata exactly where the statistics allow it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.model.sql_literals import decode
from versioned_catalog.model.types import Column
from versioned_catalog.read.aggregates import count_rows, count_values, extreme
from versioned_catalog.read.scan import Scan

NAN, INF = math.nan, math.inf
INTS = pa.int32()
UNKNOWN = (False, None)
Make = Callable[..., Table]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda ddl, **more: Catalog.create_path(tmp_path / "t", ddl, **more)


def filled(make: Make, ddl: str, kind: Any, *segments: list[Any]) -> Table:
    """Create a table with a column c; each list of values becomes a segment."""
    table = make(f"c {ddl}")
    for values in segments:
        table.append(pa.table({"c": pa.array(values, kind)}))
    return table


def column(scan: Scan, name: str = "c") -> Column:
    return scan.state.schema.get((name,))


def ends(table: Table, name: str = "c", **how: Any) -> list[tuple[bool, str | None]]:
    """MIN and MAX of a column; asserts that records and a checkpoint give the same."""
    found = []
    table.log.write_checkpoint(table.state)
    for one in (table, Catalog.load_path(table.location)):
        scan = one.scan(**how)
        found.append([extreme(scan, column(scan, name), greatest) for greatest in (False, True)])
    assert found[0] == found[1]
    return found[0]


def known(low: str | None, high: str | None) -> list[tuple[bool, str | None]]:
    return [(True, low), (True, high)]


DAY = dt.date(2024, 2, 29)
LONG = "x" * 70

CASES: list[tuple[str, Any, list[list[Any]], list[tuple[bool, str | None]]]] = [
    ("INT", INTS, [], known(None, None)),
    ("INT", INTS, [[None, None]], known(None, None)),
    ("INT", INTS, [[3, None], [-5, 4], [None]], known("-5", "4")),
    ("BOOLEAN", pa.bool_(), [[True], [True, None]], known("true", "true")),
    ("BIGINT", pa.int64(), [[-(2**63)], [2**63 - 1]], known(str(-(2**63)), str(2**63 - 1))),
    ("DECIMAL(5,2)", pa.decimal128(5, 2), [[Decimal("-0.50"), 7]], known("-0.50", "7.00")),
    ("DATE", pa.date32(), [[DAY], [dt.date(1969, 1, 1)]], known("-365", "19782")),
    (
        "TIMESTAMP",
        pa.timestamp("us", "UTC"),
        [
            [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)],
            [dt.datetime(1969, 12, 31, tzinfo=dt.UTC)],
        ],
        known("-86400000000", "1000000"),
    ),
    (
        "INTERVAL DAY TO SECOND",
        pa.duration("us"),
        [[dt.timedelta(microseconds=7)], [dt.timedelta(days=-1)]],
        known("-86400000000", "7"),
    ),
    ("STRING", pa.string(), [["b", "zoë"], ["a", "\U0001f600"]], known("a", "\U0001f600")),
    ("BINARY", pa.binary(), [[b"\x00"], [b"\xff"]], known("AA==", "/w==")),
    ("CHAR(3)", pa.string(), [["b"], ["a"]], known("a  ", "b  ")),
    # A truncated bound is no result, unless another segment has a bound beyond it.
    ("STRING", pa.string(), [[LONG]], [UNKNOWN, UNKNOWN]),
    ("STRING", pa.string(), [[LONG], ["a", "z"]], known("a", "z")),
    ("STRING", pa.string(), [[LONG], ["a"]], [(True, "a"), UNKNOWN]),
    ("STRING", pa.string(), [[LONG], ["z"]], [UNKNOWN, (True, "z")]),
    ("STRING", pa.string(), [[LONG], ["x" * 64]], [(True, "x" * 64), UNKNOWN]),
    ("STRING", pa.string(), [[LONG, "a", "z"]], known("a", "z")),
    ("STRING", pa.string(), [["\U0010ffff" * 70], ["z"]], [(True, "z"), UNKNOWN]),
    # NaN is the greatest value; it is the least only if there is no other value.
    ("DOUBLE", pa.float64(), [[1.5, None], [-INF, 2.5]], known("-Infinity", "2.5")),
    ("DOUBLE", pa.float64(), [[1.5], [NAN, INF]], known("1.5", "NaN")),
    ("DOUBLE", pa.float64(), [[NAN, None], [None]], known("NaN", "NaN")),
    ("FLOAT", pa.float32(), [[0.1], [NAN]], known("0.1", "NaN")),
    # The statistics do not distinguish 0.0 from -0.0.
    ("DOUBLE", pa.float64(), [[-0.0, 1.0]], [UNKNOWN, (True, "1.0")]),
    ("DOUBLE", pa.float64(), [[0.0, -1.0]], [(True, "-1.0"), UNKNOWN]),
    ("INT", INTS, [[0]], known("0", "0")),
    # Types without an order.
    ("ARRAY<INT>", pa.list_(INTS), [[[1]]], [UNKNOWN, UNKNOWN]),
    ("STRUCT<x: INT>", pa.struct([("x", INTS)]), [[{"x": 1}]], [UNKNOWN, UNKNOWN]),
]


@pytest.mark.parametrize("ddl, kind, segments, expected", CASES)
def test_min_and_max_are_known_from_statistics(
    make: Make, ddl: str, kind: Any, segments: list[list[Any]], expected: Any
) -> None:
    table = filled(make, ddl, kind, *segments)
    assert ends(table) == expected
    values = [value for segment in segments for value in segment]
    scan = table.scan()
    assert count_rows(scan) == len(values)
    assert count_values(scan, column(scan)) == len([v for v in values if v is not None])


def test_min_and_max_of_fields_and_metadata_columns_are_unknown(make: Make) -> None:
    table = make("s STRUCT<x: INT>")
    table.append(pa.table({"s": pa.array([{"x": 1}, None], pa.struct([("x", INTS)]))}))
    scan = table.scan(columns=["s", "_sequence"])
    field = table.schema.get(("s", "x"))
    assert extreme(scan, field, True) == UNKNOWN
    assert count_values(scan, field) is None
    assert extreme(scan, scan.columns[1], True) == UNKNOWN
    assert count_values(scan, scan.columns[1]) is None
    assert count_values(scan, table.schema.get(("s",))) == 1


# Segments that lack the column, or hold it in a narrower type.


def test_a_column_that_older_segments_lack_counts_with_its_default(make: Make) -> None:
    table = make("a INT")
    table.append(pa.table({"a": pa.array([1, 2], INTS)}))
    table.alter().add_column("c", "int", default=7).add_column("d", "int").commit()
    table.append(pa.table({"c": pa.array([5], INTS), "d": pa.array([5], INTS)}))
    table.alter().set_default("c", 100).commit()
    assert ends(table) == known("5", "7")
    assert ends(table, "d") == known("5", "5")
    scan = table.scan()
    assert (count_values(scan, column(scan)), count_values(scan, column(scan, "d"))) == (3, 1)
    then = table.scan(version=1)
    assert (count_rows(then), extreme(then, column(then, "a"), True)) == (2, (True, "2"))


def test_a_float_column_that_older_segments_lack(make: Make) -> None:
    table = make("a INT")
    table.append(pa.table({"a": pa.array([1], INTS)}))
    table.alter().add_column("c", "double", default=NAN).add_column(
        "d", "double", default=2.5
    ).commit()
    table.append(pa.table({"c": [1.5], "d": [1.5]}))
    assert ends(table) == known("1.5", "NaN")
    assert ends(table, "d") == known("1.5", "2.5")


def test_a_column_added_again_under_a_dropped_name_has_no_old_statistics(make: Make) -> None:
    table = filled(make, "INT", INTS, [1, 2])
    table.alter().drop_column("c").add_column("c", "int").add_column("x", "int").commit()
    assert ends(table) == known(None, None)
    scan = table.scan()
    assert count_values(scan, column(scan)) == 0


@pytest.mark.parametrize(
    "old, kind, value, new, wide, other, expected",
    [
        ("INT", INTS, 2**31 - 1, "BIGINT", pa.int64(), 2**40, known(str(2**31 - 1), str(2**40))),
        (
            "FLOAT",
            pa.float32(),
            0.1,
            "DOUBLE",
            pa.float64(),
            0.1,
            known("0.1", "0.10000000149011612"),
        ),
        (
            "INT",
            INTS,
            5,
            "DECIMAL(12,2)",
            pa.decimal128(12, 2),
            Decimal("4.99"),
            known("4.99", "5.00"),
        ),
        (
            "DATE",
            pa.date32(),
            DAY,
            "TIMESTAMP_NTZ",
            pa.timestamp("us"),
            dt.datetime(2024, 2, 29, 1),
            known("1709164800000000", "1709168400000000"),
        ),
        ("CHAR(3)", pa.string(), "b", "STRING", pa.string(), "b ", known("b ", "b  ")),
    ],
)
def test_min_and_max_of_a_widened_column(
    make: Make, old: str, kind: Any, value: Any, new: str, wide: Any, other: Any, expected: Any
) -> None:
    table = filled(make, old, kind, [value])
    table.log.write_checkpoint(table.state)
    table = Catalog.load_path(table.location)
    table.alter().change_type("c", new).commit()
    table.append(pa.table({"c": pa.array([other], wide)}))
    assert ends(table) == expected
    found = [decode(text, table.schema.get(("c",)).type) for _, text in ends(table)]
    shown = table.scan().to_arrow()["c"].to_pylist()
    assert found == [min(shown), max(shown)]


# Filters: the result is known where a filter matches segments whole or not at all.


@pytest.mark.parametrize(
    "filters, rows, values, low, high",
    [
        ([("k", "<", 10)], 2, 2, "1", "2"),
        ([("k", ">=", 10)], 4, 2, "11", "12"),
        ([("k", ">=", 10), ("c", "is not null")], None, None, None, None),
        ([("k", "<", 100)], 0, 0, None, None),
        ([("c", "=", 1)], None, None, None, None),
    ],
)
def test_counts_and_extremes_with_filters(
    make: Make, filters: Any, rows: Any, values: Any, low: Any, high: Any
) -> None:
    table = make("k INT, c INT")
    for keys, own in (([1, 2], [1, 2]), ([10, 11], [11, None]), ([12, 13], [12, None])):
        table.append(pa.table({"k": pa.array(keys, INTS), "c": pa.array(own, INTS)}))
    if filters == [("k", "<", 100)]:
        table.truncate()
    scan = table.scan(filters=filters)
    assert count_rows(scan) == rows
    assert count_values(scan, column(scan)) == values
    assert ends(table, filters=filters) == ([UNKNOWN] * 2 if rows is None else known(low, high))
    assert rows in (None, len(scan.to_arrow()))


# Statistics with unknown members.


def append_with_statistics(table: Table, values: pa.Array, **less: Any) -> None:
    """Append values, and replace some members of their statistics."""
    data = pa.table({"c": values})
    plan = table.transaction().plan_write(data.schema)
    (record,) = plan.write(data.schema, iter(data.to_batches()), table.store)
    stats = {1: dataclasses.replace(record.columns[1], **less)} if less else {}
    table.transaction().commit_append(plan, [dataclasses.replace(record, columns=stats)])


@pytest.mark.parametrize(
    "less, count, expected",
    [
        ({}, None, [UNKNOWN, UNKNOWN]),
        ({"nulls": None}, None, known("1.5", "9.5")),
        ({"min": None}, 4, [UNKNOWN, (True, "9.5")]),
        ({"max": None}, 4, [(True, "1.5"), UNKNOWN]),
        ({"nans": None}, 4, [(True, "1.5"), UNKNOWN]),
        ({"min": None, "nans": None}, 4, [UNKNOWN, UNKNOWN]),
        ({"min_inexact": True, "min": "1.0"}, 4, [UNKNOWN, (True, "9.5")]),
        ({"max_inexact": True, "max": "99.0"}, 4, [(True, "1.5"), UNKNOWN]),
        ({"min": "NaN", "max": "NaN"}, 4, [UNKNOWN, UNKNOWN]),
    ],
)
def test_unknown_statistics_give_no_result(
    make: Make, less: Any, count: int | None, expected: Any
) -> None:
    table = filled(make, "DOUBLE", pa.float64(), [2.5, None, 3.5])
    append_with_statistics(table, pa.array([1.5, 9.5, None], pa.float64()), **less)
    assert ends(table) == expected
    scan = table.scan()
    assert count_rows(scan) == 6
    assert count_values(scan, column(scan)) == count


def test_a_known_nan_is_the_maximum_whatever_else_is_unknown(make: Make) -> None:
    table = filled(make, "DOUBLE", pa.float64(), [NAN])
    append_with_statistics(table, pa.array([1.5]), nans=None)
    assert ends(table) == known("1.5", "NaN")


def test_a_segment_of_nulls_needs_no_bounds(make: Make) -> None:
    table = filled(make, "DOUBLE", pa.float64(), [1.5])
    append_with_statistics(table, pa.array([None, None], pa.float64()), nans=None)
    assert ends(table) == [(True, "1.5"), (True, "1.5")]
