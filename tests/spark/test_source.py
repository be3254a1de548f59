"""The data source ``format("versioned")`` in a Spark session, without the jar's catalog.

Needs a JVM because Spark calls the data source in its workers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pyspark_versioned import VersionedError
from pyspark_versioned.source import VersionedDataSource
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


@pytest.fixture(params=[False, True], ids=["pushdown off", "pushdown on"])
def pushdown_on(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[bool]:
    spark.conf.set(PUSHDOWN, request.param)
    yield request.param
    spark.conf.unset(PUSHDOWN)


def load(spark: SparkSession, path: str, **options: Any) -> DataFrame:
    return spark.read.format("versioned").options(**options).load(path)


def save(frame: DataFrame, path: str, mode: str = "append", **options: Any) -> None:
    frame.write.format("versioned").mode(mode).options(**options).save(path)


def tuples(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((_plain(row) for row in frame.collect()), key=repr)


def refused(act: Callable[[], Any], *fragments: str) -> None:
    """Check that a call fails and its error holds all fragments."""
    with pytest.raises(Exception) as caught:
        act()
    for fragment in fragments:
        assert fragment in str(caught.value)


# Examples of Kudu and Materialize


@pytest.mark.thorough
def test_kudu_example(spark: SparkSession, path: str, pushdown_on: bool) -> None:
    table = Catalog.create_path(path, "col_a INT, col_b INT")
    save(spark.sql("SELECT 1 AS col_a, 1 AS col_b"), path)
    table.refresh().alter().drop_column("col_b").commit()
    table.alter().add_column("col_b", "int", default=999, nullable=False).commit()
    for pushdown in ("auto", "true"):

        def read(pushdown: str = pushdown) -> DataFrame:
            return load(spark, path, pushdown=pushdown)

        assert tuples(read()) == [(1, 999)]
        assert tuples(read().filter("col_b = 999")) == [(1, 999)]
        assert tuples(read().filter("col_b = 1")) == []
        assert read().filter("col_b > 1").count() == 1
    assert tuples(load(spark, path, versionAsOf=1)) == [(1, 1)]


@pytest.mark.thorough
def test_materialize_example(spark: SparkSession, path: str, pushdown_on: bool) -> None:
    table = Catalog.create_path(path, "a STRING, b INT")
    save(spark.sql("SELECT 'hello' AS a, 5 AS b"), path)
    table.refresh().alter().drop_column("b").add_column("b", "int", default=50).commit()
    assert tuples(load(spark, path, pushdown="true").filter("b = 5")) == []
    assert tuples(load(spark, path, pushdown="true").filter("b = 50")) == [("hello", 50)]


# Types

TYPES = {
    "CAST(1 AS TINYINT)": 1,
    "CAST(-7 AS SMALLINT)": -7,
    "2147483647": 2147483647,
    "9223372036854775807L": 9223372036854775807,
    "true": True,
    "CAST('NaN' AS FLOAT)": float("nan"),
    "-0.0D": -0.0,
    "CAST(1.5 AS DECIMAL(38,18))": Decimal("1.500000000000000000"),
    "'zoë'": "zoë",
    "X'00FF'": b"\x00\xff",
    "DATE'0001-01-01'": dt.date(1, 1, 1),
    "TIMESTAMP'2024-02-29 01:02:03.000004'": dt.datetime(2024, 2, 29, 1, 2, 3, 4),
    "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'": dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    "INTERVAL '1 02:03:04.5' DAY TO SECOND": dt.timedelta(1, 7384, 500000),
    "array(1, NULL)": [1, None],
    "map('k', NULL, 'l', 2)": {"k": None, "l": 2},
    "named_struct('x', 1, 'y', array(named_struct('z', 'q')))": (1, [("q",)]),
}


@pytest.mark.thorough
def test_all_types_round_trip(spark: SparkSession, path: str) -> None:
    columns = ", ".join(f"{sql} AS c{n}" for n, sql in enumerate(TYPES))
    nulls = ", ".join("NULL" for _ in TYPES)
    save(spark.sql(f"SELECT {columns} UNION ALL SELECT {nulls}"), path)
    shown = load(spark, path).orderBy("c2").collect()
    assert list(shown[0]) == [None] * len(TYPES)
    assert repr([_plain(value) for value in shown[1]]) == repr([_plain(v) for v in TYPES.values()])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return dict(sorted(value.items()))
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


@pytest.mark.thorough
def test_time_variant_and_geometry_round_trip(spark: SparkSession, path: str) -> None:
    frame = spark.sql(
        "SELECT TIME'10:11:12.123456' AS t, parse_json('{\"a\": [1, 2]}') AS v, "
        "named_struct('v', parse_json('3')) AS s, array(TIME'01:02:03') AS ts, "
        "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040') AS g "
        "UNION ALL SELECT NULL, NULL, NULL, NULL, NULL"
    )
    save(frame, path)
    found = load(spark, path).selectExpr(
        "t", "to_json(v) v", "to_json(s.v) s", "ts", "st_asbinary(g) g"
    )
    rows = {row["t"]: tuple(row)[1:] for row in found.collect()}
    shape = bytes.fromhex("0101000000000000000000F03F0000000000000040")
    assert rows[dt.time(10, 11, 12, 123456)] == ('{"a":[1,2]}', "3", [dt.time(1, 2, 3)], shape)
    assert rows[None] == (None,) * 4


@pytest.mark.thorough
@pytest.mark.parametrize("sql", ["INTERVAL '1-2' YEAR TO MONTH"])
def test_types_that_cannot_be_stored(spark: SparkSession, path: str, sql: str) -> None:
    refused(
        lambda: save(spark.sql(f"SELECT 1 AS a, {sql} AS b"), path),
        "the column b",
        "INTERVAL YEAR TO MONTH, which Spark can't pass",
    )


# Projection


def nested(spark: SparkSession, path: str) -> Table:
    save(
        spark.sql(
            "SELECT 1 AS id, named_struct('x', 1, 'y', 'a') AS s, "
            "array(named_struct('p', 1, 'q', 2)) AS a "
            "UNION ALL SELECT 2, NULL, NULL"
        ).coalesce(1),
        path,
    )
    return Catalog.load_path(path)


@pytest.mark.thorough
def test_schema_as_projection(spark: SparkSession, path: str) -> None:
    nested(spark, path).alter().rename_column("s.y", "why").add_column(
        "s.z", "int", default=9
    ).commit()

    def read(ddl: str) -> list[tuple[Any, ...]]:
        return tuples(spark.read.format("versioned").schema(ddl).load(path))

    assert read("a array<struct<q: int>>, ID int") == [(None, 2), ([(2,)], 1)]
    assert read("s struct<z: int, why: string>") == [((9, "a"),), (None,)]
    assert read("s struct<z: int>") == [((9,),), (None,)]
    assert read("_row_position bigint, id int, _sequence bigint, _schema_version int") == [
        (0, 1, 0, 0),
        (1, 2, 0, 0),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ddl", "fragment"),
    [
        ("nope int", "has no column nope"),
        ("s struct<nope: int>", "has no column s.nope"),
        ("id bigint", "it is int"),
        ("id int NOT NULL", "NOT NULL"),
        ("_sequence int", "it is bigint"),
    ],
)
def test_schemas_that_are_refused(spark: SparkSession, path: str, ddl: str, fragment: str) -> None:
    from pyspark.sql.types import StructType

    nested(spark, path)
    asked = StructType.fromDDL(ddl)
    refused(lambda: VersionedDataSource({"path": path}).reader(asked), fragment)


@pytest.mark.thorough
def test_columns_option_and_metadata_columns(spark: SparkSession, path: str) -> None:
    nested(spark, path)
    frame = load(spark, path, columns="_segment, id,_commit_time")
    assert frame.columns == ["_segment", "id", "_commit_time"]
    segment, _, time = frame.filter("id = 2").collect()[0]
    (record,) = Catalog.load_path(path).inspect.segments().to_pylist()
    assert segment == record["path"]
    assert time.replace(tzinfo=dt.UTC) == record["commit_time"]


@pytest.mark.thorough
def test_counts_read_no_column(spark: SparkSession, path: str) -> None:
    save(spark.range(1000), path)
    assert load(spark, path).count() == 1000
    assert load(spark, path).select().count() == 1000


# Filters

ROWS = [
    (1, 1.5, "a", None),
    (2, float("nan"), "b", True),
    (3, -0.0, "zoë", False),
    (4, None, None, True),
    (5, float("inf"), "ab", None),
]
FILTERS = [
    "d = double('NaN')", "d > 1e308D", "d = 0.0D", "d <= 1.5D", "d IS NULL", "d <> 1.5D",
    "s LIKE 'a%'", "s LIKE '%b'", "s LIKE '%o%'", "s > 'a'", "s IN ('a', NULL)",
    "NOT s IN ('a', 'b')",
    "s NOT IN ('a', NULL)", "b", "NOT b", "b IS NOT NULL", "s <=> NULL", "i BETWEEN 2 AND 3",
    "i = 2 OR i = 5",
    "i + 1 = 3", "i > 2147483648L", "i < 2.5D", "i = 3.0", "i <=> 4", "i IN (1, 9, 5)", "upper(s) = 'A'",
]  # fmt: skip


@pytest.fixture(scope="module")
def evolved(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table whose rows are in several segments, with widened and renamed columns."""
    path = str(tmp_path_factory.mktemp("evolved") / "t")
    table = Catalog.create_path(path, "i SMALLINT, d FLOAT, text STRING, b BOOLEAN")
    for number, (i, d, s, b) in enumerate(ROWS):
        kinds = {
            "i": pa.int16() if number < 2 else pa.int32(),
            "d": pa.float32() if number < 3 else pa.float64(),
            "text" if number < 2 else "s": pa.string(),
            "b": pa.bool_(),
        }
        values = zip((i, d, s, b), kinds.values(), strict=True)
        table.append(pa.table([pa.array([v], kind) for v, kind in values], names=list(kinds)))
        if number == 1:
            table.alter().rename_column("text", "s").change_type("i", "int").commit()
        if number == 2:
            table.alter().change_type("d", "double").commit()
    return path


@pytest.mark.thorough
def test_pushed_filters_agree_with_spark(spark: SparkSession, evolved: str) -> None:
    """Each pushed filter keeps exactly the rows for which Spark evaluates it to true."""
    plain = spark.createDataFrame(ROWS, "i int, d double, s string, b boolean").coalesce(1)
    conditions = [f"({condition}) AS f{n}" for n, condition in enumerate(FILTERS)]
    evaluated = plain.selectExpr("i", *conditions).collect()
    spark.conf.set(PUSHDOWN, True)
    try:
        for n, condition in enumerate(FILTERS):
            frame = load(spark, evolved, pushdown="true").filter(condition).select("i")
            expected = sorted(row["i"] for row in evaluated if row[f"f{n}"])
            assert sorted(row["i"] for row in frame.collect()) == expected, condition
    finally:
        spark.conf.unset(PUSHDOWN)


@pytest.mark.thorough
def test_all_rows_of_an_evolved_table(spark: SparkSession, evolved: str) -> None:
    assert repr(tuples(load(spark, evolved))) == repr(sorted(ROWS, key=repr))


@pytest.mark.thorough
def test_a_frame_is_queried_twice_with_different_filters(
    spark: SparkSession, evolved: str, pushdown_on: bool
) -> None:
    """Spark 4.3 keeps pushed filters for the whole frame, so none may be accepted by default."""
    frame = load(spark, evolved)
    assert frame.filter("i = 1").count() == 1
    assert frame.count() == 5
    assert frame.filter("i > 3").count() == 2
    assert frame.filter("i = 1").union(frame.filter("i = 2")).count() == 2


@pytest.mark.thorough
def test_pushed_filters_prune_and_leave_the_plan(spark: SparkSession, path: str) -> None:
    """A segment that can't match is not opened."""
    table = Catalog.create_path(path, "id LONG")
    for start in (0, 100):
        table.append(pa.table({"id": pa.array(range(start, start + 100), pa.int64())}))
    first = table.inspect.segments()["path"][0].as_py()
    Path(path, first).write_bytes(b"damaged")
    refused(lambda: load(spark, path).filter("id >= 150").collect(), first)
    spark.conf.set(PUSHDOWN, True)
    try:
        frame = load(spark, path, pushdown="true").filter("id >= 150")
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert "Filter" not in plan.replace("RuntimeFilters", "")
        assert frame.count() == 50
    finally:
        spark.conf.unset(PUSHDOWN)


@pytest.mark.thorough
def test_row_groups_are_pruned(spark: SparkSession, tmp_path: Path) -> None:
    from versioned_catalog.read.bounds import RowGroupBounds
    from versioned_catalog.read.segment_file import open_segment

    table = Catalog.create_path(tmp_path / "t", "id LONG")
    table.append(pa.table({"id": pa.array(range(3_000_000), pa.int64())}))
    ((task, _),) = table.scan(filters=[("id", ">", 2_999_990)]).tasks()
    file = open_segment(table.store, task)
    assert file.parquet.metadata.num_row_groups == 3
    assert file.kept_groups() == {2}
    assert RowGroupBounds(file.footer, [0], task.plan, frozenset())(1) is not None


# Time travel and pinning


@pytest.mark.thorough
def test_time_travel(spark: SparkSession, path: str) -> None:
    save(spark.sql("SELECT 1 AS id, 'old' AS note"), path)
    table = Catalog.load_path(path)
    then = table.inspect.history()["time"][0].as_py()
    table.alter().drop_column("note").commit()
    save(spark.sql("SELECT 2 AS id"), path)
    assert tuples(load(spark, path)) == [(1,), (2,)]
    assert tuples(load(spark, path, versionAsOf=0)) == [(1, "old")]
    assert tuples(load(spark, path, timestampAsOf=then.isoformat())) == [(1, "old")]
    refused(lambda: load(spark, path, versionAsOf=99), "no version 99")
    refused(lambda: load(spark, path, timestampAsOf="1999-01-01"), "did not exist yet")


@pytest.mark.thorough
def test_a_frame_keeps_its_version(spark: SparkSession, path: str) -> None:
    save(spark.range(3), path)
    frame = load(spark, path)
    save(spark.range(4), path)
    Catalog.load_path(path).alter().rename_column("id", "key").commit()
    assert frame.count() == 3
    assert frame.columns == ["id"]
    assert load(spark, path).count() == 7


# Writing


@pytest.mark.thorough
def test_a_path_becomes_a_table_in_one_commit(spark: SparkSession, path: str) -> None:
    save(spark.range(10), path)
    table = Catalog.load_path(path)
    assert table.inspect.history()["operation"].to_pylist() == ["create"]
    assert (table.version, table.count()) == (0, 10)
    assert table.schema.columns[0].nullable


@pytest.mark.thorough
def test_a_table_is_named_in_a_warehouse(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    refused(lambda: save(spark.range(3), "n.t", warehouse=warehouse), "no namespace n")
    Catalog(warehouse).create_namespace("n")
    save(spark.range(3), "n.t", warehouse=warehouse)
    save(spark.range(3), "n.t", warehouse=warehouse)
    assert Catalog(warehouse).list_tables("n") == ["t"]
    assert load(spark, "n.t", warehouse=warehouse).count() == 6


@pytest.mark.thorough
def test_overwrite_keeps_schema_ids_and_history(spark: SparkSession, path: str) -> None:
    save(spark.sql("SELECT 1 AS id, 'x' AS note"), path)
    before = Catalog.load_path(path).schema
    save(spark.sql("SELECT 2 AS ID"), path, "overwrite")
    table = Catalog.load_path(path)
    assert table.schema == before
    assert tuples(load(spark, path)) == [(2, None)]
    assert tuples(load(spark, path, versionAsOf=0)) == [(1, "x")]


@pytest.mark.thorough
def test_merge_schema(spark: SparkSession, path: str) -> None:
    save(spark.sql("SELECT 1 AS id, named_struct('x', 1) AS s"), path)
    more = spark.sql("SELECT named_struct('y', 'q') AS s, 2.5D AS extra")
    refused(lambda: save(more, path), "has no column s.y, extra", "mergeSchema")
    save(more, path, mergeSchema=True)
    table = Catalog.load_path(path)
    assert table.inspect.history()["operation"].to_pylist() == ["create", "append"]
    assert [column.name for column in table.schema.columns] == ["id", "s", "extra"]
    assert tuples(load(spark, path)) == [(1, (1, None), None), (None, (None, "q"), 2.5)]


@pytest.mark.thorough
def test_empty_frames(spark: SparkSession, path: str) -> None:
    save(spark.range(0), path)
    save(spark.range(0), path)
    assert load(spark, path).count() == 0
    save(spark.range(5), path)
    save(spark.range(0), path, "overwrite")
    assert tuples(load(spark, path)) == []


@pytest.mark.thorough
def test_invalid_rows_are_refused_and_not_written(spark: SparkSession, path: str) -> None:
    Catalog.create_path(path, "id INT NOT NULL, c VARCHAR(2)")
    refused(lambda: save(spark.sql("SELECT 'x' AS id"), path), "column id", "does not widen")
    refused(lambda: save(spark.sql("SELECT 'x' AS c"), path), "id is NOT NULL and has no default")
    refused(lambda: save(spark.sql("SELECT CAST(NULL AS INT) AS id"), path), "hold null")
    refused(lambda: save(spark.sql("SELECT 1 AS id, 'abc' AS c"), path), "3 characters")
    assert Catalog.load_path(path).version == 0


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        ({"versionasoff": "1"}, "did you mean versionAsOf"),
        ({"versionAsOf": "x"}, "has no tag 'x'"),
        ({"versionAsOf": "0", "timestampAsOf": "2024-01-01"}, "not both"),
        ({"timestampAsOf": "yesterday"}, "no timestamp"),
        ({"columns": "a,,b"}, "commas"),
        ({"columns": "nope"}, "no column nope"),
        ({"pushdown": "maybe"}, "true or false"),
        ({"warehouse": "/nowhere/at/all"}, "there is no"),
    ],
)
def test_invalid_options_are_refused(path: str, options: dict[str, str], fragment: str) -> None:
    Catalog.create_path(path, "a INT")
    refused(lambda: VersionedDataSource({"path": path} | options).schema(), fragment)


@pytest.mark.thorough
def test_writes_to_an_older_version_are_refused_and_secrets_hidden(
    spark: SparkSession, path: str
) -> None:
    refused(lambda: save(spark.range(1), path, versionAsOf=0), "an older version")
    secret = {"storage.key": "hunter2"}
    with pytest.raises(Exception) as caught:
        load(spark, "s3://bucket/t", **secret)
    assert "hunter2" not in str(caught.value)


@pytest.mark.thorough
def test_a_missing_table_is_an_error(spark: SparkSession, path: str) -> None:
    refused(lambda: load(spark, path), "there is no table at", path)
    assert issubclass(VersionedError, Exception)


def test_spark_asks_for_pushdown_from_the_expected_module() -> None:
    """``reader()`` detects from the calling module that Spark pushes filters."""
    from pyspark.sql.worker import data_source_pushdown_filters

    from pyspark_versioned import source

    assert data_source_pushdown_filters.__name__ == source._PUSHDOWN_MODULE
    assert not source._pushing_down()
