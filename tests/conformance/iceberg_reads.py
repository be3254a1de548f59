"""Situations of Apache Iceberg: rows of earlier schemas, defaults, and its specification."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa

from conformance.lake import (
    Lake,
    alter,
    put,
    refused,
    rows,
    segments,
)
from conformance.registry import Situation, Source

SITUATIONS: list[Situation] = []
CORE = "core/src/test/java/org/apache/iceberg"
DATA = "data/src/test/java/org/apache/iceberg/data"
projection = Source("iceberg", f"{DATA}/TestReadProjection.java", SITUATIONS)
defaults = Source("iceberg", f"{CORE}/data/DataTestBase.java", SITUATIONS)
spec = Source("iceberg", "format/spec.md", SITUATIONS)


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
