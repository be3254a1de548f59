from __future__ import annotations

import datetime as dt
import decimal
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given

from read.filter_oracle import PATH, filtered, resolver
from versioned_catalog.errors import InvalidRequestError, NotFoundError
from versioned_catalog.model.schema import Schema
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Geometry,
    Map,
    Struct,
    Time,
)
from versioned_catalog.read.dialects import parse_filters
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.filters import (
    AllOf,
    Always,
    And,
    AnyOf,
    Compare,
    Comparison,
    In,
    IsNull,
    Literal,
    Not,
    NullSafe,
    NullSafeEqual,
    NullTest,
    OneOf,
    Op,
    Or,
    TextKind,
    TextMatch,
    TextTest,
    UnboundFilter,
    columns_of,
    filter_on,
)

A, B = ("a",), ("b",)


@pytest.mark.parametrize(
    "given_, want",
    [
        (None, None),
        ([("a", "=", 1)], AllOf((Comparison(A, Op.EQ, 1),))),
        ([["a", "==", 1]], AllOf((Comparison(A, Op.EQ, 1),))),
        (
            [("a", "<", 1), ("b", ">=", 2)],
            AllOf((Comparison(A, Op.LT, 1), Comparison(B, Op.GE, 2))),
        ),
        (
            [[("a", "<=", 1), ("b", ">", 2)], [("a", "<>", 3)]],
            AnyOf(
                (
                    AllOf((Comparison(A, Op.LE, 1), Comparison(B, Op.GT, 2))),
                    AllOf((Comparison(A, Op.NE, 3),)),
                )
            ),
        ),
        ([("a.b", "!=", 1)], AllOf((Comparison(("a", "b"), Op.NE, 1),))),
        ([("`a.b`", "=", 1)], AllOf((Comparison(("a.b",), Op.EQ, 1),))),
        ([("a", "in", [1, None])], AllOf((OneOf(A, (1, None)),))),
        ([("a", " NOT  in ", (1,))], AllOf((Not(OneOf(A, (1,))),))),
        ([("a", "in", range(2))], AllOf((OneOf(A, (0, 1)),))),
        ([("a", "is null")], AllOf((NullTest(A),))),
        ([("a", "IS NOT NULL", None)], AllOf((Not(NullTest(A)),))),
        ([("a", "<=>", None)], AllOf((NullSafe(A, None),))),
    ],
)
def test_tuples_parse_to_filters(given_: Any, want: UnboundFilter | None) -> None:
    assert parse_filters(given_) == want


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [[]],
        "a = 1",
        ("a", "=", 1),
        {"a": 1},
        [("a",)],
        [("a", "=")],
        [("a", "=", 1, 2)],
        [("a", "~", 1)],
        [("a", 1, 1)],
        [(1, "=", 1)],
        [("a", "in", 1)],
        [("a", "in", "text")],
        [("a", "in")],
        [("a", "=", 1), [("a", "=", 1)]],
        [[("a", "=", 1)], "b"],
        [("`a", "=", 1)],
        [("", "=", 1)],
        [[[("a", "=", 1)]]],
    ],
)
def test_malformed_tuples_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidRequestError):
        parse_filters(bad)


def bound(type_: DataType, unbound: UnboundFilter) -> Any:
    return bind_filter(unbound, resolver(type_))


def test_not_is_pushed_to_the_leaves() -> None:
    one = Comparison(PATH, Op.LT, 1)
    literal = Literal(1, pa.int32())
    negated = bound(Atom.INT, Not(AllOf((one, Not(AnyOf((one, NullTest(PATH))))))))
    assert negated == Or((Compare(1, Op.GE, literal), Or((Compare(1, Op.LT, literal), IsNull(1)))))
    assert bound(Atom.INT, Not(Not(one))) == Compare(1, Op.LT, literal)
    assert bound(Atom.INT, Not(AnyOf((one, one)))) == And((Compare(1, Op.GE, literal),) * 2)


@pytest.mark.parametrize(
    "unbound, want",
    [
        (NullTest(PATH), IsNull(1)),
        (Not(NullSafe(PATH, None)), IsNull(1, True)),
        (NullSafe(PATH, "x"), NullSafeEqual(1, Literal("x", pa.string()))),
        (OneOf(PATH, ("x", None, "x")), In(1, (Literal("x", pa.string()),), True)),
        (TextTest(PATH, TextKind.PREFIX, "x"), TextMatch(1, TextKind.PREFIX, "x")),
        (Comparison(PATH, Op.EQ, None), Always(None)),
        (Not(Comparison(PATH, Op.EQ, None)), Always(None)),
    ],
)
def test_filters_bind_to_columns(unbound: UnboundFilter, want: Any) -> None:
    assert bound(Atom.STRING, unbound) == want


def test_literals_convert_to_the_type_of_the_column() -> None:
    assert bound(Atom.BYTE, Comparison(PATH, Op.LT, 1.5)) == Compare(
        1, Op.LE, Literal(1, pa.int8())
    )
    assert bound(Atom.BYTE, Comparison(PATH, Op.LT, 10**9)) == Compare(
        1, Op.LE, Literal(127, pa.int8())
    )
    assert bound(Char(3), Comparison(PATH, Op.EQ, "a")) == Compare(
        1, Op.EQ, Literal("a  ", pa.string())
    )
    assert bound(Decimal(38, 37), Comparison(PATH, Op.EQ, 1)).value.scalar.as_py() == 1
    assert bound(Atom.DATE, Comparison(PATH, Op.EQ, "+10000-01-01")).value.value == 2932897


@pytest.mark.parametrize(
    "type_, value, same",
    [
        (Atom.INT, np.int8(5), 5),
        (Atom.BOOLEAN, np.bool_(True), True),
        (Atom.DOUBLE, np.float32(0.5), 0.5),
        (Atom.STRING, np.str_("x"), "x"),
        (Atom.INT, pa.scalar(5), 5),
        (Atom.STRING, pa.scalar("x", pa.large_string()), "x"),
        (Atom.DATE, np.datetime64("2020-01-02"), dt.date(2020, 1, 2)),
        (Atom.TIMESTAMP_NTZ, np.datetime64("2020-01-02T03", "ns"), dt.datetime(2020, 1, 2, 3)),
        (Atom.TIMESTAMP, pd.Timestamp("2020-01-02", tz="UTC"), dt.datetime(2020, 1, 2)),
        (
            Atom.TIMESTAMP_NTZ,
            pa.scalar(5000, pa.timestamp("ns")),
            dt.datetime(1970, 1, 1, 0, 0, 0, 5),
        ),
        (Atom.BINARY, bytearray(b"x"), b"x"),
        (DayTimeInterval(), np.timedelta64(5, "s"), dt.timedelta(seconds=5)),
        (Atom.INT, pa.scalar(None, pa.int32()), None),
        (Atom.DATE, np.datetime64("NaT"), None),
        (Atom.DATE, pd.NaT, None),
        (Atom.INT, pd.NA, None),
    ],
)
def test_numpy_and_arrow_values_are_accepted(type_: DataType, value: Any, same: Any) -> None:
    ours, theirs = (bound(type_, Comparison(PATH, Op.GE, v)) for v in (same, value))
    assert ours == theirs
    assert bound(type_, NullSafe(PATH, value)) == bound(type_, NullSafe(PATH, same))


@pytest.mark.parametrize(
    "type_, value",
    [
        (Atom.INT, True),
        (Atom.INT, "1"),
        (Atom.INT, decimal.Decimal("NaN")),
        (Atom.BOOLEAN, 1),
        (Atom.BOOLEAN, "true"),
        (Atom.DOUBLE, "1.5"),
        (Atom.STRING, 1),
        (Atom.STRING, b"x"),
        (Atom.STRING, "\ud800"),
        (Atom.BINARY, "x"),
        (Atom.DATE, 5),
        (Atom.DATE, "yesterday"),
        (Atom.DATE, "2020-02-30"),
        (Atom.DATE, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        (Atom.TIMESTAMP, 5),
        (Atom.TIMESTAMP, pd.Timestamp("2020-01-01") + pd.Timedelta(1)),
        (Atom.TIMESTAMP, np.datetime64("2020-01-01T00:00:00.000000001")),
        (Atom.TIMESTAMP, pa.scalar(1, pa.timestamp("ns"))),
        (Atom.TIMESTAMP_NTZ, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        (Atom.TIMESTAMP_NTZ, "2020-01-01T00:00:00Z"),
        (Time(6), dt.time(1, tzinfo=dt.UTC)),
        (Time(6), "25:00"),
        (Time(6), dt.timedelta(1)),
        (DayTimeInterval(), 5),
        (DayTimeInterval(), "1 00:00:00"),
        (Atom.INT, object()),
        (Atom.INT, [1]),
        (Atom.VARIANT, 1),
        (Geometry(0), b""),
        (Struct((Column(2, "x", Atom.INT),)), {"x": 1}),
        (Array(Column(2, "element", Atom.INT)), [1]),
        (Map(Column(2, "key", Atom.INT), Column(3, "value", Atom.INT)), {}),
    ],
)
def test_incomparable_literals_are_refused(type_: DataType, value: Any) -> None:
    comparisons: list[UnboundFilter] = [
        Comparison(PATH, Op.LT, value),
        OneOf(PATH, (value,)),
        NullSafe(PATH, value),
    ]
    for unbound in comparisons:
        with pytest.raises(InvalidRequestError, match="the column c of"):
            bound(type_, unbound)
    assert bound(type_, NullTest(PATH)) == IsNull(1)


def test_the_error_names_the_column_and_its_type() -> None:
    with pytest.raises(InvalidRequestError, match=r"column c of type INT .* 'x' of type str"):
        bound(Atom.INT, Comparison(PATH, Op.LT, "x"))


@pytest.mark.parametrize("type_, text", [(Atom.INT, "x"), (Atom.STRING, 5), (Atom.BINARY, b"x")])
def test_text_tests_need_a_string_column(type_: DataType, text: Any) -> None:
    with pytest.raises(InvalidRequestError, match="the column c of"):
        bound(type_, TextTest(PATH, TextKind.PREFIX, text))


def test_errors_of_the_resolver_are_raised() -> None:
    with pytest.raises(NotFoundError):
        bind_filter(Comparison(PATH, Op.EQ, 1), Schema((Column(1, "a", Atom.INT),)).get)


def test_a_filter_projects_to_some_columns() -> None:
    one, two = IsNull(1), IsNull(2)
    projections = {
        And((one, two)): And((one,)),
        Or((one, two)): None,
        Or((one, And((one, two)))): Or((one, And((one,)))),
        And((two, two)): None,
        Or(()): Or(()),
        Always(None): Always(None),
        two: None,
    }
    for given_, want in projections.items():
        assert filter_on(given_, {1}) == want


def test_the_columns_of_a_filter() -> None:
    schema = Schema((Column(1, "a", Atom.INT), Column(2, "b", Atom.INT), Column(3, "c", Atom.INT)))
    unbound = parse_filters(
        [[("a", "=", 1), ("b", "in", [])], [("c", "is null"), ("a", "=", None)]]
    )
    assert unbound is not None
    assert columns_of(bind_filter(unbound, schema.get)) == {1, 3}


@given(filtered())
def test_bound_filters_compare_and_hash_by_value(
    case: tuple[DataType, list[Any], UnboundFilter],
) -> None:
    type_, _, unbound = case
    one = bound(type_, unbound)
    hash(one)
    assert repr(pickle.loads(pickle.dumps(one))) == repr(one)


LIGHT = """
import sys
import pyarrow as pa
import pyarrow.parquet as pq
from versioned_catalog.read.evaluators import keep_mask
from versioned_catalog.read.filter_binding import bind_filter
from versioned_catalog.read.dialects import parse_filters
from versioned_catalog.read.evaluators import ColumnBounds, may_match
from versioned_catalog.model.types import Atom, Column
from versioned_catalog.log.statistics import collect

columns = Column(1, "a", Atom.DOUBLE), Column(2, "b", Atom.STRING)
batch = pa.record_batch([pa.nulls(3, pa.float64()), pa.nulls(3, pa.string())], ["a", "b"])
collect(columns, batch)
counts = pa.nulls(3, pa.int64())
bounds = [ColumnBounds(counts, counts, counts, array, array) for array in batch.columns]
for one in [("a", "=", 0.5), ("a", "not in", [1, None]), ("b", "<=>", "x"), ("b", "is null")]:
    by_name = {column.name: column for column in columns}
    bound = bind_filter(parse_filters([one]), lambda path: by_name[path[0]])
    keep_mask(bound, lambda column_id: batch.column(column_id - 1), 3)
    may_match(bound, lambda column_id: bounds[column_id - 1], 3)
sys.exit(", ".join({"pandas", "pyarrow.dataset"} & set(sys.modules)) or None)
"""


def test_pandas_is_not_imported() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True)
