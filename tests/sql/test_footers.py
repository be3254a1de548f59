"""Footers of Spark's files: their statistics must hold for all rows, and may be unknown.

Executors keep them. Needs a JVM because Spark writes and reads the footers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from versioned_catalog import Catalog
from versioned_catalog.log.statistics import ColumnStats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DDL = (
    "i INT, x DOUBLE, f FLOAT, s STRING, d DATE, t TIMESTAMP, n DECIMAL(8,2), m DECIMAL(30,2), "
    "b BINARY, o BOOLEAN, c STRUCT<p: INT, q: STRUCT<r: INT>>, a ARRAY<INT>"
)


@pytest.fixture
def written(sql_spark: SparkSession, catalog: Catalog, ns: str) -> dict[str, ColumnStats]:
    """The statistics of two rows and a null row, by column path."""
    sql_spark.sql(f"CREATE TABLE versioned.{ns}.t ({DDL})")
    sql_spark.sql(
        f"INSERT INTO versioned.{ns}.t SELECT /*+ COALESCE(1) */ * FROM VALUES "
        "(1, 1.5D, float('NaN'), 'a', DATE'1500-01-01', TIMESTAMP'1969-12-31 23:59:59.5', 1.25, "
        "-2.5, X'00FF', true, named_struct('p', 1, 'q', named_struct('r', CAST(null AS INT))), "
        "array(1)), "
        f"(-7, -0.0D, float(1), '{'z' * 80}', DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00', "
        "-99.99, 12345678901234567890.25, X'7F', false, null, null), "
        "(null, null, null, null, null, null, null, null, null, null, "
        "named_struct('p', null, 'q', null), null)"
    )
    table = catalog.load_table(f"{ns}.t")
    assert table.inspect.segments().num_rows == 1
    (segment,) = [live.record for live in table.state.segments.tail]
    return {table.schema.path_text(i): stats for i, stats in segment.columns.items()}


def test_statistics_of_each_type(written: dict[str, ColumnStats]) -> None:
    assert written["i"] == ColumnStats(1, None, "-7", "1")
    assert written["x"] == ColumnStats(1, 0, "-0.0", "1.5")
    assert written["d"] == ColumnStats(1, None, "-171664", "18262")
    assert written["t"] == ColumnStats(1, None, "-500000", "1577836800000000")
    assert written["n"] == ColumnStats(1, None, "-99.99", "1.25")
    assert written["m"] == ColumnStats(1, None, "-2.50", "12345678901234567890.25")
    assert written["b"] == ColumnStats(1, None, "AP8=", "fw==")
    assert written["o"] == ColumnStats(1, None, "false", "true")
    assert written["s"] == ColumnStats(1, None, "a", "z" * 63 + "{", max_inexact=True)


def test_a_nan_leaves_no_bounds(written: dict[str, ColumnStats]) -> None:
    assert written["f"] == ColumnStats(1)


def test_nested_columns_have_no_null_count(written: dict[str, ColumnStats]) -> None:
    assert written["c.p"] == ColumnStats(None, None, "1", "1")
    assert written["c.q.r"].nulls is None
    assert "c" not in written
    assert "a" not in written


def test_footers_are_kept_until_a_file_changes(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    sql_spark.sql(f"CREATE TABLE versioned.{ns}.t (i INT)")
    sql_spark.sql(f"INSERT INTO versioned.{ns}.t SELECT /*+ COALESCE(1) */ * FROM VALUES (1), (2)")
    table = catalog.load_table(f"{ns}.t")
    (path,) = Path(table.location).glob("data/**/*.parquet")
    whole, times = path.read_bytes(), path.stat()

    def rows() -> list[int]:
        return sorted(row.i for row in sql_spark.table(f"versioned.{ns}.t").collect())

    def overwrite(data: bytes, seconds: int) -> None:
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + seconds * 10**9))

    footer = int.from_bytes(whole[-8:-4], "little")
    damaged = whole[: -8 - footer] + bytes(footer) + whole[-8:]
    assert rows() == [1, 2]
    # The footer is not read again, nor is it taken for that of a file that was written since.
    overwrite(damaged, seconds=0)
    assert rows() == [1, 2]
    overwrite(damaged, seconds=7)
    with pytest.raises(Exception, match=r"(?i)parquet|footer"):
        rows()
    overwrite(whole, seconds=9)
    assert rows() == [1, 2]
