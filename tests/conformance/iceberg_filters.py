"""Situations of Apache Iceberg: filters, deleted rows, and partitions."""

from __future__ import annotations

import datetime as dt
import math

import pyarrow as pa

from conformance.lake import (
    Lake,
    alter,
    put,
    read_segments,
    refused,
    rows,
)
from conformance.registry import Situation, Source
from versioned_catalog import NotFoundError, Table

SITUATIONS: list[Situation] = []
CORE = "core/src/test/java/org/apache/iceberg"
DATA = "data/src/test/java/org/apache/iceberg/data"
metrics = Source("iceberg", f"{DATA}/TestMetricsRowGroupFilter.java", SITUATIONS)
deletes = Source("iceberg", f"{DATA}/DeleteReadTests.java", SITUATIONS)
partitioning = Source("iceberg", f"{CORE}/TestUpdatePartitionSpec.java", SITUATIONS)


def several(lake: Lake) -> Table:
    """Three segments of the column n: 0 to 9, 30 to 39, and nulls only."""
    table = lake.table("n INT, f DOUBLE, s STRING")
    put(table, *[(n, n + 0.5, f"a{n}") for n in range(10)])
    put(table, *[(n, math.nan, f"b{n}") for n in range(30, 40)])
    put(table, (None, None, None))
    return table


@metrics.passes("testAllNulls", "IS NOT NULL leaves out files in which all values are null.")
def all_nulls(lake: Lake) -> None:
    table = several(lake)
    assert len(rows(table, "n", filters=[("n", "is not null", None)])) == 20
    assert rows(table, "n", filters=[("n", "is null", None)]) == [(None,)]


@metrics.passes(
    "testNotNaN",
    "A file of NaN alone is read for values that are not NaN; it gives none of its rows.",
)
def nan_is_greatest(lake: Lake) -> None:
    table = several(lake)
    assert read_segments(table, "f", "!=", math.nan) == 2
    assert rows(table, "n", filters=[("f", "!=", math.nan)]) == [(n,) for n in range(10)]
    assert rows(table, "n", filters=[("f", "<", 0.5)]) == []


@metrics.passes(
    "testColumnNotInFileWithInitialDefault",
    "A filter on a column that a file lacks is evaluated on its default, not on null.",
)
def filter_on_default(lake: Lake) -> None:
    table = several(lake)
    alter(table, "ADD COLUMN added INT DEFAULT 34")
    assert len(rows(table, "n", filters=[("added", "=", 34)])) == 21
    assert rows(table, "n", filters=[("added", "is null", None)]) == []
    assert rows(table, "n", filters=[("added", "<", 34)]) == []


@metrics.passes(
    "testColumnNotInFile",
    "A column that a file lacks, and that has no default, is null in filters.",
)
def filter_on_null(lake: Lake) -> None:
    table = several(lake)
    alter(table, "ADD COLUMN added INT")
    assert rows(table, "n", filters=[("added", "!=", 34)]) == []
    assert len(rows(table, "n", filters=[("added", "is null", None)])) == 21


@metrics.passes("testMissingColumn", "A filter on a column that does not exist is refused.")
def filter_on_missing(lake: Lake) -> None:
    with refused("no column missing", NotFoundError):
        several(lake).scan(filters=[("missing", "=", 5)])


@metrics.passes("testZeroRecordFileParquet", "A file without rows gives no row to any filter.")
def no_rows(lake: Lake) -> None:
    lake.parquet("a.parquet", pa.table({"n": pa.array([], pa.int32())}))
    lake.parquet("b.parquet", pa.table({"n": pa.array([1], pa.int32())}))
    table = lake.imported()
    assert rows(table, filters=[("n", "=", 1)]) == [(1,)]
    assert rows(table, filters=[("n", "=", 2)]) == []


@metrics.passes("testIntegerLt", "Rows below the least value of a file are not found in it.")
def less_than(lake: Lake) -> None:
    table = several(lake)
    assert rows(table, "n", filters=[("n", "<", 0)]) == []
    assert rows(table, "n", filters=[("n", "<", 1)]) == [(0,)]
    assert len(rows(table, "n", filters=[("n", "<=", 30)])) == 11


@metrics.passes("testIntegerNotEqRewritten", "NOT (n = 5) and n != 5 leave out nulls and 5.")
def not_equal(lake: Lake) -> None:
    assert len(rows(several(lake), "n", filters=[("n", "!=", 5)])) == 19


@metrics.passes("testIntegerNotIn", "NOT IN leaves out nulls and the listed values.")
def not_in(lake: Lake) -> None:
    assert len(rows(several(lake), "n", filters=[("n", "not in", [1, 2, 99])])) == 18


@metrics.passes("testOr", "OR finds the rows of both sides, in different files.")
def either(lake: Lake) -> None:
    found = rows(several(lake), "n", filters=[[("n", "=", 1)], [("n", "=", 31)]])
    assert found == [(1,), (31,)]


@metrics.passes("testStructFieldEq", "A field of a struct is filtered by its bounds.")
def struct_filter(lake: Lake) -> None:
    table = lake.table("s STRUCT<n: INT>", ({"n": 1},), (None,))
    put(table, ({"n": 9},))
    assert rows(table, filters=[("s.n", "=", 9)]) == [({"n": 9},)]
    assert rows(table, filters=[("s.n", "<", 9)]) == [({"n": 1},)]


@metrics.passes("testCaseInsensitive", "A filter finds its column by a name in another case.")
def any_case_filter(lake: Lake) -> None:
    assert rows(several(lake), "n", filters=[("N", "=", 5)]) == [(5,)]


@metrics.passes(
    "testParquetTypePromotion", "A filter with a BIGINT matches files of before an INT was widened."
)
def widened_filter(lake: Lake) -> None:
    table = several(lake)
    alter(table, "ALTER COLUMN n TYPE BIGINT")
    assert rows(table, "n", filters=[("n", ">", 2**40)]) == []
    assert rows(table, "n", filters=[("n", "=", 31)]) == [(31,)]


@deletes.passes(
    "testEqualityDeletes", "Rows that equal listed values are deleted, whatever file they are in."
)
def equality_deletes(lake: Lake) -> None:
    table = lake.table("id INT, data STRING", (29, "a"), (43, "b"), (61, "c"))
    put(table, (89, "d"), (100, "e"))
    table.delete([("data", "in", ["a", "d"])])
    assert rows(table, "id") == [(100,), (43,), (61,)]


@deletes.passes("testEqualityDateDeletes", "Rows are deleted by dates and times.")
def date_deletes(lake: Lake) -> None:
    days = [dt.date(2021, 9, 1) + dt.timedelta(days) for days in range(4)]
    table = lake.table("day DATE, ts TIMESTAMP", *[(day, None) for day in days])
    table.delete([("day", "in", [days[0], days[2]])])
    assert rows(table, "day") == [(days[1],), (days[3],)]


@deletes.passes(
    "testPositionDeletes", "Rows are marked at their positions, and the file stays as it is."
)
def position_deletes(lake: Lake) -> None:
    table = lake.table("id INT", *[(n,) for n in range(8)], properties={"row_changes": "mark"})
    before = table.inspect.segments()["path"].to_pylist()
    table.delete([("id", "in", [0, 3, 6])])
    assert rows(table) == [(1,), (2,), (4,), (5,), (7,)]
    assert table.inspect.segments()["path"].to_pylist() == before


@deletes.passes("testMultiplePosDeleteFiles", "Marks of several commits on one file add up.")
def marks_add_up(lake: Lake) -> None:
    table = lake.table("id INT", *[(n,) for n in range(8)], properties={"row_changes": "mark"})
    table.delete([("id", "in", [0, 3])])
    table.delete([("id", "=", 6)])
    assert rows(table) == [(1,), (2,), (4,), (5,), (7,)]
    assert table.count() == 5


@deletes.passes("testEqualityDeleteByNull", "Rows are deleted because a column is null.")
def delete_nulls(lake: Lake) -> None:
    table = lake.table("id INT, data STRING", (1, "a"), (2, None))
    table.delete([("data", "is null", None)])
    assert rows(table) == [(1, "a")]


@deletes.passes("testEqualityDeleteBinaryColumn", "Rows are deleted by a BINARY.")
def delete_binary(lake: Lake) -> None:
    table = lake.table("id INT, b BINARY", (1, b"\x01"), (2, b"\x02"))
    table.delete([("b", "=", b"\x02")])
    assert rows(table) == [(1, b"\x01")]


@partitioning.passes("testAddIdentityByName", "A column becomes a partition field.")
def identity_field(lake: Lake) -> None:
    table = lake.table("id BIGINT, category STRING", (1, "a"))
    alter(table, "ADD PARTITION FIELD category")
    put(table, (2, "b"))
    assert table.partitioning == ["category"]
    assert rows(table, filters=[("category", "=", "b")]) == [(2, "b")]


def day_spec(lake: Lake, *fields: str) -> Table:
    table = lake.table("id BIGINT, ts TIMESTAMP, category STRING, data STRING")
    table.alter().set_partitioning(list(fields)).commit()
    return table


@partitioning.passes(
    "testMultipleAdds", "Fields by hour, bucket and truncation are added together."
)
def several_fields(lake: Lake) -> None:
    table = day_spec(lake, "bucket(16, id)", "hours(ts)", "truncate(4, data)")
    put(table, (1, dt.datetime(2026, 1, 1, 5, tzinfo=dt.UTC), "c", "abcdef"))
    assert table.partitioning == ["bucket(16, id)", "hours(ts)", "truncate(4, data)"]
    assert rows(table, "id", filters=[("data", "=", "abcdef")]) == [(1,)]
    assert rows(table, "id", filters=[("data", "=", "abce")]) == []


@partitioning.passes(
    "testRemoveDayByEquivalent", "A partition field is removed by its transform; its files stay."
)
def remove_field(lake: Lake) -> None:
    table = day_spec(lake, "days(ts)", "category")
    put(table, (1, dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "c", "x"))
    alter(table, "DROP PARTITION FIELD days(ts)")
    assert table.partitioning == ["category"]
    assert rows(table, "id") == [(1,)]


@partitioning.passes(
    "testRemoveUnknownFieldByEquivalent", "A partition field that is not there can't be removed."
)
def remove_unknown(lake: Lake) -> None:
    with refused("not partitioned by hours.ts."):
        alter(day_spec(lake, "days(ts)"), "DROP PARTITION FIELD hours(ts)")


@partitioning.passes("testAddDuplicateByRef", "A partition field can't be added twice.")
def duplicate_field(lake: Lake) -> None:
    with refused("partitioned by category already"):
        alter(day_spec(lake, "category"), "ADD PARTITION FIELD category")


@partitioning.passes(
    "testRemoveAndAddMultiTimes", "A field is removed and added again, several times."
)
def add_and_remove(lake: Lake) -> None:
    table = day_spec(lake, "days(ts)")
    for _ in range(3):
        alter(table, "DROP PARTITION FIELD days(ts)")
        alter(table, "ADD PARTITION FIELD days(ts)")
    assert table.partitioning == ["days(ts)"]
