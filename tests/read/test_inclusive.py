from __future__ import annotations

import dataclasses
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from read.filter_oracle import PATH, expected, filtered, resolver
from read.units import Unit, bounds_of, cut, is_, starts
from versioned_catalog.model.types import Atom, Char, DataType, DayTimeInterval, Decimal
from versioned_catalog.read.evaluators import ColumnBounds, may_match
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

NAN, INF = math.nan, math.inf


def prune(type_: DataType, units: list[Unit], unbound: UnboundFilter) -> list[bool]:
    bounds = bounds_of(type_, units)
    found = may_match(bind_filter(unbound, resolver(type_)), lambda _: bounds, len(units))
    assert isinstance(found, pa.BooleanArray)
    assert found.null_count == 0
    return found.to_pylist()


# The filter must exclude every unit here, so that pruning is not a constant True.
OUT: list[tuple[DataType, Unit, UnboundFilter]] = [
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", 4)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", 8)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", 5.5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", 10**20)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("<", 5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("<=", 4)),
    (Atom.INT, (9, 0, 0, 5, 7), is_(">", 7)),
    (Atom.INT, (9, 0, 0, 5, 7), is_(">", 7.5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_(">=", 8)),
    (Atom.INT, (9, None, None, 5, 7), is_(">=", 8)),
    (Atom.INT, (9, 0, 0, 5, None), is_("<", 5)),
    (Atom.INT, (9, 0, 0, None, 7), is_("=", 8)),
    (Atom.INT, (9, 0, 0, 5, 5), is_("!=", 5)),
    (Atom.INT, (9, 9, 0, None, None), is_("!=", 5)),
    (Atom.INT, (9, 9, 0, None, None), is_("<", 10**20)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", None)),
    (Atom.INT, (9, 0, 0, 5, 7), NullTest(PATH)),
    (Atom.INT, (9, 9, 0, None, None), Not(NullTest(PATH))),
    (Atom.INT, (9, 0, 0, 5, 7), NullSafe(PATH, 8)),
    (Atom.INT, (9, 9, 0, None, None), NullSafe(PATH, 8)),
    (Atom.INT, (9, 0, 0, 5, 5), Not(NullSafe(PATH, 5))),
    (Atom.INT, (9, 0, 0, 5, 7), OneOf(PATH, (4, 8, None))),
    (Atom.INT, (9, 0, 0, 5, 7), OneOf(PATH, ())),
    (Atom.INT, (9, 0, 0, 5, 7), OneOf(PATH, (*range(-95, 1), *range(8, 104)))),
    (Atom.INT, (9, 9, 0, None, None), OneOf(PATH, (1, 2))),
    (Atom.INT, (9, 0, 0, 5, 5), Not(OneOf(PATH, (4, 5)))),
    (Atom.INT, (9, 0, 0, 5, 7), Not(OneOf(PATH, (1, None)))),
    (Atom.INT, (9, 0, 0, 5, 7), AllOf((is_(">", 0), is_(">", 7)))),
    (Atom.INT, (9, 0, 0, 5, 7), AnyOf((is_("<", 5), is_(">", 7)))),
    (Atom.INT, (9, 0, 0, 5, 7), Not(is_(">=", 5))),
    (Atom.INT, (9, 0, 0, 5, 7), AnyOf(())),
    (Atom.LONG, (9, 0, 0, 0, 2**53), is_(">", 2.0**53)),
    (Atom.BOOLEAN, (9, 0, 0, False, False), is_("=", True)),
    (Atom.DOUBLE, (9, 0, 0, 0.5, 1.5), is_(">", 1.5)),
    (Atom.DOUBLE, (9, 0, 0, 0.5, 1.5), is_("=", 2.5)),
    (Atom.DOUBLE, (9, 0, None, 0.5, 1.5), is_("<", 0.5)),
    (Atom.DOUBLE, (9, 0, 0, 0.5, 1.5), is_("=", NAN)),
    (Atom.DOUBLE, (9, 0, 0, 0.5, 1.5), is_(">=", NAN)),
    (Atom.DOUBLE, (9, 0, 9, None, None), is_(">", NAN)),
    (Atom.DOUBLE, (9, 0, 0, 0.5, 1.5), OneOf(PATH, (NAN, 2.0))),
    (Atom.DOUBLE, (9, 0, 0, 0.0, -0.0), is_("!=", 0)),
    (Atom.FLOAT, (9, 0, 0, 0.5, 1.5), is_(">", 1e300)),
    (Decimal(4, 2), (9, 0, 0, 1, 2), is_(">", 2)),
    (Atom.STRING, (9, 0, 0, "b", "bz"), is_("=", "c")),
    (Atom.STRING, (9, 0, 0, "b", "bz"), starts("a")),
    (Atom.STRING, (9, 0, 0, "b", "bz"), starts("c")),
    (Atom.STRING, (9, 0, 0, "b", "bz"), Not(starts("b"))),
    (Atom.STRING, (9, 9, 0, None, None), TextTest(PATH, TextKind.CONTAINS, "x")),
    (Char(3), (9, 0, 0, "a  ", "b  "), is_("=", "c")),
    (Atom.BINARY, (9, 0, 0, b"\x00", b"\x7f"), is_("=", b"\x80")),
    (DayTimeInterval(), (9, 0, 0, 5, 7), OneOf(PATH, ())),
]


@pytest.mark.parametrize("type_, unit, unbound", OUT)
def test_units_without_matching_rows_are_excluded(
    type_: DataType, unit: Unit, unbound: UnboundFilter
) -> None:
    everything: Unit = (9, None, None, None, None)
    never = prune(type_, [everything], unbound) == [False]
    assert prune(type_, [unit, everything, unit], unbound) == [False, not never, False]


# Every unit here may hold a matching row.
IN: list[tuple[DataType, Unit, UnboundFilter]] = [
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", 5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("=", 7)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("<=", 5)),
    (Atom.INT, (9, 0, 0, 5, 7), is_(">=", 7)),
    (Atom.INT, (9, 0, 0, 5, 7), is_("!=", 5)),
    (Atom.INT, (9, 8, 0, 5, 7), is_("=", 6)),
    (Atom.INT, (9, 0, 0, 5, 7), Not(NullTest(PATH))),
    (Atom.INT, (9, 9, 0, None, None), NullTest(PATH)),
    (Atom.INT, (9, 1, 0, 5, 5), Not(NullSafe(PATH, 5))),
    (Atom.INT, (9, 9, 0, None, None), Not(NullSafe(PATH, 5))),
    (Atom.INT, (9, 9, 0, None, None), Not(OneOf(PATH, ()))),
    (Atom.INT, (9, 0, 0, 5, 7), is_("<", NAN)),
    (Atom.LONG, (9, 0, 0, 2**53 + 1, 2**60), is_("=", 2.0**53)),
    (Atom.DOUBLE, (9, 0, 1, 0.5, 1.5), is_(">", 1.5)),
    (Atom.DOUBLE, (9, 0, None, 0.5, 1.5), is_(">", 1.5)),
    (Atom.DOUBLE, (9, 0, None, 0.5, 1.5), is_("=", NAN)),
    (Atom.DOUBLE, (9, 0, 1, 0.5, 1.5), OneOf(PATH, (NAN,))),
    (Atom.DOUBLE, (9, 0, 1, 0.5, 0.5), is_("!=", 0.5)),
    (Atom.DOUBLE, (9, 0, 1, 0.5, 0.5), Not(OneOf(PATH, (0.5,)))),
    (Atom.DOUBLE, (9, 0, 0, NAN, NAN), is_("=", 7.0)),
    (Atom.DOUBLE, (9, 0, 0, -0.0, -0.0), is_("=", 0.0)),
    (Atom.DOUBLE, (9, 0, 0, -0.0, -0.0), OneOf(PATH, (0.0,))),
    (Atom.STRING, (9, 0, 0, "b", "bz"), starts("b")),
    (Atom.STRING, (9, 0, 0, "b", "bz"), starts("")),
    (Atom.STRING, (9, 0, 0, "abc", "abd"), starts("ab")),
    (Atom.STRING, (9, 0, 0, "aa", "b"), Not(starts("a"))),
    (Char(3), (9, 0, 0, "a  ", "b  "), is_("=", "a")),
]


@pytest.mark.parametrize("type_, unit, unbound", IN)
def test_units_that_may_match_are_kept(type_: DataType, unit: Unit, unbound: UnboundFilter) -> None:
    assert prune(type_, [unit], unbound) == [True]


def test_units_without_statistics_are_kept() -> None:
    bound = bind_filter(AllOf((is_("=", 1), NullTest(PATH))), resolver(Atom.INT))
    assert may_match(bound, lambda _: None, 3).to_pylist() == [True] * 3


def test_units_with_an_unknown_number_of_nans_are_kept() -> None:
    bounds = dataclasses.replace(bounds_of(Atom.DOUBLE, [(9, 0, 0, 0.5, 1.5)]), nans=None)
    for unbound, want in [(is_(">", 9), True), (is_("=", NAN), True), (is_("<", 0), False)]:
        bound = bind_filter(unbound, resolver(Atom.DOUBLE))
        assert may_match(bound, lambda _: bounds, 1).to_pylist() == [want]


def test_bounds_may_be_chunked_arrays() -> None:
    bounds = bounds_of(Atom.INT, [(9, 0, 0, 5, 7), (9, 0, 0, 1, 2)])
    members = {f.name: getattr(bounds, f.name) for f in dataclasses.fields(bounds)}
    chunked = ColumnBounds(**{k: pa.chunked_array([v[:1], v[1:]]) for k, v in members.items()})
    for unbound in (is_("=", 6), OneOf(PATH, (6,)), NullSafe(PATH, 6)):
        found = may_match(bind_filter(unbound, resolver(Atom.INT)), lambda _: chunked, 2)
        assert found.to_pylist() == [True, False]


def test_long_in_lists_are_evaluated_by_range() -> None:
    units: list[Unit] = [(9, 0, 0, k, k) for k in range(0, 1000, 5)]
    found = prune(Atom.INT, units, OneOf(PATH, tuple(range(500, 1000))))
    assert found == [False] * 100 + [True] * 100


@given(filtered(), st.data())
def test_no_excluded_unit_has_a_matching_row(
    case: tuple[DataType, list[Any], UnboundFilter], data: st.DataObject
) -> None:
    type_, rows, unbound = case
    units, bounds = cut(type_, rows, data)
    found = may_match(
        bind_filter(unbound, resolver(type_)), lambda _: bounds, len(units)
    ).to_pylist()
    for unit, read in zip(units, found, strict=True):
        assert read or not any(expected(unbound, type_, row) is True for row in unit)
