"""Single values in Iceberg's JSON and binary forms, by hand from its specification, appendix D."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from versioned_catalog.model.iceberg_values import (
    bound,
    default_json,
    fixed_size,
    partition_value,
    shortest,
)
from versioned_catalog.model.types import Atom, Constant, Decimal, LeafType, Time, Varchar

JSON: list[tuple[LeafType, str, Any]] = [
    (Atom.BOOLEAN, "true", True),
    (Atom.SHORT, "-3", -3),
    (Atom.LONG, "9223372036854775807", 2**63 - 1),
    (Atom.FLOAT, "0.5", 0.5),
    (Decimal(9, 2), "14.20", "14.20"),
    (Varchar(5), "it's", "it's"),
    (Atom.BINARY, "AP8B", "00FF01"),
    (Atom.DATE, "-1", "1969-12-31"),
    (Atom.TIMESTAMP, "1", "1970-01-01T00:00:00.000001+00:00"),
    (Atom.TIMESTAMP_NTZ, "-1", "1969-12-31T23:59:59.999999"),
    (Time(3), "79751000000", "22:09:11.000000"),
]


@pytest.mark.parametrize("type_, text, expected", JSON, ids=lambda one: str(one)[:20])
def test_defaults_are_written_as_iceberg_says(type_: LeafType, text: str, expected: Any) -> None:
    assert default_json(Constant(f'"{text}"'), type_) == expected


@pytest.mark.parametrize(
    "type_, text", [(Atom.DOUBLE, "NaN"), (Atom.DOUBLE, "-Infinity"), (Atom.DATE, "9999999")]
)
def test_defaults_that_cannot_be_said(type_: LeafType, text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON has no|not in the years"):
        default_json(Constant(f'"{text}"'), type_)


@pytest.mark.parametrize(
    "type_, text, expected",
    [
        (Atom.BOOLEAN, "false", b"\x00"),
        (Atom.BYTE, "-2", b"\xfe\xff\xff\xff"),
        (Atom.DATE, "1", b"\x01\x00\x00\x00"),
        (Atom.TIMESTAMP, "1", b"\x01\x00\x00\x00\x00\x00\x00\x00"),
        (Atom.DOUBLE, "1.0", struct.pack("<d", 1.0)),
        (Decimal(9, 2), "14.20", b"\x05\x8c"),
        (Decimal(9, 2), "-1.28", b"\x80"),
        (Decimal(9, 2), "1.28", b"\x00\x80"),
        (Decimal(9, 2), "0.00", b"\x00"),
        (Decimal(38, 38), "-0." + "9" * 38, (1 - 10**38).to_bytes(16, "big", signed=True)),
        (Atom.STRING, "ä", b"\xc3\xa4"),
        (Atom.BINARY, "AP8=", b"\x00\xff"),
    ],
    ids=lambda one: str(one)[:20],
)
def test_bounds_are_encoded_as_iceberg_says(type_: LeafType, text: str, expected: bytes) -> None:
    assert bound(text, type_, upper=False) == bound(text, type_, upper=True) == expected


@pytest.mark.parametrize("zero", ["0.0", "-0.0"])
def test_bounds_of_zero(zero: str) -> None:
    """Iceberg orders -0.0 below 0.0, so a bound of zero includes both."""
    assert bound(zero, Atom.DOUBLE, upper=False) == struct.pack("<d", -0.0)
    assert bound(zero, Atom.DOUBLE, upper=True) == struct.pack("<d", 0.0)
    assert bound(zero, Atom.FLOAT, upper=False) == struct.pack("<f", -0.0)
    assert bound(zero, Atom.FLOAT, upper=True) == struct.pack("<f", 0.0)


@pytest.mark.parametrize("number", [0, 127, 128, -128, -129, 32767, -32768, 2**120])
def test_the_shortest_twos_complement(number: int) -> None:
    found = shortest(number)
    assert int.from_bytes(found, "big", signed=True) == number
    with pytest.raises(OverflowError):
        number.to_bytes(len(found) - 1, "big", signed=True) if len(found) > 1 else (1).to_bytes(0)


def test_partition_values_of_decimals_have_a_fixed_size() -> None:
    assert partition_value("-1.00", Decimal(4, 2)) == b"\xff\x9c"
    assert [fixed_size(digits) for digits in (1, 2, 3, 4, 9, 18, 19)] == [1, 1, 2, 2, 4, 8, 9]
