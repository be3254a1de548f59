"""Narrowed columns: read in the widest type, shown in the narrower one (FORMAT.md, section 4.10)."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from second_reader.by_hand import ByHand, column, field, refused, schema, shown
from second_reader.reader import Corrupt
from versioned_catalog import CorruptTableError

INFINITE = float("inf")
CASES: dict[str, tuple[str, str, pa.DataType, pa.DataType, Any, Any, Any]] = {
    "integers": ("long", "int", pa.int64(), pa.int32(), 7, 7, 2**31),
    "a double": ("double", "short", pa.float64(), pa.int16(), -0.0, 0, 0.5),
    "not finite": ("double", "float", pa.float64(), pa.float32(), INFINITE, INFINITE, 0.1),
    "a decimal": (
        *("decimal(7,3)", "decimal(5,2)", pa.decimal128(7, 3), pa.decimal128(5, 2)),
        *(Decimal("999.990"), Decimal("999.99"), Decimal("1.001")),
    ),
    "a midnight": (
        *("timestamp_ntz", "date", pa.timestamp("us"), pa.date32()),
        *(dt.datetime(1969, 12, 31), dt.date(1969, 12, 31), dt.datetime(1970, 1, 1, 1)),
    ),
    "a text": (
        "string",
        "varchar(2)",
        pa.string(),
        pa.string(),
        "\U0001f600b",
        "\U0001f600b",
        "abc",
    ),
}


def narrowed(folder: Path, cases: Iterable[str], *, misfit: bool) -> list[dict[str, Any]]:
    """A table with a column of each case, narrowed between two segments; the rows that it shows."""
    chosen = {f"v{at}": (at, *CASES[case]) for at, case in enumerate(cases, 1)}
    before, after, stored, kept = [], [], [], []
    rows: list[dict[str, Any]] = [{}, {}, {}]
    expected: list[dict[str, Any]] = [{}, {}, {}]
    for name, (at, wide, narrow, old, new, value, short, misfitting) in chosen.items():
        before.append(column(at, name, wide))
        after.append(column(at, name, narrow, widest=wide))
        stored.append(field(at, name, old))
        kept.append(field(at, name, new))
        for row, item in zip(rows, (value, misfitting if misfit else None, short), strict=True):
            row[name] = item
        for row, item in zip(expected, (short, None, short), strict=True):
            row[name] = item
    table, wider, narrower = ByHand(folder, "narrowed"), schema(0, *before), schema(1, *after)
    table.put("create", schema=wider)
    table.put("append", added=[table.segment(wider, pa.schema(stored), rows[:2])])
    table.put("alter", schema=narrower)
    table.put("append", added=[table.segment(narrower, pa.schema(kept), rows[2:])])
    return expected


def test_values_of_older_segments_are_narrowed(tmp_path: Path) -> None:
    expected = narrowed(tmp_path, CASES, misfit=False)
    assert shown(tmp_path) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_a_value_that_does_not_fit_is_corrupt(tmp_path: Path, case: str) -> None:
    narrowed(tmp_path, [case], misfit=True)
    refused(tmp_path, Corrupt, CorruptTableError)


POSITION_0 = bytes.fromhex(  # section 6.4
    "00000022 D1D33964 0100000000000000 00000000 3A300000 01000000 00000000 10000000 0000 F7A6B4B5"
)


def test_a_value_that_is_marked_need_not_fit(tmp_path: Path) -> None:
    before, after = (
        schema(0, column(1, "v", "long")),
        schema(1, column(1, "v", "byte", widest="long")),
    )
    table = ByHand(tmp_path, "narrowed", "marks")
    table.put("create", schema=before)
    segment = table.segment(
        before, pa.schema([field(1, "v", pa.int64())]), [{"v": 2**40}, {"v": 1}]
    )
    table.put("append", added=[segment])
    mark = {"rows": 1, "blob": base64.b64encode(POSITION_0).decode()}
    table.put("delete", marked={segment["path"]: mark})
    table.put("alter", schema=after)
    assert shown(table.folder) == [{"v": 1}]


def test_nested_columns_and_read_defaults_are_narrowed(tmp_path: Path) -> None:
    def nested(version: int, kind: str, **widest: str) -> dict[str, Any]:
        x = column(4, "x", kind, **widest)
        struct = {"type": "struct", "fields": [x]}
        items = {"type": "array", "element": column(3, "element", struct)}
        return schema(version, column(1, "n", "int"), column(2, "l", items))

    def fields(x: pa.DataType) -> pa.Schema:
        struct = pa.struct([field(4, "x", x)])
        return pa.schema(
            [field(1, "n", pa.int32()), field(2, "l", pa.list_(field(3, "element", struct)))]
        )

    before = nested(0, "timestamp_ntz")
    after = nested(1, "date", widest="timestamp_ntz")
    default = {"read_default": "-1", "write_default": {"value": "-1"}, "widest": "timestamp_ntz"}
    after["columns"].append(column(5, "d", "date", **default))
    table = ByHand(tmp_path, "narrowed")
    table.put("create", schema=before)
    rows = [{"n": 1, "l": [{"x": dt.datetime(2026, 1, 1)}, None, {"x": None}]}, {"n": 2, "l": None}]
    table.put("append", added=[table.segment(before, fields(pa.timestamp("us")), rows)])
    table.put("alter", schema=after)
    last = dt.date(1969, 12, 31)
    assert shown(table.folder) == [
        {"n": 1, "l": [{"x": dt.date(2026, 1, 1)}, None, {"x": None}], "d": last},
        {"n": 2, "l": None, "d": last},
    ]


@pytest.mark.thorough
def test_a_widest_type_that_is_not_wider_is_corrupt(tmp_path: Path) -> None:
    for number, (kind, widest) in enumerate((("int", "int"), ("long", "int"), ("int", "string"))):
        table = ByHand(tmp_path / str(number), "narrowed")
        table.put("create", schema=schema(0, column(1, "n", kind, widest=widest)))
        refused(table.folder, Corrupt, CorruptTableError)
