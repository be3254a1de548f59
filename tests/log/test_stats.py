from __future__ import annotations

import datetime as dt
import decimal
import itertools
import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from versioned_catalog.errors import CorruptTableError
from versioned_catalog.log.statistics import (
    ColumnStats,
    StatsCollector,
    collect,
    columns_from_json,
    columns_to_json,
    stats_from_json,
    stats_to_json,
)
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geometry,
    Map,
    Struct,
    Time,
    Varchar,
)

NAN, INF = math.nan, math.inf
D = decimal.Decimal
UTC = dt.UTC


def batch_of(columns: tuple[Column, ...], rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=to_arrow_schema(columns))


def one(type_: DataType, values: list[Any]) -> ColumnStats:
    columns = (Column(1, "c", type_),)
    return collect(columns, batch_of(columns, [{"c": value} for value in values]))[1]


@pytest.mark.parametrize(
    "type_, values, want",
    [
        (Atom.BOOLEAN, [True, False, None], ColumnStats(1, None, "false", "true")),
        (Atom.BYTE, [-128, 127], ColumnStats(0, None, "-128", "127")),
        (Atom.LONG, [-(2**63), 2**63 - 1], ColumnStats(0, None, str(-(2**63)), str(2**63 - 1))),
        (Atom.INT, [], ColumnStats(0)),
        (Atom.INT, [None, None], ColumnStats(2)),
        (Atom.DOUBLE, [], ColumnStats(0, 0)),
        (Atom.DOUBLE, [NAN, 0.1, None, INF], ColumnStats(1, 1, "0.1", "Infinity")),
        (Atom.DOUBLE, [NAN, None, NAN], ColumnStats(1, 2)),
        (Atom.FLOAT, [0.1, -INF], ColumnStats(0, 0, "-Infinity", "0.1")),
        (Decimal(5, 2), [D("1.5"), D("-0.01")], ColumnStats(0, None, "-0.01", "1.50")),
        (Decimal(38, 0), [D(10**37 + 1)], ColumnStats(0, None, str(10**37 + 1), str(10**37 + 1))),
        (Atom.STRING, ["", "é", "z", None], ColumnStats(1, None, "", "é")),
        (Atom.STRING, ["\ue000", "\U00010000"], ColumnStats(0, None, "\ue000", "\U00010000")),
        (Varchar(5), ["b", "a"], ColumnStats(0, None, "a", "b")),
        (Char(2), ["b ", "a "], ColumnStats(0, None, "a ", "b ")),
        (Atom.BINARY, [b"\xff", b"a"], ColumnStats(0, None, "YQ==", "/w==")),
        (Atom.BINARY, [b""], ColumnStats(0, None, "", "")),
        (Atom.DATE, [dt.date(1970, 1, 2), dt.date(1969, 12, 31)], ColumnStats(0, None, "-1", "1")),
        (
            Atom.TIMESTAMP,
            [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)],
            ColumnStats(0, None, "1000000", "1000000"),
        ),
        (Atom.TIMESTAMP_NTZ, [dt.datetime(1970, 1, 1)], ColumnStats(0, None, "0", "0")),
        (Time(3), [dt.time(0, 0, 1)], ColumnStats(0, None, "1000000", "1000000")),
        (
            DayTimeInterval(),
            [dt.timedelta(seconds=-1)],
            ColumnStats(0, None, "-1000000", "-1000000"),
        ),
        (Atom.VARIANT, [{"value": b"x", "metadata": b"y"}, None], ColumnStats(1)),
        (Geometry(0), [{"srid": 0, "wkb": b"y"}, None], ColumnStats(1)),
    ],
)
def test_statistics_of_one_column(type_: DataType, values: list[Any], want: ColumnStats) -> None:
    assert one(type_, values) == want


def test_dates_beyond_the_years_of_python_have_bounds() -> None:
    columns = (Column(1, "d", Atom.DATE), Column(2, "t", Atom.TIMESTAMP))
    arrays = [
        pa.array([2**31 - 1, -(2**31)], pa.date32()),
        pa.array([2**63 - 1, -(2**63)], pa.timestamp("us", "UTC")),
    ]
    found = collect(columns, pa.record_batch(arrays, ["d", "t"]))
    assert found[1] == ColumnStats(0, None, str(-(2**31)), str(2**31 - 1))
    assert found[2] == ColumnStats(0, None, str(-(2**63)), str(2**63 - 1))


@pytest.mark.parametrize(
    "value, low, high",
    [
        ("a" * 64, ("a" * 64, False), ("a" * 64, False)),
        ("a" * 65, ("a" * 64, True), ("a" * 63 + "b", True)),
        ("é" * 65, ("é" * 64, True), ("é" * 63 + "ê", True)),
        ("a" * 63 + "\ud7ff!", ("a" * 63 + "\ud7ff", True), ("a" * 63 + "\ue000", True)),
        ("a" * 62 + "\U0010ffff" * 9, ("a" * 62 + "\U0010ffff" * 2, True), ("a" * 61 + "b", True)),
        ("\U0010ffff" * 65, ("\U0010ffff" * 64, True), (None, False)),
        ("\U0010ffff" * 64, ("\U0010ffff" * 64, False), ("\U0010ffff" * 64, False)),
    ],
)
def test_bounds_of_long_strings_are_truncated(
    value: str, low: tuple[str, bool], high: tuple[str | None, bool]
) -> None:
    assert one(Atom.STRING, [value]) == ColumnStats(0, None, low[0], high[0], low[1], high[1])


def test_bounds_of_long_binaries_are_truncated() -> None:
    found = one(Atom.BINARY, [b"a" * 62 + b"\xff" * 3])
    assert found.max == one(Atom.BINARY, [b"a" * 61 + b"b"]).max
    assert found.min == one(Atom.BINARY, [b"a" * 62 + b"\xff" * 2]).min
    assert (found.min_inexact, found.max_inexact) == (True, True)
    top = one(Atom.BINARY, [b"\xff" * 65])
    assert (top.min_inexact, top.max, top.max_inexact) == (True, None, False)


@given(st.lists(st.text("ab\ud7ff\ue000\U0010ffff", min_size=60, max_size=70), min_size=1))
def test_truncated_bounds_enclose_all_values(values: list[str]) -> None:
    found = one(Atom.STRING, values)
    keys = [value.encode() for value in values]
    assert found.min is not None
    assert found.min.encode() <= min(keys)
    assert found.min_inexact or found.min in values
    if found.max is None:
        assert max(keys).startswith("\U0010ffff".encode() * 64)
    else:
        assert found.max.encode() >= max(keys)
        assert found.max_inexact or found.max in values


def test_invalid_utf8_has_no_bound() -> None:
    raw = pa.array([b"a", b"\xff"]).view(pa.string())
    found = collect((Column(1, "c", Atom.STRING),), pa.record_batch([raw], ["c"]))
    assert found[1] == ColumnStats(0, None, "a", None)


NESTED = (
    Column(
        1,
        "s",
        Struct(
            (
                Column(2, "x", Atom.INT),
                Column(3, "l", Array(Column(4, "element", Atom.DOUBLE))),
                Column(5, "t", Struct((Column(6, "y", Atom.STRING),))),
            )
        ),
    ),
    Column(
        7,
        "m",
        Map(
            Column(8, "key", Atom.STRING, nullable=False),
            Column(9, "value", Struct((Column(10, "z", Atom.INT),))),
        ),
    ),
)
NESTED_ROWS: list[dict[str, Any]] = [
    {"s": {"x": 1, "l": [1.0, NAN, None], "t": {"y": "a"}}, "m": [("k", {"z": 1})]},
    {"s": None, "m": None},
    {"s": {"x": None, "l": None, "t": None}, "m": []},
    {"s": {"x": 5, "l": [], "t": {"y": None}}, "m": [("j", None), ("l", {"z": None})]},
    {"s": {"x": 3, "l": [7.0], "t": None}, "m": [("k", {"z": 9})]},
]
NESTED_STATS = {
    1: ColumnStats(1),
    2: ColumnStats(1, None, "1", "5"),
    3: ColumnStats(1),
    4: ColumnStats(1, 1, "1.0", "7.0"),
    5: ColumnStats(2),
    6: ColumnStats(1, None, "a", "a"),
    7: ColumnStats(1),
    8: ColumnStats(0, None, "j", "l"),
    9: ColumnStats(1),
    10: ColumnStats(1, None, "1", "9"),
}


def test_statistics_of_nested_columns() -> None:
    assert collect(NESTED, batch_of(NESTED, NESTED_ROWS)) == NESTED_STATS


def test_statistics_of_a_slice_ignore_the_rows_around_it() -> None:
    around = [{"s": {"x": -9, "l": [-9.0], "t": {"y": "z"}}, "m": [("a", {"z": -9})]}]
    batch = batch_of(NESTED, [*around, *NESTED_ROWS, *around])
    assert collect(NESTED, batch.slice(1, 5)) == NESTED_STATS
    assert collect(NESTED, batch.slice(0, 0)) == collect(NESTED, batch_of(NESTED, []))
    assert collect(NESTED, batch.slice(0, 1))[4] == ColumnStats(0, 0, "-9.0", "-9.0")


def test_values_below_a_null_do_not_count() -> None:
    hidden = pa.array([False, True])
    struct = pa.StructArray.from_arrays([pa.array([1, 99], pa.int32())], ["x"], mask=hidden)
    offsets = pa.array([0, 1, 2], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, pa.array([1, 99], pa.int32()), mask=hidden)
    maps = pa.MapArray.from_arrays(offsets, pa.array(["a", "z"]), pa.array([1, None]), mask=hidden)
    columns = (
        Column(1, "s", Struct((Column(2, "x", Atom.INT),))),
        Column(3, "l", Array(Column(4, "element", Atom.INT))),
        Column(5, "m", Map(Column(6, "key", Atom.STRING), Column(7, "value", Atom.LONG))),
    )
    found = collect(columns, pa.record_batch([struct, lists, maps], ["s", "l", "m"]))
    assert found == {
        1: ColumnStats(1),
        2: ColumnStats(0, None, "1", "1"),
        3: ColumnStats(1),
        4: ColumnStats(0, None, "1", "1"),
        5: ColumnStats(1),
        6: ColumnStats(0, None, "a", "a"),
        7: ColumnStats(0, None, "1", "1"),
    }


@given(st.lists(st.integers(0, 5), max_size=3).map(sorted))
def test_batches_add_up(cuts: list[int]) -> None:
    batch = batch_of(NESTED, NESTED_ROWS)
    edges = [0, *cuts, 5]
    slices = [batch.slice(a, b - a) for a, b in itertools.pairwise(edges)]
    collector = StatsCollector(NESTED)
    for slice_ in slices:
        collector.update(slice_)
    assert collector.finish() == NESTED_STATS
    assert collect(NESTED, pa.Table.from_batches(slices)) == NESTED_STATS


@given(st.lists(st.lists(st.none() | st.floats(width=32), max_size=4), max_size=4))
@example([[math.nan], [2.0, math.nan, 1.0]])
def test_floats_over_batches(batches: list[list[float | None]]) -> None:
    columns = (Column(1, "c", Atom.FLOAT),)
    collector = StatsCollector(columns)
    for values in batches:
        collector.update(batch_of(columns, [{"c": value} for value in values]))
    found = collector.finish()[1]
    everything = [value for values in batches for value in values]
    numbers = [v for v in everything if v is not None and not math.isnan(v)]
    assert found.nulls == everything.count(None)
    assert found.nans == len(everything) - everything.count(None) - len(numbers)
    if numbers:
        assert float(pa.scalar(float(str(found.min)), pa.float32()).as_py()) == min(numbers)
        assert float(pa.scalar(float(str(found.max)), pa.float32()).as_py()) == max(numbers)
    else:
        assert (found.min, found.max) == (None, None)


@pytest.mark.parametrize(
    "stats, text",
    [
        (ColumnStats(), "{}"),
        (ColumnStats(0, 1, "a", "b"), '{"nulls": 0, "nans": 1, "min": "a", "max": "b"}'),
        (ColumnStats(2, min="a", min_inexact=True), '{"nulls": 2, "min": "a", "inexact": "min"}'),
        (ColumnStats(max="b", max_inexact=True), '{"max": "b", "inexact": "max"}'),
        (
            ColumnStats(0, None, "a", "b", True, True),
            '{"nulls": 0, "min": "a", "max": "b", "inexact": "both"}',
        ),
    ],
)
def test_statistics_convert_to_json_and_back(stats: ColumnStats, text: str) -> None:
    assert json.dumps(stats_to_json(stats)) == text
    assert stats_from_json(json.loads(text)) == stats
    assert columns_to_json({7: stats}) == {"7": json.loads(text)}
    assert columns_from_json({"7": json.loads(text)}) == {7: stats}


def test_unknown_json_members_are_refused() -> None:
    with pytest.raises(CorruptTableError, match="the member 'distinct' is unknown"):
        stats_from_json({"nulls": 1, "distinct": 7})


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        "x",
        {"nulls": -1},
        {"nulls": 2**63},
        {"nulls": True},
        {"nulls": "1"},
        {"nans": 1.5},
        {"min": 1},
        {"max": ["a"]},
        {"inexact": "neither"},
        {"inexact": True},
    ],
)
def test_invalid_json_is_refused(bad: Any) -> None:
    with pytest.raises(CorruptTableError):
        stats_from_json(bad)
    with pytest.raises(CorruptTableError):
        columns_from_json({"1": bad})


@pytest.mark.parametrize("key", ["", "0", "-1", "01", "x", "2147483648", "1 ", "١"])
def test_invalid_column_ids_are_refused(key: str) -> None:
    with pytest.raises(CorruptTableError):
        columns_from_json({key: {}})


def test_columns_that_are_no_object_are_refused() -> None:
    with pytest.raises(CorruptTableError):
        columns_from_json([])
