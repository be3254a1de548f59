"""Values on the way in are exact, or refused with the value, the file and the line."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import orc

from imports.lake import Lake
from versioned_catalog import InvalidRequestError
from versioned_catalog.model.types import Atom, DataType, Time
from versioned_catalog.model.types import Decimal as DecimalType
from versioned_interop.imports.path_parts import value_text
from versioned_interop.imports.provided import parse_provided

FORMATS = [
    ("DATE", "dd.MM.yyyy", "29.02.2024", dt.date(2024, 2, 29)),
    ("DATE", "dd.MM.yyyy", "1.2.2024", dt.date(2024, 2, 1)),
    ("DATE", "yyyyMMdd", "19991231", dt.date(1999, 12, 31)),
    ("DATE", "d MMM yyyy", "3 Mar 2024", dt.date(2024, 3, 3)),
    ("DATE", "EEEE, MMMM d, yyyy", "Friday, March 1, 2024", dt.date(2024, 3, 1)),
    ("DATE", "yyyy-DDD", "2024-366", dt.date(2024, 12, 31)),
    ("DATE", "yy/M/d", "68/1/2", dt.date(2068, 1, 2)),
    ("DATE", "%y%m%d", "690102", dt.date(1969, 1, 2)),
    ("DATE", "yyyy-MM-dd HH:mm", "2024-01-31 00:00", dt.date(2024, 1, 31)),
    ("TIME", "HH:mm", "23:59", dt.time(23, 59)),
    ("TIME", "h:mm a", "12:05 AM", dt.time(0, 5)),
    ("TIME", "%I:%M %p", "12:05 pm", dt.time(12, 5)),
    ("TIME", None, "23:59:58.5", dt.time(23, 59, 58, 500000)),
    ("TIMESTAMP_NTZ", "yyyy-MM-dd'T'HH:mm:ss.SSS", "2024-01-31T23:59:59.123",
     dt.datetime(2024, 1, 31, 23, 59, 59, 123000)),
    ("TIMESTAMP_NTZ", "%F %T", "2024-01-31 10:11:12", dt.datetime(2024, 1, 31, 10, 11, 12)),
    ("TIMESTAMP", "yyyy-MM-dd HH:mmXXX", "2024-01-01 00:30+02:00",
     dt.datetime(2023, 12, 31, 22, 30, tzinfo=dt.UTC)),
    ("TIMESTAMP", "%Y-%m-%d %H:%M %z", "2024-01-01 00:30 -0130",
     dt.datetime(2024, 1, 1, 2, 0, tzinfo=dt.UTC)),
    ("TIMESTAMP", "dd.MM.yyyy", "01.01.1970", dt.datetime(1970, 1, 1, tzinfo=dt.UTC)),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "format_", "text", "wanted"), FORMATS)
def test_a_format_says_which_value_a_text_is(
    lake: Lake, type_: str, format_: str | None, text: str, wanted: object
) -> None:
    lake.text("x.csv", f'v,w\n"{text}",a\n,b\n')
    how = "" if format_ is None else " FORMAT '{}'".format(format_.replace("'", "''"))
    lake.load(schema=f"v {type_}{how}", copy=True)
    assert [row["v"] for row in lake.rows()] == [wanted, None]


IMPOSSIBLE = [
    ("DATE", "dd.MM.yyyy", "31.02.2024", "the month has no such day"),
    ("DATE", "dd.MM.yyyy", "29.02.2023", "the month has no such day"),
    ("DATE", "dd.MM.yyyy", "00.01.2024", "the month has no such day"),
    ("DATE", "dd.MM.yyyy", "01.13.2024", "the year has no such month"),
    ("DATE", "dd.MM.yyyy", "01.01.2024 x", "not written as 'dd.MM.yyyy'"),
    ("DATE", "dd.MM.yyyy", "01.01.20240", "not written as 'dd.MM.yyyy'"),
    ("DATE", "dd.MM.yyyy", "０1.01.2024", "not written as 'dd.MM.yyyy'"),
    ("DATE", "yyyy-DDD", "2023-366", "the year has no such day"),
    ("DATE", "EEE yyyy-MM-dd", "Mon 2024-01-02", "another day of the week"),
    ("DATE", "d MMM yyyy", "3 Mai 2024", "a name is none of jan, feb"),
    ("DATE", "yyyy-MM-dd HH:mm", "2024-01-31 23:59", "a time of day, which a DATE does not hold"),
    ("DATE", None, "2024-01-31 23:59", "2024-01-31 23:59"),
    ("DATE", None, "2024-02-30", "2024-02-30"),
    ("TIME", "HH:mm:ss", "23:59:60", "no such time of day"),
    ("TIME", "HH:mm", "24:00", "no such time of day"),
    ("TIME", "hh:mm a", "13:00 PM", "hours of half a day go from 1 to 12"),
    ("TIME", None, "24:00", "no such time of day"),
    ("TIME(3)", None, "12:00:00.0001", "up to 3 digits after the point"),
    ("TIMESTAMP_NTZ", "%Y-%m-%d %H:%M:%S", "2024-01-31 23:59:60", "no such time of day"),
    ("TIMESTAMP_NTZ", "%Y-%m-%d %H:%M:%S.%f", "2024-01-31 23:59:59.1234567", "up to 6 digits"),
    ("TIMESTAMP_NTZ", None, "2024-01-31 24:00", "2024-01-31 24:00"),
    ("TIMESTAMP_NTZ", None, "2024-01-31 10:00Z", "expected no zone offset"),
    ("TIMESTAMP", "yyyy-MM-dd HH:mmXXX", "2024-01-01 00:30+19:00", "offsets go up to 18 hours"),
    ("BIGINT", None, "1_000", "a whole number in decimal digits"),
    ("BIGINT", None, "0x1F", "a whole number in decimal digits"),
    ("BIGINT", None, "１２", "a whole number in decimal digits"),
    ("TINYINT", None, "128", "128"),
    ("DOUBLE", None, "1e400", "out of the range of double"),
    ("FLOAT", None, "1e39", "out of the range of float"),
    ("DOUBLE", None, "1_0.5", "a number is needed"),
    ("DECIMAL(10,2)", None, "0.129", "data loss"),
    ("DECIMAL(10,2)", None, "NaN", "a number is needed"),
    ("DECIMAL(3,1)", None, "100.0", "does not fit in precision"),
    ("BOOLEAN", None, "yes", "yes"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "format_", "text", "problem"), IMPOSSIBLE)
def test_what_is_no_value_is_refused_with_its_line(
    lake: Lake, type_: str, format_: str | None, text: str, problem: str
) -> None:
    lake.text("x.csv", f'v,w\n,"two\nlines"\n\n"{text}",b\n')
    how = "" if format_ is None else f" FORMAT '{format_}'"
    with pytest.raises(InvalidRequestError) as caught:
        lake.load(schema=f"v {type_}{how}", copy=True)
    message = str(caught.value)
    assert "x.csv: the column v holds a value that is no " in message
    assert f"{text!r} in line 5" in message
    assert problem in message


@pytest.mark.parametrize(
    ("ddl", "problem"),
    [
        ("d DATE FORMAT 'MM/yyyy'", "does not say year, month and day"),
        ("d DATE FORMAT 'dd.MM.yyyy XXX'", "has an offset"),
        ("d TIMESTAMP_NTZ FORMAT '%Y-%m-%d %z'", "has an offset"),
        ("d TIME FORMAT 'yyyy HH:mm'", "parts of a date"),
        ("d DATE FORMAT 'yyyy-MM-dd hh:mm'", "AM and PM, and not both"),
        ("d DATE FORMAT 'yyyy-MM-dd mm'", "parts of a time and no hour"),
        ("d DATE FORMAT 'yyyy-MM-dd dd'", "says something twice"),
        ("d DATE FORMAT 'dMyyyy'", "numbers of unknown length"),
        ("d DATE FORMAT 'GGyyyy'", "'GG', which is not supported"),
        ("d DATE FORMAT '%q'", "'%q', which is not supported"),
        ("d INT FORMAT '0000'", "d is INT, which has no FORMAT"),
        ("s.d STRING FORMAT 'dd'", "s.d is STRING, which has no FORMAT"),
    ],
)
def test_a_format_that_can_not_be_is_refused_when_it_is_given(ddl: str, problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        parse_provided(ddl)


def test_a_format_counts_inside_structs_and_lists_too(lake: Lake) -> None:
    rows = (
        '{"s": {"d": "31.01.2024"}, "l": ["01.02.2024"]}\n\n{"l": ["02.02.2024", "30.02.2024"]}\n'
    )
    lake.text("x.json", rows)
    formats = "s.d DATE FORMAT 'dd.MM.yyyy', l.element DATE FORMAT 'dd.MM.yyyy'"
    with pytest.raises(InvalidRequestError, match=r"l\.element .*'30\.02\.2024' in line 3"):
        lake.load(schema=formats, copy=True)
    lake.text("x.json", rows.replace("30.02", "29.02"))
    lake.load(schema=formats, copy=True)
    assert lake.rows()[0] == {"s": {"d": dt.date(2024, 1, 31)}, "l": [dt.date(2024, 2, 1)]}


def test_numbers_of_json_keep_all_their_digits(lake: Lake) -> None:
    """They went through a double: 0.30000000000000001665 was 0.3, and the long one lost its end."""
    lake.text(
        "x.json",
        '{"d": 0.12, "s": 0.10, "b": 9007199254740993.0, "n": {"x": [1e2]}, "t": "\\"7, 8.5"}\n'
        '{"d": 123456789012345678901234567890.25, "s": 12345678901234567890123, "b": 0}\n',
    )
    lake.load(schema="d DECIMAL(38,2), s STRING, b DECIMAL(20,0), n.x.element STRING", copy=True)
    assert lake.rows() == [
        {
            "d": Decimal("0.12"),
            "s": "0.10",
            "b": Decimal(9007199254740993),
            "n": {"x": ["1e2"]},
            "t": '"7, 8.5',
        },
        {
            "d": Decimal("123456789012345678901234567890.25"),
            "s": "12345678901234567890123",
            "b": Decimal(0),
            "n": None,
            "t": None,
        },
    ]


@pytest.mark.parametrize(
    ("type_", "number", "problem"),
    [
        ("DECIMAL(10,1)", "0.12", "data loss"),
        ("BIGINT", "9223372036854775808", "9223372036854775808"),
        ("BIGINT", "1.5", "a whole number"),
        ("FLOAT", "1e39", "out of the range of float"),
    ],
)
def test_a_number_of_json_that_does_not_fit_is_refused(
    lake: Lake, type_: str, number: str, problem: str
) -> None:
    lake.text("x.json", f'{{"v": 1}}\n\n{{"v": {number}}}\n{{"v": 0.5}}\n')
    with pytest.raises(InvalidRequestError, match=problem) as caught:
        lake.load(schema=f"v {type_}", copy=True)
    assert f"'{number}' in line 3" in str(caught.value)


def test_long_numbers_of_json_are_text_as_in_csv(lake: Lake) -> None:
    lake.text("x.json", '{"a": 18446744073709551616, "b": 1e300, "c": [1234567890123456.5]}\n')
    lake.text("y.json", '{"a": 2.5, "b": 2, "c": []}\n{"a": 9007199254740993}\n')
    schema = lake.load(copy=True, source="x.json").schema
    assert str(schema) == "a STRING, b DOUBLE, c ARRAY<STRING>"
    assert lake.rows() == [{"a": "18446744073709551616", "b": 1e300, "c": ["1234567890123456.5"]}]
    assert str(lake.load("u", source="y.json", copy=True).schema).startswith("a STRING, b BIGINT")
    assert [row["a"] for row in lake.rows("u")] == ["2.5", "9007199254740993"]


def test_a_floating_number_fits_a_decimal_by_its_digits(lake: Lake) -> None:
    lake.write(
        "0.parquet", {"v": [0.13, 57.57, -1e7, None], "f": pa.array([0.1] * 4, pa.float32())}
    )
    lake.load(schema="v DECIMAL(10,2), f DECIMAL(10,2)", copy=True)
    assert [row["v"] for row in lake.rows()] == [
        Decimal("0.13"),
        Decimal("57.57"),
        Decimal(-(10**7)),
        None,
    ]
    assert lake.rows()[0]["f"] == Decimal("0.10")


@pytest.mark.parametrize("value", [0.129, 1e9, float("nan"), float("inf")])
def test_a_floating_number_of_more_digits_does_not_fit_a_decimal(lake: Lake, value: float) -> None:
    lake.write("0.parquet", {"v": [0.5, 0.13, value, 0.129]})
    with pytest.raises(InvalidRequestError, match=r"0\.parquet: .*no DECIMAL\(10,2\)") as caught:
        lake.load(schema="v DECIMAL(10,2)", copy=True)
    assert "in row 3" in str(caught.value)


def test_a_time_of_day_does_not_fit_a_date(lake: Lake) -> None:
    late = dt.datetime(2024, 1, 31, 23, 59)
    lake.write("0.parquet", {"v": [dt.datetime(2024, 1, 31), late]})
    with pytest.raises(
        InvalidRequestError, match=r"2024-01-31 23:59:00 in row 2: it has a time of day"
    ):
        lake.load(schema="v DATE", copy=True)
    lake.write("0.parquet", {"v": [dt.datetime(1969, 12, 31), None]})
    lake.load(schema="v DATE", copy=True)
    assert lake.rows() == [{"v": dt.date(1969, 12, 31)}, {"v": None}]


def test_orc_is_as_exact(lake: Lake) -> None:
    orc.write_table(pa.table({"v": [0.5, 0.129]}), lake.folder / "x.orc")
    with pytest.raises(InvalidRequestError, match=r"0\.129 in row 2"):
        lake.load(schema="v DECIMAL(10,2)", copy=True)


def test_a_double_beyond_float_is_refused(lake: Lake) -> None:
    lake.write("0.parquet", {"v": [1.5, 1e39]})
    with pytest.raises(
        InvalidRequestError, match=r"1e\+39 in row 2: it is out of the range of float"
    ):
        lake.load(schema="v FLOAT", copy=True)


def test_csv_without_a_header_takes_the_names_of_the_schema_by_position(lake: Lake) -> None:
    lake.text("day=2024-01-31/x.csv", "1,x,7\n2,y,8\n")
    lake.load(schema="id INT, day DATE, name STRING", header=False, copy=True)
    day = dt.date(2024, 1, 31)
    assert lake.rows() == [
        {"id": 1, "day": day, "name": "x", "f2": 7},
        {"id": 2, "day": day, "name": "y", "f2": 8},
    ]
    lake.load("strict", schema="id INT, name STRING", strict=True, header=False, copy=True)
    assert lake.rows("strict")[0] == {"id": 1, "name": "x", "day": day}
    lake.load("more", schema="a INT, b STRING, c INT, d INT DEFAULT 4", header=False, copy=True)
    assert lake.rows("more")[1] == {"a": 2, "b": "y", "c": 8, "d": 4, "day": day}


def test_generated_names_of_csv_can_be_used_as_before(lake: Lake) -> None:
    lake.text("x.csv", "1,x\n")
    lake.load("a", schema="f1 STRING, f0 DOUBLE", header=False, copy=True)
    assert lake.rows("a") == [{"f1": "x", "f0": 1.0}]
    lake.load("b", schema="name STRING", aliases={"f1": "name"}, header=False, copy=True)
    assert lake.rows("b") == [{"name": "x", "f0": 1}]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        *((Atom.INT, text) for text in ("1_000", "１２", " 1", "1.0", "0x1", "", "2147483648")),
        *((Atom.DOUBLE, text) for text in ("1_0.5", "nan", "inf", "1e400", "٣", "1 ")),
        *((DecimalType(10, 2), text) for text in ("1_000", "0.129", "NaN", "１", "1e9")),
        *((Atom.DATE, text) for text in ("2024-02-30", "2024-01-01 10:00", "２０24-01-01")),
        (Atom.BOOLEAN, "1"),
        (Time(6), "24:00"),
    ],
)
def test_a_part_of_a_path_that_is_no_value_is_refused(type_: DataType, text: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"the part n=.* of a path is no"):
        value_text(text, type_, "n")


@pytest.mark.parametrize(
    ("type_", "text", "wanted"),
    [
        (Atom.INT, "+7", "7"),
        (Atom.DOUBLE, "1e3", "1000.0"),
        (Atom.DOUBLE, "-Infinity", "-Infinity"),
        (DecimalType(10, 2), "1.5", "1.50"),
        (Atom.BOOLEAN, "TRUE", "true"),
    ],
)
def test_a_part_of_a_path_is_a_value(type_: DataType, text: str, wanted: str) -> None:
    assert value_text(text, type_, "n") == wanted


def test_a_path_with_underscores_in_a_number_is_text(lake: Lake) -> None:
    lake.write("n=1_000/0.parquet", {"a": [1]})
    assert str(lake.load().schema) == "a BIGINT, n STRING"
    with pytest.raises(InvalidRequestError, match=r"the part n=1_000 of a path is no INT"):
        lake.load("u", schema="n INT")


@pytest.mark.parametrize("name", ["x.csv", "x.json"])
def test_text_that_is_not_utf_8_is_refused(lake: Lake, name: str) -> None:
    """PyArrow took any bytes of JSON for a string."""
    rows = {"x.csv": b"a\nx\n\xff\n", "x.json": b'{"a": "x"}\n{"a": "\xff"}\n'}
    (lake.folder / name).write_bytes(rows[name])
    with pytest.raises(InvalidRequestError, match=r"Row #3.*UTF8|line 2 is no JSON.*utf-8"):
        lake.load(copy=True)


@pytest.mark.parametrize("copy", [True, False])
def test_an_alias_inside_a_struct_that_has_one_too(lake: Lake, copy: bool) -> None:
    """A copy looked for it by the new name of the struct, and showed nulls."""
    lake.write("0.parquet", {"a": [{"b": 1, "c": 2}], "l": [[{"b": 3}]]})
    aliases = {"a": "x", "a.b": "a.y", "l": "m", "l.element.b": "l.element.z"}
    lake.load(copy=copy, aliases=aliases)
    assert lake.rows() == [{"x": {"y": 1, "c": 2}, "m": [{"z": 3}]}]


def test_intervals_are_no_text(lake: Lake) -> None:
    """PyArrow writes an interval as a number of microseconds, and reads none from text."""
    lake.text("x.csv", "a\n1 02:03:04\n")
    with pytest.raises(InvalidRequestError, match="INTERVAL DAY TO SECOND in the provided schema"):
        lake.load(schema="a INTERVAL DAY TO SECOND", copy=True)
    (lake.folder / "x.csv").unlink()
    lake.write("0.parquet", {"a": [dt.timedelta(days=1)]})
    with pytest.raises(InvalidRequestError, match="STRING in the provided schema"):
        lake.load(schema="a STRING", copy=True)
