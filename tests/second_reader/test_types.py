"""Each type of section 4.1, with its value text as a read default, as a file stores it (FORMAT.md)."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from second_reader.by_hand import ByHand, column, field, schema, shown

POINT = struct.pack("<BIdd", 1, 1, 4.0, 5.0)
UTC = dt.UTC
# Of each type: the Arrow type of its file, a value in it, a value text, and what that means.
CASES: dict[str, tuple[pa.DataType, Any, str | None, Any]] = {
    "boolean": (pa.bool_(), False, "true", True),
    "byte": (pa.int8(), -128, "127", 127),
    "long": (pa.int64(), 2**63 - 1, str(-(2**63)), -(2**63)),
    "float": (pa.float32(), 0.5, "-Infinity", float("-inf")),
    "decimal(38,10)": (
        pa.decimal128(38, 10),
        Decimal("1.0000000001"),
        "-2.5000000000",
        Decimal("-2.5"),
    ),
    "string": (pa.string(), "中", "it's", "it's"),
    "char(3)": (pa.string(), "a  ", "b  ", "b  "),
    "string collate de_AI_RTRIM": (pa.string(), "Ä ", "ö", "ö"),
    "binary": (pa.binary(), b"\x00", "/w==", b"\xff"),
    "date": (pa.date32(), dt.date(1, 1, 1), "-1", dt.date(1969, 12, 31)),
    "timestamp": (
        *(pa.timestamp("us", "UTC"), dt.datetime(2026, 1, 1, tzinfo=UTC), "1"),
        dt.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    ),
    "timestamp_ntz": (
        *(pa.timestamp("us"), dt.datetime(2026, 1, 1), "-1"),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    ),
    "time(3)": (pa.time64("us"), dt.time(23, 59), "1000", dt.time(0, 0, 0, 1000)),
    "interval hour to second": (*(pa.int64(), 3_600_000_000, "-1", dt.timedelta(microseconds=-1)),),
    "interval year": (pa.int32(), 24, "-12", -12),
    "interval year to month": (pa.int32(), 14, "1", 1),
    "void": (pa.null(), None, None, None),
    "variant": (
        pa.struct([("value", pa.binary(), False), ("metadata", pa.binary(), False)]),
        *({"value": b"\x0c\x05", "metadata": b"\x01\x00\x00"}, None, None),
    ),
    "geography(4326)": (
        pa.struct([("srid", pa.int32(), False), ("wkb", pa.binary(), False)]),
        *({"srid": 4326, "wkb": POINT}, None, None),
    ),
}
FEATURES = ("void", "collations", "year-month-intervals")


def test_values_and_read_defaults_of_all_types(tmp_path: Path) -> None:
    table = ByHand(tmp_path, *FEATURES)
    kinds = list(CASES)
    columns = [column(at, f"v{at}", kind) for at, kind in enumerate(kinds, 1)]
    first = schema(0, *columns)
    table.put("create", schema=first)
    fields = [field(at, f"v{at}", CASES[kind][0]) for at, kind in enumerate(kinds, 1)]
    values = {f"v{at}": CASES[kind][1] for at, kind in enumerate(kinds, 1)}
    nulls = dict.fromkeys(values)
    table.put("append", added=[table.segment(first, pa.schema(fields), [values, nulls])])
    added, defaults = [], {}
    for at, kind in enumerate(kinds, 50):
        _, _, text, default = CASES[kind]
        added.append(column(at, f"d{at}", kind, **({"read_default": text} if text else {})))
        defaults[f"d{at}"] = default
    table.put("alter", schema=schema(1, *columns, *added))
    interval = f"v{kinds.index('interval hour to second') + 1}"
    values[interval] = dt.timedelta(microseconds=values[interval])
    assert shown(tmp_path) == [values | defaults, nulls | defaults]


def test_void_columns_get_types(tmp_path: Path) -> None:
    table = ByHand(tmp_path, "void")
    kinds = ("int", "decimal(5,2)", "string", "variant", "timestamp")
    n, fields = column(1, "n", "int"), [field(1, "n", pa.int32())]
    first = schema(0, n, *(column(at, f"v{at}", "void") for at, _ in enumerate(kinds, 2)))
    fields += [field(at, f"v{at}", pa.null()) for at, _ in enumerate(kinds, 2)]
    table.put("create", schema=first)
    row = {"n": 1} | {f"v{at}": None for at, _ in enumerate(kinds, 2)}
    table.put("append", added=[table.segment(first, pa.schema(fields), [row])])
    typed = [column(at, f"v{at}", kind) for at, kind in enumerate(kinds, 2)]
    table.put("alter", schema=schema(1, n, *typed))
    assert shown(tmp_path) == [row]
