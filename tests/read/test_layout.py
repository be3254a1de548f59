"""The columns by which a runtime filter can skip segments, and estimates of distinct values."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.model.arrow import to_arrow_schema
from versioned_catalog.read.aggregates import ColumnEstimate, estimate, layout_columns
from versioned_catalog.read.scan import Scan


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_namespace("n")
    return catalog


def fill(table: Table, *segments: list[Any]) -> Table:
    """Append each list of rows as a segment."""
    for rows in segments:
        names = [column.name for column in table.schema.columns]
        values = [dict(zip(names, row, strict=True)) for row in rows]
        table.append(pa.Table.from_pylist(values, to_arrow_schema(table.schema.columns)))
    return table


def scan_of(table: Table) -> Scan:
    return Scan(table.store, table.state, table.schema.columns)


def layout(table: Table) -> list[str]:
    return [column.name for column in layout_columns(scan_of(table))]


def test_partition_columns_are_in_the_layout(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "a INT, k INT, s STRING", partitioned_by=["bucket(4, k)"])
    fill(table, [(1, 1, "x"), (2, 2, "x")], [(1, 3, "x"), (2, 4, "x")])
    assert layout(table) == ["k"]


def test_a_column_without_order_is_not_in_the_layout(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "a INT, b INT")
    fill(table, [(1, 1)], [(2, 2)])
    assert layout(table) == []


@pytest.mark.parametrize("properties", [{"sort_by": "b DESC"}, {}])
def test_key_and_sort_columns_are_in_the_layout_if_segments_do_not_overlap(
    catalog: Catalog, properties: dict[str, str]
) -> None:
    key = {} if properties else {"primary_key": ["b"]}
    table = catalog.create_table("n.t", "a INT, b INT", properties=properties, **key)
    fill(table, [(1, 1), (1, 5)])
    assert layout(table) == []  # one segment
    fill(table, [(1, 5), (1, 9)])
    assert layout(table) == []  # they overlap
    fill(table, [(1, 6), (1, 7)])
    assert layout(table) == ["b"]


def test_the_layout_follows_column_ids(catalog: Catalog) -> None:
    """A column that is added again under a dropped name does not take over the old one's layout."""
    table = catalog.create_table("n.t", "a INT, b INT", properties={"sort_by": "b"})
    fill(table, [(1, 1)], [(1, 2)])
    table.alter().rename_column("b", "c").add_column("b", "int").commit()
    assert layout(table) == ["c"]


def test_estimates_count_only_the_segments_that_are_read(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "i INT, d DATE, m DECIMAL(5,2), s STRING, x DOUBLE")
    fill(
        table,
        [(1, date(2020, 1, 1), Decimal("1.50"), "a", 1.5), (3, None, Decimal("-2.00"), "b", -1.0)],
        [(2, date(2020, 1, 2), None, None, 2.0), (3, date(2020, 1, 2), None, None, 0.5)],
    )
    table.alter().change_type("i", "long").add_column("n", "int", default=7).commit()
    found = {column.name: estimate(scan_of(table), column) for column in table.schema.columns}
    assert found == {
        "i": ColumnEstimate(0, 3, "1", "3"),
        "d": ColumnEstimate(1, 2, "18262", "18263"),
        "m": ColumnEstimate(2, None, "-2.00", "1.50"),
        "s": ColumnEstimate(2, None, "a", "b"),
        "x": ColumnEstimate(0, None, "-1.0", "2.0"),
        "n": ColumnEstimate(0, 1, "7", "7"),
    }


def test_a_range_wider_than_the_number_of_rows_gives_no_estimate(catalog: Catalog) -> None:
    table = catalog.create_table("n.t", "i INT, n INT")
    fill(table, [(1, None), (1000, None)])
    found = [estimate(scan_of(table), column) for column in table.schema.columns]
    assert found == [ColumnEstimate(0, None, "1", "1000"), ColumnEstimate(2, None, None, None)]
