"""The meaning of filters, implemented again in plain Python, one row at a time."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.type_text import ColumnPath
from versioned_catalog.model.types import (
    Atom,
    Char,
    Column,
    DataType,
    DayTimeInterval,
    Decimal,
    Time,
    Varchar,
)
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

PATH = ("c",)
UTC = dt.UTC


def resolver(type_: DataType) -> Any:
    def resolve(path: ColumnPath) -> Column:
        assert path == PATH
        return Column(1, "c", type_)

    return resolve


def array_of(type_: DataType, rows: list[Any]) -> pa.Array:
    return pa.array(rows, to_arrow_type(type_))


def signum(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def rank(value: float) -> tuple[bool, float]:
    return math.isnan(value), 0.0 if math.isnan(value) else value


def order(type_: DataType, row: Any, value: Any) -> int:
    """-1, 0 or 1: how a column's value compares with another in Spark's ANSI mode."""
    if isinstance(row, float) or isinstance(value, float):
        return signum(rank(float(row)), rank(float(value)))
    if isinstance(row, bool | str | bytes):
        return order_plain(type_, row, value)
    if isinstance(row, int | decimal.Decimal):
        return signum(Fraction(row), Fraction(value))
    if isinstance(row, dt.date) and not isinstance(row, dt.datetime):
        row = dt.datetime.combine(row, dt.time())
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if type_ is Atom.TIMESTAMP:
        row, value = as_utc(row), as_utc(value)
    return signum(row, value)


def order_plain(type_: DataType, row: Any, value: Any) -> int:
    if isinstance(type_, Char):
        width = max(len(row), len(value))
        row, value = row.ljust(width), value.ljust(width)
    if isinstance(row, str):
        row, value = row.encode(), value.encode()
    return signum(row, value)


def as_utc(value: dt.datetime) -> dt.datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


def expected(unbound: UnboundFilter, type_: DataType, row: Any) -> bool | None:
    match unbound:
        case AllOf(parts):
            found = [expected(part, type_, row) for part in parts]
            return False if False in found else None if None in found else True
        case AnyOf(parts):
            found = [expected(part, type_, row) for part in parts]
            return True if True in found else None if None in found else False
        case Not(part):
            inner = expected(part, type_, row)
            return None if inner is None else not inner
        case NullTest():
            return row is None
        case NullSafe(_, value):
            if row is None or value is None:
                return row is None and value is None
            return order(type_, row, value) == 0
        case _ if row is None:
            return False if isinstance(unbound, OneOf) and not unbound.values else None
        case Comparison(_, op, value):
            return None if value is None else holds(op, order(type_, row, value))
        case OneOf(_, values):
            return one_of(type_, row, values)
        case TextTest(_, kind, text):
            return None if text is None else text_test(kind, row, text)


def holds(op: Op, sign: int) -> bool:
    return {
        Op.EQ: sign == 0,
        Op.NE: sign != 0,
        Op.LT: sign < 0,
        Op.LE: sign <= 0,
        Op.GT: sign > 0,
        Op.GE: sign >= 0,
    }[op]


def one_of(type_: DataType, row: Any, values: tuple[Any, ...]) -> bool | None:
    in_double = any(isinstance(value, float) for value in values)
    given = [float(v) if in_double and v is not None else v for v in values]
    if any(v is not None and order(type_, row, v) == 0 for v in given):
        return True
    return None if None in values else False


def text_test(kind: TextKind, row: str, text: str) -> bool:
    return {
        TextKind.PREFIX: row.startswith(text),
        TextKind.SUFFIX: row.endswith(text),
        TextKind.CONTAINS: text in row,
    }[kind]


# Values of every comparable type: values of columns, and literals in filters.

SPECIAL = [0.0, -0.0, math.nan, math.inf, -math.inf, 1e-300, 1e300, 0.1, 2.0**53, 2.0**63, 1.5]
BIG = [2**53, 2**53 + 1, 2**63 - 1, -(2**63), 127, -128, 0, 1]
floats = st.sampled_from(SPECIAL) | st.floats()
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3) | st.sampled_from(
    [decimal.Decimal(t) for t in ("1.5", "0.1", "1E+50", "-1E+50", "1E-50", "0E+9", "99.99")]
)
numbers = floats | st.integers() | st.sampled_from(BIG) | decimals
ALPHABET = "a b\té\ud7ff\ue000\U0010ffff"
texts = st.text(ALPHABET, max_size=4) | st.builds(
    lambda start, rest: start * 16 + rest,
    st.text(ALPHABET, min_size=4, max_size=4),
    st.text(ALPHABET),
)
blobs = st.binary(max_size=3) | st.builds(
    lambda start, rest: start * 32 + rest,
    st.sampled_from([b"\xff\xff", b"a\xff", b"ab"]),
    st.binary(max_size=2),
)
dates = st.dates(dt.date(1969, 12, 25), dt.date(1970, 1, 7)) | st.dates()
moments = st.datetimes(dt.datetime(1969, 12, 30), dt.datetime(1970, 1, 3)) | st.datetimes(
    dt.datetime(2, 1, 1), dt.datetime(9998, 1, 1)
)
zoned = moments.map(lambda value: value.replace(tzinfo=dt.timezone(dt.timedelta(hours=2))))
spans = st.timedeltas(dt.timedelta(-(10**5)), dt.timedelta(10**5))


def integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    near = [k for k in (*BIG, 2**53 - 1, -(2**53) - 1, low, high) if low <= k <= high]
    return st.sampled_from(near) | st.integers(low, high)


def fixed(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    top = 10**precision - 1
    unscaled = st.integers(-top, top) | st.sampled_from([0, 1, -1, top, -top, 10**scale])
    parts = unscaled.map(lambda k: decimal.Decimal(k).as_tuple())
    return parts.map(lambda t: decimal.Decimal((t.sign, t.digits, -scale)))


KINDS: list[tuple[DataType, st.SearchStrategy[Any], st.SearchStrategy[Any]]] = [
    (Atom.BOOLEAN, st.booleans(), st.booleans()),
    (Atom.BYTE, integers(8), numbers),
    (Atom.SHORT, integers(16), numbers),
    (Atom.INT, integers(32), numbers),
    (Atom.LONG, integers(64), numbers),
    (Atom.FLOAT, st.floats(width=32) | st.sampled_from([0.0, -0.0, math.nan]), numbers),
    (Atom.DOUBLE, floats, numbers),
    (Decimal(4, 2), fixed(4, 2), numbers),
    (Decimal(38, 0), fixed(38, 0), numbers),
    (Decimal(38, 37), fixed(38, 37), numbers),
    (Atom.STRING, texts, texts),
    (Varchar(200), texts, texts),
    (Char(3), texts.map(lambda text: text[:3].ljust(3)), texts),
    (Atom.BINARY, blobs, blobs),
    (Atom.DATE, dates, dates | moments | moments.map(lambda m: m.replace(hour=0))),
    (Atom.TIMESTAMP, zoned, moments | zoned | dates),
    (Atom.TIMESTAMP_NTZ, moments, moments | dates),
    (Time(6), st.times(), st.times()),
    (DayTimeInterval(), spans, spans | st.just(dt.timedelta.max)),
]


@st.composite
def filtered(draw: st.DrawFn) -> tuple[DataType, list[Any], UnboundFilter]:
    """A type, values of it, with nulls, and a filter whose literals are often among the values."""
    type_, values, literals = draw(st.sampled_from(KINDS))
    rows = draw(st.lists(st.none() | values, max_size=12))
    there = [row for row in rows if row is not None]
    given = literals | (st.sampled_from(there) if there else literals)
    return type_, rows, draw(filters(given, text=isinstance(type_, Char) or type_ is Atom.STRING))


def filters(literals: st.SearchStrategy[Any], *, text: bool) -> st.SearchStrategy[UnboundFilter]:
    value = literals | st.none()
    leaves: st.SearchStrategy[UnboundFilter] = st.one_of(
        st.builds(Comparison, st.just(PATH), st.sampled_from(Op), literals),
        st.builds(Comparison, st.just(PATH), st.sampled_from(Op), value),
        st.builds(NullSafe, st.just(PATH), value),
        st.builds(OneOf, st.just(PATH), st.lists(literals, max_size=40).map(tuple)),
        st.builds(OneOf, st.just(PATH), st.lists(value, max_size=4).map(tuple)),
        st.just(NullTest(PATH)),
    )
    if text:
        leaves |= st.builds(TextTest, st.just(PATH), st.sampled_from(TextKind), literals)
    joined = lambda inner: st.lists(inner, max_size=3).map(tuple)  # noqa: E731
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.builds(AllOf, joined(inner)),
            st.builds(AnyOf, joined(inner)),
        ),
        max_leaves=4,
    )
