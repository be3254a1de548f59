from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from read.filter_oracle import PATH, expected, filtered, resolver
from read.units import Unit, bounds_of, cut, is_, starts
from versioned_catalog.model.types import Atom, Char, DataType, Decimal
from versioned_catalog.read.evaluators import all_match
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import (
    AllOf,
    AnyOf,
    Not,
    NullSafe,
    NullTest,
    OneOf,
    TextKind,
    TextTest,
    UnboundFilter,
)

NAN = math.nan


def evaluate_strictly(type_: DataType, units: list[Unit], unbound: UnboundFilter) -> list[bool]:
    bounds = bounds_of(type_, units)
    found = all_match(bind_filter(unbound, resolver(type_)), lambda _: bounds, len(units))
    assert found.null_count == 0
    return found.to_pylist()


# All rows of every unit here match, and its statistics show it.
ALL: list[tuple[DataType, Unit, UnboundFilter]] = [
    (Atom.INT, (9, 0, 0, 5, 7), is_(">=", 5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("<=", 7)),
    (Atom.INT, (9, 0, 0, 5, 7), is_(">", 4.5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("<", 10**20)),
    (Atom.INT, (9, 0, 0, 5, 5), is_("=", 5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("!=", 8)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("!=", 5.5)),
    (Atom.INT, (9, 0, 0, 5, 5), OneOf(PATH, (4, 5, None))),
    (Atom.INT, (9, 0, 0, 5, 7), Not(OneOf(PATH, (4, 8)))),
    (Atom.INT, (9, 0, 0, 5, 7), Not(NullTest(PATH))),
    (Atom.INT, (9, 9, 0, None, None), NullTest(PATH)),
    (Atom.INT, (9, 9, 0, None, None), NullSafe(PATH, None)),
    (Atom.INT, (9, 0, 0, 5, 5), NullSafe(PATH, 5)),
    (Atom.INT, (9, 3, 0, 5, 7), Not(NullSafe(PATH, 8))),
    (Atom.INT, (9, 9, 0, None, None), Not(NullSafe(PATH, 8))),
    (Atom.INT, (9, 0, 0, 5, 7), AllOf((is_(">", 4), is_("<", 8)))),
    (Atom.INT, (9, 0, 0, 5, 7), AnyOf((is_(">", 6), is_("<", 8)))),
    (Atom.INT, (9, 0, 0, 5, 7), Not(is_("<", 5))),
    (Atom.DOUBLE, (9, 0, 0, 0.5, 1.5), is_("<", 2.0)),
    (Atom.DOUBLE, (9, 0, 3, 0.5, 1.5), is_(">=", 0.5)),
    (Atom.DOUBLE, (9, 0, 0, -0.0, 0.0), is_("=", 0.0)),
    (Atom.DOUBLE, (9, 0, 0, 0.5, 1.5), is_("<", NAN)),
    (Decimal(4, 2), (9, 0, 0, 1, 2), is_("<=", 2)),
    (Atom.STRING, (9, 0, 0, "b", "bz"), starts("b")),
    (Atom.STRING, (9, 0, 0, "b", "bz"), Not(starts("c"))),
    (Char(3), (9, 0, 0, "a  ", "a  "), is_("=", "a")),
]


@pytest.mark.parametrize("type_, unit, unbound", ALL)
def test_all_rows_match(type_: DataType, unit: Unit, unbound: UnboundFilter) -> None:
    everything: Unit = (9, None, None, None, None)
    always = evaluate_strictly(type_, [everything], unbound) == [True]
    assert evaluate_strictly(type_, [unit, everything, unit], unbound) == [True, always, True]
    assert not always


# Some rows of every unit here may not match.
NOT_ALL: list[tuple[DataType, Unit, UnboundFilter]] = [
    (Atom.INT, (9, 0, 0, 5, 7), is_(">", 5)),
    (Atom.INT, (9, 1, 0, 5, 7), is_(">=", 5)),
    (Atom.INT, (9, None, 0, 5, 7), is_(">=", 5)),
    (Atom.INT, (9, 0, 0, None, 7), is_(">=", 5)),
    (Atom.INT, (9, 9, 0, None, None), is_(">=", 5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", 6)),
    (Atom.INT, (9, 1, 0, 5, 5), is_("=", 5)),
    (Atom.INT, (9, 1, 0, 5, 5), OneOf(PATH, (5,))),
    (Atom.INT, (9, 1, 0, 5, 7), Not(OneOf(PATH, (4,)))),
    (Atom.INT, (9, 0, 0, 5, 7), Not(OneOf(PATH, (4, None)))),
    (Atom.INT, (9, 0, 0, 5, 7), Not(OneOf(PATH, (6,)))),
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", None)),
    (Atom.INT, (9, 8, 0, 5, 5), NullTest(PATH)),
    (Atom.INT, (9, None, 0, 5, 5), NullTest(PATH)),
    (Atom.INT, (9, None, 0, 5, 5), Not(NullTest(PATH))),
    (Atom.INT, (9, 1, 0, 5, 5), NullSafe(PATH, 5)),
    (Atom.INT, (9, 1, 0, 5, 5), Not(NullSafe(PATH, None))),
    (Atom.INT, (9, 0, 0, 5, 7), AllOf((is_(">", 4), is_(">", 5)))),
    (Atom.INT, (9, 0, 0, 5, 7), AnyOf((is_("<", 6), is_(">=", 6)))),
    (Atom.INT, (9, 0, 0, 5, 7), AnyOf(())),
    (Atom.DOUBLE, (9, 0, 1, 0.5, 1.5), is_("<", 2.0)),
    (Atom.DOUBLE, (9, 0, None, 0.5, 1.5), is_("<", 2.0)),
    (Atom.DOUBLE, (9, 0, 1, 0.5, 0.5), is_("=", 0.5)),
    (Atom.DOUBLE, (9, 0, None, 0.5, 0.5), is_("=", 0.5)),
    (Atom.DOUBLE, (9, 0, 1, 0.5, 1.5), is_("<", NAN)),
    (Atom.STRING, (9, 1, 0, "b", "bz"), starts("b")),
    (Atom.STRING, (9, 0, 0, "b", "bz"), TextTest(PATH, TextKind.CONTAINS, "b")),
]


@pytest.mark.parametrize("type_, unit, unbound", NOT_ALL)
def test_some_rows_may_not_match(type_: DataType, unit: Unit, unbound: UnboundFilter) -> None:
    assert evaluate_strictly(type_, [unit], unbound) == [False]


def test_nothing_is_known_without_statistics() -> None:
    for unbound, found in ((is_("=", 1), False), (NullTest(PATH), False), (AllOf(()), True)):
        bound = bind_filter(unbound, resolver(Atom.INT))
        assert all_match(bound, lambda _: None, 2).to_pylist() == [found] * 2


@pytest.mark.thorough
@given(filtered(), st.data())
def test_all_rows_of_a_strictly_matching_unit_match(
    case: tuple[DataType, list[Any], UnboundFilter], data: st.DataObject
) -> None:
    type_, rows, unbound = case
    units, bounds = cut(type_, rows, data)
    found = all_match(
        bind_filter(unbound, resolver(type_)), lambda _: bounds, len(units)
    ).to_pylist()
    for unit, proved in zip(units, found, strict=True):
        assert not proved or all(expected(unbound, type_, row) is True for row in unit)
