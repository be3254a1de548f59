"""Logical types in Arrow: what ``to_arrow(logical_types=True)`` returns, and what appends take."""

from __future__ import annotations

import uuid
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError, Table

ONE = uuid.UUID("0188a5eb-7c1e-7d3f-9f2a-3b1c5d7e9f00")
INTERVAL = "STRUCT<months: INT, days: INT, microseconds: BIGINT>"
NUMERIC = "STRUCT<approximate: DOUBLE, exact: STRING>"
COLUMNS = {
    "u": ("UUID", "STRING"),
    "b": ("UUID", "BINARY"),
    "j": ("JSON", "STRING"),
    "u8": ("UINT8", "SMALLINT"),
    "u16": ("UINT16", "INT"),
    "u32": ("UINT32", "BIGINT"),
    "u64": ("UINT64", "DECIMAL(20,0)"),
    "o": ("OID", "BIGINT"),
    "f": ("FLOAT16", "FLOAT"),
    "x": ("FIXED(2)", "BINARY"),
    "m": ("BITMASK(4)", "BINARY"),
    "ip": ("IP", "BINARY"),
    "e": ("ENUM('low', NULL, 'high')", "INT"),
    "i": ("INTERVAL", INTERVAL),
    "n": ("NUMERIC", NUMERIC),
}
NUMERIC_ARROW = pa.struct([("approximate", pa.float64()), ("exact", pa.string())])
STORAGE = pa.array([ONE.bytes, None, bytes(16)], pa.binary(16))
LOGICAL = pa.table(
    {
        "u": pa.ExtensionArray.from_storage(pa.uuid(), STORAGE),
        "b": pa.ExtensionArray.from_storage(pa.uuid(), STORAGE),
        "j": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", None, "1"])),
        "u8": pa.array([255, None, 0], pa.uint8()),
        "u16": pa.array([65_535, None, 0], pa.uint16()),
        "u32": pa.array([2**32 - 1, None, 0], pa.uint32()),
        "u64": pa.array([2**64 - 1, None, 0], pa.uint64()),
        "o": pa.array([2**32 - 1, None, 0], pa.uint32()),
        "f": pa.array([1.5, None, 0.0], pa.float16()),
        "x": pa.array([b"ab", None, b"cd"], pa.binary(2)),
        "m": pa.array([b"\x0f", None, b"\0"], pa.binary(1)),
        "ip": STORAGE,
        "e": pa.DictionaryArray.from_arrays(
            pa.array([2, None, 0], pa.int32()), ["low", None, "high"], ordered=True
        ),
        "i": pa.array(
            [pa.MonthDayNano((1, -2, 3000)), None, pa.MonthDayNano((0, 0, 0))],
            pa.month_day_nano_interval(),
        ),
        "n": pa.array(
            [{"approximate": 0.5, "exact": "0.5"}, None, {"approximate": 0, "exact": "0"}],
            NUMERIC_ARROW,
        ),
    }
)
BASES = {
    "u": [str(ONE), None, str(uuid.UUID(int=0))],
    "b": [ONE.bytes, None, bytes(16)],
    "j": ["{}", None, "1"],
    "u8": [255, None, 0],
    "u16": [65_535, None, 0],
    "u32": [2**32 - 1, None, 0],
    "u64": [Decimal(2**64 - 1), None, Decimal(0)],
    "o": [2**32 - 1, None, 0],
    "f": [1.5, None, 0.0],
    "x": [b"ab", None, b"cd"],
    "m": [b"\x0f", None, b"\0"],
    "ip": [ONE.bytes, None, bytes(16)],
    "e": [3, None, 1],
    "i": [
        {"months": 1, "days": -2, "microseconds": 3},
        None,
        {"months": 0, "days": 0, "microseconds": 0},
    ],
    "n": [{"approximate": 0.5, "exact": "0.5"}, None, {"approximate": 0.0, "exact": "0"}],
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    schema = ", ".join(f"{name} {base}" for name, (_, base) in COLUMNS.items())
    logical = {f"logical_type.{name}": text for name, (text, _) in COLUMNS.items()}
    return Catalog(tmp_path).create_table("t", schema, properties=logical)


def test_rows_go_in_and_come_back_in_the_types_of_arrow(table: Table) -> None:
    table.append(LOGICAL)
    assert table.scan().to_arrow().to_pydict() == BASES
    shown = table.scan().to_arrow(logical_types=True)
    assert shown.schema.types == LOGICAL.schema.types
    assert shown.equals(LOGICAL)
    table.append(table.scan().to_arrow())
    table.append(shown.slice(1))
    again = table.scan().to_arrow(logical_types=True)
    assert again.equals(pa.concat_tables([LOGICAL, LOGICAL, LOGICAL.slice(1)]))
    table.overwrite(LOGICAL.schema.empty_table())
    assert table.scan().to_arrow(logical_types=True).schema.types == LOGICAL.schema.types


def test_labels_are_written_as_text(table: Table) -> None:
    table.append(pa.table({"e": ["high", None, "low"]}))
    table.append(pa.table({"E": pa.array(["high"]).dictionary_encode()}))
    assert table.scan(["e"]).to_arrow()["e"].to_pylist() == [3, None, 1, 3]
    with pytest.raises(
        InvalidRequestError, match=r"'top' is no label of ENUM\('low', NULL, 'high'\)"
    ):
        table.append(pa.table({"e": ["low", "top"]}))


def test_values_that_a_type_does_not_hold_are_refused(table: Table) -> None:
    fine = pa.array([pa.MonthDayNano((0, 0, 1))], pa.month_day_nano_interval())
    with pytest.raises(InvalidRequestError, match="microseconds, and a value has 1 nanoseconds"):
        table.append(pa.table({"i": fine}))
    long = {"months": 0, "days": 0, "microseconds": 2**62}
    table.append(pa.table({"i": pa.array([long], table.scan(["i"]).schema.field("i").type)}))
    with pytest.raises(InvalidRequestError, match="logical_types=False"):
        table.scan(["i"]).to_arrow(logical_types=True)
    with pytest.raises(InvalidRequestError, match="can't be stored"):
        table.append(pa.table({"j": LOGICAL["u"]}))


def test_a_table_of_an_arrow_schema_has_the_logical_types_of_it(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    columns = LOGICAL.select(["u", "j", "i", "u8"])
    names = ["a.b", "j", "i", "u8"]
    table = catalog.create_table("t", columns.rename_columns(names).schema)
    assert table.logical_types == {"`a.b`": "UUID", "j": "JSON", "i": "INTERVAL"}
    table.append(columns.rename_columns(names))
    assert (
        table.scan(names[:3])
        .to_arrow(logical_types=True)
        .equals(columns.rename_columns(names).select(names[:3]))
    )
    binary = catalog.create_table(
        "other", columns.select(["u"]).schema, properties={"logical_type.u": "JSON"}
    )
    assert binary.logical_types == {"u": "JSON"}


def test_keys_and_batches_of_sinks_are_taken_in_the_types_of_arrow(tmp_path: Path) -> None:
    table = Catalog(tmp_path).create_table(
        "t",
        "u STRING NOT NULL, u8 SMALLINT",
        primary_key=["u"],
        properties={"logical_type.u": "UUID", "logical_type.u8": "UINT8"},
    )
    batch = LOGICAL.select(["u", "u8"]).filter(pa.array([True, False, True]))
    table.sink("app").write(batch, 0)
    table.refresh().upsert(batch)
    shown = table.refresh().scan().to_arrow(logical_types=True).sort_by("u8")
    assert shown.to_pydict() == batch.sort_by("u8").to_pydict()
    assert shown.schema.types == batch.schema.types
    table.delete_keys(batch.select(["u"]).slice(0, 1))
    assert table.scan().to_arrow().to_pydict() == {"u": [str(uuid.UUID(int=0))], "u8": [0]}
