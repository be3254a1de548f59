"""Defaults of structs, and of fields in structs, lists and maps: for old rows, and rows without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table

DDL = (
    "id INT, s STRUCT<a: INT, t: STRUCT<x: INT>>, l ARRAY<STRUCT<a: INT>>, "
    "m MAP<STRING, STRUCT<a: INT>>"
)
FULL: dict[str, Any] = {
    "s": {"a": 1, "t": {"x": 2}},
    "l": [{"a": 3}, None],
    "m": [("k", {"a": 4}), ("n", None)],
}
NEW = {
    "s.b": 5,
    "s.t.y": 6,
    "l.element.b": 7,
    "m.value.b": 8,
}
FILLED: dict[str, Any] = {
    "s": {"a": 1, "t": {"x": 2, "y": 6}, "b": 5},
    "l": [{"a": 3, "b": 7}, None],
    "m": [("k", {"a": 4, "b": 8}), ("n", None)],
}
"""FULL with the defaults of NEW."""


@pytest.fixture(params=[(), ("id",)], ids=["plain", "keyed"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    table = Catalog.create_path(tmp_path / "t", DDL, primary_key=list(request.param))
    write(table, {"id": 1, **FULL}, {"id": 2, "s": None, "l": None, "m": None})
    return table


def write(table: Table, *rows: dict[str, Any], schema: pa.Schema = None) -> None:
    types = table.scan().schema if schema is None else schema
    table.append(pa.Table.from_pylist(list(rows), types))


def shown(table: Table, id_: int) -> dict[str, Any]:
    (row,) = table.scan(filters=[("id", "=", id_)]).to_arrow().to_pylist()
    del row["id"]
    return row


def test_fields_with_defaults(table: Table) -> None:
    before = table.scan().schema
    change = table.alter()
    for path, value in NEW.items():
        change.add_column(path, "INT", default=value)
    change.commit()
    assert shown(table, 1) == FILLED
    assert shown(table, 2) == {"s": None, "l": None, "m": None}
    write(table, {"id": 3, **FULL}, schema=before)
    assert shown(table, 3) == FILLED
    for path, value in NEW.items():
        table.alter().set_default(path, value * 100).commit()
    assert shown(table, 1) == shown(table, 3) == FILLED
    write(table, {"id": 4, **FULL}, schema=before)
    assert shown(table, 4) == {
        "s": {"a": 1, "t": {"x": 2, "y": 600}, "b": 500},
        "l": [{"a": 3, "b": 700}, None],
        "m": [("k", {"a": 4, "b": 800}), ("n", None)],
    }
    table.maintenance.compact(strategy="full")
    assert shown(table, 1) == shown(table, 3) == FILLED


def test_a_struct_with_a_default_and_later_a_field(table: Table) -> None:
    ddl = "ALTER TABLE t ADD COLUMN d STRUCT<x: INT, y: STRUCT<z: STRING>> DEFAULT "
    table.alter_sql(f"{ddl} named_struct('x', 1, 'y', named_struct('z', 'q'))").commit()
    assert shown(table, 1)["d"] == {"x": 1, "y": {"z": "q"}}
    table.alter().add_column("d.y.w", "INT", default=5).commit()
    table.alter().add_column("e", "ARRAY<STRUCT<x: INT>>", default=[{"x": 1}, {"x": None}]).commit()
    table.alter().add_column("e.element.y", "INT", default=2).commit()
    row = shown(table, 1)
    assert row["d"] == {"x": 1, "y": {"z": "q", "w": 5}}
    assert row["e"] == [{"x": 1, "y": 2}, {"x": None, "y": 2}]
    write(table, {"id": 5}, schema=pa.schema([pa.field("id", pa.int32())]))
    assert (shown(table, 5)["d"], shown(table, 5)["e"]) == (row["d"], row["e"])
    table.alter().rename_column("d.x", "X2").drop_column("d.y.z").commit()
    assert shown(table, 5)["d"] == shown(table, 1)["d"] == {"X2": 1, "y": {"w": 5}}
    write(table, {"id": 6}, schema=pa.schema([pa.field("id", pa.int32())]))
    assert shown(table, 6)["d"] == {"X2": 1, "y": {"w": 5}}


def test_python_values_without_types_inside_nested_columns(table: Table) -> None:
    table.alter().add_column("s.b", "INT", default=5).commit()
    ids = pa.array([7], pa.int32())
    rows = {"s": [{"a": None, "t": None}], "l": [[]], "m": [[("k", None)]]}
    inner = pa.map_(pa.string(), pa.null())
    table.append(pa.table({"id": ids, **rows, "m": pa.array(rows["m"], inner)}))
    row = shown(table, 7)
    assert row == {"s": {"a": None, "t": None, "b": 5}, "l": [], "m": [("k", None)]}
    table.append(
        pa.table({"id": pa.array([8], pa.int32()), "s": [{"t": {"x": None}}], "l": [[None]]}),
        merge_schema=True,
    )
    row = shown(table, 8)
    assert row == {"s": {"a": None, "t": {"x": None}, "b": 5}, "l": [None], "m": None}
