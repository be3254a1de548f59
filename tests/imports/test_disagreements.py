"""Drill's and the field's cases of files that disagree: the merged type, or the error and its way out.

Each error names the option that settles it; the option is then passed as is, and the import works.
"""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import re
from typing import Any

import pyarrow as pa
import pytest

from imports.lake import Lake
from versioned_catalog import InvalidRequestError

MERGED: dict[str, tuple[list[pa.Array], str]] = {
    "int and bigint": ([pa.array([1], pa.int32()), pa.array([2], pa.int64())], "BIGINT"),
    "int and double": ([pa.array([1], pa.int32()), pa.array([2.5])], "DOUBLE"),
    "int and float": ([pa.array([1], pa.int32()), pa.array([2.5], pa.float32())], "DOUBLE"),
    "int and decimal": (
        [pa.array([1], pa.int32()), pa.array([decimal.Decimal("2.50")], pa.decimal128(5, 2))],
        "DECIMAL(12,2)",
    ),
    "decimals of other scales": (
        [
            pa.array([decimal.Decimal("1.5")], pa.decimal128(5, 1)),
            pa.array([decimal.Decimal("0.125")], pa.decimal128(4, 3)),
        ],
        "DECIMAL(7,3)",
    ),
    "date and timestamp without zone": (
        [
            pa.array([dt.date(2024, 1, 1)]),
            pa.array([dt.datetime(2024, 1, 2, 3)], pa.timestamp("us")),
        ],
        "TIMESTAMP_NTZ",
    ),
    "units of timestamps": (
        [pa.array([1000], pa.timestamp("ms")), pa.array([1_000_000], pa.timestamp("us"))],
        "TIMESTAMP_NTZ",
    ),
    "nulls only": ([pa.nulls(1), pa.array(["x"])], "STRING"),
    "nulls only and a number": ([pa.nulls(1), pa.array([1], pa.int32())], "INT"),
    "nulls only everywhere": ([pa.nulls(1), pa.nulls(1)], "STRING"),
    "unsigned and signed": ([pa.array([1], pa.uint32()), pa.array([2], pa.int32())], "BIGINT"),
    "byte and unsigned byte": ([pa.array([1], pa.int8()), pa.array([2], pa.uint8())], "SMALLINT"),
    "plain and dictionary text": (
        [pa.array(["a"]), pa.array(["b"]).dictionary_encode()],
        "STRING",
    ),
    "large and plain text": ([pa.array(["a"]), pa.array(["b"], pa.large_string())], "STRING"),
    "float16 and float": ([pa.array([1.5], pa.float16()), pa.array([2.5], pa.float32())], "FLOAT"),
    "elements of lists": (
        [pa.array([[1]], pa.list_(pa.int32())), pa.array([[2]], pa.list_(pa.int64()))],
        "ARRAY<BIGINT>",
    ),
    "values of maps": (
        [
            pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
            pa.array([[("k", 2.5)]], pa.map_(pa.string(), pa.float64())),
        ],
        "MAP<STRING, DOUBLE>",
    ),
    "fields of structs": (
        [pa.array([{"a": 1}]), pa.array([{"b": "x", "a": 2}])],
        "STRUCT<a: BIGINT, b: STRING>",
    ),
    "nested in a list of structs": (
        [
            pa.array([[{"a": 1}]], pa.list_(pa.struct({"a": pa.int32()}))),
            pa.array([[{"a": 2, "c": True}]]),
        ],
        "ARRAY<STRUCT<a: BIGINT, c: BOOLEAN>>",
    ),
}


@pytest.mark.parametrize("case", MERGED)
def test_types_that_widen_are_merged(lake: Lake, case: str) -> None:
    arrays, wanted = MERGED[case]
    for at, array in enumerate(arrays):
        lake.write(f"{at}.parquet", {"v": array})
    table = lake.load()
    assert str(table.schema) == f"v {wanted}"
    found = [row["v"] for row in lake.rows()]
    assert [_plain(one) for one in found] == [
        _plain(value, wanted) for array in arrays for value in array.to_pylist()
    ]


def _plain(value: Any, wanted: str = "") -> Any:
    """A value without the fields that another file added, and dates as timestamps."""
    match value:
        case dict():
            return {key: _plain(one) for key, one in value.items() if one is not None}
        case list():
            return [_plain(one) for one in value]
        case dt.date() if not isinstance(value, dt.datetime) and wanted == "TIMESTAMP_NTZ":
            return dt.datetime(value.year, value.month, value.day)
        case _:
            return value


CONFLICTS: dict[str, tuple[list[pa.Array], str, str]] = {
    "int and text": (
        [pa.array([1], pa.int32()), pa.array(["x"])],
        "v is INT in 1 file (0.parquet) and STRING in 1 file (1.parquet)",
        "schema='v STRING', copy=True",
    ),
    "bigint and double": (
        [pa.array([1]), pa.array([2.5])],
        "v is BIGINT in 1 file (0.parquet) and DOUBLE in 1 file (1.parquet)",
        "schema='v DOUBLE', copy=True",
    ),
    "decimals of more than 38 digits together": (
        [
            pa.array([decimal.Decimal(1)], pa.decimal128(38, 0)),
            pa.array([decimal.Decimal("0.5")], pa.decimal128(38, 30)),
        ],
        "v is DECIMAL(38,0) in 1 file (0.parquet) and DECIMAL(38,30) in 1 file (1.parquet)",
        "schema='v DECIMAL(38,30)', copy=True",
    ),
    "boolean and int": (
        [pa.array([True]), pa.array([1])],
        "v is BOOLEAN in 1 file (0.parquet) and BIGINT in 1 file (1.parquet)",
        "schema='v STRING', copy=True",
    ),
    "timestamps with and without zone": (
        [pa.array([1], pa.timestamp("us", "UTC")), pa.array([2], pa.timestamp("us"))],
        "v is TIMESTAMP in 1 file (0.parquet) and TIMESTAMP_NTZ in 1 file (1.parquet)",
        "schema='v TIMESTAMP'",
    ),
    "date and timestamp with zone": (
        [pa.array([dt.date(2024, 1, 1)]), pa.array([2], pa.timestamp("us", "UTC"))],
        "v is DATE in 1 file (0.parquet) and TIMESTAMP in 1 file (1.parquet)",
        "schema='v TIMESTAMP', copy=True",
    ),
    "binary and text": (
        [pa.array([b"a"]), pa.array(["b"])],
        "v is BINARY in 1 file (0.parquet) and STRING in 1 file (1.parquet)",
        "schema='v STRING'",
    ),
    "struct and map": (
        [pa.array([{"a": 1}]), pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))],
        "v is a STRUCT in 1 file (0.parquet) and a MAP in 1 file (1.parquet)",
        "exclude=['v']",
    ),
    "list and scalar": (
        [pa.array([[1]]), pa.array([1])],
        "v is an ARRAY in 1 file (0.parquet) and BIGINT in 1 file (1.parquet)",
        "exclude=['v']",
    ),
    "inside a struct": (
        [pa.array([{"a": 1}]), pa.array([{"a": "x"}])],
        "v.a is BIGINT in 1 file (0.parquet) and STRING in 1 file (1.parquet)",
        "schema='v.a STRING', copy=True",
    ),
    "inside a list": (
        [pa.array([[1]]), pa.array([["x"]])],
        "v.element is BIGINT in 1 file (0.parquet) and STRING in 1 file (1.parquet)",
        "schema='v.element STRING', copy=True",
    ),
    "inside a map": (
        [
            pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            pa.array([[("k", "x")]], pa.map_(pa.string(), pa.string())),
        ],
        "v.value is BIGINT in 1 file (0.parquet) and STRING in 1 file (1.parquet)",
        "schema='v.value STRING', copy=True",
    ),
    "a decimal with too many digits": (
        [pa.array([decimal.Decimal(1)], pa.decimal256(40, 2)), pa.array([1])],
        "v can't be imported: decimal256(40, 2) has more than 38 digits in 1 file (0.parquet)",
        "exclude=['v']",
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_conflict_names_files_types_and_what_settles_it(lake: Lake, case: str) -> None:
    arrays, problem, hint = CONFLICTS[case]
    for at, array in enumerate(arrays):
        lake.write(f"{at}.parquet", {"id": pa.array([at]), "v": array})
    with pytest.raises(InvalidRequestError) as caught:
        lake.load()
    assert f"  {problem}. Pass {hint}" in str(caught.value).splitlines()
    assert not lake.catalog.table_exists("t")
    lake.load(**options_of(hint))
    assert [row["id"] for row in lake.rows()] == list(range(len(arrays)))


def options_of(hint: str) -> dict[str, Any]:
    """The arguments that a hint writes."""
    call = ast.parse(f"f({hint})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}


def test_all_conflicts_are_one_error_with_one_way_out(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "b": [1]})
    lake.write("1.parquet", {"a": ["x"], "b": [2.5]})
    with pytest.raises(InvalidRequestError) as caught:
        lake.load()
    (hint,) = re.findall(r"All at once: (.*)", str(caught.value))
    assert hint == "schema='a STRING, b DOUBLE', copy=True"
    lake.load(**options_of(hint))
    assert lake.rows() == [{"a": "1", "b": 1.0}, {"a": "x", "b": 2.5}]


def test_a_conflict_counts_files_and_shows_a_few(lake: Lake) -> None:
    for at in range(7):
        lake.write(f"{at}.parquet", {"v": [1]})
    lake.write("7.parquet", {"v": ["x"]})
    with pytest.raises(InvalidRequestError) as caught:
        lake.load()
    wanted = "v is BIGINT in 7 files (0.parquet, 1.parquet, 2.parquet, …) and STRING in 1 file"
    assert f"{wanted} (7.parquet)" in str(caught.value)


def test_values_converted_on_request_are_right(lake: Lake) -> None:
    """What a hint makes of the values."""
    lake.write("0.parquet", {"v": pa.array([dt.date(2024, 1, 1)])})
    lake.write(
        "1.parquet", {"v": pa.array([dt.datetime(2024, 1, 2, 3)], pa.timestamp("us", "UTC"))}
    )
    lake.load(schema="v TIMESTAMP", copy=True)
    zone = dt.UTC
    assert [row["v"] for row in lake.rows()] == [
        dt.datetime(2024, 1, 1, tzinfo=zone),
        dt.datetime(2024, 1, 2, 3, tzinfo=zone),
    ]


def test_a_conversion_that_loses_something_is_refused(lake: Lake) -> None:
    lake.write("0.parquet", {"v": [2**53 + 1]})
    with pytest.raises(
        InvalidRequestError, match=r"0\.parquet: the column v holds a value that is no DOUBLE"
    ):
        lake.load(schema="v DOUBLE", copy=True)
