from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyiceberg import transforms as iceberg
from pyiceberg import types as iceberg_types

from transform_vectors import RESULTS, VALUES, Texts, array_of, texts_of
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.model import transform_values
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.transforms import (
    Bucket,
    Days,
    Hours,
    Identity,
    Months,
    Transform,
    Truncate,
    Years,
    monotone,
    parse_partitioning,
    parse_transform,
    render,
    render_field,
    result_type,
)
from versioned_catalog.model.type_text import parse_type
from versioned_catalog.model.types import (
    Array,
    Atom,
    Char,
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
)
from versioned_catalog.model.value_text import decode_raw

UTC = dt.UTC
ALL = [Identity(), Years(), Months(), Days(), Hours(), Bucket(16), Truncate(10)]
INT_MAX = 2**31 - 1


def arrow(type_: DataType, values: list[Any]) -> pa.Array:
    return pa.array(values, to_arrow_type(type_))


def applied(transform: Transform, type_: DataType, values: list[Any]) -> list[Any]:
    done = transform_values.apply_transform(transform, type_, arrow(type_, values))
    assert done.type == to_arrow_type(result_type(transform, type_))
    done.validate(full=True)
    return done.to_pylist()  # type: ignore[no-any-return]


# --- text ---------------------------------------------------------------------------------------


def test_transforms_parse_and_render() -> None:
    texts = ["identity", "years", "months", "days", "hours", "bucket(16)", "truncate(10)"]
    assert [render(t) for t in ALL] == texts
    assert [parse_transform(text) for text in texts] == ALL


@pytest.mark.parametrize(
    "text",
    [
        *["", "day", "Days", " days", "void", "bucket", "bucket()", "bucket(0)", "bucket(-1)"],
        *[
            "bucket(16",
            "bucket( 16)",
            "days(1)",
            "truncate(2147483648)",
            "truncate(99999999999999)",
        ],
    ],
)
def test_invalid_transforms_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse_transform(text)


@pytest.mark.parametrize(
    "text, path, transform",
    [
        ("host", ("host",), Identity()),
        (" address.zip ", ("address", "zip"), Identity()),
        ("identity(x)", ("x",), Identity()),
        ("days(ts)", ("ts",), Days()),
        ("DAY( ts )", ("ts",), Days()),
        ("year(a.b)", ("a", "b"), Years()),
        ("month(ts)", ("ts",), Months()),
        ("hour(ts)", ("ts",), Hours()),
        ("hours(ts)", ("ts",), Hours()),
        ("bucket(16, host)", ("host",), Bucket(16)),
        ("bucket(host,16)", ("host",), Bucket(16)),
        ("truncate(host, 4)", ("host",), Truncate(4)),
        ("truncate(4, host)", ("host",), Truncate(4)),
        ("bucket(4, `4`)", ("4",), Bucket(4)),
        ("bucket(4, `a, (b``)`.c)", ("a, (b`)", "c"), Bucket(4)),
        ("`days(ts)`", ("days(ts)",), Identity()),
        ("days", ("days",), Identity()),
    ],
)
def test_partitioning_parses(text: str, path: tuple[str, ...], transform: Transform) -> None:
    assert parse_partitioning([text]) == [(path, transform)]
    assert parse_partitioning([render_field(path, transform)]) == [(path, transform)]


@pytest.mark.parametrize(
    "text",
    [
        *["", "days()", "days(a, b)", "days(16, ts)", "bucket(16)", "bucket(host)", "bucket(`a)"],
        *["bucket(16, 4)", "bucket(1,,host)", "bucket(16, a, b)", "bucket(0, host)", "lower(host)"],
    ],
)
def test_invalid_partitioning_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse_partitioning([text])


def test_a_duplicate_field_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"days\(ts\) is twice"):
        parse_partitioning(["days(ts)", "day(ts)"])
    with pytest.raises(InvalidRequestError, match="a list"):
        parse_partitioning("days(ts)")
    assert len(parse_partitioning(["days(ts)", "hours(ts)", "bucket(2, ts)", "bucket(4, ts)"])) == 4


# --- types --------------------------------------------------------------------------------------

# Which of identity, years (and months, days), hours, bucket, truncate apply: by hand from FORMAT 4.5.
APPLIES: list[tuple[DataType, str]] = [
    (Atom.BOOLEAN, "i"),
    (Atom.BYTE, "ibt"),
    (Atom.SHORT, "ibt"),
    (Atom.INT, "ibt"),
    (Atom.LONG, "ibt"),
    (Atom.FLOAT, ""),
    (Atom.DOUBLE, ""),
    (Decimal(9, 2), "ibt"),
    (Atom.STRING, "ibt"),
    (Char(4), "ibt"),
    (Varchar(4), "ibt"),
    (Atom.BINARY, "ibt"),
    (Atom.DATE, "iyb"),
    (Atom.TIMESTAMP, "iyhb"),
    (Atom.TIMESTAMP_NTZ, "iyhb"),
    (Time(6), "ib"),
    (DayTimeInterval(), "i"),
    (Atom.VARIANT, ""),
    (Geometry(0), ""),
    (Geography(4326), ""),
    (Struct((Column(1, "a", Atom.INT),)), ""),
    (Array(Column(1, "element", Atom.INT)), ""),
    (Map(Column(1, "key", Atom.INT, False), Column(2, "value", Atom.INT)), ""),
]
LETTER = {Identity: "i", Years: "y", Months: "y", Days: "y", Hours: "h", Bucket: "b", Truncate: "t"}


@pytest.mark.parametrize("type_, letters", APPLIES, ids=lambda value: str(value)[:30])
def test_transforms_apply_to_the_listed_types(type_: DataType, letters: str) -> None:
    for transform in ALL:
        letter = LETTER[type(transform)]
        if letter in letters:
            assert result_type(transform, type_) == (type_ if letter in "it" else Atom.INT)
        else:
            with pytest.raises(InvalidRequestError, match="does not apply to"):
                result_type(transform, type_)


def test_order_preserving_transforms() -> None:
    assert [monotone(t) for t in ALL] == [True, True, True, True, True, False, True]


# --- buckets ------------------------------------------------------------------------------------


def hashes(type_: DataType, values: list[Any]) -> list[int]:
    """Hashes as signed integers, as Iceberg writes them."""
    found = transform_values._hash(type_, arrow(type_, values))
    return found.view(np.int32).tolist()  # type: ignore[no-any-return]


MOMENT = dt.datetime(2017, 11, 16, 22, 31, 8)


@pytest.mark.parametrize(
    "type_, value, expected",
    [
        # Iceberg's specification, appendix B.
        (Atom.INT, 34, 2017239379),
        (Atom.LONG, 34, 2017239379),
        (Atom.BYTE, 34, 2017239379),
        (Atom.SHORT, 34, 2017239379),
        (Decimal(4, 2), decimal.Decimal("14.20"), -500754589),
        (Decimal(38, 2), decimal.Decimal("14.20"), -500754589),
        (Atom.DATE, dt.date(2017, 11, 16), -653330422),
        (Time(6), dt.time(22, 31, 8), -662762989),
        (Atom.TIMESTAMP_NTZ, MOMENT, -2047944441),
        (Atom.TIMESTAMP_NTZ, MOMENT.replace(microsecond=1), -1207196810),
        (Atom.TIMESTAMP, MOMENT.replace(tzinfo=UTC), -2047944441),
        (Atom.STRING, "iceberg", 1210000089),
        (Varchar(9), "iceberg", 1210000089),
        (Atom.BINARY, bytes([0, 1, 2, 3]), -188683207),
    ],
)
def test_hashes_of_the_iceberg_specification(type_: DataType, value: Any, expected: int) -> None:
    assert hashes(type_, [value]) == [expected]
    assert applied(Bucket(1000), type_, [value, None]) == [(expected & INT_MAX) % 1000, None]


def murmur(data: bytes) -> int:
    """The reference algorithm: one value, one byte string."""
    h = 0
    for at in range(0, len(data), 4):
        block = data[at : at + 4]
        k = int.from_bytes(block, "little") * 0xCC9E2D51 & 0xFFFFFFFF
        k = (k << 15 | k >> 17) & 0xFFFFFFFF
        h ^= k * 0x1B873593 & 0xFFFFFFFF
        if len(block) == 4:
            h = (h << 13 | h >> 19) & 0xFFFFFFFF
            h = h * 5 + 0xE6546B64 & 0xFFFFFFFF
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def bucket(data: bytes | None, count: int) -> int | None:
    return None if data is None else (murmur(data) & INT_MAX) % count


def long_bytes(value: int | None) -> bytes | None:
    return None if value is None else value.to_bytes(8, "little", signed=True)


def decimal_bytes(value: int) -> bytes:
    """The shortest big-endian two's complement."""
    return next(
        value.to_bytes(size, "big", signed=True)
        for size in range(1, 17)
        if -(2 ** (8 * size - 1)) <= value < 2 ** (8 * size - 1)
    )


LONGS = st.integers(-(2**63), 2**63 - 1)
COUNTS = st.integers(1, INT_MAX)


@given(st.lists(st.none() | LONGS), COUNTS)
@example([-(2**63), 2**63 - 1, None, 0], INT_MAX)
def test_buckets_of_longs(values: list[int | None], count: int) -> None:
    assert applied(Bucket(count), Atom.LONG, values) == [
        bucket(long_bytes(value), count) for value in values
    ]


@given(st.lists(st.none() | st.binary(max_size=21)), COUNTS)
def test_buckets_of_bytes(values: list[bytes | None], count: int) -> None:
    assert applied(Bucket(count), Atom.BINARY, values) == [bucket(v, count) for v in values]


@given(st.lists(st.none() | st.text(max_size=9)), COUNTS)
def test_buckets_of_strings(values: list[str | None], count: int) -> None:
    assert applied(Bucket(count), Atom.STRING, values) == [
        bucket(None if v is None else v.encode(), count) for v in values
    ]


UNSCALED = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-70000, 70000)


def decimals(values: list[int | None]) -> list[decimal.Decimal | None]:
    with decimal.localcontext() as c:
        c.prec = 60
        return [None if v is None else decimal.Decimal(v).scaleb(-3) for v in values]


@given(st.lists(st.none() | UNSCALED), COUNTS)
@example([0, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, -1], 1000)
@example([10**38 - 1, 1 - 10**38, 2**63, -(2**63), 2**64, -(2**64), 2**64 - 1], 1000)
def test_buckets_of_decimals(values: list[int | None], count: int) -> None:
    assert applied(Bucket(count), Decimal(38, 3), decimals(values)) == [
        bucket(None if v is None else decimal_bytes(v), count) for v in values
    ]


def test_bucket_of_a_long_value_among_short_ones() -> None:
    values = [b"", b"x" * 100_001, b"abc", None, b"abcd"]
    assert applied(Bucket(99), Atom.BINARY, values) == [bucket(v, 99) for v in values]


# --- time ---------------------------------------------------------------------------------------


def test_years_months_and_days_of_dates() -> None:
    days = [dt.date(1970, 1, 1), dt.date(2017, 11, 16), dt.date(1969, 12, 31), None, dt.date.min]
    assert applied(Years(), Atom.DATE, days) == [0, 47, -1, None, -1969]
    assert applied(Months(), Atom.DATE, days) == [0, 47 * 12 + 10, -1, None, -1969 * 12]
    assert applied(Days(), Atom.DATE, days) == [0, 17486, -1, None, -719162]


@pytest.mark.parametrize("type_, zone", [(Atom.TIMESTAMP, UTC), (Atom.TIMESTAMP_NTZ, None)])
def test_years_to_hours_of_timestamps_are_floored(
    type_: DataType, zone: dt.timezone | None
) -> None:
    times = [
        dt.datetime(1970, 1, 1, 0, 59, 59, 999999, tzinfo=zone),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=zone),
        dt.datetime(1969, 12, 31, tzinfo=zone),
        dt.datetime(1968, 2, 29, 12, tzinfo=zone),
        None,
        dt.datetime(2017, 11, 16, 22, 31, 8, tzinfo=zone),
    ]
    assert applied(Years(), type_, times) == [0, -1, -1, -2, None, 47]
    assert applied(Months(), type_, times) == [0, -1, -1, -23, None, 574]
    assert applied(Days(), type_, times) == [0, -1, -1, -672, None, 17486]
    assert applied(Hours(), type_, times) == [0, -1, -24, -16116, None, 419686]


def test_timestamps_beyond_the_years_of_python() -> None:
    ends = pa.array([-(2**63), 2**63 - 1, None]).cast(pa.timestamp("us"))
    year = transform_values.apply_transform(Years(), Atom.TIMESTAMP_NTZ, ends)
    assert year.to_pylist() == [-292278, 292277, None]
    with pytest.raises(InvalidRequestError, match=r"days\(\)"):
        transform_values.apply_transform(Hours(), Atom.TIMESTAMP_NTZ, ends)


# --- truncate -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "type_, width, pairs",
    [
        (Atom.INT, 10, {1: 0, -1: -10, 10: 10, 19: 10, -10: -10, -11: -20, None: None}),
        (Atom.LONG, 1, {5: 5, -5: -5}),
        # -130 does not fit a byte: the least byte stands for it, so that the order is kept.
        (Atom.BYTE, 10, {127: 120, -120: -120, -121: -128, -128: -128}),
        (Atom.LONG, 1000, {-(2**63): -(2**63), 2**63 - 1: 2**63 - 1 - 807}),
        (Atom.INT, INT_MAX, {INT_MAX: INT_MAX, INT_MAX - 1: 0, -(2**31): -(2**31), -1: -INT_MAX}),
        (
            Atom.STRING,
            3,
            {"iceberg": "ice", "ab": "ab", "äöü😀": "äöü", "😀😀😀😀": "😀😀😀", "": ""},
        ),
        (Char(8), 2, {"abc     ": "ab", None: None}),
        (Atom.BINARY, 2, {b"abc": b"ab", b"\xff": b"\xff", b"": b"", None: None}),
    ],
)
def test_truncate_rounds_numbers_down_and_cuts_text(
    type_: DataType, width: int, pairs: dict[Any, Any]
) -> None:
    assert applied(Truncate(width), type_, list(pairs)) == list(pairs.values())


def test_truncate_decimals_by_hand() -> None:
    values = [decimal.Decimal(t) for t in ("10.65", "-0.05", "0.00", "9.99", "-99.99")]
    assert [str(v) for v in applied(Truncate(50), Decimal(4, 2), values)] == [
        "10.50",
        "-0.50",
        "0.00",
        "9.50",
        "-99.99",
    ]


@given(st.lists(st.none() | UNSCALED), st.integers(1, INT_MAX))
@example([10**38 - 1, 1 - 10**38, -1, 2**64, -(2**64), -(2**64) - 1], 7)
def test_truncate_decimals(values: list[int | None], width: int) -> None:
    least = -(10**38) + 1
    expected = [None if v is None else max(v - v % width, least) for v in values]
    assert applied(Truncate(width), Decimal(38, 3), decimals(values)) == decimals(expected)


@given(st.lists(LONGS, min_size=1), st.integers(1, INT_MAX))
def test_truncate_keeps_the_order(values: list[int], width: int) -> None:
    found = applied(Truncate(width), Atom.LONG, sorted(values))
    assert found == sorted(found)
    assert found == [max(v - v % width, -(2**63)) for v in sorted(values)]


# --- arrays of every shape ----------------------------------------------------------------------

SAMPLES: list[tuple[DataType, list[Any]]] = [
    (Atom.LONG, [1, None, -7, 2**40]),
    (Decimal(20, 2), [decimal.Decimal("1.25"), None, decimal.Decimal("-77.77"), None]),
    (Atom.STRING, ["", None, "some longer text", "ä"]),
    (Atom.BINARY, [b"", None, b"some longer bytes", b"\0"]),
    (Atom.DATE, [dt.date(2020, 2, 29), None, dt.date(1969, 1, 1), None]),
    (Atom.TIMESTAMP, [MOMENT.replace(tzinfo=UTC), None, None, dt.datetime(1, 1, 1, tzinfo=UTC)]),
    (Time(6), [dt.time(1), None, dt.time(23, 59), None]),
    (Atom.BOOLEAN, [True, None, False, None]),
]


@pytest.mark.parametrize("transform", ALL, ids=render)
@pytest.mark.parametrize("type_, values", SAMPLES, ids=lambda value: str(value)[:12])
def test_transforms_of_slices_chunks_and_empty_arrays(
    transform: Transform, type_: DataType, values: list[Any]
) -> None:
    if (
        LETTER[type(transform)]
        not in dict(APPLIES)[Decimal(9, 2) if isinstance(type_, Decimal) else type_]
    ):
        return
    whole = applied(transform, type_, values)
    sliced = arrow(type_, [*values, *values, *values])[3:9]
    assert (
        transform_values.apply_transform(transform, type_, sliced).to_pylist() == (whole * 3)[3:9]
    )
    chunked = pa.chunked_array([arrow(type_, values), sliced, arrow(type_, [])])
    assert (
        transform_values.apply_transform(transform, type_, chunked).to_pylist()
        == whole + (whole * 3)[3:9]
    )
    none = pa.chunked_array([], to_arrow_type(type_))
    for empty in (arrow(type_, []), none, arrow(type_, values)[2:2]):
        result = transform_values.apply_transform(transform, type_, empty)
        assert isinstance(result, pa.Array)
        assert len(result) == 0
        assert result.type == to_arrow_type(result_type(transform, type_))
    assert applied(transform, type_, [None, None]) == [None, None]


def test_transforms_of_other_arrow_layouts() -> None:
    texts = pa.array(["a", None, "a"])
    expected = transform_values.apply_transform(Bucket(16), Atom.STRING, texts)
    for other in (texts.dictionary_encode(), texts.cast(pa.large_string())):
        assert transform_values.apply_transform(Bucket(16), Atom.STRING, other).equals(expected)


# --- vectors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ddl", VALUES)
def test_transforms_give_the_results_of_the_vectors(ddl: str) -> None:
    type_ = parse_type(ddl)
    values = array_of(VALUES[ddl], type_)
    for text, expected in RESULTS[ddl].items():
        transform = parse_transform(text)
        found = transform_values.apply_transform(transform, type_, values)
        assert texts_of(found, result_type(transform, type_)) == expected, text


ICEBERG = {
    "identity": iceberg.IdentityTransform,
    "years": iceberg.YearTransform,
    "months": iceberg.MonthTransform,
    "days": iceberg.DayTransform,
    "hours": iceberg.HourTransform,
    "bucket": iceberg.BucketTransform,
    "truncate": iceberg.TruncateTransform,
}
ICEBERG_TYPES = {
    "BOOLEAN": iceberg_types.BooleanType(),
    "TINYINT": iceberg_types.IntegerType(),
    "SMALLINT": iceberg_types.IntegerType(),
    "INT": iceberg_types.IntegerType(),
    "BIGINT": iceberg_types.LongType(),
    "DECIMAL(4,2)": iceberg_types.DecimalType(4, 2),
    "DECIMAL(38,10)": iceberg_types.DecimalType(38, 10),
    "DATE": iceberg_types.DateType(),
    "TIMESTAMP": iceberg_types.TimestamptzType(),
    "TIMESTAMP_NTZ": iceberg_types.TimestampType(),
    "TIME(6)": iceberg_types.TimeType(),
    "STRING": iceberg_types.StringType(),
    "BINARY": iceberg_types.BinaryType(),
}
LEAST: dict[str, Any] = {
    **{"TINYINT": -(2**7), "SMALLINT": -(2**15), "INT": -(2**31), "BIGINT": -(2**63)},
    "DECIMAL(4,2)": decimal.Decimal("-99.99"),
    "DECIMAL(38,10)": decimal.Decimal("-9999999999999999999999999999.9999999999"),
}


@pytest.mark.parametrize("ddl", VALUES)
def test_the_vectors_are_those_of_iceberg(ddl: str) -> None:
    """A truncated number below the least one of its type is that: Iceberg's result does not fit."""
    for text, expected in RESULTS[ddl].items():
        name, _, size = text.rstrip(")").partition("(")
        transform = ICEBERG[name](int(size)) if size else ICEBERG[name]()
        with decimal.localcontext() as context:
            context.prec = 38
            found = list(map(transform.transform(ICEBERG_TYPES[ddl]), values_of(VALUES[ddl], ddl)))
        if name == "truncate" and ddl in LEAST:
            found = [None if value is None else max(value, LEAST[ddl]) for value in found]
        result = ddl if name in ("identity", "truncate") else "INT"
        assert found == values_of(expected, result), text


def values_of(texts: Texts, ddl: str) -> list[Any]:
    """Values as PyIceberg has them, where dates and times are integers."""
    return [decode_raw(text, parse_type(ddl)) for text in texts]
