"""Pitfalls of native scans in Spark, one a test; most run on all three read paths.

Needs a JVM because Spark's Parquet reader and filter translation are tested.
"""

from __future__ import annotations

import datetime as dt
import glob
import math
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from pairwise import most_at_night
from sql.plans import is_native, is_python, plan_of, pruned
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def integers(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32())


def column(frame: DataFrame, name: str) -> list[Any]:
    return sorted((row[name] for row in frame.select(name).collect()), key=repr)


@pytest.fixture
def make(catalog: Catalog, ns: str) -> Any:
    def table(ddl: str, **given: Any) -> Table:
        return catalog.create_table(f"{ns}.t", ddl, **given)

    return table


@pytest.fixture(
    params=[
        "SQL",
        pytest.param("io=python", marks=pytest.mark.nightly),
        pytest.param("load", marks=pytest.mark.nightly),
    ]
)
def read(request: pytest.FixtureRequest, sql_spark: SparkSession, ns: str, warehouse: Path) -> Any:
    """A function that reads the test's table on one of the read paths."""

    def load() -> DataFrame:
        match request.param:
            case "SQL":
                return sql_spark.table(f"versioned.{ns}.t")
            case "io=python":
                return sql_spark.read.option("io", "python").table(f"versioned.{ns}.t")
            case _:
                return sql_spark.read.format("versioned").load(str(warehouse / ns / "t"))

    return load


def test_a_column_added_again_is_not_the_dropped_one(make: Any, read: Any) -> None:
    table = make("a INT, b INT")
    table.append(pa.table({"a": integers(1, 2), "b": integers(10, 20)}))
    table.alter().drop_column("b").add_column("b", "int", default=999).commit()
    frame = read()
    assert column(frame.where("b = 10"), "a") == []
    assert column(frame.where("b > 500"), "a") == [1, 2]
    assert column(frame.where("b IS NULL"), "a") == []


def test_columns_that_swapped_names(make: Any, read: Any) -> None:
    table = make("a INT, b INT")
    table.append(pa.table({"a": integers(1), "b": integers(100)}))
    table.alter().rename_column("a", "x").rename_column("b", "a").rename_column("x", "b").commit()
    table.append(pa.table({"a": integers(5), "b": integers(500)}))
    assert column(read().where("a = 100"), "b") == [1]
    assert column(read().where("a = 1"), "b") == []
    assert column(read().where("b > 400"), "a") == [5]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "condition", ["g <= false", "g < true", "g >= false AND NOT g", "g IN (false)"]
)
def test_an_or_that_spark_translates_only_in_part(make: Any, read: Any, condition: str) -> None:
    """Spark drops the side of an OR that it can't translate to Parquet and pushes the other one down."""
    table = make("a INT, g BOOLEAN")
    table.append(pa.table({"a": integers(1, 2), "g": [False, True]}))
    frame = read()
    assert column(frame.where(f"a = 9 OR {condition}"), "a") == [1]
    assert column(frame.where(f"({condition}) OR a = 9"), "a") == [1]
    assert column(frame.where(f"NOT (a < 9 AND NOT ({condition}))"), "a") == [1]


def test_filters_on_columns_with_defaults(make: Any, read: Any) -> None:
    table = make("a INT")
    table.append(pa.table({"a": integers(1)}))
    table.alter().add_column("d", "int", default=7).add_column("n", "int").commit()
    table.append(pa.table({"a": integers(2), "d": integers(8), "n": integers(1)}))
    assert column(read().where("d = 7"), "a") == [1]
    assert column(read().where("d > 7"), "a") == [2]
    assert column(read().where("n IS NULL"), "a") == [1]
    assert column(read().where("n <=> 1"), "a") == [2]


def test_a_default_below_a_null_struct_stays_null(make: Any, read: Any) -> None:
    table = make("a INT, s STRUCT<x: INT>")
    rows = pa.array([{"x": 1}, None], pa.struct([("x", pa.int32())]))
    table.append(pa.table({"a": integers(1, 2), "s": rows}))
    table.alter().add_column("s.d", "int", default=7).commit()
    assert column(read().where("s.d = 7"), "a") == [1]
    assert column(read().where("s.d IS NULL"), "a") == [2]
    assert column(read().where("s IS NULL"), "a") == [2]


def test_a_struct_whose_fields_are_all_new(make: Any, read: Any, sql_spark: SparkSession) -> None:
    """Spark 4.1 and later detect nulls of such a struct, unless a setting prevents it."""
    legacy = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing"
    sql_spark.conf.set(legacy, True)
    table = make("a INT, s STRUCT<x: INT>")
    rows = pa.array([{"x": 1}, None], pa.struct([("x", pa.int32())]))
    table.append(pa.table({"a": integers(1, 2), "s": rows}))
    table.alter().add_column("s.y", "int").drop_column("s.x").commit()
    try:
        assert column(read().where("s IS NULL"), "a") == [2]
        assert [row.s for row in read().orderBy("a").collect()] == [(None,), None]
    finally:
        sql_spark.conf.unset(legacy)


def test_statistics_of_columns_with_only_nulls(make: Any, read: Any) -> None:
    table = make("a INT, b INT")
    table.append(pa.table({"a": integers(1, 2), "b": integers(None, None)}))
    table.append(pa.table({"a": integers(3), "b": integers(5)}))
    assert column(read().where("b IS NULL"), "a") == [1, 2]
    assert column(read().where("b = 5"), "a") == [3]
    assert column(read().where("NOT (b = 5)"), "a") == []
    assert column(read().where("b <=> null"), "a") == [1, 2]


def test_a_filter_beyond_the_range_of_the_old_type(make: Any, read: Any) -> None:
    table = make("a INT, d DECIMAL(4,2), t DATE")
    day = dt.date(2020, 1, 2)
    values = {
        "a": integers(1, 2**31 - 1),
        "d": pa.array([Decimal("1.25"), None], pa.decimal128(4, 2)),
    }
    table.append(pa.table({**values, "t": [day, day]}))
    table.alter().change_type("a", "long").change_type("d", "decimal(20,6)").change_type(
        "t", "timestamp_ntz"
    ).commit()
    assert column(read().where("a < 5000000000"), "a") == [1, 2**31 - 1]
    assert column(read().where("a = 4294967297"), "a") == []
    assert column(read().where("a > -5000000000 AND a < 2"), "a") == [1]
    assert column(read().where("d = 1.25"), "a") == [1]
    assert column(read().where("d < 1.250001 AND d > 1.249999"), "a") == [1]
    assert column(read().where("t > TIMESTAMP_NTZ'2020-01-01 23:59:59'"), "a") == [1, 2**31 - 1]
    assert column(read().where("t > TIMESTAMP_NTZ'2020-01-02 00:00:00'"), "a") == []


@pytest.mark.thorough
@pytest.mark.parametrize("type_, kind", [("DOUBLE", pa.float64()), ("FLOAT", pa.float32())])
def test_nan_and_zeros_of_both_signs(make: Any, read: Any, type_: str, kind: pa.DataType) -> None:
    table = make(f"a INT, x {type_}")
    # Repeated values make Parquet write dictionaries, whose filter distinguishes -0.0 from 0.0.
    for number, value in [(1, -0.0), (2, 0.0), (3, math.nan), (4, 1.0)]:
        table.append(pa.table({"a": integers(*[number] * 3), "x": pa.array([value] * 3, kind)}))
    table.append(pa.table({"a": integers(5, 6), "x": pa.array([1.0, math.nan], kind)}))

    def found(condition: str) -> set[int]:
        return set(column(read().where(condition), "a"))

    assert found("x = 0") == {1, 2}
    assert found("x >= 0") == {1, 2, 3, 4, 5, 6}
    assert found("x <= -0.0D") == {1, 2}
    assert found("x > 1") == {3, 6}
    assert found("x = double('NaN')") == {3, 6}
    assert found("x IN (double('NaN'), 0)") == {1, 2, 3, 6}
    assert found("x < double('NaN')") == {1, 2, 4, 5}


def test_days_missing_in_the_hybrid_calendar(make: Any, read: Any) -> None:
    """java.sql.Date has no 1582-10-10, so a filter converted to it would ask Parquet for another day."""
    table = make("a INT, d DATE, t TIMESTAMP")
    days = [dt.datetime(1582, 10, day, 1) for day in (4, 10, 14, 15)]
    for number, day in enumerate(days):
        times = pa.array([day.replace(tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))
        table.append(pa.table({"a": integers(number), "d": [day.date()], "t": times}))
    frame = read()
    for number, day in enumerate(days):
        assert column(frame.where(f"d = DATE'{day.date()}'"), "a") == [number]
        assert column(frame.where(f"t = TIMESTAMP'{day} UTC'"), "a") == [number]


@pytest.mark.parametrize("scheme", ["s3", "gs", "abfss", "memory"])
def test_storage_that_spark_has_no_file_system_for(sql_spark: SparkSession, scheme: str) -> None:
    """Hadoop's defaults name classes for some schemes that are not on the class path."""

    def is_reachable(url: str) -> bool:
        java = sql_spark._jvm
        folder = java.versioned.spark.protocol.HadoopFolder(url, java.java.util.HashMap())
        return bool(java.versioned.spark.internals.HadoopFolders.isReachable(folder))

    assert not is_reachable(f"{'s3a' if scheme == 's3' else scheme}://bucket/t")
    assert is_reachable("/tmp/t")


def test_strings_longer_than_their_truncated_bounds(make: Any, read: Any) -> None:
    table = make("a INT, s STRING")
    long = "x" * 70
    table.append(pa.table({"a": integers(1, 2), "s": [long + "a", long + "z"]}))
    table.append(pa.table({"a": integers(3), "s": ["\U0010ffff" * 70]}))
    assert column(read().where(f"s = '{long}z'"), "a") == [2]
    assert column(read().where(f"s > '{long}b'"), "a") == [2, 3]
    assert column(read().where(f"s LIKE '{long}%'"), "a") == [1, 2]


@pytest.mark.thorough
def test_a_bucketed_column_that_was_widened(make: Any, read: Any) -> None:
    table = make("a INT, d DECIMAL(4,2)", partitioned_by=["bucket(16, a)", "bucket(16, d)"])
    values = list(range(40))
    decimals = pa.array([Decimal(n) for n in values], pa.decimal128(4, 2))
    table.append(pa.table({"a": integers(*values), "d": decimals}))
    table.alter().change_type("a", "long").change_type("d", "decimal(12,4)").commit()
    # A value hashed as the wrong type is in another bucket 15 times out of 16, so a few values suffice.
    for n in values[::8]:
        assert column(read().where(f"a = {n}"), "a") == [n]
        assert column(read().where(f"d = {n}.0000"), "a") == [n]


def test_a_missing_segment_is_an_error_despite_ignore_settings(
    make: Any, read: Any, sql_spark: SparkSession, warehouse: Path, ns: str
) -> None:
    table = make("a INT")
    for n in range(3):
        table.append(pa.table({"a": integers(n)}))
    sql_spark.conf.set("spark.sql.files.ignoreMissingFiles", True)
    sql_spark.conf.set("spark.sql.files.ignoreCorruptFiles", True)
    try:
        frame = read()
        os.remove(glob.glob(str(warehouse / ns / "t" / "data" / "1-*"))[0])
        with pytest.raises(Exception, match=r"data/1-|PATH_NOT_FOUND"):
            frame.collect()
    finally:
        sql_spark.conf.unset("spark.sql.files.ignoreMissingFiles")
        sql_spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_two_versions_in_one_query(make: Any, sql_spark: SparkSession, ns: str) -> None:
    table = make("a INT, b INT")
    table.append(pa.table({"a": integers(1, 2), "b": integers(10, 20)}))
    table.overwrite(pa.table({"a": integers(2, 3), "b": integers(21, 31)}))
    name = f"versioned.{ns}.t"
    sql_spark.conf.set("spark.sql.adaptive.enabled", True)
    old = sql_spark.sql(f"SELECT * FROM {name} VERSION AS OF 1").cache()
    try:
        assert old.count() == 2
        joined = sql_spark.sql(
            f"SELECT x.a, x.b AS old, y.b AS new FROM {name} VERSION AS OF 1 x "
            f"JOIN {name} VERSION AS OF 2 y ON x.a = y.a"
        )
        assert [tuple(row) for row in joined.collect()] == [(2, 20, 21)]
        # If Spark took the two versions for equal, it would reuse one shuffle for both sides.
        sql_spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
        assert [tuple(row) for row in joined.select("*").collect()] == [(2, 20, 21)]
        now = sql_spark.table(name)
        both = now.union(old).groupBy("a").count().orderBy("a")
        assert [tuple(row) for row in both.collect()] == [(1, 1), (2, 2), (3, 1)]
        assert column(sql_spark.table(name), "b") == [21, 31]
    finally:
        sql_spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
        old.unpersist()


@pytest.mark.thorough
def test_a_cached_version_is_not_a_newer_one(make: Any, sql_spark: SparkSession, ns: str) -> None:
    table = make("a INT")
    table.append(pa.table({"a": integers(1)}))
    cached = sql_spark.read.format("versioned").load(table.location).cache()
    try:
        assert column(cached, "a") == [1]
        table.append(pa.table({"a": integers(2)}))
        assert column(sql_spark.read.format("versioned").load(table.location), "a") == [1, 2]
        assert column(cached, "a") == [1]
    finally:
        cached.unpersist()


@pytest.mark.thorough
def test_an_insert_planned_before_an_alter(
    make: Any, sql_spark: SparkSession, ns: str, tmp_path: Path
) -> None:
    """The ALTER lands while the rows are written; they keep the schema at planning time."""
    table = make("a INT, b INT")
    started, go = tmp_path / "started", tmp_path / "go"

    @f.udf("int")
    def slow(value: int) -> int:
        import time

        started.touch()
        while not go.exists():
            time.sleep(0.05)
        return value

    import threading

    frame = sql_spark.range(1, 3).selectExpr("CAST(id AS INT) AS a", "CAST(id AS INT) AS b")
    writing = threading.Thread(
        target=lambda: frame.select(slow("a").alias("a"), "b").writeTo(f"versioned.{ns}.t").append()
    )
    writing.start()
    while not started.exists():
        assert writing.is_alive()
    table.alter().rename_column("b", "c").add_column("d", "int", default=9).commit()
    go.touch()
    writing.join()
    rows = sql_spark.table(f"versioned.{ns}.t").orderBy("a").collect()
    assert [tuple(row) for row in rows] == [(1, 1, 9), (2, 2, 9)]
    assert table.refresh().version == 2
    segments = table.inspect.segments()
    assert segments["schema_version"].to_pylist() == [0] * segments.num_rows


def test_a_rename_between_planning_and_running(make: Any, sql_spark: SparkSession, ns: str) -> None:
    table = make("a INT, b INT")
    table.append(pa.table({"a": integers(1), "b": integers(10)}))
    sql_spark.table(f"versioned.{ns}.t").collect()
    frame = sql_spark.table(f"versioned.{ns}.t").where("b = 10")
    plan_of(frame)  # planned now
    table.alter().rename_column("a", "x").rename_column("b", "a").rename_column("x", "b").commit()
    rows = frame._jdf.queryExecution().executedPlan().executeCollectPublic()  # type: ignore[operator]
    assert [(row.getInt(0), row.getInt(1)) for row in rows] == [(1, 10)]


BAD = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.recordLevelFilter.enabled": "true",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.fieldId.write.enabled": "false",
    "spark.sql.parquet.compression.codec": "gzip",
}


@pytest.fixture
def bad_session(sql_spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which each setting that could affect reads or writes has an unsuitable value."""
    before = {key: sql_spark.conf.get(key) for key in BAD}
    for key, value in BAD.items():
        sql_spark.conf.set(key, value)
    yield sql_spark
    for key, value in before.items():
        sql_spark.conf.set(key, value)


def test_reads_ignore_the_settings_of_the_session(make: Any, read: Any, bad_session: Any) -> None:
    table = make("d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, b BINARY, x DECIMAL(30,2)")
    old, utc = dt.datetime(1500, 3, 4, 5, 6, 7), dt.UTC
    table.append(
        pa.table(
            {
                "d": [old.date()],
                "t": [old.replace(tzinfo=utc)],
                "n": [old],
                "b": [b"\xff\x00"],
                "x": pa.array([Decimal("1.25")], pa.decimal128(30, 2)),
            }
        )
    )
    (row,) = read().selectExpr("string(d)", "string(t)", "string(n)", "hex(b)", "x").collect()
    texts = ("1500-03-04", "1500-03-04 05:06:07", "1500-03-04 05:06:07")
    assert tuple(row) == (*texts, "FF00", Decimal("1.25"))


def test_writes_ignore_the_settings_of_the_session(
    make: Any, bad_session: SparkSession, ns: str, catalog: Catalog
) -> None:
    table = make("d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, x DECIMAL(10,2), l ARRAY<INT>")
    bad_session.sql(
        f"INSERT INTO versioned.{ns}.t VALUES (DATE'1500-03-04', TIMESTAMP'1500-03-04 05:06:07', "
        "TIMESTAMP_NTZ'1500-03-04 05:06:07', 1.25, array(1, null))"
    )
    old = dt.datetime(1500, 3, 4, 5, 6, 7)
    (row,) = table.refresh().scan().to_arrow().to_pylist()
    assert row == {
        "d": old.date(),
        "t": old.replace(tzinfo=dt.UTC),
        "n": old,
        "x": Decimal("1.25"),
        "l": [1, None],
    }


WIDENINGS = [
    ("BYTE", "SHORT"),
    ("BYTE", "INT"),
    ("BYTE", "LONG"),
    ("BYTE", "DOUBLE"),
    ("BYTE", "DECIMAL(12,2)"),
    ("SHORT", "INT"),
    ("SHORT", "LONG"),
    ("SHORT", "DOUBLE"),
    ("SHORT", "DECIMAL(10,0)"),
    ("INT", "LONG"),
    ("INT", "DOUBLE"),
    ("INT", "DECIMAL(10,0)"),
    ("INT", "DECIMAL(38,18)"),
    ("LONG", "DECIMAL(20,0)"),
    ("LONG", "DECIMAL(24,4)"),
    ("FLOAT", "DOUBLE"),
    ("DECIMAL(4,2)", "DECIMAL(8,2)"),
    ("DECIMAL(4,2)", "DECIMAL(12,4)"),
    ("DECIMAL(12,2)", "DECIMAL(30,6)"),
    ("DECIMAL(20,2)", "DECIMAL(38,2)"),
    ("DATE", "TIMESTAMP_NTZ"),
    ("CHAR(3)", "VARCHAR(4)"),
    ("VARCHAR(3)", "STRING"),
    ("CHAR(3)", "STRING"),
]
VALUES = {
    "BYTE": ["-128", "0", "127"],
    "SHORT": ["-32768", "32767"],
    "INT": ["-2147483648", "2147483647"],
    "LONG": ["-9223372036854775808", "9223372036854775807"],
    "FLOAT": ["0.1", "-0.0", "'NaN'", "3.4028235E38"],
    "DATE": ["'0001-01-01'", "'1500-02-28'", "'9999-12-31'"],
}


@pytest.mark.thorough
@pytest.mark.parametrize("vectorized", [True, False], ids=["columns", "rows"])
@pytest.mark.parametrize("writer", most_at_night({"native"}, ["native", "python"]))
def test_widened_columns_read_the_same_natively_and_in_python(
    sql_spark: SparkSession, catalog: Catalog, ns: str, writer: str, vectorized: bool
) -> None:
    """Each widening gives the same natively and in Python, for files of Spark and of Arrow."""
    sql_spark.conf.set("spark.versioned.io", writer)
    sql_spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    try:
        columns = ", ".join(f"c{n} {old}" for n, (old, _) in enumerate(WIDENINGS))
        name = f"versioned.{ns}.t"
        fields = ", ".join(f"c{n}: {old}" for n, (old, _) in enumerate(WIDENINGS))
        sql_spark.sql(f"CREATE TABLE {name} ({columns}, s STRUCT<{fields}>)")
        for n in range(4):
            values = [_value(old, n) for old, _ in WIDENINGS]
            names = ", ".join(f"'c{i}', {value}" for i, value in enumerate(values))
            sql_spark.sql(f"INSERT INTO {name} VALUES ({', '.join(values)}, named_struct({names}))")
        alteration = catalog.load_table(f"{ns}.t").alter()
        for n, (_, new) in enumerate(WIDENINGS):
            alteration.change_type(f"c{n}", new).change_type(f"s.c{n}", new)
        alteration.commit()
        sql_spark.conf.set("spark.versioned.io", "native")
        frame = sql_spark.table(name)
        other = sql_spark.read.option("io", "python").table(name)
        assert is_native(frame)
        assert is_python(other)
        shown = sorted(map(repr, frame.collect()))
        assert len(shown) == 4
        assert shown == sorted(map(repr, other.collect()))
    finally:
        sql_spark.conf.set("spark.versioned.io", "native")
        sql_spark.conf.set("spark.sql.parquet.enableVectorizedReader", True)


def _value(type_: str, n: int) -> str:
    if type_.startswith(("CHAR", "VARCHAR")):
        return ["'abc'", "'é'", "''", "null"][n]
    if type_.startswith("DECIMAL"):
        return [f"CAST(-1.25 AS {type_})", f"CAST(99.99 AS {type_})", "0", "null"][n]
    values = VALUES[type_]
    return f"CAST({values[n]} AS {type_})" if n < len(values) else "null"


def test_native_and_python_segments_in_one_scan(
    make: Any, read: Any, sql_spark: SparkSession, ns: str
) -> None:
    """Spark reads one segment and Python the other, whose missing nested column has a default."""
    table = make("a INT, s STRUCT<x: INT>")
    kind = pa.struct([("x", pa.int32())])
    table.append(pa.table({"a": integers(1), "s": pa.array([{"x": 1}], kind)}))
    table.alter().add_column("s.d", "string", default="old").commit()
    kind = pa.struct([("x", pa.int32()), ("d", pa.string())])
    table.append(pa.table({"a": integers(2), "s": pa.array([{"x": 2, "d": "new"}], kind)}))
    plan = plan_of(sql_spark.table(f"versioned.{ns}.t"))
    assert "native={1=1}, python={0=1}" in plan
    rows = read().orderBy("a").collect()
    assert [tuple(row) for row in rows] == [(1, (1, "old")), (2, (2, "new"))]


def test_segments_are_pruned(make: Any, sql_spark: SparkSession, ns: str) -> None:
    table = make("a INT, k STRING", partitioned_by=["k"])
    for n in range(4):
        table.append(pa.table({"a": integers(10 * n, 10 * n + 9), "k": [f"k{n}"] * 2}))
    table.alter().rename_column("a", "b").change_type("b", "long").commit()
    frame = sql_spark.table(f"versioned.{ns}.t")
    assert pruned(frame.where("b = 19")) == (3, 4)
    assert pruned(frame.where("k = 'k2'")) == (3, 4)
    assert pruned(frame.where("b > 15 AND k IN ('k0', 'k3')")) == (3, 4)
    assert pruned(frame.where("b + 1 = 20")) == (0, 4)
    assert is_native(frame)


def test_a_limit_reads_no_more_segments_than_it_needs(
    make: Any, sql_spark: SparkSession, ns: str
) -> None:
    table = make("a INT")
    for n in range(4):
        table.append(pa.table({"a": integers(n, n)}))
    frame = sql_spark.table(f"versioned.{ns}.t").limit(3)
    assert pruned(frame) == (2, 4)
    assert len(frame.collect()) == 3
    filtered = sql_spark.table(f"versioned.{ns}.t").where("a = 3").limit(1)
    assert [row.a for row in filtered.collect()] == [3]


def test_aggregates_from_metadata(make: Any, sql_spark: SparkSession, ns: str) -> None:
    table = make("a INT, x DOUBLE, s STRING")
    values = {"x": pa.array([1.5, None], pa.float64()), "s": ["b", "a"]}
    table.append(pa.table({"a": integers(1, 2), **values}))
    table.alter().change_type("a", "long").add_column("d", "int", default=7).commit()
    name = f"versioned.{ns}.t"

    def aggregate(columns: str) -> tuple[Any, bool]:
        frame = sql_spark.sql(f"SELECT {columns} FROM {name}")
        return tuple(frame.collect()[0]), "LocalTableScan" in plan_of(frame)

    known = "count(*), count(x), min(a), max(a), min(s), max(x), min(d), max(d), count(d)"
    assert aggregate(known) == ((2, 1, 1, 2, "a", 1.5, 7, 7, 2), True)
    assert aggregate("max(a + 1)") == ((3,), False)
    table.append(pa.table({"a": pa.array([3]), "x": [math.nan], "s": ["y" * 100]}))
    assert aggregate("max(s)") == (("y" * 100,), False)  # the bound was cut
    found, _ = aggregate("max(x)")
    assert math.isnan(found[0])


def test_a_join_skips_segments_while_it_runs(
    make: Any, sql_spark: SparkSession, ns: str, catalog: Catalog
) -> None:
    """Dynamic partition pruning: the small side selects the segments of the large one."""
    table = make("a INT, k INT", partitioned_by=["k"])
    for n in range(8):
        table.append(pa.table({"a": integers(n), "k": integers(n)}))
    small = catalog.create_table(f"{ns}.small", "k INT, word STRING")
    small.append(pa.table({"k": integers(3, 100), "word": ["yes", "no"]}))
    frame = sql_spark.sql(
        f"SELECT a FROM versioned.{ns}.t t JOIN versioned.{ns}.small s ON t.k = s.k "
        "WHERE s.word = 'yes'"
    )
    assert "BroadcastHashJoin" in plan_of(frame)  # the size that the scan reports is small
    assert "dynamicpruning" in plan_of(frame)
    assert [row.a for row in frame.collect()] == [3]
    assert "pruned: 7 of 8" in plan_of(frame)


def test_secrets_are_not_shown(
    sql_spark: SparkSession, catalog: Catalog, ns: str, warehouse: Path
) -> None:
    catalog.create_table(f"{ns}.t", "a INT").append(pa.table({"a": integers(1)}))
    sql_spark.conf.set("spark.sql.catalog.hidden", "versioned.spark.VersionedCatalog")
    sql_spark.conf.set("spark.sql.catalog.hidden.warehouse", str(warehouse))
    sql_spark.conf.set("spark.sql.catalog.hidden.storage.secret", "S3CR3T")
    name = f"hidden.{ns}.t"
    frame = sql_spark.table(name)
    assert [row.a for row in frame.collect()] == [1]
    shown = plan_of(frame) + str(frame._jdf.queryExecution().toString())  # type: ignore[operator]
    for statement in (
        f"DESCRIBE EXTENDED {name}",
        f"SHOW TBLPROPERTIES {name}",
        f"SHOW CREATE TABLE {name}",
    ):
        shown += repr(sql_spark.sql(statement).collect())
    with pytest.raises(Exception, match="99") as error:
        sql_spark.sql(f"SELECT * FROM {name} VERSION AS OF 99")
    assert "S3CR3T" not in shown + str(error.value)


def test_pushdown_can_be_turned_off(sql_spark: SparkSession, make: Any, ns: str) -> None:
    table = make("a INT")
    for value in range(3):
        table.append(pa.table({"a": integers(value)}))
    frame = sql_spark.read.option("pushdown", False).table(f"versioned.{ns}.t")
    filtered = frame.where("a = 1")
    assert is_native(filtered)
    assert pruned(filtered) == (0, 3)
    assert column(filtered, "a") == [1]
    counted = frame.agg(f.count("*"))
    assert is_native(counted)
    assert counted.collect()[0][0] == 3
    assert pruned(sql_spark.table(f"versioned.{ns}.t").where("a = 1")) == (2, 3)
