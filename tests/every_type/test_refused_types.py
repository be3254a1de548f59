"""Types that no table has, and values finer than a type: the error says what to use."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError

REFUSED = {
    "INTERVAL": "intervals without a unit can't be stored; store INTERVAL DAY TO SECOND",
    "GEOMETRY(ANY)": r"GEOMETRY\(ANY\) can't be stored; it needs the number of one reference system",
    "GEOGRAPHY(ANY)": r"GEOGRAPHY\(ANY\) can't be stored; it needs the number of one reference system",
    "TIME(7)": r"TIME\(7\) can't be stored; TIME has up to 6 digits: use TIME\(6\)",
    "TIMESTAMP_NTZ(9)": r"TIMESTAMP_NTZ\(9\) can't be stored; .*: use TIMESTAMP_NTZ, and store the",
    "TIMESTAMP_LTZ(7)": r"TIMESTAMP_LTZ\(7\) can't be stored; .*: use TIMESTAMP_LTZ, and store the",
    "ARRAY<TIMESTAMP(8)>": r"TIMESTAMP\(8\) can't be stored; .*: use TIMESTAMP, and store the nanosec",
    "NULL": "NULL is not a type; a column of nulls that gets a type later is VOID",
    "OBJECT": "OBJECT can't be stored; use STRUCT, MAP or VARIANT",
    "DECIMAL(39,0)": r"DECIMAL\(39,0\) can't be stored; it has 1 to 38 digits",
    "CHAR": r"CHAR needs a length, as CHAR\(10\); or use STRING",
}


def test_types_that_no_table_has_are_refused_by_name(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for type_, reason in REFUSED.items():
        with pytest.raises(InvalidRequestError, match=f"table: column x: {reason}"):
            catalog.create_table("table", f"id BIGINT, x {type_}")
    table = catalog.create_table("table", "id BIGINT")
    for type_, reason in REFUSED.items():
        with pytest.raises(InvalidRequestError, match=reason):
            table.alter().add_column("x", type_).commit()
    assert table.refresh().version == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_arrow_are_taken_if_microseconds_hold_them(tmp_path: Path, unit: str) -> None:
    table = Catalog(tmp_path).create_table("table", "x TIMESTAMP_NTZ")
    table.append(pa.table({"x": pa.array([0], pa.timestamp(unit))}))
    assert table.count() == 1
    if unit == "ns":
        with pytest.raises(
            InvalidRequestError,
            match=r"does not fit the column x: Casting .*; round or correct the values",
        ):
            table.append(pa.table({"x": pa.array([1], pa.timestamp(unit))}))
