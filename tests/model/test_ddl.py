from __future__ import annotations

import contextlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.ddl import parse_columns, parse_type, render_columns, render_type
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Collated,
    Column,
    Constant,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Now,
    Struct,
    Time,
    Varchar,
)


def array(element: DataType) -> Array:
    return Array(Column(0, "element", element))


def map_(key: DataType, value: DataType) -> Map:
    return Map(Column(0, "key", key, nullable=False), Column(0, "value", value))


TYPES: list[tuple[str, DataType]] = [
    ("BOOLEAN", Atom.BOOLEAN),
    ("TINYINT", Atom.BYTE),
    ("byte", Atom.BYTE),
    ("SMALLINT", Atom.SHORT),
    ("short", Atom.SHORT),
    ("int", Atom.INT),
    ("Integer", Atom.INT),
    ("BIGINT", Atom.LONG),
    ("LONG", Atom.LONG),
    ("FLOAT", Atom.FLOAT),
    ("REAL", Atom.FLOAT),
    ("DOUBLE", Atom.DOUBLE),
    ("STRING", Atom.STRING),
    ("STRING COLLATE UTF8_BINARY", Atom.STRING),
    ("STRING COLLATE unicode_ai_ci", Collated("UNICODE_CI_AI")),
    ("STRING COLLATE utf8_lcase_rtrim", Collated("UTF8_LCASE_RTRIM")),
    ("STRING COLLATE de_CS_AI", Collated("de_AI")),
    ("BINARY", Atom.BINARY),
    ("DATE", Atom.DATE),
    ("TIMESTAMP", Atom.TIMESTAMP),
    ("TIMESTAMP_LTZ", Atom.TIMESTAMP),
    ("TIMESTAMP WITH LOCAL TIME ZONE", Atom.TIMESTAMP),
    ("TIMESTAMP_NTZ", Atom.TIMESTAMP_NTZ),
    ("TIMESTAMP WITHOUT TIME ZONE", Atom.TIMESTAMP_NTZ),
    ("VARIANT", Atom.VARIANT),
    ("TIME", Time(6)),
    ("TIME(0)", Time(0)),
    ("TIME(3) WITHOUT TIME ZONE", Time(3)),
    ("CHAR(3)", Char(3)),
    ("CHARACTER(3)", Char(3)),
    ("VARCHAR(10)", Varchar(10)),
    ("DECIMAL", Decimal(10, 0)),
    ("DEC(5)", Decimal(5, 0)),
    ("NUMERIC( 38 , 38 )", Decimal(38, 38)),
    ("INTERVAL DAY", DayTimeInterval("day", "day")),
    ("INTERVAL DAY TO SECOND", DayTimeInterval("day", "second")),
    ("interval hour to minute", DayTimeInterval("hour", "minute")),
    ("INTERVAL SECOND", DayTimeInterval("second", "second")),
    ("GEOMETRY(4326)", Geometry(4326)),
    ("GEOGRAPHY(4326)", Geography(4326)),
    ("ARRAY<INT>", array(Atom.INT)),
    ("ARRAY<ARRAY<INT>>", array(array(Atom.INT))),
    ("MAP<STRING, ARRAY<INT>>", map_(Atom.STRING, array(Atom.INT))),
    (
        "STRUCT<a: INT NOT NULL COMMENT 'x', `b c` ARRAY<STRING>>",
        Struct(
            (
                Column(0, "a", Atom.INT, nullable=False, comment="x"),
                Column(0, "b c", array(Atom.STRING)),
            )
        ),
    ),
]


@pytest.mark.parametrize("text, expected", TYPES)
def test_types_parse(text: str, expected: DataType) -> None:
    assert parse_type(text) == expected
    assert parse_type(render_type(expected)) == expected


def test_types_render() -> None:
    text = "struct<a:int not null comment 'it\\'s',`b.c`:map<string,decimal(10,2)>,d:interval day>"
    assert render_type(parse_type(text)) == (
        "STRUCT<a: INT NOT NULL COMMENT 'it\\'s', `b.c`: MAP<STRING, DECIMAL(10,2)>, "
        "d: INTERVAL DAY>"
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("foo", "unknown type foo"),
        ("`INT`", "a type was expected"),
        ("", "a type was expected, but found the end"),
        ("INT INT", "nothing more was expected, but found INT at character 5"),
        ("NULL", "a column of nulls that gets a type later is VOID"),
        ("INTERVAL", "intervals without a unit"),
        ("INTERVAL MONTH TO YEAR", "nothing more was expected"),
        ("INTERVAL SECOND TO DAY", "no unit is smaller than SECOND"),
        ("INTERVAL MINUTE TO HOUR", "SECOND was expected"),
        ("CHAR", "CHAR needs a length, as CHAR(10)"),
        ("VARCHAR", "VARCHAR needs a length, as VARCHAR(10)"),
        ("CHAR(0)", "at least 1"),
        ("VARCHAR(2147483648)", "below 2147483648"),
        pytest.param("VARCHAR(" + "9" * 5000 + ")", "below 2147483648", id="long"),
        ("VARCHAR(1.5)", "a whole number was expected"),
        ("VARCHAR(-1)", "a whole number was expected"),
        ("VARCHAR(3, 4)", "')' was expected"),
        ("DECIMAL(39)", "1 to 38 digits"),
        ("DECIMAL(0)", "1 to 38 digits"),
        ("DECIMAL(3,4)", "at most that many after the point"),
        ("TIME(7)", "TIME has up to 6 digits"),
        ("TIME WITH LOCAL TIME ZONE", "TIME has no time zone"),
        ("STRING COLLATE latin1", "'latin1' is not a collation"),
        ("GEOMETRY", "the number of one reference system"),
        ("GEOMETRY(ANY)", "GEOMETRY(ANY) can't be stored"),
        ("GEOGRAPHY(4326, SPHERICAL)", "')' was expected"),
        ("BINARY(3)", "nothing more was expected"),
        ("ARRAY", "'<' was expected"),
        ("ARRAY<>", "ARRAY<> is empty"),
        ("STRUCT<>", "STRUCT<> is empty"),
        ("ARRAY<INT", "'>' was expected"),
        ("MAP<INT>", "',' was expected"),
        ("STRUCT<a INT,>", "a name was expected"),
        ("STRUCT<a INT DEFAULT 5>", "the field a has a DEFAULT inside a STRUCT"),
        pytest.param("ARRAY<" * 100 + "INT" + ">" * 100, "nested more than 100 deep", id="101"),
        pytest.param("ARRAY<" * 100_000, "nested more than 100 deep", id="arrays"),
        pytest.param("STRUCT<a:" * 100_000, "nested more than 100 deep", id="structs"),
    ],
)
def test_invalid_types_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_type(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_columns_parse() -> None:
    assert parse_columns(
        "ts TIMESTAMP NOT NULL, host: STRING COMMENT 'it''s' DEFAULT 'a', `b``c` INT NULL"
    ) == (
        Column(0, "ts", Atom.TIMESTAMP, nullable=False),
        Column(
            0,
            "host",
            Atom.STRING,
            read_default=Constant('"a"'),
            write_default=Constant('"a"'),
            comment="it's",
        ),
        Column(0, "b`c", Atom.INT),
    )


def test_keywords_may_be_column_names() -> None:
    ddl = "comment STRING COMMENT 'x', not INT NOT NULL, default INT DEFAULT 1, 1a DATE, date DATE"
    assert [c.name for c in parse_columns(ddl)] == ["comment", "not", "default", "1a", "date"]


def test_the_time_of_writing_is_a_write_default_only() -> None:
    ts, day = parse_columns("ts TIMESTAMP DEFAULT now(), d DATE DEFAULT current_date NOT NULL")
    assert (ts.read_default, ts.write_default) == (None, Now.TIMESTAMP)
    assert (day.read_default, day.write_default, day.nullable) == (None, Now.DATE, False)


def test_default_null_is_like_no_default() -> None:
    assert parse_columns("a INT DEFAULT NULL NULL") == (Column(0, "a", Atom.INT),)


def test_comments_and_white_space_are_skipped() -> None:
    assert parse_columns(" a -- one\n INT /* two\n */\t, b\nINT ") == parse_columns("a INT, b INT")


def test_columns_render() -> None:
    ddl = "a int default 5 not null comment 'x\\\\', `b c` string, t timestamp default now()"
    assert render_columns(parse_columns(ddl)) == (
        "a INT NOT NULL DEFAULT 5 COMMENT 'x\\\\', `b c` STRING, "
        "t TIMESTAMP DEFAULT current_timestamp()"
    )


@pytest.mark.parametrize(
    "ddl, message",
    [
        ("", "the column list is empty"),
        ("a", "column a: a type was expected, but found the end"),
        ("a INT,", "a name was expected"),
        ("a INT b INT", "a comma, NOT NULL, DEFAULT or COMMENT was expected, but found b"),
        ("a INT NULL NOT NULL", "column a: NULL is given twice"),
        ("a INT DEFAULT 1 DEFAULT 2", "DEFAULT is given twice"),
        ("a INT NOT", "NULL was expected"),
        ("a INT COMMENT x", "a string in quotes was expected"),
        ("a INT COMMENT 'x", "the ' at character 15 is not closed"),
        ("`a INT", "the ` at character 1 is not closed"),
        ("`` INT", "a name was expected"),
        ("a-b INT", "column a: a type was expected, but found -"),
        ("a INT DEFAULT 1 + 1", "column a: defaults are constants"),
        ("a INT DEFAULT rand()", "defaults are constants"),
        ("a INT DEFAULT", "defaults are constants"),
        ("a INT DEFAULT 'abc'", "column a: DEFAULT 'abc' does not fit INT: a whole number"),
        ("a STRING COMMENT '\\ud800'", "half a character"),
        ("a STRING COMMENT '\\U00110000'", "is not a character"),
    ],
)
def test_invalid_columns_are_refused(ddl: str, message: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_columns(ddl)
    assert message in str(caught.value)


def test_ddl_must_be_text() -> None:
    with pytest.raises(InvalidRequestError, match="must be a str, not int"):
        parse_columns(5)  # type: ignore[arg-type]


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
comments = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
precisions = st.integers(1, 38)
units = ("day", "hour", "minute", "second")
leaves: st.SearchStrategy[DataType] = st.one_of(
    st.sampled_from(list(Atom)),
    precisions.flatmap(lambda p: st.builds(Decimal, st.just(p), st.integers(0, p))),
    st.builds(Char, st.integers(1, 2**31 - 1)),
    st.builds(Varchar, st.integers(1, 2**31 - 1)),
    st.builds(Time, st.integers(0, 6)),
    st.sampled_from([DayTimeInterval(a, b) for i, a in enumerate(units) for b in units[i:]]),
    st.builds(Geometry, st.integers(0, 2**31 - 1)),
    st.builds(Geography, st.integers(0, 2**31 - 1)),
)


def columns_of(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[tuple[Column, ...]]:
    column = st.builds(Column, st.just(0), names, types, nullable=st.booleans(), comment=comments)
    return st.lists(column, min_size=1, max_size=4).map(tuple)


all_types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(array, inner), st.builds(map_, inner, inner), st.builds(Struct, columns_of(inner))
    ),
    max_leaves=8,
)


@given(all_types)
def test_types_render_and_parse_back(type_: DataType) -> None:
    assert parse_type(render_type(type_)) == type_


@given(columns_of(all_types))
def test_columns_render_and_parse_back(columns: tuple[Column, ...]) -> None:
    assert parse_columns(render_columns(columns)) == columns


@given(st.text(st.sampled_from(string.printable + "é²😀"), max_size=30))
def test_any_text_parses_or_is_refused(text: str) -> None:
    for parse in (parse_columns, parse_type, lambda t: parse_columns(f"a INT {t}")):
        with contextlib.suppress(InvalidRequestError):
            parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id BIGINT,\n  n INTT", r"column n: unknown type INTT, at line 2, column 5 \('n INTT'\)$"),
        ("id BIGINT,\n  s STRUCT<a: INT,\n b STR>", r"unknown type STR, at line 3, column 4"),
        ("id BIGINT\n\tn INT", r"found n at line 2, column 2 \('n INT'\) of the column list$"),
        ("id INT DEFAULT\n  'x'", r"DEFAULT 'x' does not fit INT.*, at line 2, column 3"),
        ("id INT,\n n INT COMMENT 'x", r"the ' at line 2, column 16 .* is not closed$"),
        ("id INT,\n n\n\n", r"found the end at line 2, column 3 \('n'\) of the column list"),
        ("id INT, n INTT", r"column n: unknown type INTT$"),
    ],
)
def test_errors_in_several_lines_say_which(text: str, message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        parse_columns(text)
