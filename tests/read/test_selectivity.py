"""Estimates of filters, computed by hand."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.scan_columns import bind_filters
from versioned_catalog.read.selectivity import matching_rows
from versioned_catalog.read.where import parse_where


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """1,000 rows in two segments: a 0 to 999, b a double of the same bounds, a tenth of c is null.

    The days of d are 10, each in 100 rows; s has unknown values, and p one in each segment.
    """
    folder: Path = tmp_path_factory.mktemp("selectivity")
    table = Catalog(folder).create_table(
        "t", "a LONG, b DOUBLE, c INT, d DATE, s STRING, p STRING", partitioned_by=["p"]
    )
    for start in (0, 500):
        numbers = range(start, start + 500)
        table.append(
            pa.table(
                {
                    "a": pa.array(numbers, pa.int64()),
                    "b": pa.array([float(n * 999) / 999 for n in numbers]),
                    "c": pa.array([None if n % 10 == 0 else n % 5 for n in numbers], pa.int32()),
                    "d": [dt.date(2026, 1, 1 + n // 100) for n in numbers],
                    "s": [f"s{n % 7}" for n in numbers],
                    "p": ["low" if start == 0 else "high"] * 500,
                }
            )
        )
    return table


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (
            "a = 7",
            5,
        ),  # one of 500 in the segment that is left, but a hundredth at least
        ("a IN (7, 8, 600)", 10),  # a hundredth of 1,000
        ("a IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 900)", 15),
        ("a >= 100", 900),
        ("a < 100", 100),  # of 500 rows and values
        ("a >= 100 AND a < 200", 100),  # not 0.8 * 0.4
        ("a <> 7", 999),
        ("b < 249.5", 250),
        ("c = 3", 180),  # a fifth of 900
        ("c IS NULL", 100),
        ("c IS NOT NULL", 900),
        ("c IS NOT NULL AND c = 3", 180),
        ("c = 3 OR c = 4", 360),
        ("c = 3 AND a >= 500", 90),  # of 500 rows
        ("d = DATE '2026-01-02'", 100),  # a fifth of the days of the first segment
        ("d >= DATE '2026-01-03'", 800),
        ("s = 's3'", 100),  # a tenth, since nothing is known
        ("s > 's3'", 333),  # a third
        ("p = 'low'", 500),  # all rows of that partition
        ("p = 'low' AND c = 3", 90),
        (
            "s = 's3' AND s <> 's4' AND b < 499.5",
            50,
        ),  # a tenth counts, nine tenths do not; of 500 rows
    ],
)
def test_estimates(table: Table, where: str, rows: int) -> None:
    state = table.state
    bound = bind_filters(parse_where(where), state.known)
    scan = Scan(table.handle.store, state, state.seen.schema.columns, bound)
    assert matching_rows(scan) == rows


def test_without_a_filter_all_rows_that_are_not_marked_count(table: Table) -> None:
    scan = Scan(table.handle.store, table.state, table.state.seen.schema.columns)
    assert matching_rows(scan) == 1000
