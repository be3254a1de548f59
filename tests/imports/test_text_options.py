"""Encodings, quotes, numbers, nulls and dates of CSV and JSON as options."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from imports.lake import Lake
from versioned_catalog import InvalidRequestError


def rows(lake: Lake, data: bytes, name: str = "x.csv", **options: Any) -> list[dict[str, Any]]:
    (lake.folder / name).write_bytes(data)
    lake.load(copy=True, **options)
    return lake.rows()


@pytest.mark.nightly
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "UTF-16-LE"])
def test_encodings_of_csv(lake: Lake, encoding: str) -> None:
    data = "stadt,n\nKöln,1\nMünster,2\n".encode(encoding)
    assert rows(lake, data, encoding=encoding) == [
        {"stadt": "Köln", "n": 1},
        {"stadt": "Münster", "n": 2},
    ]


def test_encodings_of_json_and_of_what_is_not_in_it(lake: Lake) -> None:
    assert rows(lake, '{"ä": "ö"}\n'.encode("utf-16"), "x.json", encoding="utf-16") == [{"ä": "ö"}]
    (lake.folder / "y.csv").write_bytes(b"a\n\x81\n")
    with pytest.raises(InvalidRequestError, match="it is not in cp1252"):
        lake.load("u", "y.csv", copy=True, encoding="cp1252")
    for wrong in ("klingon", "rot13", "base64"):
        with pytest.raises(
            InvalidRequestError, match="encoding must be the name of one that Python"
        ):
            lake.load("u", "y.csv", copy=True, encoding=wrong)


def test_quotes_and_escapes(lake: Lake) -> None:
    data = b"a;b\n'x;''y''';1\nz\\;\\'w;2\n"
    assert rows(lake, data, delimiter=";", quote="'", escape="\\") == [
        {"a": "x;'y'", "b": 1},
        {"a": "z;'w", "b": 2},
    ]


def test_no_quotes(lake: Lake) -> None:
    assert rows(lake, b'a,b\n"x,1\n', quote="") == [{"a": '"x', "b": 1}]


def test_decimal_commas_and_thousands(lake: Lake) -> None:
    data = b"n;m;s;d\n1.234,50;1.000;1.5;1.234,56\n-,5;20;2,5;7\n1e3;-3;x;-0,10\n"
    options = {"delimiter": ";", "decimal": ",", "thousands": ".", "schema": "d DECIMAL(8,2)"}
    found = rows(lake, data, **options)
    assert [(row["n"], row["m"]) for row in found] == [(1234.5, 1000), (-0.5, 20), (1000.0, -3)]
    assert [row["s"] for row in found] == ["1.5", "2,5", "x"]
    assert [row["d"] for row in found] == [Decimal("1234.56"), Decimal("7.00"), Decimal("-0.10")]
    types = "d DECIMAL(8,2), n DOUBLE, m BIGINT, s STRING"
    assert str(lake.catalog.load_table("t").schema) == types


@pytest.mark.parametrize("text", ["1.5", "1.23,0", "1,2,3", "1.2345", "12.34.567,0"])
def test_a_number_in_another_style_is_refused_with_its_line(lake: Lake, text: str) -> None:
    lake.text("x.csv", f"n\n1.234,5\n{text}\n")
    options = {"delimiter": ";", "decimal": ",", "thousands": ".", "copy": True}
    lake.load("inferred", **options)
    assert str(lake.catalog.load_table("inferred").schema) == "n STRING"
    with pytest.raises(
        InvalidRequestError, match=r"in line 3: a number is needed, such as 1\.234,50"
    ):
        lake.load(schema="n DECIMAL(20,4)", **options)


def test_several_texts_of_null(lake: Lake) -> None:
    assert rows(lake, b'a,b\nNA,1\n,NULL\n"NA",3\n', null=["", "NA", "NULL"]) == [
        {"a": None, "b": 1},
        {"a": None, "b": None},
        {"a": "NA", "b": 3},
    ]


def test_lines_before_the_header_and_formats_of_dates(lake: Lake) -> None:
    data = b"Report\n'x\nday,at,n\n31.01.2024,31.01.2024 10:30,20240131\n01.02.2024,,1\n"
    found = rows(
        lake, data, skip_lines=2, date_format="dd.MM.yyyy", timestamp_format="dd.MM.yyyy HH:mm"
    )
    assert found == [
        {"day": dt.date(2024, 1, 31), "at": dt.datetime(2024, 1, 31, 10, 30), "n": 20240131},
        {"day": dt.date(2024, 2, 1), "at": None, "n": 1},
    ]
    lake.text("x.csv", "Report\n\nday,n\n01.02.2024,1\n32.01.2024,1\n")
    with pytest.raises(
        InvalidRequestError, match=r"'32.01.2024' in line 5: the month has no such day"
    ):
        lake.load("u", copy=True, skip_lines=2, date_format="dd.MM.yyyy", schema="day DATE")


def test_formats_of_dates_in_json(lake: Lake) -> None:
    data = b'{"d": "31.01.2024", "e": "2024-01-31"}\n'
    found = rows(
        lake, data, "x.json", date_format="dd.MM.yyyy", schema="d DATE, e DATE FORMAT 'yyyy-MM-dd'"
    )
    assert found == [{"d": dt.date(2024, 1, 31), "e": dt.date(2024, 1, 31)}]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"delimiter": "||"}, "delimiter must be one ASCII character"),
        ({"quote": "«"}, "quote must be one ASCII character"),
        ({"escape": "\n"}, "escape must be one ASCII character"),
        ({"delimiter": "'", "quote": "'"}, "delimiter and quote are both"),
        ({"decimal": "5"}, "decimal must be one character that is no part of a number"),
        ({"thousands": "."}, "decimal and thousands are both '.'"),
        ({"skip_lines": -1}, "skip_lines must be a number of lines"),
        ({"null": [1]}, "null must be a text or a list of texts"),
        ({"date_format": "HH"}, "does not say year, month and day"),
        ({"header": "no"}, "header must be true or false"),
        (
            {"nanoseconds": "truncate"},
            "nanoseconds is an option of PARQUET or ORC or AVRO, and the",
        ),
    ],
)
def test_an_option_that_can_not_be_honoured_is_refused(
    lake: Lake, options: dict[str, Any], problem: str
) -> None:
    lake.text("x.csv", "a\n1\n")
    with pytest.raises(InvalidRequestError, match=problem):
        lake.load(copy=True, **options)


@pytest.mark.nightly
def test_options_of_another_format_are_refused_where_given_and_unused_where_kept(
    lake: Lake,
) -> None:
    lake.text("x.csv", "a;b\n1;2\n")
    lake.load(source="x.csv", copy=True, delimiter=";")
    lake.write("y.parquet", {"a": [3], "b": [4]})
    with pytest.raises(
        InvalidRequestError, match="delimiter is an option of CSV, and the files are"
    ):
        lake.load(source="y.parquet", delimiter=";")
    lake.load(source="y.parquet")
    lake.text("z.json", '{"a": 5, "b": 6}\n')
    with pytest.raises(
        InvalidRequestError, match="decimal is an option of CSV, and the files are JS"
    ):
        lake.load(source="z.json", copy=True, decimal=",")
    lake.load(source="z.json", copy=True)
    assert [row["a"] for row in lake.rows()] == [1, 3, 5]
