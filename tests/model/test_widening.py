from __future__ import annotations

import itertools

import pytest

from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Collated,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geography,
    Geometry,
    Map,
    Struct,
    Time,
    Varchar,
    YearMonthInterval,
)
from versioned_catalog.model.widening import check_widens, widens

BOOLEAN, BYTE, SHORT, INT, LONG = Atom.BOOLEAN, Atom.BYTE, Atom.SHORT, Atom.INT, Atom.LONG
FLOAT, DOUBLE, STRING, BINARY = Atom.FLOAT, Atom.DOUBLE, Atom.STRING, Atom.BINARY
DATE, TIMESTAMP, NTZ, VARIANT = Atom.DATE, Atom.TIMESTAMP, Atom.TIMESTAMP_NTZ, Atom.VARIANT
D9, D10, D12, D14, D20, D22 = (
    Decimal(9, 0),
    Decimal(10, 0),
    Decimal(12, 2),
    Decimal(14, 2),
    Decimal(20, 0),
    Decimal(22, 2),
)
C4, C8, V4, V8 = Char(4), Char(8), Varchar(4), Varchar(8)

# Written by hand: for every type, all other types that it widens to.
LEGAL: dict[DataType, list[DataType]] = {
    BOOLEAN: [],
    BYTE: [SHORT, INT, LONG, DOUBLE, D10, D12, D14, D20, D22],
    SHORT: [INT, LONG, DOUBLE, D10, D12, D14, D20, D22],
    INT: [LONG, DOUBLE, D10, D12, D14, D20, D22],
    LONG: [D20, D22],
    FLOAT: [DOUBLE],
    DOUBLE: [],
    STRING: [],
    BINARY: [],
    DATE: [NTZ],
    TIMESTAMP: [],
    NTZ: [],
    VARIANT: [],
    Atom.VOID: [
        *(
            BOOLEAN,
            BYTE,
            SHORT,
            INT,
            LONG,
            FLOAT,
            DOUBLE,
            STRING,
            BINARY,
            DATE,
            TIMESTAMP,
            NTZ,
            VARIANT,
        ),
        *(Collated("UNICODE"), Collated("UNICODE_CI"), YearMonthInterval()),
        *(D9, D10, D12, D14, D20, D22, C4, C8, V4, V8, Time(3), Time(6), DayTimeInterval()),
        *(DayTimeInterval("hour", "minute"), Geometry(0), Geometry(4326), Geography(4326)),
    ],
    D9: [D10, D12, D14, D20, D22],
    D10: [D12, D14, D20, D22],
    D12: [D14, D22],
    D14: [D22],
    D20: [D22],
    D22: [],
    C4: [V4, V8, STRING],
    C8: [V8, STRING],
    V4: [V8, STRING],
    V8: [STRING],
    Collated("UNICODE"): [],
    Collated("UNICODE_CI"): [],
    Time(3): [],
    Time(6): [],
    DayTimeInterval(): [],
    DayTimeInterval("hour", "minute"): [],
    YearMonthInterval(): [],
    Geometry(0): [],
    Geometry(4326): [],
    Geography(4326): [],
}


@pytest.mark.parametrize("old", LEGAL, ids=str)
def test_a_type_widens_to_the_listed_types_only(old: DataType) -> None:
    assert [new for new in LEGAL if new != old and widens(old, new)] == [
        new for new in LEGAL if new in LEGAL[old]
    ]
    assert widens(old, old)


def test_the_list_has_every_atom() -> None:
    assert set(Atom) <= set(LEGAL)


def test_widening_is_transitive_and_never_reversible() -> None:
    decimals = [Decimal(p, s) for p in (1, 9, 10, 11, 19, 20, 21, 38) for s in (0, 1, 10) if s <= p]
    types = [*LEGAL, *decimals]
    for a, b, c in itertools.product(types, repeat=3):
        if widens(a, b) and widens(b, c):
            assert widens(a, c), (a, b, c)
            assert a == b or not widens(b, a), (a, b)


@pytest.mark.parametrize(
    "old, new, fits",
    [
        (Decimal(5, 2), Decimal(6, 3), True),
        (Decimal(5, 2), Decimal(5, 3), False),
        (Decimal(5, 2), Decimal(6, 1), False),
        (Decimal(5, 2), Decimal(6, 2), True),
        (INT, Decimal(38, 28), True),
        (INT, Decimal(38, 29), False),
        (LONG, Decimal(38, 18), True),
        (LONG, Decimal(38, 19), False),
        (LONG, Decimal(19, 0), False),
        (BYTE, Decimal(3, 0), False),
        (FLOAT, Decimal(38, 10), False),
        (Char(4), Char(5), False),
        (Varchar(4), Char(4), False),
    ],
)
def test_decimals_widen_if_all_digits_fit(old: DataType, new: DataType, fits: bool) -> None:
    assert widens(old, new) is fits


@pytest.mark.parametrize(
    "old, new, words",
    [
        (STRING, INT, "the column a.b can't change from STRING to INT.*add a column"),
        (LONG, INT, "from BIGINT to INT, since that type is narrower"),
        (INT, Decimal(9, 0), "10 digits before the point and 0 after"),
        (Decimal(9, 2), Decimal(9, 3), r"DECIMAL\(9,2\).*7 digits before the point and 2 after"),
        (INT, Array(Column(0, "element", INT)), "it is nested and the column is not"),
        (LONG, DOUBLE, "from BIGINT to DOUBLE"),
    ],
)
def test_a_refusal_names_both_types_and_an_alternative(
    old: DataType, new: DataType, words: str
) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        check_widens(old, new, "a.b")


@pytest.mark.parametrize(
    "old, hint",
    [
        (Array(Column(1, "element", INT)), "a.element"),
        (Map(Column(1, "key", INT, False), Column(2, "value", INT)), "a.value"),
        (Struct((Column(1, "zip", INT),)), "a.zip"),
    ],
)
def test_nested_types_change_by_path(old: DataType, hint: str) -> None:
    with pytest.raises(InvalidRequestError, match=hint):
        check_widens(old, LONG, "a")


def test_a_legal_change_passes() -> None:
    check_widens(INT, LONG, "a")
    check_widens(INT, INT, "a")
