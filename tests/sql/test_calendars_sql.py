"""Files that Spark wrote in its LEGACY mode: the same values natively and in Python."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sql.plans import is_native
from sql.test_external_sql import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path)


DATES = [
    "0001-01-01",
    "1000-01-01",
    "1000-02-28",
    "1000-03-01",
    "1582-10-04",
    "1582-10-15",
    "2024-02-29",
]


@pytest.mark.nightly
@pytest.mark.parametrize("zone", ["UTC", "+05:30"])
def test_what_spark_writes_in_the_legacy_mode_is_read_as_it_was(lake: Lake, zone: str) -> None:
    """The values are the texts above, on the calendar of whoever wrote them."""
    lake.spark.conf.set("spark.sql.session.timeZone", zone)
    for mode, kind, setting in (
        ("LEGACY", "INT96", "legacy96"),
        ("LEGACY", "TIMESTAMP_MICROS", "legacy64"),
        ("LEGACY", "TIMESTAMP_MILLIS", "legacy_ms"),
        ("CORRECTED", "INT96", "now96"),
        ("CORRECTED", "TIMESTAMP_MICROS", "now64"),
    ):
        lake.spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", mode)
        lake.spark.conf.set("spark.sql.parquet.int96RebaseModeInWrite", mode)
        lake.spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
        values = ", ".join(f"(DATE'{day}', TIMESTAMP'{day} 23:30:00')" for day in DATES)
        frame = lake.spark.sql(
            f"SELECT d, t, named_struct('d', d) AS s, array(t) AS l FROM VALUES {values} AS v(d, t)"
        )
        frame.coalesce(1).sortWithinPartitions("d").write.parquet(f"{lake.folder}/{setting}")
    lake.catalog.import_files("t", lake.folder)
    _check(lake)


@pytest.mark.thorough
def test_dates_of_orc_are_those_that_spark_wrote(lake: Lake) -> None:
    """Spark, of every version, writes ORC with dates of the Julian calendar."""
    values = ", ".join(f"(DATE'{day}')" for day in DATES)
    for codec in ("none", "snappy", "zlib", "zstd", "lz4"):
        frame = lake.spark.sql(f"SELECT d, array(d) AS l FROM VALUES {values} AS v(d)")
        wide = frame.selectExpr("*", *(f"1 AS a_column_with_a_long_name_{at}" for at in range(100)))
        wide.coalesce(1).write.option("compression", codec).orc(f"{lake.folder}/{codec}")
    lake.catalog.import_files("t", lake.folder, copy=True)
    found = lake.rows("SELECT CAST(d AS STRING), l[0] = d FROM @t")
    assert sorted(found) == sorted((day, True) for day in DATES for _ in range(5))


def _check(lake: Lake) -> None:
    shown = "CAST(d AS STRING), date_format(t, 'yyyy-MM-dd HH:mm'), CAST(s.d AS STRING), l[0] = t"
    wanted = sorted((day, f"{day} 23:30", day, True) for day in DATES for _ in range(5))
    for io in ("native", "python"):
        lake.spark.conf.set("spark.versioned.io", io)
        frame = lake.sql(f"SELECT {shown} FROM @t")
        assert is_native(frame) is (io == "native")
        assert sorted(map(tuple, frame.collect())) == wanted
        for day in DATES:
            date = f"DATE'{day}'"
            time = f"TIMESTAMP'{day} 23:30:00'"
            for filter_ in (f"d = {date}", f"s.d = {date}", f"t = {time}"):
                rows = lake.sql(f"SELECT count(*) FROM @t WHERE {filter_}").collect()
                assert (io, filter_, rows[0][0]) == (io, filter_, 5)
            (row,) = lake.sql(
                f"SELECT count_if(d < {date}), count(*) FROM @t WHERE d < {date}"
            ).collect()
            assert row[0] == row[1] == 5 * DATES.index(day)
        assert lake.rows("SELECT min(d), max(d) FROM @t") == [
            (dt.date(1, 1, 1), dt.date(2024, 2, 29))
        ]
    everywhere: Any = lake.spark.read.parquet(f"{lake.folder}/*")
    assert sorted(str(row.d) for row in everywhere.select("d").collect()) == [
        one[0] for one in wanted
    ]
