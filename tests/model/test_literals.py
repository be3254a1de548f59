from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal as D

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from versioned_catalog.errors import CorruptTableError, InvalidRequestError
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.sql_literals import (
    constant,
    constant_from_sql,
    decode,
    encode,
    from_scalar,
    from_scalar_text,
    rekey_constant,
    to_python,
    to_scalar,
    to_sql,
    widen,
)
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Column,
    Constant,
    DataType,
    Geography,
    Geometry,
    Map,
    Now,
    Struct,
    Varchar,
    YearMonthInterval,
)

UTC = dt.UTC
PARIS = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2020, 1, 31, 12, 0, 0, 500_000)
# A struct of a table: its fields have IDs, and one is newer than the stored value.
INNER = Struct(
    (
        Column(5, "x", Atom.INT, nullable=False),
        Column(6, "y", Array(Column(7, "element", Atom.STRING))),
        Column(8, "young", Atom.INT, read_default=Constant('"7"')),
    )
)

VALUES: list[tuple[object, str, object]] = [
    (True, "BOOLEAN", "true"),
    (-128, "TINYINT", "-128"),
    (32767, "SMALLINT", "32767"),
    (0, "INT", "0"),
    (-(2**63), "BIGINT", "-9223372036854775808"),
    (1.0, "DOUBLE", "1.0"),
    (0.1, "DOUBLE", "0.1"),
    (-0.0, "DOUBLE", "-0.0"),
    (math.inf, "FLOAT", "Infinity"),
    (-math.inf, "DOUBLE", "-Infinity"),
    (16777216.0, "FLOAT", "16777216.0"),
    (D("-1.50"), "DECIMAL(10,2)", "-1.50"),
    (D("0.00"), "DECIMAL(2,2)", "0.00"),
    (D("1" * 38), "DECIMAL(38,0)", "1" * 38),
    ("it's ☃", "STRING", "it's ☃"),
    ("ab", "VARCHAR(2)", "ab"),
    ("a ", "CHAR(2)", "a "),
    (b"\n\x0b", "BINARY", "Cgs="),
    (dt.date(2020, 1, 31), "DATE", "18292"),
    (dt.date(1, 1, 1), "DATE", "-719162"),
    (2932897, "DATE", "2932897"),
    (NOON.replace(tzinfo=UTC), "TIMESTAMP", "1580472000500000"),
    (2**63 - 1, "TIMESTAMP", "9223372036854775807"),
    (NOON, "TIMESTAMP_NTZ", "1580472000500000"),
    (dt.time(12, 34, 56, 789), "TIME", "45296000789"),
    (dt.timedelta(days=-1, microseconds=1), "INTERVAL DAY TO SECOND", "-86399999999"),
    ([1, None], "ARRAY<INT>", ["1", None]),
    ([("a", 1), ("b", None)], "MAP<STRING, INT>", [["a", "1"], ["b", None]]),
    ({"x": 1, "y": None}, "STRUCT<x: INT, y: STRING>", {":x": "1", ":y": None}),
    (None, "INT", None),
]


@pytest.mark.parametrize("value, sql, text", VALUES)
def test_value_text(value: object, sql: str, text: object) -> None:
    type_ = parse_type(sql)
    assert encode(value, type_) == text
    assert decode(text, type_) == value  # type: ignore[arg-type]


def test_more_value_text() -> None:
    assert encode(math.nan, Atom.DOUBLE) == "NaN"
    read = decode("NaN", Atom.FLOAT)
    assert isinstance(read, float)
    assert math.isnan(read)
    assert encode(NOON.replace(tzinfo=PARIS), Atom.TIMESTAMP) == "1580464800500000"
    assert encode({"a": 1}, parse_type("MAP<STRING, INT>")) == [["a", "1"]]


@pytest.mark.parametrize(
    "value, text",
    [
        (0.1, "0.1"),
        (1 / 3, "0.33333334"),
        (3.4028234663852886e38, "3.4028235e+38"),
        (1e-45, "1e-45"),
        (16777217.0, "16777216.0"),
    ],
)
def test_float32_is_written_as_its_shortest_text(value: float, text: str) -> None:
    assert encode(value, Atom.FLOAT) == text
    assert decode(text, Atom.FLOAT) == float(np.float32(value))


def test_fields_are_identified_by_id() -> None:
    assert encode({"x": 1, "y": ["a"], "young": 2}, INNER) == {"5": "1", "6": ["a"], "8": "2"}


def test_a_newer_field_shows_its_read_default() -> None:
    assert decode({"5": "1", "6": None, "99": "dropped"}, INNER) == {"x": 1, "y": None, "young": 7}
    assert decode({"5": "1", "8": None}, INNER) == {"x": 1, "y": None, "young": None}


@pytest.mark.parametrize(
    "text, sql",
    [
        ("yes", "BOOLEAN"),
        ("True", "BOOLEAN"),
        ("128", "TINYINT"),
        ("2147483648", "INT"),
        ("9223372036854775808", "BIGINT"),
        pytest.param("9" * 10_000, "BIGINT", id="long-bigint"),
        ("01", "INT"),
        ("-0", "INT"),
        (" 1", "INT"),
        ("1_0", "INT"),
        ("١", "INT"),
        ("", "INT"),
        (5, "INT"),
        (True, "BOOLEAN"),
        ("1e999", "DOUBLE"),
        ("3.5e38", "FLOAT"),
        ("nan", "DOUBLE"),
        ("inf", "DOUBLE"),
        ("1_0.0", "DOUBLE"),
        pytest.param("9" * 1000, "DOUBLE", id="long-double"),
        ("1e999999999", "DECIMAL(10,2)"),
        ("1", "DECIMAL(10,2)"),
        ("1.5", "DECIMAL(10,2)"),
        ("1.50", "DECIMAL(2,2)"),
        ("-0.00", "DECIMAL(3,2)"),
        ("NaN", "DECIMAL(10,0)"),
        ("\ud800", "STRING"),
        ("Cgs", "BINARY"),
        ("C!gs=", "BINARY"),
        ("é", "BINARY"),
        ("2147483648", "DATE"),
        ("2020-01-01", "DATE"),
        ("86400000000", "TIME"),
        ("-1", "TIME"),
        ({}, "ARRAY<INT>"),
        ([["a"]], "MAP<STRING, INT>"),
        ("ab", "MAP<STRING, INT>"),
        ([], "STRUCT<x: INT>"),
        ("{}", "VARIANT"),
        ("{}", "GEOMETRY(1)"),
    ],
)
def test_invalid_value_text_is_corrupt(text: object, sql: str) -> None:
    with pytest.raises(CorruptTableError) as caught:
        decode(text, parse_type(sql))  # type: ignore[arg-type]
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("stored", ["", "{", "5", "true", pytest.param("[" * 100_000, id="deep")])
def test_invalid_json_is_corrupt(stored: str) -> None:
    with pytest.raises(CorruptTableError):
        to_python(Constant(stored), Atom.INT)


@pytest.mark.parametrize(
    "value, sql, expected",
    [
        (5, "INT", '"5"'),
        (D(5), "INT", '"5"'),
        (5, "DOUBLE", '"5.0"'),
        (2**60, "DOUBLE", '"1.152921504606847e+18"'),
        (0.1, "FLOAT", '"0.1"'),
        (D("0.1"), "DOUBLE", '"0.1"'),
        (5, "DECIMAL(3,1)", '"5.0"'),
        ("1.50", "DECIMAL(3,1)", '"1.5"'),
        (0.1, "DECIMAL(3,1)", '"0.1"'),
        (D("1e1"), "DECIMAL(3,1)", '"10.0"'),
        (D("-0"), "DECIMAL(3,1)", '"0.0"'),
        ("a", "CHAR(3)", '"a  "'),
        ("☃☃", "VARCHAR(2)", '"☃☃"'),
        ('"\\', "STRING", '"\\"\\\\"'),
        (bytearray(b"a"), "BINARY", '"YQ=="'),
        ("2020-01-31", "DATE", '"18292"'),
        ("+10000-01-01", "DATE", '"2932897"'),
        ("-0001-12-31", "DATE", '"-719529"'),
        ("2020-01-31T12:00:00.5+02:00", "TIMESTAMP", '"1580464800500000"'),
        ("1969-12-31 23:59:59.999999Z", "TIMESTAMP", '"-1"'),
        ("2020-01-31", "TIMESTAMP_NTZ", '"1580428800000000"'),
        ("23:59:59.999999", "TIME", '"86399999999"'),
        (dt.timedelta(days=2), "INTERVAL DAY", '"172800000000"'),
        ((1, 2), "ARRAY<INT>", '["1","2"]'),
        ({"x": 1}, "STRUCT<x: INT, y: STRING>", '{":x":"1",":y":null}'),
        (pa.scalar(5, pa.int8()), "INT", '"5"'),
        (pa.scalar([("a", 1)], pa.map_("string", "int32")), "MAP<STRING,INT>", '[["a","1"]]'),
        (np.int64(5), "INT", '"5"'),
        (np.float32(0.1), "FLOAT", '"0.1"'),
        (np.bool_(True), "BOOLEAN", '"true"'),
    ],
)
def test_python_values_become_constants(value: object, sql: str, expected: str) -> None:
    assert constant(value, parse_type(sql)) == Constant(expected)


@pytest.mark.parametrize("sql", ["INT", "VARIANT", "GEOMETRY(1)", "ARRAY<INT>"])
def test_none_is_not_a_constant(sql: str) -> None:
    type_ = parse_type(sql)
    assert constant(None, type_) is None
    assert constant(pa.scalar(None, pa.int32()), type_) is None
    assert constant_from_sql("NULL", type_) is None


@pytest.mark.parametrize(
    "value, sql, message",
    [
        ("abc", "INT", "DEFAULT 'abc' does not fit INT: a whole number is needed, not str"),
        (True, "INT", "not bool"),
        (True, "DOUBLE", "bool"),
        (True, "DECIMAL(3,0)", "bool"),
        (True, "STRING", "not bool"),
        (1, "BOOLEAN", "a boolean is needed, not int"),
        (5.0, "INT", "not float"),
        (128, "TINYINT", "the range is -128 to 127"),
        pytest.param(
            10**5000, "BIGINT", "a very large int does not fit BIGINT: it is", id="huge-bigint"
        ),
        (D("1e999999999"), "BIGINT", "out of range"),
        (D("1.5"), "BIGINT", "not a whole number"),
        (2**53 + 1, "DOUBLE", "digits would be lost"),
        (16777217, "FLOAT", "digits would be lost"),
        (10**400, "DOUBLE", "out of range"),
        (1e39, "FLOAT", "out of range"),
        (D("1e999999999"), "DOUBLE", "out of range"),
        (D("1e999999999"), "DECIMAL(10,2)", "more than 8 digits before the point"),
        (D("1e-999999999"), "DECIMAL(10,2)", "more than 2 digits after the point"),
        (D("nan"), "DECIMAL(10,2)", "finite"),
        (math.nan, "DECIMAL(10,2)", "decimals are written as"),
        ("1,5", "DECIMAL(10,2)", "decimals are written as"),
        ("1e99999999999", "DECIMAL(10,2)", "decimals are written as"),
        (0.125, "DECIMAL(10,2)", "more than 2 digits after"),
        pytest.param(10**5000, "DECIMAL(38,0)", "more than 38 digits", id="huge-decimal"),
        (5, "STRING", "a string is needed, not int"),
        ("\ud800", "STRING", "half a character"),
        ("abc", "CHAR(2)", "it has 3 characters"),
        ("abc", "VARCHAR(2)", "it has 3 characters"),
        ("abc", "BINARY", "bytes"),
        (5, "DATE", "a date (a datetime has one by .date()) is needed, not int"),
        (NOON, "DATE", ".date()"),
        ("2020-02-30", "DATE", "the month has no such day"),
        ("31.1.2020", "DATE", "'2020-01-31'"),
        ("9999999-01-01", "DATE", "out of range"),
        (NOON, "TIMESTAMP", "has no time zone"),
        (NOON.replace(tzinfo=UTC), "TIMESTAMP_NTZ", "has a time zone"),
        ("2020-01-31 12:00:00", "TIMESTAMP", "no offset from UTC; write one"),
        ("2020-01-31 12:00:00Z", "TIMESTAMP_NTZ", "leave it out"),
        ("2020-01-31 12:00:00 Europe/Paris", "TIMESTAMP", "timestamps are written as"),
        ("2020-01-31 12:00:00.1234567Z", "TIMESTAMP", "up to 6 digits"),
        ("2020-01-31 12:00:00+19:00", "TIMESTAMP", "up to 18 hours"),
        ("2020-01-31 24:00:00Z", "TIMESTAMP", "not a time of day"),
        ("300000-01-01 00:00:00Z", "TIMESTAMP", "out of range"),
        (dt.date(2020, 1, 1), "TIMESTAMP", "a timestamp is needed"),
        ("12:60:00", "TIME", "not a time of day"),
        ("12:00:00.123", "TIME(2)", "it has more than 2 digits of a second"),
        (dt.time(12, tzinfo=UTC), "TIME", "has a time zone"),
        (dt.timedelta(hours=5), "INTERVAL DAY", "it is not a whole number of days"),
        (dt.timedelta.max, "INTERVAL DAY TO SECOND", "out of range"),
        ("1", "ARRAY<INT>", "an ARRAY needs a list"),
        ([1, "a"], "ARRAY<INT>", "not str"),
        ([1], "MAP<INT, INT>", "a MAP needs a dict or a list of (key, value) pairs"),
        ([(1, 2), (1, 3)], "MAP<INT, INT>", "a key occurs twice"),
        ([(None, 2)], "MAP<INT, INT>", "key is null, but NOT NULL"),
        ([1], "STRUCT<x: INT>", "a STRUCT needs a dict {field: value}"),
        ({"z": 1}, "STRUCT<x: INT>", "there is no field 'z'; the fields are x"),
        ({}, "STRUCT<x: INT NOT NULL>", "x is null, but NOT NULL"),
        (b"", "VARIANT", "have no defaults"),
        ("POINT(1 1)", "GEOMETRY(4326)", "have no defaults"),
        ([b""], "ARRAY<VARIANT>", "have no defaults"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: object, sql: str, message: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        constant(value, parse_type(sql))
    assert message in str(caught.value)
    assert str(caught.value).startswith("DEFAULT ")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "text, sql, expected",
    [
        ("TRUE", "BOOLEAN", '"true"'),
        ("-5", "INT", '"-5"'),
        ("- 5", "INT", '"-5"'),
        ("1e3", "INT", '"1000"'),
        ("5L", "INT", '"5"'),
        ("-128Y", "TINYINT", '"-128"'),
        ("5S", "BIGINT", '"5"'),
        ("5", "DOUBLE", '"5.0"'),
        ("5", "DECIMAL(3,1)", '"5.0"'),
        ("1.50BD", "DECIMAL(3,1)", '"1.5"'),
        (".5", "FLOAT", '"0.5"'),
        ("1d", "DOUBLE", '"1.0"'),
        ("0.1F", "FLOAT", '"0.1"'),
        ("0.1F", "DOUBLE", '"0.10000000149011612"'),
        ("double('NaN')", "DOUBLE", '"NaN"'),
        ("CAST('-infinity' AS FLOAT)", "FLOAT", '"-Infinity"'),
        ("CAST(5 AS BIGINT)", "INT", '"5"'),
        ("'it''s'", "STRING", '"it\'s"'),
        ('"a""b"', "STRING", '"a\\"b"'),
        ("'a' \"b\"", "STRING", '"ab"'),
        (r"r'\n'", "STRING", r'"\\n"'),
        (r"'\u0041\t\q\%\_\101\U0001F600\uD83D\uDE00'", "STRING", r'"A\tq\\%\\_A😀😀"'),
        (r"'\''", "STRING", '"\'"'),
        ("'a'", "CHAR(3)", '"a  "'),
        ("X'0A0b'", "BINARY", '"Cgs="'),
        ("x'ABC'", "BINARY", '"Crw="'),
        ("'2020-01-31'", "DATE", '"18292"'),
        ("DATE '2020-1-31'", "DATE", '"18292"'),
        ("DATE'2020-01-31'", "TIMESTAMP_NTZ", '"1580428800000000"'),
        ("TIMESTAMP '2020-01-31 12:00:00.5+02:00'", "TIMESTAMP", '"1580464800500000"'),
        ("TIMESTAMP_LTZ '2020-01-31 12:00 UTC'", "TIMESTAMP", '"1580472000000000"'),
        ("TIMESTAMP '2020-01-31 12:00'", "TIMESTAMP_NTZ", '"1580472000000000"'),
        ("TIMESTAMP_NTZ '2020-01-31 12:00'", "TIMESTAMP_NTZ", '"1580472000000000"'),
        ("TIME '12:34:56.789'", "TIME(3)", '"45296789000"'),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL DAY TO SECOND", '"93784500000"'),
        ("INTERVAL '-1 02' DAY TO HOUR", "INTERVAL DAY TO HOUR", '"-93600000000"'),
        ("INTERVAL '1:30.5' MINUTE TO SECOND", "INTERVAL DAY TO SECOND", '"90500000"'),
        ("INTERVAL '5' DAY", "INTERVAL DAY", '"432000000000"'),
        ("INTERVAL -'5' DAY", "INTERVAL DAY", '"-432000000000"'),
        ("- INTERVAL 5 DAYS", "INTERVAL DAY", '"-432000000000"'),
        # As Spark parses it: -3 hours plus 5 minutes are -2:55.
        ("INTERVAL -3 HOURS 5 MINUTES", "INTERVAL HOUR TO MINUTE", '"-10500000000"'),
        ("INTERVAL '1.5' SECOND", "INTERVAL SECOND", '"1500000"'),
        ("INTERVAL 1 WEEK 2 MICROSECONDS", "INTERVAL DAY TO SECOND", '"604800000002"'),
        ("array(1, NULL)", "ARRAY<INT>", '["1",null]'),
        ("map('a', DATE '1970-01-02')", "MAP<STRING, DATE>", '[["a","1"]]'),
        ("named_struct('x', array())", "STRUCT<x: ARRAY<INT>>", '{":x":[]}'),
    ],
)
def test_sql_defaults_become_constants(text: str, sql: str, expected: str) -> None:
    assert constant_from_sql(text, parse_type(sql)) == Constant(expected)


@pytest.mark.parametrize("text", ["current_timestamp", "CURRENT_TIMESTAMP()", "now()", "now ( )"])
def test_now_is_the_time_of_writing(text: str) -> None:
    assert constant_from_sql(text, Atom.TIMESTAMP) is Now.TIMESTAMP
    with pytest.raises(InvalidRequestError, match="does not fit DATE: it is a TIMESTAMP"):
        constant_from_sql(text, Atom.DATE)


def test_today_is_the_date_of_writing() -> None:
    assert constant_from_sql("current_date()", Atom.DATE) is Now.DATE
    with pytest.raises(InvalidRequestError, match="does not fit TIMESTAMP: it is a DATE"):
        constant_from_sql("current_date", Atom.TIMESTAMP)


@pytest.mark.parametrize(
    "text, sql, message",
    [
        ("", "INT", "defaults are constants"),
        ("1 + 1", "INT", "defaults are constants"),
        ("1, 2", "INT", "nothing more was expected"),
        ("1 NOT NULL", "INT", "nothing more was expected"),
        ("uuid()", "STRING", "defaults are constants"),
        ("a", "STRING", "defaults are constants"),
        ("`a`", "STRING", "defaults are constants"),
        ("(1)", "INT", "defaults are constants"),
        ("- 'a'", "INT", "defaults are constants"),
        ("now", "TIMESTAMP", "now() needs its parentheses"),
        ("array(now())", "ARRAY<TIMESTAMP>", "can't be part of a value"),
        ("1.5", "INT", "DEFAULT 1.5 does not fit INT: it is not a whole number"),
        ("1.0D", "INT", "a whole number is needed, not float"),
        ("128Y", "INT", "the range is -128 to 127"),
        ("1e999999999", "INT", "out of range"),
        ("1e999999999", "DOUBLE", "out of range"),
        ("1e99999999999999999999", "DOUBLE", "exponent is out of range"),
        ("1e400D", "DOUBLE", "out of range"),
        pytest.param("1" * 5000, "BIGINT", "more than 1000 digits", id="long"),
        ("5", "STRING", "a string is needed"),
        ("'5'", "INT", "a whole number is needed"),
        ("1", "BOOLEAN", "a boolean is needed"),
        ("5", "DATE", "a date"),
        ("DATE '2020-01-31'", "STRING", "DATE does not widen to STRING"),
        ("DATE '2020-01-31'", "TIMESTAMP", "no offset from UTC"),
        ("DATE '2020-13-01'", "DATE", "the month has no such day"),
        ("TIMESTAMP '2020-01-31 12:00:00'", "TIMESTAMP", "no offset from UTC; write one"),
        ("TIMESTAMP '2020-01-31 12:00:00Z'", "TIMESTAMP_NTZ", "TIMESTAMP"),
        ("TIMESTAMP_NTZ '2020-01-31 12:00:00Z'", "TIMESTAMP_NTZ", "leave it out"),
        ("X'0G'", "BINARY", "hexadecimal"),
        ("INTERVAL '5' MONTH", "INTERVAL DAY", "does not widen to INTERVAL DAY"),
        ("INTERVAL '5' DAY", "INTERVAL MONTH", "does not widen to INTERVAL MONTH"),
        ("INTERVAL '1-12' YEAR TO MONTH", "INTERVAL MONTH", "written as '1-2'"),
        ("INTERVAL 14 MONTHS", "INTERVAL YEAR", "not a whole number of years"),
        ("INTERVAL 5 QUARTERS", "INTERVAL MONTH", "a unit of weeks"),
        ("INTERVAL '5' HOUR", "INTERVAL DAY", "it is not a whole number of days"),
        ("INTERVAL '1 24' DAY TO HOUR", "INTERVAL DAY TO SECOND", "too much"),
        ("INTERVAL '1.5' DAY", "INTERVAL DAY TO SECOND", "not a whole number"),
        ("INTERVAL '999999999' DAY", "INTERVAL DAY", "out of range"),
        ("INTERVAL '5' DAY", "INT", "INTERVAL DAY TO SECOND"),
        ("array(1, 'a')", "ARRAY<INT>", "not str"),
        ("array(1", "ARRAY<INT>", "',' was expected"),
        ("map(1)", "MAP<INT, INT>", "takes an even number of arguments"),
        ("map(1, 2, 1, 3)", "MAP<INT, INT>", "a key occurs twice"),
        ("named_struct('y', 1)", "STRUCT<x: INT>", "no field 'y'"),
        ("named_struct('x', 1, 'x', 2)", "STRUCT<x: INT>", "a field is given twice"),
        ("named_struct(1, 1)", "STRUCT<x: INT>", "names as strings"),
        ("CAST(300 AS TINYINT)", "INT", "out of range"),
        pytest.param("array(" * 100_000, "ARRAY<INT>", "more than 100 deep", id="deep"),
        ("parse_json('1')", "VARIANT", "defaults are constants"),
        ("1", "VARIANT", "have no defaults"),
    ],
)
def test_invalid_sql_defaults_are_refused(text: str, sql: str, message: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        constant_from_sql(text, parse_type(sql))
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "value, sql, text",
    [
        ("it's \\ \n", "STRING", r"'it\'s \\ \u000a'"),
        (5.0, "DOUBLE", "5.0D"),
        (math.nan, "FLOAT", "float('NaN')"),
        (3.4028234663852886e38, "FLOAT", "float('3.4028235e+38')"),
        (D("-1.5"), "DECIMAL(3,1)", "-1.5"),
        (b"\n", "BINARY", "X'0A'"),
        ("+10000-01-01", "DATE", "DATE '+10000-01-01'"),
        (NOON.replace(tzinfo=PARIS), "TIMESTAMP", "TIMESTAMP '2020-01-31 10:00:00.5Z'"),
        (NOON, "TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2020-01-31 12:00:00.5'"),
        (
            dt.timedelta(hours=-3, minutes=-30),
            "INTERVAL HOUR TO MINUTE",
            "INTERVAL '-0 03:30:00' DAY TO SECOND",
        ),
        ([True, None], "ARRAY<BOOLEAN>", "array(TRUE, NULL)"),
        ({"x": {1: "a"}}, "STRUCT<x: MAP<INT, STRING>>", "named_struct('x', map(1, 'a'))"),
    ],
)
def test_constants_render_as_sql(value: object, sql: str, text: str) -> None:
    type_ = parse_type(sql)
    found = constant(value, type_)
    assert found is not None
    assert to_sql(found, type_) == text


def test_now_renders_as_sql() -> None:
    assert to_sql(Now.TIMESTAMP, Atom.TIMESTAMP) == "current_timestamp()"


@pytest.mark.parametrize(
    "stored, old, new, expected",
    [
        ('"5"', "TINYINT", "BIGINT", '"5"'),
        ('"5"', "INT", "DOUBLE", '"5.0"'),
        ('"5"', "INT", "DECIMAL(12,2)", '"5.00"'),
        ('"0.1"', "FLOAT", "DOUBLE", '"0.10000000149011612"'),
        ('"NaN"', "FLOAT", "DOUBLE", '"NaN"'),
        ('"1.50"', "DECIMAL(3,2)", "DECIMAL(6,4)", '"1.5000"'),
        ('"-1"', "DATE", "TIMESTAMP_NTZ", '"-86400000000"'),
        ('"a  "', "CHAR(3)", "VARCHAR(5)", '"a  "'),
        ('"a  "', "CHAR(3)", "STRING", '"a  "'),
        ('"a"', "VARCHAR(3)", "STRING", '"a"'),
        ('["1",null]', "ARRAY<INT>", "ARRAY<BIGINT>", '["1",null]'),
        ('[["1","2"]]', "MAP<INT,INT>", "MAP<INT,DOUBLE>", '[["1","2.0"]]'),
    ],
)
def test_constants_widen(stored: str, old: str, new: str, expected: str) -> None:
    assert widen(Constant(stored), parse_type(old), parse_type(new)) == Constant(expected)


def test_structs_widen_by_id() -> None:
    old = Struct((Column(5, "a", Atom.INT), Column(6, "b", Atom.INT), Column(7, "c", Atom.INT)))
    new = Struct((Column(8, "a", Atom.INT), Column(7, "b", Atom.LONG), Column(5, "x", Atom.DOUBLE)))
    assert widen(Constant('{"5":"1","6":"2","7":null}'), old, new) == Constant(
        '{"7":null,"5":"1.0"}'
    )


@pytest.mark.parametrize(
    "stored, old, new",
    [
        ('"3000000000"', "BIGINT", "INT"),
        ('"5"', "INT", "STRING"),
        ('"0.5"', "DOUBLE", "FLOAT"),
        ('"2147483647"', "DATE", "TIMESTAMP_NTZ"),
        ('"123"', "INT", "DECIMAL(2,0)"),
        ('"5"', "INT", "ARRAY<INT>"),
    ],
)
def test_constants_that_do_not_widen_are_refused(stored: str, old: str, new: str) -> None:
    with pytest.raises(InvalidRequestError):
        widen(Constant(stored), parse_type(old), parse_type(new))


def test_constants_follow_their_fields_ids() -> None:
    bare = parse_type("STRUCT<x: INT, y: MAP<STRING, STRUCT<z: INT>>>")
    found = constant_from_sql("named_struct('x', 1, 'y', map('a', named_struct('z', 2)))", bare)
    assert isinstance(found, Constant)
    inner = Struct((Column(6, "z", Atom.INT),))
    given_ids = Struct(
        (
            Column(2, "x", Atom.INT),
            Column(
                3,
                "y",
                Map(Column(4, "key", Atom.STRING, nullable=False), Column(5, "value", inner)),
            ),
        )
    )
    rekeyed = rekey_constant(found, bare, given_ids)
    assert rekeyed == Constant('{"2":"1","3":[["a",{"6":"2"}]]}')
    assert to_python(rekeyed, given_ids) == {"x": 1, "y": [("a", {"z": 2})]}


def test_scalars_are_cast() -> None:
    assert from_scalar(pa.scalar(5, pa.int8()), Atom.LONG) == Constant('"5"')
    assert from_scalar(pa.scalar(dt.date(2020, 1, 31), pa.date64()), Atom.DATE) == Constant(
        '"18292"'
    )
    assert from_scalar_text(pa.scalar(None, pa.int8()), Atom.LONG) is None
    with pytest.raises(InvalidRequestError, match="does not fit TINYINT"):
        from_scalar(pa.scalar(300), Atom.BYTE)


leaf_types = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BINARY",
    "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "DECIMAL(5,5)", "DECIMAL(38,10)", "DECIMAL(9,0)",
    "CHAR(3)", "VARCHAR(3)", "TIME(6)", "TIME(0)", "INTERVAL DAY TO SECOND", "INTERVAL DAY",
]  # fmt: skip
_struct = "STRUCT<a: INT NOT NULL, `b'` STRING>"
types = st.sampled_from(
    [*leaf_types, "ARRAY<DATE>", "MAP<STRING, DOUBLE>", f"ARRAY<{_struct}>", _struct]
).map(parse_type)
texts = st.text(st.characters(exclude_categories=["Cs"]))


def counts(low: int, high: int, step: int = 1) -> st.SearchStrategy[str]:
    return st.integers(-(-low // step), high // step).map(lambda n: str(n * step))


def value_texts(type_: DataType) -> st.SearchStrategy[object]:
    """Value texts by the definition in FORMAT.md, independent of the code under test."""
    match type_:
        case Struct(fields):
            return st.fixed_dictionaries({f":{f.name}": child(f) for f in fields})
        case Array(element):
            return st.lists(child(element), max_size=3)
        case Map(key, value):
            pair = st.tuples(value_texts(key.type), child(value)).map(list)
            return st.lists(pair, max_size=3, unique_by=lambda p: p[0])
    day = 86_400_000_000
    simple: dict[object, st.SearchStrategy[object]] = {
        Atom.BOOLEAN: st.sampled_from(["true", "false"]),
        Atom.BYTE: counts(-(2**7), 2**7 - 1),
        Atom.SHORT: counts(-(2**15), 2**15 - 1),
        Atom.INT: counts(-(2**31), 2**31 - 1),
        Atom.LONG: counts(-(2**63), 2**63 - 1),
        Atom.DATE: counts(-(2**31), 2**31 - 1),
        Atom.TIMESTAMP: counts(-(2**63), 2**63 - 1),
        Atom.TIMESTAMP_NTZ: counts(-(2**63), 2**63 - 1),
        parse_type("TIME(6)"): counts(0, day - 1),
        parse_type("TIME(0)"): counts(0, day - 1, 1_000_000),
        parse_type("INTERVAL DAY TO SECOND"): counts(-(2**63), 2**63 - 1),
        parse_type("INTERVAL DAY"): counts(-(2**63), 2**63 - 1, day),
        Atom.FLOAT: st.floats(width=32).map(lambda x: encode(x, Atom.FLOAT)),
        Atom.DOUBLE: st.floats().map(lambda x: encode(x, Atom.DOUBLE)),
        Atom.STRING: texts,
        Char(3): st.text(st.sampled_from("a'\\☃ "), min_size=3, max_size=3),
        Varchar(3): st.text(st.sampled_from("a'\\☃ "), max_size=3),
        Atom.BINARY: st.binary(max_size=9).map(lambda b: encode(b, Atom.BINARY)),
        parse_type("DECIMAL(5,5)"): decimals(5, 5),
        parse_type("DECIMAL(38,10)"): decimals(38, 10),
        parse_type("DECIMAL(9,0)"): decimals(9, 0),
    }
    return simple[type_]


def decimals(precision: int, scale: int) -> st.SearchStrategy[str]:
    most = 10**precision - 1
    plain = st.integers(-most, most).map(lambda n: D((n < 0, tuple(map(int, str(abs(n)))), -scale)))
    return plain.map(lambda d: format(d, "f"))


def child(column: Column) -> st.SearchStrategy[object]:
    inner = value_texts(column.type)
    return st.none() | inner if column.nullable else inner


typed_texts = types.flatmap(lambda t: st.tuples(st.just(t), value_texts(t)))


@given(typed_texts)
def test_random_values_convert_to_text_and_back(case: tuple[DataType, object]) -> None:
    type_, text = case
    value = decode(text, type_)  # type: ignore[arg-type]
    assert encode(value, type_) == text
    assert from_scalar(pa.scalar(None, to_arrow_type(type_)), type_) is None
    stored_constant = Constant(
        json.dumps(encode(value, type_), ensure_ascii=False, separators=(",", ":"))
    )
    scalar = to_scalar(stored_constant, type_)
    assert scalar.type == to_arrow_type(type_)
    assert from_scalar(scalar, type_) == stored_constant
    assert constant_from_sql(to_sql(stored_constant, type_), type_) == stored_constant


@given(st.floats(width=32, allow_nan=False))
def test_float32_text_reads_back_and_is_as_short_as_numpys(value: float) -> None:
    text = encode(value, Atom.FLOAT)
    assert isinstance(text, str)
    assert decode(text, Atom.FLOAT) == value
    if math.isfinite(value):
        digits = len(np.format_float_scientific(np.float32(value), trim="-").split("e")[0])
        ours = np.format_float_scientific(np.float64(text), trim="-").split("e")[0]
        assert len(ours) <= digits


@given(st.dates())
def test_dates_read_as_in_python(day: dt.date) -> None:
    assert constant(day.isoformat(), Atom.DATE) == constant(day, Atom.DATE)


@given(st.datetimes(timezones=st.sampled_from([UTC, PARIS])))
def test_timestamps_read_as_in_python(moment: dt.datetime) -> None:
    assert constant(moment.isoformat(), Atom.TIMESTAMP) == constant(moment, Atom.TIMESTAMP)


def test_opaque_types_have_no_values() -> None:
    for type_ in (Atom.VARIANT, Geometry(4326), Geography(4326)):
        with pytest.raises(InvalidRequestError, match="have no defaults"):
            encode(b"", type_)
        assert not to_scalar(None, type_).is_valid


@pytest.mark.parametrize(
    "sql, months",
    [
        ("INTERVAL '1-2' YEAR TO MONTH", 14),
        ("INTERVAL '-1-2' YEAR TO MONTH", -14),
        ("- INTERVAL '0-11' YEAR TO MONTH", -11),
        ("INTERVAL '5' MONTH", 5),
        ("INTERVAL 2 YEARS -3 MONTHS", 21),
        ("INTERVAL '178956970-7' YEAR TO MONTH", 2**31 - 1),
    ],
)
def test_intervals_of_months_are_numbers_of_months(sql: str, months: int) -> None:
    assert constant_from_sql(sql, YearMonthInterval()) == constant(months, YearMonthInterval())
