"""Situations of Apache Iceberg: rows in files of earlier schemas, filters, and commits."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa

from conformance.lake import (
    Lake,
    alter,
    arrow,
    changed,
    ids,
    put,
    refused,
    rows,
    segments,
    shown,
)
from conformance.registry import Situation, Source
from versioned_catalog import CommitConflictError, InvalidRequestError, NotFoundError, Table

SITUATIONS: list[Situation] = []
CORE = "core/src/test/java/org/apache/iceberg"
DATA = "data/src/test/java/org/apache/iceberg/data"
projection = Source("iceberg", f"{DATA}/TestReadProjection.java", SITUATIONS)
defaults = Source("iceberg", f"{CORE}/data/DataTestBase.java", SITUATIONS)
spec = Source("iceberg", "format/spec.md", SITUATIONS)
metrics = Source("iceberg", f"{DATA}/TestMetricsRowGroupFilter.java", SITUATIONS)
deletes = Source("iceberg", f"{DATA}/DeleteReadTests.java", SITUATIONS)
partitioning = Source("iceberg", f"{CORE}/TestUpdatePartitionSpec.java", SITUATIONS)
overwrite = Source("iceberg", f"{CORE}/TestOverwriteWithValidation.java", SITUATIONS)
partitions = Source("iceberg", f"{CORE}/TestReplacePartitions.java", SITUATIONS)
refs = Source("iceberg", f"{CORE}/TestSnapshotManager.java", SITUATIONS)
expiry = Source("iceberg", f"{CORE}/TestRemoveSnapshots.java", SITUATIONS)
commits = Source("iceberg", f"{CORE}/TestTransaction.java", SITUATIONS)


@projection.passes("testFullProjection", "All columns are read as they were written.")
def full_projection(lake: Lake) -> None:
    assert rows(lake.table("id BIGINT NOT NULL, data STRING", (34, "test"))) == [(34, "test")]


@projection.passes(
    "testSpecialCharacterProjection", "Columns named `user id` and `data%0` are read."
)
def special_characters(lake: Lake) -> None:
    table = lake.table("`user id` BIGINT NOT NULL, `data%0` STRING", (34, "test"))
    assert rows(table, "data%0") == [("test",)]
    assert rows(table, "user id") == [(34,)]


@projection.passes(
    "testReorderedFullProjection", "Columns in another order than in the file are read right."
)
def reordered(lake: Lake) -> None:
    table = lake.table("id BIGINT NOT NULL, data STRING", (34, "test"))
    alter(table, "ALTER COLUMN data FIRST")
    assert rows(table) == [("test", 34)]


@projection.passes(
    "testReorderedProjection", "Columns that the file lacks are null, before and after others."
)
def reordered_with_missing(lake: Lake) -> None:
    table = lake.table("id BIGINT NOT NULL, data STRING", (34, "test"))
    table.alter().add_column("m1", "STRING", first=True).add_column("m2", "BIGINT").commit()
    assert rows(table, "m1", "data", "m2") == [(None, "test", None)]


@projection.passes(
    "testRenamedAddedField",
    "After d becomes c and another d is added, c has the old values and d has none.",
)
def renamed_and_added(lake: Lake) -> None:
    table = lake.table("a BIGINT, b BIGINT, d BIGINT", (100, 200, 300))
    alter(table, "RENAME COLUMN d TO c")
    alter(table, "ADD COLUMN d BIGINT")
    assert rows(table, "a", "b", "c", "d") == [(100, 200, 300, None)]


@projection.passes("testEmptyProjection", "A projection without columns has rows without values.")
def empty_projection(lake: Lake) -> None:
    table = lake.table("id BIGINT, data STRING", (34, "test"), (35, None))
    scanned = table.scan([]).to_arrow()
    assert (scanned.num_rows, scanned.num_columns) == (2, 0)


@projection.passes("testBasicProjection", "Only the columns that are asked for are read.")
def basic_projection(lake: Lake) -> None:
    table = lake.table("id BIGINT, data STRING, time TIMESTAMP", (34, "test", None))
    assert rows(table, "id") == [(34,)]
    assert rows(table, "data") == [("test",)]


@projection.passes("testRename", "A renamed column has its values of before.")
def renamed(lake: Lake) -> None:
    table = lake.table("id BIGINT, data STRING", (34, "test"))
    alter(table, "RENAME COLUMN data TO renamed")
    assert rows(table, "id", "renamed") == [(34, "test")]


@projection.passes(
    "testNestedStructProjection", "A struct shows the fields that are left, in any file."
)
def nested_projection(lake: Lake) -> None:
    table = lake.table(
        "id BIGINT, location STRUCT<lat: FLOAT, long: FLOAT>", (34, {"lat": 52.5, "long": -1.5})
    )
    alter(table, "DROP COLUMN location.long")
    assert rows(table, "location") == [({"lat": 52.5},)]


@projection.passes("testMapProjection", "A map is read whole.")
def map_projection(lake: Lake) -> None:
    table = lake.table("id BIGINT, p MAP<STRING, STRING>", (34, [("a", "A"), ("b", "B")]))
    assert rows(table, "p") == [([("a", "A"), ("b", "B")],)]


@projection.passes(
    "testMapOfStructsProjection", "Structs in a map's values lose, and rename, their fields."
)
def map_of_structs(lake: Lake) -> None:
    value = [("L1", {"lat": 53.5, "long": -1.5}), ("L2", {"lat": 52.5, "long": 0.5})]
    table = lake.table("m MAP<STRING, STRUCT<lat: FLOAT, long: FLOAT>>", (value,))
    alter(table, "DROP COLUMN m.value.long")
    alter(table, "RENAME COLUMN m.value.lat TO latitude")
    assert rows(table) == [([("L1", {"latitude": 53.5}), ("L2", {"latitude": 52.5})],)]


@projection.passes("testListProjection", "An array is read whole.")
def list_projection(lake: Lake) -> None:
    assert rows(lake.table("id BIGINT, v ARRAY<BIGINT>", (1, [56, 57, None])), "v") == [
        ([56, 57, None],)
    ]


@projection.passes(
    "testListOfStructsProjection", "Structs in an array lose, rename and gain fields."
)
def list_of_structs(lake: Lake) -> None:
    table = lake.table(
        "p ARRAY<STRUCT<x: INT, y: INT>>", ([{"x": 1, "y": 2}, {"x": 3, "y": None}],)
    )
    alter(table, "DROP COLUMN p.element.x")
    alter(table, "RENAME COLUMN p.element.y TO yy")
    alter(table, "ADD COLUMN p.element.z INT FIRST")
    assert rows(table) == [([{"z": None, "yy": 2}, {"z": None, "yy": None}],)]


@projection.passes(
    "testAddedFieldsWithRequiredChildren",
    "An optional struct with required fields is added; old rows have none.",
)
def added_with_required(lake: Lake) -> None:
    table = lake.table("a BIGINT", (100,))
    alter(table, "ADD COLUMN b STRUCT<c: BIGINT NOT NULL>")
    alter(table, "ADD COLUMN d ARRAY<BIGINT>")
    alter(table, "ADD COLUMN e MAP<STRING, BIGINT>")
    assert rows(table) == [(100, None, None, None)]


@defaults.passes(
    "testDefaultValues",
    "Missing columns have their defaults; a column that is in the file does not.",
)
def default_values(lake: Lake) -> None:
    table = lake.table("id BIGINT, data STRING DEFAULT 'wrong!'")
    put(table, (1, None), (2, "b"))
    alter(table, "ADD COLUMN missing_str STRING NOT NULL DEFAULT 'orange'")
    alter(table, "ADD COLUMN missing_int INT DEFAULT 34")
    assert rows(table) == [(1, None, "orange", 34), (2, "b", "orange", 34)]


@defaults.passes("testNullDefaultValue", "A missing column without a default is null.")
def null_default(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    alter(table, "ADD COLUMN d DATE")
    assert rows(table) == [(1, None)]


@defaults.passes(
    "testNestedDefaultValue",
    "A missing field of a struct has its default, here -0.0; a null struct stays null.",
)
def nested_default(lake: Lake) -> None:
    table = lake.table("id BIGINT, nested STRUCT<inner: STRING>", (1, {"inner": "a"}), (2, None))
    table.alter().add_column("nested.f", "FLOAT", default=-0.0).commit()
    found = rows(table)
    assert found == [(1, {"inner": "a", "f": 0.0}), (2, None)]
    assert math.copysign(1, found[0][1]["f"]) == -1


@defaults.passes(
    "testMapNestedDefaultValue", "A missing field of structs in a map's values has its default."
)
def map_default(lake: Lake) -> None:
    table = lake.table("m MAP<STRING, STRUCT<s: STRING>>", ([("k", {"s": "a"})],))
    table.alter().add_column("m.value.n", "INT", default=34).commit()
    assert rows(table) == [([("k", {"s": "a", "n": 34})],)]


@defaults.passes(
    "testListNestedDefaultValue", "A missing field of structs in an array has its default."
)
def list_default(lake: Lake) -> None:
    table = lake.table("l ARRAY<STRUCT<s: STRING>>", ([{"s": "a"}, None],))
    table.alter().add_column("l.element.n", "INT", default=34).commit()
    assert rows(table) == [([{"s": "a", "n": 34}, None],)]


@defaults.passes(
    "testPrimitiveTypeDefaultValues", "A default of each primitive type is shown exactly."
)
def primitive_defaults(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    utc = dt.datetime(2024, 12, 17, 23, 59, 59, 999999, dt.UTC)
    values = {
        "BOOLEAN": False,
        "INT": 34,
        "BIGINT": 4_900_000_000,
        "DOUBLE": -0.0,
        "DATE": dt.date(2024, 12, 17),
        "TIMESTAMP": utc,
        "TIMESTAMP_NTZ": utc.replace(tzinfo=None),
        "STRING": "iceberg",
        "BINARY": b"\x0a\x0b",
        "DECIMAL(9,2)": Decimal("12.34"),
    }
    change = table.alter()
    for number, (type_, value) in enumerate(values.items()):
        change.add_column(f"c{number}", type_, default=value)
    change.commit()
    assert rows(table) == [(1, *values.values())]


@defaults.passes(
    "testMissingRequiredWithoutDefault",
    "A required column without a default can't be added to rows that lack it.",
)
def missing_required(lake: Lake) -> None:
    table = lake.table("id BIGINT", (1,))
    with refused("missing_str can't be added NOT NULL without a default"):
        alter(table, "ADD COLUMN missing_str STRING NOT NULL")


@defaults.passes(
    "testWriteNullValueForRequiredType",
    "A null in a required column is refused when it is written.",
)
def null_in_required(lake: Lake) -> None:
    table = lake.table("id BIGINT NOT NULL, string STRING NOT NULL")
    with refused("string is NOT NULL"):
        put(table, (42, None))
    assert rows(table) == []


@spec.passes(
    "Column Projection: measurement, name, a",
    "A file of a, b, c is read as c renamed, b renamed, and a new column a, which is null.",
)
def spec_projection(lake: Lake) -> None:
    table = lake.table("a INT, b STRING, c DOUBLE", (1, "x", 0.5))
    table.alter().drop_column("a").rename_column("c", "measurement").rename_column(
        "b", "name"
    ).commit()
    alter(table, "ADD COLUMN a INT")
    assert rows(table, "measurement", "name", "a") == [(0.5, "x", None)]


@spec.passes(
    "Schema Evolution: date to timestamp",
    "A DATE is promoted to a timestamp without time zone, and to none with one.",
)
def spec_dates(lake: Lake) -> None:
    table = lake.table("d DATE", (dt.date(1969, 12, 31),))
    with refused("from DATE to TIMESTAMP"):
        alter(table, "ALTER COLUMN d TYPE TIMESTAMP")
    alter(table, "ALTER COLUMN d TYPE TIMESTAMP_NTZ")
    assert rows(table) == [(dt.datetime(1969, 12, 31),)]


@spec.passes(
    "Schema Evolution: bounds of before",
    "Bounds of a file that was written as FLOAT count as DOUBLE after a promotion.",
)
def spec_bounds(lake: Lake) -> None:
    table = lake.table("f FLOAT", (0.1,), (2.5,))
    alter(table, "ALTER COLUMN f TYPE DOUBLE")
    stored = 0.10000000149011612  # the FLOAT nearest to 0.1
    assert rows(table, filters=[("f", "=", stored)]) == [(stored,)]
    assert rows(table, filters=[("f", "=", 0.1)]) == []
    assert rows(table, filters=[("f", ">", 2.4)]) == [(2.5,)]


@spec.passes(
    "Schema Evolution: partition sources",
    "An INT that is the source of a bucket is promoted to BIGINT, which hashes alike.",
)
def spec_bucket(lake: Lake) -> None:
    table = lake.table("id INT", (34,), partitioned_by=["bucket(16, id)"])
    alter(table, "ALTER COLUMN id TYPE BIGINT")
    put(table, (34,))
    values = table.inspect.partitions().to_pylist()
    assert len(values) == 1
    assert rows(table, filters=[("id", "=", 34)]) == [(34,), (34,)]


@spec.passes(
    "Schema Evolution: grouping fields",
    "Fields don't move into a new struct, nor a primitive into a struct of one field.",
)
def spec_grouping(lake: Lake) -> None:
    table = lake.table("a INT, m MAP<STRING, INT>")
    with refused("from INT to a STRUCT"):
        alter(table, "ALTER COLUMN a TYPE STRUCT<a: INT>")
    with refused("from INT to a STRUCT"):
        alter(table, "ALTER COLUMN m.value TYPE STRUCT<v: INT>")


@spec.passes(
    "Default values: omitted columns",
    "A writer that leaves a column out writes its write default, not null.",
)
def spec_omitted(lake: Lake) -> None:
    table = lake.table("id INT, n INT DEFAULT 7, s STRING NOT NULL")
    with refused("s is NOT NULL and has no default"):
        put(table, (1,), columns=["id"])
    put(table, (1, "x"), columns=["id", "s"])
    alter(table, "ALTER COLUMN n SET DEFAULT 8")
    assert rows(table) == [(1, 7, "x")]


@spec.passes(
    "Default values: fields of a struct that is given",
    "A struct that is given without a field takes that field's default.",
)
def spec_fields(lake: Lake) -> None:
    table = lake.table("id INT, point STRUCT<x: INT, y: INT>")
    table.alter().set_default("point.x", 0).set_default("point.y", 0).commit()
    table.append(
        pa.table(
            {"id": pa.array([1], pa.int32()), "point": [{"x": 3}]},
            pa.schema([("id", pa.int32()), ("point", pa.struct([("x", pa.int32())]))]),
        )
    )
    assert rows(table) == [(1, {"x": 3, "y": 0})]


@spec.passes(
    "Default values: a missing struct",
    "A struct without a default is null where it is missing, whatever its fields' defaults are.",
)
def spec_missing_struct(lake: Lake) -> None:
    table = lake.table("id INT, point STRUCT<x: INT, y: INT>")
    table.alter().set_default("point.x", 0).set_default("point.y", 0).commit()
    put(table, (1,))
    assert rows(table) == [(1, None)]


@spec.passes(
    "Row-level Deletes: sequence numbers", "A delete does not touch rows that are added after it."
)
def spec_sequence(lake: Lake) -> None:
    table = lake.table("id INT", (1,), (2,))
    table.delete([("id", "=", 1)])
    put(table, (1,))
    assert rows(table) == [(1,), (2,)]


@spec.passes(
    "Partition Evolution",
    "Files keep the partitioning they were written with; filters skip files of both.",
)
def spec_partition_evolution(lake: Lake) -> None:
    table = lake.table("id INT, day DATE", (1, dt.date(2026, 1, 1)), partitioned_by=["day"])
    put(table, (2, dt.date(2026, 1, 2)))
    table.alter().set_partitioning(["months(day)"]).commit()
    put(table, (3, dt.date(2026, 1, 2)), (4, dt.date(2026, 2, 1)))
    found = table.scan(filters=[("day", "=", dt.date(2026, 1, 2))])
    assert sorted(found.to_arrow()["id"].to_pylist()) == [2, 3]
    assert segments(table) == 4


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


@metrics.differs(
    "testNotNaN",
    "Files are skipped by the number of NaN in them, and comparisons never match NaN.",
    "NaN equals itself and is greater than all other values, as in Spark; so `f > 100` finds it.",
)
def nan_is_greatest(lake: Lake) -> None:
    table = several(lake)
    assert len(rows(table, "n", filters=[("f", ">", 100.0)])) == 10
    assert len(rows(table, "n", filters=[("f", "=", math.nan)])) == 10
    assert len(rows(table, "n", filters=[("f", "<", 100.0)])) == 10


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


@metrics.passes("testZeroRecordFileParquet", "Files without rows are read.")
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


def day_spec(lake: Lake, *fields: str) -> Table:
    table = lake.table("id BIGINT, ts TIMESTAMP, category STRING, data STRING")
    table.alter().set_partitioning(list(fields)).commit()
    return table


@partitioning.passes("testAddIdentityByName", "A column becomes a partition field.")
def identity_field(lake: Lake) -> None:
    table = lake.table("id BIGINT, category STRING", (1, "a"))
    alter(table, "ADD PARTITION FIELD category")
    put(table, (2, "b"))
    assert table.partitioning == ["category"]
    assert rows(table, filters=[("category", "=", "b")]) == [(2, "b")]


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


def days(lake: Lake, *options: tuple[str, str]) -> tuple[Table, Table]:
    """A table of two days, and the same as another writer sees it."""
    table = lake.table("day INT, id INT", (1, 1), partitioned_by=["day"], properties=dict(options))
    put(table, (2, 2))
    return table, lake.catalog.load_table("t")


NOW = dt.timedelta(0)
SERIALIZABLE = ("isolation", "serializable")


@overwrite.passes(
    "testOverwriteTableNotValidated", "An overwrite replaces the files that match its filter."
)
def overwritten(lake: Lake) -> None:
    table, _ = days(lake)
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (2, 20)]


@overwrite.passes(
    "testOverwriteCompatibleAdditionValidated",
    "An overwrite of one day is not disturbed by rows that are added to another meanwhile.",
)
def compatible_addition(lake: Lake) -> None:
    table, other = days(lake, SERIALIZABLE)
    put(other, (1, 10))
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (1, 10), (2, 20)]


@overwrite.passes(
    "testOverwriteIncompatibleAdditionValidated",
    "An overwrite of one day fails if rows were added to that day meanwhile, if it is serializable.",
)
def incompatible_addition(lake: Lake) -> None:
    table, other = days(lake, SERIALIZABLE)
    put(other, (2, 22))
    with refused("looked for .isolation=serializable", CommitConflictError):
        table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (2, 2), (2, 22)]


@overwrite.passes(
    "testOverwriteIncompatibleDeletionValidated",
    "An overwrite fails if the file that it replaces was deleted meanwhile.",
)
def incompatible_deletion(lake: Lake) -> None:
    table, other = days(lake)
    other.delete([("day", "=", 2)])
    with refused("removed by another commit", CommitConflictError):
        table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1)]


@overwrite.passes(
    "testOverwriteCompatibleDeletionValidated",
    "An overwrite of one day is not disturbed by a deletion of another one.",
)
def compatible_deletion(lake: Lake) -> None:
    table, other = days(lake, SERIALIZABLE)
    other.delete([("day", "=", 1)])
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(2, 20)]


@overwrite.passes(
    "testOverwriteCompatibleRewriteAllowed",
    "An overwrite of one day is not disturbed by a compaction of another.",
)
def compatible_rewrite(lake: Lake) -> None:
    table, other = days(lake, SERIALIZABLE)
    put(table, (1, 10))
    other.refresh().maintenance.compact(strategy="full", filters=[("day", "=", 1)])
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (1, 10), (2, 20)]


@overwrite.passes(
    "testConcurrentNonConflictingPositionDeletes",
    "An overwrite of one day is not disturbed by rows that are marked in another file meanwhile.",
)
def marks_elsewhere(lake: Lake) -> None:
    table, other = days(lake, ("row_changes", "mark"))
    put(other, (1, 10))
    table.refresh()
    other.refresh().delete([("id", "=", 10)])
    table.overwrite_where(arrow(table, [(2, 20)]), [("day", "=", 2)])
    assert rows(table) == [(1, 1), (2, 20)]


@partitions.passes(
    "testReplaceOnePartition", "Partitions that new rows are in are replaced, and others stay."
)
def replace_partition(lake: Lake) -> None:
    table, _ = days(lake)
    table.overwrite_partitions(arrow(table, [(2, 20)]))
    assert rows(table) == [(1, 1), (2, 20)]


@partitions.passes(
    "testReplaceWithUnpartitionedTable", "Without a partitioning, all rows are replaced."
)
def replace_unpartitioned(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.overwrite_partitions(arrow(table, [(2,)]))
    assert rows(table) == [(2,)]


@partitions.passes(
    "testConcurrentReplaceNoConflict", "Two writers replace different partitions at once."
)
def replace_two(lake: Lake) -> None:
    table, other = days(lake)
    other.overwrite_partitions(arrow(table, [(1, 10)]))
    table.overwrite_partitions(arrow(table, [(2, 20)]))
    assert rows(table) == [(1, 10), (2, 20)]


@partitions.passes(
    "testConcurrentReplaceConflict", "Two writers replace one partition at once: one is refused."
)
def replace_same(lake: Lake) -> None:
    table, other = days(lake)
    other.overwrite_partitions(arrow(table, [(2, 22)]))
    with refused("removed by another commit", CommitConflictError):
        table.overwrite_partitions(arrow(table, [(2, 20)]))
    assert rows(table) == [(1, 1), (2, 22)]


@partitions.passes(
    "testValidateWithNullPartition", "The partition of nulls is replaced as any other."
)
def replace_null(lake: Lake) -> None:
    table, _ = days(lake)
    put(table, (None, 5))
    table.overwrite_partitions(arrow(table, [(None, 50)]))
    assert rows(table) == [(1, 1), (2, 2), (None, 50)]


@refs.passes(
    "testCreateBranch", "A branch begins at a snapshot, and commits to it leave the table alone."
)
def branch(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.create_branch("b1")
    put(table.branch("b1"), (2,))
    assert rows(table) == [(1,)]
    assert rows(table.branch("b1")) == [(1,), (2,)]


@refs.passes("testCreateBranchOnEmptyTable", "A branch begins on a table without rows.")
def branch_of_empty(lake: Lake) -> None:
    table = lake.table("id INT")
    table.create_branch("b1")
    put(table.branch("b1"), (2,))
    assert rows(table) == []
    assert rows(table.branch("b1")) == [(2,)]


@refs.passes("testCreateBranchFailsWhenRefAlreadyExists", "A second branch of one name is refused.")
def branch_twice(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.create_branch("b1")
    with refused("has a branch 'b1' already"):
        table.create_branch("b1")


@refs.passes("testCreateTag", "A tag names a snapshot, and still does after further commits.")
def tag(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.set_tag("t1")
    put(table, (2,))
    assert rows(table, version="t1") == [(1,)]


@refs.differs(
    "testCreateTagFailsWhenRefAlreadyExists",
    "A second tag of one name is refused.",
    "`set_tag` moves a tag that exists; CREATE TAG in SQL refuses one, as Iceberg does.",
)
def tag_twice(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.set_tag("t1")
    put(table, (2,))
    table.set_tag("t1")
    assert rows(table, version="t1") == [(1,), (2,)]


@refs.passes("testRemovingNonExistingTagFails", "A tag that does not exist can't be removed.")
def drop_missing_tag(lake: Lake) -> None:
    with refused("no tag 'none'", NotFoundError):
        lake.table("id INT", (1,)).drop_tag("none")


@refs.passes("testRemovingNonExistingBranchFails", "A branch that does not exist can't be removed.")
def drop_missing_branch(lake: Lake) -> None:
    with refused("no branch 'none'", NotFoundError):
        lake.table("id INT", (1,)).drop_branch("none")


@refs.passes("testRemovingMainBranchFails", "The main branch can't be removed.")
def drop_main(lake: Lake) -> None:
    with refused("no branch 'main'"):
        lake.table("id INT", (1,)).drop_branch("main")


@refs.passes("testFastForward", "The table takes over what its branch has committed.")
def fast_forward(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.create_branch("b1")
    put(table.branch("b1"), (2,))
    table.merge_branch("b1", fast_forward=True)
    assert rows(table) == [(1,), (2,)]


@refs.passes(
    "testFastForwardWhenFromIsNotAncestorFails",
    "A fast-forward is refused if the table has gone on meanwhile.",
)
def no_fast_forward(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.create_branch("b1")
    put(table.branch("b1"), (2,))
    put(table, (3,))
    with refused("has changed since the branch 'b1' began"):
        table.merge_branch("b1", fast_forward=True)
    assert rows(table) == [(1,), (3,)]


@refs.passes("testReplaceTag", "A tag is moved to another snapshot.")
def move_tag(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.set_tag("t1")
    put(table, (2,))
    table.set_tag("t1")
    assert table.tags["t1"] == 3  # after the creation, a row, the tag, another row


@refs.passes(
    "testAttemptToRollbackToCurrentSnapshot", "A rollback to the current snapshot changes no rows."
)
def rollback_to_now(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.rollback(table.version)
    assert rows(table) == [(1,)]


@refs.passes(
    "testCreateReferencesAndRollback", "A rollback moves the table, and not its branches and tags."
)
def rollback_keeps_refs(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    put(table, (2,))
    table.create_branch("b1")
    table.set_tag("t1", 2)
    table.rollback(1)
    assert rows(table) == [(1,)]
    assert rows(table.branch("b1")) == [(1,), (2,)]
    assert rows(table, version="t1") == [(1,), (2,)]


@expiry.passes(
    "testExpireOlderThan", "Snapshots before a time are expired; the newest stays and is read."
)
def expire(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    put(table, (2,))
    table.maintenance.expire(NOW, dry_run=False, force=True)
    assert rows(table) == [(1,), (2,)]
    with refused("expired", NotFoundError):
        table.refresh().scan(version=1)


@expiry.passes(
    "testFailRemovingSnapshotWhenStillReferencedByTag",
    "A snapshot that a tag names is not expired.",
)
def expire_keeps_tag(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    table.set_tag("t1")
    table.truncate()
    put(table, (2,))
    table.maintenance.expire(NOW, dry_run=False, force=True)
    table.maintenance.vacuum(NOW, dry_run=False, force=True)
    assert rows(table, version="t1") == [(1,)]


@expiry.passes(
    "testRetainNLargerThanCurrentSnapshots",
    "If more snapshots are kept than there are, none is expired.",
)
def expire_nothing(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    put(table, (2,))
    table.maintenance.expire(NOW, 100, dry_run=False, force=True)
    assert rows(table, version=1) == [(1,)]


@expiry.passes("testRetainZeroSnapshots", "Keeping no snapshot at all is refused.")
def expire_all(lake: Lake) -> None:
    with refused("keep_last", InvalidRequestError):
        lake.table("id INT", (1,)).maintenance.expire(NOW, 0, force=True)


@commits.passes(
    "testMultipleOperationTransaction", "Several changes of a schema are committed together."
)
def several_changes(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    before = table.version
    table.alter().add_column("a", "INT").add_column("b", "INT").set_property("my.key", "x").commit()
    assert table.version == before + 1
    assert (shown(table), table.properties["my.key"]) == ("id INT, a INT, b INT", "x")


@commits.passes("testEmptyTransaction", "A transaction without changes makes no commit.")
def no_change(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    assert table.delete([("id", "=", 99)]) == table.version == 1


@commits.passes(
    "testTransactionRetrySchemaUpdate",
    "Two writers add different columns at once, and both columns are there.",
)
def two_schema_changes(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    other = lake.catalog.load_table("t")
    other.alter().add_column("a", "INT").commit()
    table.alter().add_column("b", "INT").commit()
    assert shown(table) == "id INT, a INT, b INT"
    assert ids(table, "a", "b") == [2, 3]


@commits.passes(
    "testTransactionRetryMergeAppend", "An append is committed after one that came before it."
)
def two_appends(lake: Lake) -> None:
    table = lake.table("id INT", (1,))
    other = lake.catalog.load_table("t")
    put(other, (2,))
    put(table, (3,))
    assert rows(table) == [(1,), (2,), (3,)]
    assert changed(table, 3) == [("insert", 3)]
