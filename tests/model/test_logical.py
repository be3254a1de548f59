"""Logical types: their texts, their stored form, their base types, and which values they have."""

from __future__ import annotations

import datetime as dt
import json
import random
import struct
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import CorruptTableError, InvalidRequestError
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.logical import (
    check_successor,
    logical_from_json,
    logical_to_json,
    parse_logical,
    render_logical,
)
from versioned_catalog.model.logical_bases import base_problem
from versioned_catalog.model.logical_values import is_unfit, unfit

UUID = "0188a5eb-7c1e-7d3f-9f2a-3b1c5d7e9f00"

FORMS = {
    "UUID": {"type": "uuid"},
    "JSON": {"type": "json"},
    "UINT8": {"type": "uint8"},
    "UINT64": {"type": "uint64"},
    "OID": {"type": "oid"},
    "FIXED(16)": {"type": "fixed", "bytes": 16},
    "BITMASK(12)": {"type": "bitmask", "bits": 12},
    "ENUM('it\\'s', NULL, 'ä')": {"type": "enum", "labels": ["it's", None, "ä"]},
    "FLOAT16": {"type": "float16"},
    "IP": {"type": "ip"},
    "INTERVAL": {"type": "interval"},
    "NUMERIC": {"type": "numeric"},
    "RANGE": {"type": "range"},
    "NDARRAY": {"type": "ndarray"},
}
"""Logical types as users write them, and as FORMAT.md says that a property stores them."""


@pytest.mark.parametrize("text", FORMS)
def test_a_logical_type_is_shown_and_stored_in_one_form(text: str) -> None:
    logical = parse_logical(text)
    assert json.loads(logical_to_json(logical)) == FORMS[text]
    assert logical_from_json(json.dumps(FORMS[text]), "k") == logical
    assert parse_logical(render_logical(logical)) == logical
    assert render_logical(parse_logical(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "UUIDS",
        "FIXED",
        "FIXED(0)",
        "FIXED(-1)",
        "BITMASK('a')",
        "ENUM()",
        "ENUM(NULL)",
        "ENUM('a', 'a')",
        "ENUM('')",
        "ENUM(a)",
        "UUID x",
        "",
    ],
)
def test_what_is_no_logical_type_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse_logical(text)


@pytest.mark.parametrize(
    "stored",
    [
        *("", "[]", "{}", '{"type":"uint7"}', '{"type":"fixed"}', '{"type":"fixed","bytes":true}'),
        *("[" * 100_000, '{"type":"enum","labels":[1]}', '{"type":"uuid","more":1}', '{"type":7}'),
    ],
)
def test_a_property_that_stores_none_is_corrupt(stored: str) -> None:
    with pytest.raises(CorruptTableError, match=r"__logical\.3"):
        logical_from_json(stored, "__logical.3")


INTERVAL = "STRUCT<months: INT, days: INT, microseconds: BIGINT>"
NUMERIC = "STRUCT<approximate: DOUBLE, exact: STRING>"
RANGE = (
    "STRUCT<lower: {0}, upper: {0}, lower_inclusive: BOOLEAN, upper_inclusive: BOOLEAN, "
    "empty: BOOLEAN>"
)
NDARRAY = "STRUCT<lower_bounds: ARRAY<INT>, lengths: ARRAY<INT>, elements: ARRAY<STRING>>"
BASES = {
    "UUID": (["STRING", "BINARY"], ["VARCHAR(36)", "STRING COLLATE UTF8_LCASE"]),
    "JSON": (["STRING"], ["BINARY"]),
    "UINT8": (["SMALLINT", "INT", "BIGINT"], ["TINYINT", "DECIMAL(3,0)"]),
    "UINT16": (["INT", "BIGINT"], ["SMALLINT"]),
    "UINT32": (["BIGINT"], ["INT"]),
    "UINT64": (["DECIMAL(20,0)"], ["BIGINT", "DECIMAL(21,0)", "DECIMAL(20,1)"]),
    "OID": (["BIGINT"], ["INT"]),
    "ENUM('a')": (["TINYINT", "SMALLINT", "INT"], ["STRING", "BIGINT"]),
    "FIXED(4)": (["BINARY"], ["STRING"]),
    "BITMASK(4)": (["BINARY"], ["INT"]),
    "IP": (["BINARY"], ["STRING"]),
    "FLOAT16": (["FLOAT"], ["DOUBLE"]),
    "INTERVAL": ([INTERVAL], [INTERVAL.replace("BIGINT", "INT"), "INTERVAL DAY TO SECOND"]),
    "NUMERIC": ([NUMERIC], ["DOUBLE", "STRUCT<exact: STRING>"]),
    "RANGE": (
        [RANGE.format("INT"), RANGE.format("DECIMAL(9,2)"), RANGE.format("TIMESTAMP")],
        [RANGE.format("STRING"), RANGE.format("INT").replace("upper: INT", "upper: BIGINT")],
    ),
    "NDARRAY": ([NDARRAY], ["ARRAY<ARRAY<INT>>", NDARRAY.replace("ARRAY<INT>", "ARRAY<BIGINT>")]),
}


@pytest.mark.parametrize("logical", BASES)
def test_each_logical_type_has_its_base_types(logical: str) -> None:
    fit, unfit = BASES[logical]
    for base in fit:
        assert base_problem(parse_logical(logical), parse_type(base)) is None, base
    for base in unfit:
        assert base_problem(parse_logical(logical), parse_type(base)) is not None, base


def interval(months: int | None, days: int | None, microseconds: int | None) -> dict[str, object]:
    return {"months": months, "days": days, "microseconds": microseconds}


def numeric(exact: str | None, approximate: float | None) -> dict[str, object]:
    return {"approximate": approximate, "exact": exact}


def between(
    lower: object, upper: object, inclusive: str = "[)", empty: bool = False
) -> dict[str, object]:
    return {
        "lower": lower,
        "upper": upper,
        "lower_inclusive": inclusive[0] == "[",
        "upper_inclusive": inclusive[1] == "]",
        "empty": empty,
    }


def array(lower: object, lengths: object, elements: object) -> dict[str, object]:
    return {"lower_bounds": lower, "lengths": lengths, "elements": elements}


def range_of(kind: pa.DataType) -> pa.DataType:
    flags = [pa.field(name, pa.bool_()) for name in ("lower_inclusive", "upper_inclusive", "empty")]
    return pa.struct([pa.field("lower", kind), pa.field("upper", kind), *flags])


INTERVAL_ARROW = pa.struct(
    [("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())]
)
NUMERIC_ARROW = pa.struct([("approximate", pa.float64()), ("exact", pa.string())])
ARRAY_ARROW = pa.struct(
    [
        ("lower_bounds", pa.list_(pa.int32())),
        ("lengths", pa.list_(pa.int32())),
        ("elements", pa.list_(pa.string())),
    ]
)
DAY = dt.date(2026, 1, 1)
DIGITS = "1208925819614629174706177"
"""2^80 + 1, whose nearest double is 2^80."""
VALUES: list[tuple[str, pa.DataType, list[object], list[object]]] = [
    (
        "UUID",
        pa.string(),
        [UUID, "00000000-0000-0000-0000-000000000000"],
        [
            *(UUID.upper(), UUID + "\n", UUID[:-1], UUID.replace("-", ""), "", UUID[:-1] + "g"),
            *("ä" * 36, "{" + UUID[1:], " " + UUID),
        ],
    ),
    ("UUID", pa.binary(), [bytes(16), b"\xff" * 16], [b"", bytes(15), bytes(17)]),
    (
        "JSON",
        pa.string(),
        ["{}", "[1, 2.5e3]", "null", ' "a" ', "1e400", "1" * 5000, '{"a": {"b": [true]}}'],
        ["", "{", "NaN", "[-Infinity]", "{'a': 1}", "01", "[1,]", "1 2", '"a\nb"', "[" * 100_000],
    ),
    ("UINT8", pa.int16(), [0, 255], [-1, 256]),
    ("UINT16", pa.int32(), [0, 65_535], [-1, 65_536]),
    ("UINT32", pa.int64(), [0, 4_294_967_295], [-1, 4_294_967_296]),
    ("OID", pa.int64(), [0, 4_294_967_295], [-1, 4_294_967_296]),
    (
        "UINT64",
        pa.decimal128(20, 0),
        [Decimal(0), Decimal(18_446_744_073_709_551_615)],
        [Decimal(-1), Decimal(18_446_744_073_709_551_616)],
    ),
    ("ENUM('a', NULL, 'c')", pa.int32(), [1, 3], [0, 2, 4, -1]),
    ("FIXED(2)", pa.binary(), [b"ab"], [b"", b"a", b"abc"]),
    ("BITMASK(12)", pa.binary(), [b"\xff\x0f", b"\x00\x00"], [b"\xff", b"\x00\x10", b"\0\0\0"]),
    ("BITMASK(8)", pa.binary(), [b"\xff"], [b"", b"\0\0"]),
    ("IP", pa.binary(), [bytes(16)], [bytes(4)]),
    (
        "FLOAT16",
        pa.float32(),
        [0.0, -0.0, 1.5, 65_504.0, float("nan"), float("-inf"), 2.0**-24],
        [65_505.0, 0.1, 2.0**-25, 1e10],
    ),
    (
        "INTERVAL",
        INTERVAL_ARROW,
        [interval(1, -2, 3)],
        [interval(None, 2, 3), interval(1, None, 3), interval(1, 2, None)],
    ),
    (
        "NUMERIC",
        NUMERIC_ARROW,
        [
            numeric("0", 0.0),
            numeric("-1.5", -1.5),
            numeric("0.1", 0.1),
            numeric(DIGITS, 2.0**80),
            numeric("9" * 400, float("inf")),
        ],
        [
            numeric("1.0", 1.0),
            numeric("01", 1.0),
            numeric("-0", 0.0),
            numeric("1e3", 1000.0),
            numeric(".5", 0.5),
            numeric("1.", 1.0),
            numeric("1\n", 1.0),
            numeric("١", 1.0),
            numeric("1", 2.0),
            numeric("1", None),
            numeric(None, 1.0),
            numeric("NaN", float("nan")),
        ],
    ),
    (
        "RANGE",
        range_of(pa.int32()),
        [
            between(1, 3),
            between(None, 3, "()"),
            between(1, None),
            between(None, None, "()"),
            between(None, None, "()", empty=True),
        ],
        [
            between(3, 1),
            between(1, 1),
            between(1, 3, "(]"),
            between(1, 3, "[]"),
            between(1, 3, "()"),
            between(None, 3, "[)"),
            between(1, 3, "[)", empty=True),
            between(None, None, "[)", empty=True),
            {**between(1, 3), "empty": None},
        ],
    ),
    (
        "RANGE",
        range_of(pa.decimal128(9, 2)),
        [
            between(Decimal("1.50"), Decimal("1.50"), "[]"),
            between(Decimal(1), Decimal(2), "(]"),
        ],
        [
            between(Decimal(1), Decimal(1), "[)"),
            between(Decimal(2), Decimal(1), "[]"),
            between(Decimal(2), None, "(]"),
        ],
    ),
    ("RANGE", range_of(pa.date32()), [between(DAY, None)], [between(DAY, DAY, "[]")]),
    (
        "NDARRAY",
        ARRAY_ARROW,
        [
            array([1], [2], ["a", None]),
            array([0, -1], [2, 3], list("abcdef")),
            array([], [], []),
        ],
        [
            array([1], [3], ["a"]),
            array([1, 1], [2], ["a", "b"]),
            array([1], [0], []),
            array([], [], ["a"]),
            array([1], [-1], []),
            array([None], [1], ["a"]),
            array([1], [None], ["a"]),
            array(None, [1], ["a"]),
            array([1], None, ["a"]),
            array([1], [1], None),
            array([1] * 5, [2**16] * 5, []),
        ],
    ),
]


@pytest.mark.parametrize(("text", "kind", "fit", "unfit"), VALUES, ids=lambda each: str(each)[:20])
def test_which_values_a_logical_type_has(
    text: str, kind: pa.DataType, fit: list[object], unfit: list[object]
) -> None:
    logical = parse_logical(text)
    for value in [None, *fit]:
        assert not is_unfit(logical, pa.scalar(value, kind)), value
    for value in unfit:
        assert is_unfit(logical, pa.scalar(value, kind)), value


def test_an_ordinal_is_never_given_to_another_label() -> None:
    before = parse_logical("ENUM('a', 'b', NULL)")
    for legal in (
        "ENUM('a', 'b', NULL)",
        "ENUM('a', 'b', NULL, 'c')",
        "ENUM(NULL, 'b', NULL)",
        "JSON",
    ):
        check_successor(before, parse_logical(legal))
    for illegal in (
        "ENUM('b', 'a', NULL)",
        "ENUM('a', 'b')",
        "ENUM('a', 'b', 'c')",
        "ENUM('a', 'x')",
    ):
        with pytest.raises(InvalidRequestError, match="never given to another label"):
            check_successor(before, parse_logical(illegal))


def model_of_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def model_of_half(value: float) -> bool:
    try:
        return bool(struct.unpack("<e", struct.pack("<e", value))[0] == value)
    except OverflowError:
        return False


def model_of_range(value: dict[str, Any]) -> bool:
    """A range is one if it is the form of the set of integers from -5 to 5 that it holds."""
    lower, upper, empty = value["lower"], value["upper"], value["empty"]
    if empty:
        return value == between(None, None, "()", empty=True)
    held = [
        i for i in range(-9, 10) if (lower is None or i >= lower) and (upper is None or i < upper)
    ]
    form = between(lower, upper, ("(" if lower is None else "[") + ")")
    return bool(held) and value == form


def test_values_at_random_are_of_a_type_if_a_model_says_so() -> None:
    random_ = random.Random(3)
    bounds = [None, *range(-5, 6)]
    texts, halves, ranges = [], [], []
    for _ in range(400):
        text = list(str(uuid.UUID(int=random_.getrandbits(128))))
        if random_.random() < 0.5:
            text[random_.randrange(36)] = random_.choice("-gG0aA {")
        texts.append("".join(text))
        halves.append(float(random_.randint(-8000, 8000)) * 2.0 ** random_.randint(-26, 6))
        lower, upper = random_.choice(bounds), random_.choice(bounds)
        inclusive = random_.choice("[(") + random_.choice("])")
        ranges.append(between(lower, upper, inclusive, empty=random_.random() < 0.1))
    ranges += [between(None, None, "()", empty=True)] * 2
    checks: list[tuple[str, pa.Array, list[bool]]] = [
        ("UUID", pa.array(texts), [not model_of_uuid(text) for text in texts]),
        ("FLOAT16", pa.array(halves, pa.float32()), [not model_of_half(each) for each in halves]),
        ("RANGE", pa.array(ranges, range_of(pa.int32())), [not model_of_range(r) for r in ranges]),
    ]
    for name, values, expected in checks:
        assert 0.1 < sum(expected) / len(expected) < 0.9, name
        assert unfit(parse_logical(name), values).tolist() == expected, name
