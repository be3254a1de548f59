"""Rows of metadata convert to Arrow tables and back as with PyArrow's own methods, without pandas."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from versioned_catalog.maintain.column_tables import rows_of, table_of

SCHEMA = pa.schema(
    {
        "number": pa.int64(),
        "short": pa.int32(),
        "text": pa.string(),
        "flag": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "texts": pa.list_(pa.string()),
    }
)
TIME = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
FULL = {
    "number": -(2**62),
    "short": 7,
    "text": "ü",
    "flag": True,
    "time": TIME,
    "texts": ["a", None, ""],
}
NULLS = dict.fromkeys(SCHEMA.names)
OLD = {**FULL, "time": datetime(1931, 5, 1, tzinfo=UTC), "texts": [], "flag": False}


@pytest.mark.parametrize("rows", [[], [FULL], [NULLS], [FULL, NULLS, OLD, FULL], [NULLS, OLD]])
def test_rows_convert_to_arrow_and_back(rows: list[dict[str, object]]) -> None:
    table = table_of(rows, SCHEMA)
    table.validate(full=True)
    assert table.equals(pa.Table.from_pylist(rows, schema=SCHEMA))
    assert rows_of(table) == rows


def test_a_field_that_a_row_lacks_is_null() -> None:
    assert rows_of(table_of([{"number": 1}], SCHEMA)) == [{**NULLS, "number": 1}]


def test_pandas_is_not_imported() -> None:
    code = """
import sys, datetime, pyarrow as pa
from versioned_catalog.maintain.column_tables import rows_of, table_of
schema = pa.schema({"t": pa.timestamp("us", tz="UTC"), "l": pa.list_(pa.string())})
now = datetime.datetime.now(datetime.timezone.utc)
assert rows_of(table_of([{"t": now, "l": ["a"]}], schema)) == [{"t": now, "l": ["a"]}]
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
