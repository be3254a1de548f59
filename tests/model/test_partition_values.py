from __future__ import annotations

import datetime as dt
from decimal import Decimal as D
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.partitioning import key_reader, partition_text
from versioned_catalog.model.schema import PartitionField, Schema
from versioned_catalog.model.sql_literals import from_scalar_text
from versioned_catalog.model.transform_values import apply_transform
from versioned_catalog.model.transforms import parse_transform, result_type
from versioned_catalog.model.types import Atom, Char, Column, DataType, Decimal, Varchar
from versioned_catalog.model.widening import widens

VALUES: dict[DataType, list[Any]] = {
    Atom.BYTE: [-128, -1, 0, 7, 127],
    Atom.INT: [-(2**31), -7, 5, 2**31 - 1],
    Atom.LONG: [-(2**63), 5, 2**63 - 1],
    Decimal(9, 2): [D("-5.00"), D("5.00"), D("9999999.99")],
    Decimal(12, 3): [D("5.000"), D("-0.001")],
    Decimal(30, 4): [D("5.0000")],
    Atom.DATE: [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29)],
    Atom.TIMESTAMP_NTZ: [dt.datetime(1969, 12, 31, 23), dt.datetime(2024, 2, 29)],
    Char(3): ["a  ", "abc"],
    Varchar(5): ["", "abcde"],
    Atom.STRING: ["a", "zoë"],
}
TRANSFORMS = ["identity", "years", "months", "days", "hours", "bucket(7)", "truncate(2)"]


def schema_of(type_: DataType, *transforms: str) -> Schema:
    fields = tuple(PartitionField(1, transform) for transform in transforms)
    return Schema((Column(1, "c", type_, physical_name="c"),), partitioning=fields)


def keys(transform: str, type_: DataType, array: pa.Array) -> list[tuple[str | None, ...]]:
    parsed = parse_transform(transform)
    made = apply_transform(parsed, type_, array)
    return [(from_scalar_text(value, result_type(parsed, type_)),) for value in made]


def applies(transform: str, type_: DataType) -> bool:
    try:
        result_type(parse_transform(transform), type_)
    except ValueError:
        return False
    return True


PAIRS = [
    (transform, old, new)
    for transform in TRANSFORMS
    for old in VALUES
    for new in VALUES
    if (old == new or widens(old, new)) and applies(transform, old) and applies(transform, new)
]
APART = {  # 5 and 5.00 have different hashes, and are truncated differently
    (transform, old, new)
    for transform, old, new in PAIRS
    if transform in ("bucket(7)", "truncate(2)") and old != new and isinstance(new, Decimal)
} | {("bucket(7)", Atom.DATE, Atom.TIMESTAMP_NTZ)}


@pytest.mark.parametrize("transform, old, new", PAIRS)
def test_old_partition_values_translate_to_the_current_type(
    transform: str, old: DataType, new: DataType
) -> None:
    """An old key translates to the key that the widened value would get."""
    read = key_reader(schema_of(old, transform), schema_of(new, transform))
    if (transform, old, new) in APART:
        assert read is None
        return
    assert read is not None
    rows = pa.array([*VALUES[old], None], to_arrow_type(old))
    now = keys(transform, new, rows.cast(to_arrow_type(new)))
    assert [read(key) for key in keys(transform, old, rows)] == now


def test_other_partitionings_do_not_translate() -> None:
    old = schema_of(Atom.DATE, "days")
    for new in (
        schema_of(Atom.DATE),
        schema_of(Atom.DATE, "months"),
        schema_of(Atom.DATE, "days", "bucket(2)"),
    ):
        assert key_reader(old, new) is None
        assert key_reader(new, old) is None
    read = key_reader(schema_of(Atom.DATE), schema_of(Atom.DATE))
    assert read is not None
    assert read(()) == ()


@pytest.mark.parametrize(
    ("transform", "type_", "text", "expected"),
    [
        ("years", Atom.DATE, "56", "2026"),
        ("years", Atom.DATE, "-1", "1969"),
        ("months", Atom.DATE, "672", "2026-01"),
        ("months", Atom.DATE, "-1", "1969-12"),
        ("days", Atom.TIMESTAMP, "20455", "2026-01-02"),
        ("days", Atom.TIMESTAMP, "-1", "1969-12-31"),
        ("hours", Atom.TIMESTAMP, "490923", "2026-01-02-03"),
        ("hours", Atom.TIMESTAMP, "-1", "1969-12-31-23"),
        ("bucket(4)", Atom.INT, "3", "3"),
        ("identity", Atom.BINARY, "AP8=", "00FF"),
        ("truncate(1)", Atom.BINARY, "/w==", "FF"),
        ("identity", Atom.STRING, "AP8=", "AP8="),
        ("identity", Atom.DATE, "20455", "20455"),  # Spark renders its own types itself
    ],
)
def test_partition_values_are_shown_readably(
    transform: str, type_: DataType, text: str, expected: str
) -> None:
    assert partition_text(parse_transform(transform), type_, text) == expected
