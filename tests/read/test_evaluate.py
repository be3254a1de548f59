from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from read.filter_oracle import PATH, UTC, array_of, expected, filtered, resolver
from versioned_catalog.model.types import (
    Atom,
    Char,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Struct,
    Time,
)
from versioned_catalog.read.evaluators import evaluate, keep_mask
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    NullSafe,
    NullTest,
    OneOf,
    Op,
    TextKind,
    TextTest,
    UnboundFilter,
)

NAN, INF = math.nan, math.inf
D = decimal.Decimal
T, F, N = True, False, None


def run(type_: DataType, rows: list[Any], unbound: UnboundFilter) -> list[bool | None]:
    values = array_of(type_, rows)
    found = evaluate(bind_filter(unbound, resolver(type_)), lambda _: values, len(rows))
    assert isinstance(found, pa.BooleanArray)
    return found.to_pylist()


COMPARISONS: list[tuple[DataType, list[Any], str, Any, list[bool | None]]] = [
    (Atom.BOOLEAN, [T, F, N], "<", True, [F, T, N]),
    (Atom.INT, [1, 2, N], "=", 1, [T, F, N]),
    (Atom.INT, [1, 2, N], "!=", 1, [F, T, N]),
    (Atom.INT, [1, 2, N], "=", None, [N, N, N]),
    # Literals out of the column's range are neither wrapped nor refused.
    (Atom.BYTE, [-128, 127, N], "<", 128, [T, T, N]),
    (Atom.BYTE, [-128, 127, N], "=", 256 - 128, [F, F, N]),
    (Atom.LONG, [2**63 - 1, -(2**63), N], "<", 2**63, [T, T, N]),
    (Atom.LONG, [2**63 - 1, -(2**63), N], ">=", 10**30, [F, F, N]),
    (Atom.LONG, [2**63 - 1, -(2**63), N], "!=", -(10**30), [T, T, N]),
    # SELECT 9007199254740993L = 9007199254740992.0D is true, and with a DECIMAL false.
    (Atom.LONG, [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2], "=", 2.0**53, [F, T, T, F]),
    (Atom.LONG, [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2], ">", 2.0**53, [F, F, F, T]),
    (Atom.LONG, [2**53 + 1], "=", D(2**53), [F]),
    (Atom.LONG, [2**63 - 1, 2**63 - 513, 2**63 - 512], "=", 2.0**63, [T, F, T]),
    (Atom.INT, [1, 2, N], "<", 1.5, [T, F, N]),
    (Atom.INT, [1, 2, N], "=", 1.5, [F, F, N]),
    (Atom.INT, [1, 2, N], "<", NAN, [T, T, N]),
    (Atom.INT, [1, 2, N], ">", -INF, [T, T, N]),
    (Atom.INT, [1, 2], ">", D("1.5"), [F, T]),
    (Atom.INT, [0, -1], ">", D("-1E-999999"), [T, F]),
    # NaN equals NaN and is greatest; -0.0 equals 0.0.
    (Atom.DOUBLE, [NAN, INF, 0.0, N], "=", NAN, [T, F, F, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], "!=", NAN, [F, T, T, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], "<", NAN, [F, T, T, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], "<=", NAN, [T, T, T, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], ">", NAN, [F, F, F, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], ">=", NAN, [T, F, F, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], ">", INF, [T, F, F, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], ">=", INF, [T, T, F, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], "<", INF, [F, F, T, N]),
    (Atom.DOUBLE, [NAN, INF, 0.0, N], "<=", INF, [F, T, T, N]),
    (Atom.DOUBLE, [0.0, -0.0], "=", -0.0, [T, T]),
    (Atom.DOUBLE, [0.0, -0.0], "<", 0, [F, F]),
    # A FLOAT is compared with a Python float as double: it never equals 0.1.
    (Atom.FLOAT, [0.1, NAN, N], "=", 0.1, [F, F, N]),
    (Atom.FLOAT, [0.1, NAN, N], ">", 0.1, [T, T, N]),
    (Atom.FLOAT, [16777216.0], "<", 16777217, [T]),
    (Atom.FLOAT, [3.4028234663852886e38, INF, NAN], ">", 1e300, [F, T, T]),
    (Atom.FLOAT, [-INF, 0.0], "<", -1e300, [T, F]),
    # Decimals are compared exactly with integers and decimals, and as double with floats.
    (Decimal(4, 2), [D("1.50"), D("1.51"), N], "=", D("1.5"), [T, F, N]),
    (Decimal(4, 2), [D("1.50"), D("1.51"), N], "<", D("1.505"), [T, F, N]),
    (Decimal(4, 2), [D("99.99"), N], "<", 10**40, [T, N]),
    (Decimal(38, 37), [D("0.1"), D("0.1000000000000000055511151231257827021")], "=", 0.1, [T, T]),
    (Decimal(38, 37), [D("0.1000000000000000000000000000000000001")], "=", D("0.1"), [F]),
    (Atom.STRING, ["a", "é", "\ue000", "\U00010000", N], ">=", "é", [F, T, T, T, N]),
    (Atom.STRING, ["\ue000", "\U00010000"], "<", "\U00010000", [T, F]),
    (Char(3), ["ab ", "abc", N], "=", "ab", [T, F, N]),
    (Char(3), ["ab ", "abc", N], "=", "ab       ", [T, F, N]),
    (Char(3), ["ab ", "abc", N], ">", "ab", [F, T, N]),
    (Char(3), ["ab ", "abc", N], "<", "abcd", [T, T, N]),
    (Char(3), ["abc"], "<", "abc\t", [F]),
    (Atom.BINARY, [b"\x7f", b"\x80", N], "<", b"\x80", [T, F, N]),
    (Atom.DATE, [dt.date(2020, 1, 1), N], "=", dt.date(2020, 1, 1), [T, N]),
    (Atom.DATE, [dt.date(2020, 1, 1), dt.date(2020, 1, 2)], ">=", "2020-01-02", [F, T]),
    (Atom.DATE, [dt.date(2020, 1, 1)], "<", "2020-01-01 10:00:00", [F]),
    (Atom.DATE, [dt.date(2020, 1, 1)], "=", dt.datetime(2020, 1, 1), [T]),
    (Atom.DATE, [dt.date(2020, 1, 1)], "<", dt.datetime(2020, 1, 1, 1), [T]),
    (Atom.DATE, [dt.date(1969, 12, 31)], "<", dt.datetime(1969, 12, 31, 1), [T]),
    (Atom.TIMESTAMP, [dt.datetime(2020, 1, 1, 10, tzinfo=UTC)], "=", "2020-01-01T12:00+02:00", [T]),
    (Atom.TIMESTAMP, [dt.datetime(2020, 1, 1, tzinfo=UTC)], "=", "2020-01-01", [T]),
    (Atom.TIMESTAMP, [dt.datetime(2020, 1, 1, tzinfo=UTC)], "=", dt.datetime(2020, 1, 1), [T]),
    (Atom.TIMESTAMP_NTZ, [dt.datetime(2020, 1, 1)], "=", "2020-01-01 00:00:00.000000", [T]),
    (Atom.TIMESTAMP_NTZ, [dt.datetime(2020, 1, 1)], "=", dt.date(2020, 1, 1), [T]),
    (Time(0), [dt.time(10), N], "=", "10:00", [T, N]),
    (Time(6), [dt.time(10), N], ">", dt.time(9, 59, 59, 999999), [T, N]),
    (DayTimeInterval(), [dt.timedelta(1), N], "=", dt.timedelta(hours=24), [T, N]),
    (DayTimeInterval(), [dt.timedelta(1), N], "<", dt.timedelta.max, [T, N]),
]


@pytest.mark.parametrize("type_, rows, op, value, want", COMPARISONS)
def test_comparisons(
    type_: DataType, rows: list[Any], op: str, value: Any, want: list[bool | None]
) -> None:
    assert run(type_, rows, Comparison(PATH, Op(op), value)) == want


@pytest.mark.parametrize("op", Op)
def test_negated_filters(op: Op) -> None:
    rows = [0.0, 1.0, 2.0, NAN, N]
    plain = run(Atom.DOUBLE, rows, Comparison(PATH, op, 1))
    negated = run(Atom.DOUBLE, rows, Not(Comparison(PATH, op, 1)))
    assert negated == [N if value is N else not value for value in plain]


OTHERS: list[tuple[DataType, list[Any], UnboundFilter, list[bool | None]]] = [
    (Atom.INT, [1, 2, N], OneOf(PATH, (1, None)), [T, N, N]),
    (Atom.INT, [1, 2, N], Not(OneOf(PATH, (1, None))), [F, N, N]),
    (Atom.INT, [1, 2, N], OneOf(PATH, (1, 7)), [T, F, N]),
    (Atom.INT, [1, 2, N], Not(OneOf(PATH, (1, 7))), [F, T, N]),
    (Atom.INT, [1, N], OneOf(PATH, ()), [F, F]),
    (Atom.INT, [1, N], Not(OneOf(PATH, ())), [T, T]),
    (Atom.INT, [1, N], OneOf(PATH, (None,)), [N, N]),
    (Atom.INT, [1, N], OneOf(PATH, (1.5, 10**30)), [F, N]),
    (Atom.LONG, [2**53 + 1], OneOf(PATH, (2**53, 0)), [F]),
    (Atom.LONG, [2**53 + 1, N], OneOf(PATH, (2**53, 0.5)), [T, N]),  # all compared in double
    (Atom.LONG, [2**53 + 1, N], Not(OneOf(PATH, (2**53, 0.5))), [F, N]),
    (Atom.DOUBLE, [NAN, 0.0, -0.0, 1.0, N], OneOf(PATH, (NAN, 0.0)), [T, T, T, F, N]),
    (Atom.DOUBLE, [NAN, 0.0, -0.0, 1.0, N], Not(OneOf(PATH, (-0.0, NAN))), [F, F, F, T, N]),
    (Atom.DOUBLE, [NAN, N], OneOf(PATH, (1.0,)), [F, N]),
    (Char(3), ["a  ", "b  "], OneOf(PATH, ("a", "b    x")), [T, F]),
    (Atom.INT, [1, 2, N], NullSafe(PATH, 1), [T, F, F]),
    (Atom.INT, [1, 2, N], Not(NullSafe(PATH, 1)), [F, T, T]),
    (Atom.INT, [1, N], NullSafe(PATH, None), [F, T]),
    (Atom.INT, [1, N], NullSafe(PATH, 1.5), [F, F]),
    (Atom.INT, [1, N], Not(NullSafe(PATH, 1.5)), [T, T]),
    (Atom.LONG, [2**53 + 1, 0, N], NullSafe(PATH, 2.0**53), [T, F, F]),
    (Atom.LONG, [2**53 + 1, 0, N], Not(NullSafe(PATH, 2.0**53)), [F, T, T]),
    (Atom.DOUBLE, [NAN, 1.0, N], NullSafe(PATH, NAN), [T, F, F]),
    (Atom.DOUBLE, [NAN, N], NullTest(PATH), [F, T]),
    (Atom.STRING, ["abc", "b", "", N], TextTest(PATH, TextKind.PREFIX, "ab"), [T, F, F, N]),
    (Atom.STRING, ["abc", "b", "", N], TextTest(PATH, TextKind.SUFFIX, "b"), [F, T, F, N]),
    (Atom.STRING, ["abc", "b", "", N], Not(TextTest(PATH, TextKind.CONTAINS, "b")), [F, F, T, N]),
    (Atom.STRING, ["a", "", N], TextTest(PATH, TextKind.CONTAINS, ""), [T, T, N]),
    (Atom.STRING, ["a.c", "abc"], TextTest(PATH, TextKind.CONTAINS, "."), [T, F]),
    (Atom.STRING, ["a", N], Not(TextTest(PATH, TextKind.PREFIX, None)), [N, N]),
    (Char(3), ["a  "], TextTest(PATH, TextKind.SUFFIX, "a"), [F]),
    (Atom.INT, [1, N], AllOf(()), [T, T]),
    (Atom.INT, [1, N], AnyOf(()), [F, F]),
    (Atom.INT, [1, N], Not(AnyOf(())), [T, T]),
    (Atom.INT, [1, 2, N], AllOf((NullTest(PATH), Comparison(PATH, Op.EQ, 1))), [F, F, N]),
    (Atom.INT, [1, 2, N], AnyOf((NullTest(PATH), Comparison(PATH, Op.EQ, 1))), [T, F, T]),
    (Atom.INT, [1, 2, N], AnyOf((NullTest(PATH), Comparison(PATH, Op.EQ, None))), [N, N, T]),
]


@pytest.mark.parametrize("type_, rows, unbound, want", OTHERS)
def test_null_checks_lists_and_text_tests(
    type_: DataType, rows: list[Any], unbound: UnboundFilter, want: list[bool | None]
) -> None:
    assert run(type_, rows, unbound) == want


@given(filtered())
def test_random_filters_match_the_oracle(case: tuple[DataType, list[Any], UnboundFilter]) -> None:
    type_, rows, unbound = case
    assert run(type_, rows, unbound) == [expected(unbound, type_, row) for row in rows]


@given(filtered(), st.integers(0, 12), st.integers(0, 12))
def test_slices_and_chunks(
    case: tuple[DataType, list[Any], UnboundFilter], start: int, cut: int
) -> None:
    type_, rows, unbound = case
    whole = array_of(type_, rows)
    chunked = pa.chunked_array([whole[start:cut], whole[cut:], whole[:0]], whole.type)
    kept = [*rows[start:cut], *rows[cut:]]
    found = keep_mask(bind_filter(unbound, resolver(type_)), lambda _: chunked, len(kept))
    assert isinstance(found, pa.BooleanArray)
    assert found.to_pylist() == [expected(unbound, type_, row) is True for row in kept]


def test_no_rows_and_no_chunks() -> None:
    bound = bind_filter(Comparison(PATH, Op.EQ, 1), resolver(Atom.INT))
    assert keep_mask(bound, lambda _: pa.chunked_array([], pa.int32()), 0).to_pylist() == []


def test_a_null_struct_is_null_itself() -> None:
    type_ = Struct((Column(2, "x", Atom.INT),))
    assert run(type_, [{"x": None}, None], NullTest(PATH)) == [F, T]
    assert run(type_, [{"x": None}, None], Not(NullTest(PATH))) == [T, F]
