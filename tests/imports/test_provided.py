"""A provided schema: types, defaults, formats, nullability, and whether other columns are taken."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from imports.lake import Lake
from versioned_catalog import InvalidRequestError, Schema


def test_a_provided_type_is_taken_in_place(lake: Lake) -> None:
    lake.write("0.parquet", {"a": pa.array([1], pa.int32()), "b": pa.array([b"x"])})
    assert str(lake.load(schema="a BIGINT, b STRING").schema) == "a BIGINT, b STRING"
    assert lake.rows() == [{"a": 1, "b": "x"}]


def test_other_columns_are_taken_unless_strict(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "b": [2], "s": [{"x": 1, "y": 2}]})
    lake.load("lenient", schema="b BIGINT")
    assert lake.rows("lenient") == [{"b": 2, "a": 1, "s": {"x": 1, "y": 2}}]
    lake.load("strict", schema="b BIGINT, s.y BIGINT PROPERTIES ('drill.strict' = 'true')")
    assert lake.rows("strict") == [{"b": 2, "s": {"y": 2}}]
    lake.load("argument", schema="b BIGINT", strict=True)
    assert lake.rows("argument") == [{"b": 2}]


def test_strict_leaves_out_a_column_that_files_disagree_on(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "b": [2]})
    lake.write("1.parquet", {"a": [2], "b": ["x"]})
    lake.load(schema="a BIGINT", strict=True)
    assert lake.rows() == [{"a": 1}, {"a": 2}]


def test_a_default_stands_for_a_missing_column(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.write("1.parquet", {"a": [2], "unit": ["MWh"]})
    lake.load(schema="unit STRING DEFAULT 'kWh', nowhere INT DEFAULT 3")
    wanted = [
        {"unit": "kWh", "nowhere": 3, "a": 1},
        {"unit": "MWh", "nowhere": 3, "a": 2},
    ]
    assert lake.rows() == wanted
    lake.load("copied", schema="unit STRING DEFAULT 'kWh', nowhere INT DEFAULT 3", copy=True)
    assert lake.rows("copied") == wanted


def test_not_null_needs_a_value_in_each_file(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    lake.write("1.parquet", {"a": [2], "b": [3]})
    with pytest.raises(InvalidRequestError) as caught:
        lake.load(schema="b BIGINT NOT NULL")
    assert "b is NOT NULL without a default: missing in 1 file (0.parquet)" in str(caught.value)
    lake.load(schema="b BIGINT NOT NULL DEFAULT 0")
    assert lake.rows() == [{"b": 0, "a": 1}, {"b": 3, "a": 2}]


def test_a_null_in_a_not_null_column_is_refused(lake: Lake) -> None:
    lake.write("0.parquet", {"a": pa.array([1, None], pa.int64())})
    with pytest.raises(InvalidRequestError, match="has 1 nulls in the column a, which is NOT NULL"):
        lake.load(schema="a BIGINT NOT NULL")


def test_formats_of_dates_and_times(lake: Lake) -> None:
    lake.text("x.csv", "d,t,u\n31.01.2024,2024-01-31 10:30,20240131\n,,\n")
    lake.load(
        schema="d DATE FORMAT 'dd.MM.yyyy', t TIMESTAMP_NTZ FORMAT 'yyyy-MM-dd HH:mm', "
        "u DATE FORMAT '%Y%m%d'",
        copy=True,
    )
    assert lake.rows() == [
        {
            "d": dt.date(2024, 1, 31),
            "t": dt.datetime(2024, 1, 31, 10, 30),
            "u": dt.date(2024, 1, 31),
        },
        {"d": None, "t": None, "u": None},
    ]


def test_a_schema_in_a_file_and_as_an_object(lake: Lake, tmp_path: Path) -> None:
    lake.write("0.parquet", {"a": pa.array([1], pa.int32())})
    ddl = tmp_path / "a.sql"
    ddl.write_text("a BIGINT")
    assert str(lake.load("file", schema=ddl).schema) == "a BIGINT"
    assert str(lake.load("text", schema=str(ddl)).schema) == "a BIGINT"
    other = lake.catalog.create_table("other", "a BIGINT, b INT").schema
    assert isinstance(other, Schema)
    assert str(lake.load("object", schema=other).schema) == "a BIGINT, b INT"


@pytest.mark.parametrize(
    ("ddl", "problem"),
    [
        ("a INT, A INT", "names the column A twice"),
        ("a INT PROPERTIES ('x' = '1')", "no property x; known are strict"),
        ("a INT PROPERTIES ('strict' = 'maybe')", "strict must be true or false"),
        ("a DATE FORMAT", "a string in quotes was expected"),
        ("a TIMESTAMP DEFAULT current_timestamp()", "must be a constant"),
        ("a INT nonsense", "FORMAT or COMMENT was expected"),
    ],
)
def test_a_wrong_schema_is_refused(lake: Lake, ddl: str, problem: str) -> None:
    lake.write("0.parquet", {"a": [1]})
    with pytest.raises(InvalidRequestError, match=problem):
        lake.load(schema=ddl)


def test_a_provided_type_widens_that_of_the_table_if_it_may(lake: Lake) -> None:
    lake.catalog.create_table("t", "a INT")
    lake.write("0.parquet", {"a": pa.array([1], pa.int32())})
    with pytest.raises(InvalidRequestError, match="INT in the table and BIGINT in the provided"):
        lake.load(schema="a BIGINT")
    assert str(lake.load(schema="a BIGINT", evolve=True).schema) == "a BIGINT"
