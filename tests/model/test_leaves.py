"""Every leaf type has one description, from which all modules take its names, families and bounds."""

from __future__ import annotations

import typing

import pytest

from versioned_catalog.log.statistics import has_bounds
from versioned_catalog.model.arrow import from_arrow_type, to_arrow_type
from versioned_catalog.model.ddl import parse_type, render_type
from versioned_catalog.model.schema_json import type_from_json, type_to_json
from versioned_catalog.model.sql_literals import constant_from_sql, to_sql
from versioned_catalog.model.types import (
    LEAVES,
    Array,
    Atom,
    Char,
    Collated,
    Column,
    DayTimeInterval,
    Decimal,
    Family,
    Geography,
    Geometry,
    LeafType,
    Time,
    Varchar,
    YearMonthInterval,
    family,
    is_floating,
    is_integer,
    is_opaque,
    is_text,
)
from versioned_catalog.model.value_text import integer_range

SAMPLES: list[LeafType] = [
    *Atom,
    Decimal(12, 3),
    Char(3),
    Varchar(4),
    Collated("UNICODE_CI"),
    Time(2),
    DayTimeInterval(),
    YearMonthInterval(),
    Geometry(4326),
    Geography(4326),
]

# The name in SQL, the name in FORMAT.md, and a default that is rendered as it is written.
WRITTEN = {
    "boolean": ("BOOLEAN", "boolean", "TRUE"),
    "byte": ("TINYINT", "byte", "-5"),
    "short": ("SMALLINT", "short", "300"),
    "int": ("INT", "int", "70000"),
    "long": ("BIGINT", "long", "5000000000"),
    "float": ("FLOAT", "float", "0.1F"),
    "double": ("DOUBLE", "double", "0.1D"),
    "decimal": ("DECIMAL(12,3)", "decimal(12,3)", "1.500"),
    "string": ("STRING", "string", "'it\\'s'"),
    "char": ("CHAR(3)", "char(3)", "'ab '"),
    "varchar": ("VARCHAR(4)", "varchar(4)", "'ab'"),
    "string collate": (
        "STRING COLLATE UNICODE_CI",
        "string collate UNICODE_CI",
        "'it\\'s'",
    ),
    "binary": ("BINARY", "binary", "X'0AFF'"),
    "date": ("DATE", "date", "DATE '2020-02-29'"),
    "timestamp": ("TIMESTAMP", "timestamp", "TIMESTAMP '2020-01-31 12:30:00.5Z'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ", "timestamp_ntz", "TIMESTAMP_NTZ '0001-01-01 00:00:00'"),
    "time": ("TIME(2)", "time(2)", "TIME '23:59:59.25'"),
    "interval": (
        "INTERVAL DAY TO SECOND",
        "interval day to second",
        "INTERVAL '-1 02:03:04.5' DAY TO SECOND",
    ),
    "interval of months": (
        "INTERVAL YEAR TO MONTH",
        "interval year to month",
        "INTERVAL '-1-2' YEAR TO MONTH",
    ),
    "variant": ("VARIANT", "variant", None),
    "void": ("VOID", "void", None),
    "geometry": ("GEOMETRY(4326)", "geometry(4326)", None),
    "geography": ("GEOGRAPHY(4326)", "geography(4326)", None),
}


def test_every_leaf_type_has_exactly_one_description() -> None:
    assert {sample.leaf.name for sample in SAMPLES} == set(LEAVES) == set(WRITTEN)
    classes = {type(sample) for sample in SAMPLES}
    assert classes == set(typing.get_args(LeafType)), "SAMPLES needs a value of each class"


@pytest.mark.parametrize("type_", SAMPLES, ids=lambda type_: type_.leaf.name)
def test_names_and_defaults_read_back(type_: LeafType) -> None:
    sql, name, default = WRITTEN[type_.leaf.name]
    assert (render_type(type_), type_to_json(type_)) == (sql, name)
    assert parse_type(sql) == type_from_json(name) == type_
    assert has_bounds(type_) == (default is not None and not isinstance(type_, Collated))
    if default is not None:
        constant = constant_from_sql(default, type_)
        assert constant is not None
        assert to_sql(constant, type_) == default


@pytest.mark.parametrize(
    "type_", [t for t in SAMPLES if t is not Atom.VOID], ids=lambda t: t.leaf.name
)
def test_arrow_types_read_back(type_: LeafType) -> None:
    as_text = {
        **dict.fromkeys((Char(3), Varchar(4), Collated("UNICODE_CI")), Atom.STRING),
        Time(2): Time(6),
        YearMonthInterval(): Atom.INT,
    }
    assert from_arrow_type(to_arrow_type(type_)) == as_text.get(type_, type_)


@pytest.mark.parametrize(
    "alias, type_",
    [
        ("BYTE", Atom.BYTE),
        ("SHORT", Atom.SHORT),
        ("INTEGER", Atom.INT),
        ("LONG", Atom.LONG),
        ("REAL", Atom.FLOAT),
        ("DEC(12,3)", Decimal(12, 3)),
        ("NUMERIC(12,3)", Decimal(12, 3)),
        ("CHARACTER(3)", Char(3)),
        ("TIMESTAMP_LTZ", Atom.TIMESTAMP),
    ],
)
def test_aliases_parse_to_their_type(alias: str, type_: LeafType) -> None:
    assert parse_type(alias.lower()) == type_


@pytest.mark.parametrize(
    "type_, low, high",
    [
        (Atom.BYTE, -128, 127),
        (Atom.SHORT, -32768, 32767),
        (Atom.INT, -2147483648, 2147483647),
        (Atom.LONG, -9223372036854775808, 9223372036854775807),
        (Atom.DATE, -2147483648, 2147483647),
        (Time(6), 0, 86_399_999_999),
        (DayTimeInterval(), -9223372036854775808, 9223372036854775807),
    ],
)
def test_integer_types_have_their_range(type_: LeafType, low: int, high: int) -> None:
    assert integer_range(type_) == (low, high)


def test_types_belong_to_their_families() -> None:
    def of(test: typing.Callable[[LeafType], bool]) -> set[str]:
        return {sample.leaf.name for sample in SAMPLES if test(sample)}

    assert of(is_text) == {"string", "char", "varchar"}
    assert of(is_integer) == {"byte", "short", "int", "long"}
    assert of(is_floating) == {"float", "double"}
    assert of(is_opaque) == {"variant", "geometry", "geography"}
    temporal = {"date", "timestamp", "timestamp_ntz", "time", "interval", "interval of months"}
    assert of(lambda type_: family(type_) is Family.TEMPORAL) == temporal
    assert family(Array(Column(0, "element", Atom.INT))) is None
    with pytest.raises(ValueError, match="ARRAY<INT> is not stored as an integer"):
        integer_range(Array(Column(0, "element", Atom.INT)))
