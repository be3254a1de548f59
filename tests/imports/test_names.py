"""Which columns of files are the same: case, aliases, left out columns, columns in paths."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from imports.lake import Lake
from versioned_catalog import InvalidRequestError


def test_names_that_differ_in_case_are_one_column(lake: Lake) -> None:
    """It is spelled as in the first file."""
    lake.write("0.parquet", {"Name": ["a"]})
    lake.write("1.parquet", {"NAME": ["b"]})
    assert lake.load().schema.names == ["Name"]
    assert lake.rows() == [{"Name": "a"}, {"Name": "b"}]


def test_a_provided_schema_says_the_case(lake: Lake) -> None:
    lake.write("0.parquet", {"NAME": ["a"]})
    assert lake.load(schema="name STRING").schema.names == ["name"]


def test_names_of_one_file_that_differ_in_case_clash(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "A": [2]})
    with pytest.raises(InvalidRequestError) as caught:
        lake.load()
    assert (
        "a is the name of two columns, regardless of case: 'a' and 'A' in 1 file (0.parquet). Pass "
        "aliases={'A': 'A_2'}" in str(caught.value)
    )


def test_an_alias_settles_a_clash(lake: Lake) -> None:
    """An alias of the one spelling must not rename the other."""
    lake.write("0.parquet", {"a": [1], "A": [2]})
    lake.load(aliases={"A": "A_2"})
    assert lake.rows() == [{"a": 1, "A_2": 2}]


def test_an_alias_joins_a_renamed_column(lake: Lake) -> None:
    lake.write("0.parquet", {"old": [1], "address": [{"plz": "1"}]})
    lake.write("1.parquet", {"new": [2], "address": [{"zip": "2"}]})
    table = lake.load(aliases={"old": "new", "address.plz": "zip"})
    assert str(table.schema) == "new BIGINT, address STRUCT<zip: STRING>"
    assert lake.rows() == [
        {"new": 1, "address": {"zip": "1"}},
        {"new": 2, "address": {"zip": "2"}},
    ]
    lake.load("copied", aliases={"old": "new", "address.plz": "zip"}, copy=True)
    assert lake.rows("copied") == lake.rows()


def test_an_alias_does_not_move_a_column(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1]})
    with pytest.raises(InvalidRequestError, match="would move the column into another struct"):
        lake.load(aliases={"a": "b.c"})


def test_columns_are_left_out(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "b": [2], "s": [{"x": 1, "y": 2}]})
    lake.load(exclude=["b", "s.y"])
    assert lake.rows() == [{"a": 1, "s": {"x": 1}}]


def test_a_column_that_was_added_later_is_null_before(lake: Lake) -> None:
    lake.write("0.parquet", {"a": [1], "s": [{"x": 1}]})
    lake.write("1.parquet", {"a": [2], "b": [3], "s": [{"x": 2, "y": 3}]})
    assert lake.load().schema.names == ["a", "s", "b"]
    assert lake.rows() == [
        {"a": 1, "s": {"x": 1, "y": None}, "b": None},
        {"a": 2, "s": {"x": 2, "y": 3}, "b": 3},
    ]


def test_required_and_optional_columns_are_nullable(lake: Lake) -> None:
    required = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    lake.write("0.parquet", pa.table({"a": [1]}, schema=required))
    lake.write("1.parquet", {"a": pa.array([None], pa.int64())})
    assert str(lake.load().schema) == "a BIGINT"
    assert lake.rows() == [{"a": 1}, {"a": None}]


def test_names_with_dots_and_blanks_are_kept(lake: Lake) -> None:
    lake.write("0.parquet", {"a.b": [1], "c d": [2], "ä": [3]})
    lake.load()
    assert lake.rows() == [{"a.b": 1, "c d": 2, "ä": 3}]


def test_a_name_that_no_column_can_have_is_refused(lake: Lake) -> None:
    lake.write("0.parquet", {"a\n": [1], "b": [2]})
    with pytest.raises(InvalidRequestError, match=r"can't be a name: .*control characters"):
        lake.load()
    lake.load(aliases={"`a\n`": "a"})
    assert lake.rows() == [{"a": 1, "b": 2}]


def test_parts_of_paths_are_columns(lake: Lake) -> None:
    lake.write("year=2024/day=2024-01-02/city=New%20York/0.parquet", {"v": [1]})
    lake.write("year=2025/day=2025-03-04/city=__HIVE_DEFAULT_PARTITION__/1.parquet", {"v": [2]})
    table = lake.load()
    assert str(table.schema) == "v BIGINT, year INT, day DATE, city STRING"
    assert lake.rows() == [
        {"v": 1, "year": 2024, "day": dt.date(2024, 1, 2), "city": "New York"},
        {"v": 2, "year": 2025, "day": dt.date(2025, 3, 4), "city": None},
    ]
    assert table.scan(filters=[("year", "=", 2025)]).to_arrow().num_rows == 1
    lake.load("copied", copy=True)
    assert lake.rows("copied") == lake.rows()


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1", "02"], "INT"),
        (["1", str(2**31)], "BIGINT"),
        (["1", "x"], "STRING"),
        (["2024-01-01", "2024-02-30"], "STRING"),
        (["2024-01-01", "1"], "STRING"),
        (["__HIVE_DEFAULT_PARTITION__"], "STRING"),
        (["1.5"], "STRING"),
    ],
)
def test_parts_are_typed_over_all_paths(lake: Lake, values: list[str], wanted: str) -> None:
    for at, value in enumerate(values):
        lake.write(f"p={value}/{at}.parquet", {"v": [1]})
    assert str(lake.load().schema) == f"v BIGINT, p {wanted}"


def test_a_part_of_a_path_wins_over_the_column_in_the_file(lake: Lake) -> None:
    lake.write("p=7/0.parquet", {"v": [1], "p": ["other"]})
    lake.load()
    assert lake.rows() == [{"v": 1, "p": 7}]


def test_parts_of_paths_can_be_ignored(lake: Lake) -> None:
    lake.write("p=7/0.parquet", {"v": [1]})
    lake.load(path_columns=False)
    assert lake.rows() == [{"v": 1}]


def test_a_part_can_have_a_provided_type(lake: Lake) -> None:
    lake.write("p=7/0.parquet", {"v": [1]})
    lake.load(schema="p DECIMAL(5,2)")
    assert [str(row["p"]) for row in lake.rows()] == ["7.00"]


def test_a_part_that_is_no_value_of_its_type_is_refused(lake: Lake) -> None:
    lake.write("p=x/0.parquet", {"v": [1]})
    with pytest.raises(InvalidRequestError, match="the part p=x of a path is no INT"):
        lake.load(schema="p INT")
