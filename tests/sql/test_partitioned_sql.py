"""Spark writes to many partitions: rows are distributed to the task of their partition and sorted.

Needs a JVM because Spark distributes and sorts the rows.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from pairwise import most_at_night
from pyspark_versioned.spark_types import to_spark
from pyspark_versioned.sql.distribution import check_transform
from pyspark_versioned.sql.protocol.base import SparkType
from pyspark_versioned.sql.protocol.table import CheckTransform
from transform_vectors import RESULTS, VALUES, array_of, texts_of
from versioned_catalog import Catalog, Table
from versioned_catalog.model import transforms
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.transform_values import apply_transform
from versioned_catalog.model.type_text import parse_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DDL = "ts TIMESTAMP, u BIGINT, v BIGINT"
BY = ["days(ts)", "bucket(4, u)"]
PARTITIONS = 12
ROWS = 600
SOURCE = [
    "timestamp_micros((id % 3 - 1) * 86400000000L + id) AS ts",  # from the day before 1970 on
    "id % 50 AS u",
    "id AS v",
]

OFF = {"auto_maintain": "off"}  # else the writer merges these small segments

Make = Callable[..., Table]


@pytest.fixture
def make(catalog: Catalog, ns: str) -> Make:
    return lambda ddl=DDL, **given: catalog.create_table(f"{ns}.t", ddl, **given)


@pytest.fixture(params=most_at_night({"AQE"}, ["AQE", "no AQE"]))
def adaptive(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[None]:
    sql_spark.conf.set("spark.sql.adaptive.enabled", request.param == "AQE")
    yield
    sql_spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.fixture(params=most_at_night({"native"}, ["native", "python"]))
def io(request: pytest.FixtureRequest, sql_spark: SparkSession) -> Iterator[str]:
    sql_spark.conf.set("spark.versioned.io", request.param)
    yield request.param
    sql_spark.conf.set("spark.versioned.io", "native")


def source(spark: SparkSession) -> DataFrame:
    """Rows in four tasks, each of which has rows of all partitions."""
    return spark.range(0, ROWS, 1, 4).selectExpr(*SOURCE)


def count_segments(table: Table) -> int:
    """The number of segments; fails if a partition has more than one."""
    keys = [tuple(key) for key in table.refresh().inspect.segments()["partition"].to_pylist()]
    assert len(keys) == len(set(keys)), Counter(keys).most_common(1)
    return len(keys)


def values(table: Table) -> list[int]:
    return sorted(table.refresh().scan(columns=["v"]).to_arrow()["v"].to_pylist())


def explained(spark: SparkSession, statement: str) -> str:
    return str(spark.sql(f"EXPLAIN {statement}").collect()[0][0])


def shuffles(plan: str) -> bool:
    return "Exchange hashpartitioning" in plan


@pytest.mark.thorough
@pytest.mark.usefixtures("adaptive")
def test_each_write_adds_one_segment_per_partition(
    make: Make, sql_spark: SparkSession, ns: str, io: str
) -> None:
    table = make(partitioned_by=BY, properties={"row_changes": "copy"})
    name = f"versioned.{ns}.t"
    source(sql_spark).writeTo(name).append()
    assert count_segments(table) == PARTITIONS
    assert values(table) == list(range(ROWS))
    assert table.maintenance.verify(deep=True).findings == ()
    sql_spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        source(sql_spark).where("u % 2 = 0").writeTo(name).overwritePartitions()
    finally:
        sql_spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert count_segments(table) <= PARTITIONS
    source(sql_spark).writeTo(name).overwrite(f.lit(True))
    assert count_segments(table) == PARTITIONS
    sql_spark.sql(f"DELETE FROM {name} WHERE v % 3 = 1")
    assert count_segments(table) <= PARTITIONS
    sql_spark.sql(f"UPDATE {name} SET u = u + 1 WHERE v % 2 = 0")
    assert count_segments(table) <= PARTITIONS
    sql_spark.sql(
        f"MERGE INTO {name} t USING (SELECT * FROM {name} WHERE v < 50 UNION ALL SELECT "
        f"timestamp_micros(v) AS ts, v AS u, v + {ROWS} FROM {name} WHERE v < 50) s ON t.v = s.v "
        "WHEN MATCHED THEN UPDATE SET u = s.u + 2 WHEN NOT MATCHED THEN INSERT *"
    )
    assert count_segments(table) <= PARTITIONS
    kept = [v for v in range(ROWS) if v % 3 != 1]
    assert values(table) == sorted(kept + [v + ROWS for v in kept if v < 50])


def test_create_table_as_select_writes_one_segment_per_partition(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    source(sql_spark).createOrReplaceTempView("partitioned_source")
    for create in ("CREATE", "CREATE OR REPLACE"):
        sql_spark.sql(
            f"{create} TABLE versioned.{ns}.t PARTITIONED BY (days(ts), bucket(4, u)) "
            "AS SELECT * FROM partitioned_source"
        )
        table = catalog.load_table(f"{ns}.t")
        assert count_segments(table) == PARTITIONS
        assert values(table) == list(range(ROWS))


@pytest.mark.thorough
def test_the_distribution_mode_by_property_and_option(
    make: Make, sql_spark: SparkSession, ns: str
) -> None:
    table, name = make(partitioned_by=BY, properties=OFF), f"versioned.{ns}.t"
    source(sql_spark).createOrReplaceTempView("partitioned_source")
    plain = f"INSERT INTO {name} SELECT * FROM partitioned_source"
    with_option = (
        f"INSERT INTO {name} WITH (`distributionMode` = '{{}}') SELECT * FROM partitioned_source"
    )
    plan = explained(sql_spark, plain)
    assert shuffles(plan)
    assert "Sort [" in plan
    assert "days" in plan
    assert "bucket" in plan
    for statement, prop in (
        (with_option.format("none"), None),
        (plain, "none"),
        (with_option.format("NONE"), "hash"),
    ):
        if prop:
            sql_spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('distribution_mode' = '{prop}')")
        plan = explained(sql_spark, statement)
        assert "Exchange" not in plan
        assert "Sort [" in plan, "a task still writes one segment after another"
    assert shuffles(explained(sql_spark, plain))
    assert "rangepartitioning" in explained(sql_spark, with_option.format("range"))
    source(sql_spark).writeTo(name).option("distributionMode", "none").append()
    keys = Counter(
        tuple(key) for key in table.refresh().inspect.segments()["partition"].to_pylist()
    )
    assert set(keys.values()) == {4}, "one for each of four tasks"
    wrong = source(sql_spark).writeTo(name).option("distributionMode", "fast")
    with pytest.raises(Exception, match="distributionMode is 'fast'; it must be 'none', 'hash'"):
        wrong.append()
    with pytest.raises(Exception, match="distribution_mode is 'fast'; it must be 'none', 'hash'"):
        sql_spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('distribution_mode' = 'fast')")


def test_tables_whose_rows_are_not_shuffled(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """Tables without partitions or with a primary key are not shuffled unless an option says so."""
    catalog.create_table(f"{ns}.plain", DDL, properties={"sort_by": "u"})
    catalog.create_table(f"{ns}.keyed", DDL, primary_key=["u"], partitioned_by=["bucket(4, u)"])
    source(sql_spark).createOrReplaceTempView("partitioned_source")
    for name in ("plain", "keyed"):
        statement = f"INSERT INTO versioned.{ns}.{name} SELECT * FROM partitioned_source"
        assert "Exchange" not in explained(sql_spark, statement)
    with_option = (
        f"INSERT INTO versioned.{ns}.{{}} WITH (`distributionMode` = 'range') "
        "SELECT * FROM partitioned_source"
    )
    assert "rangepartitioning(u#" in explained(sql_spark, with_option.format("plain"))
    assert "rangepartitioning(" in explained(sql_spark, with_option.format("keyed"))


@pytest.mark.thorough
def test_the_distribution_of_keyed_tables(make: Make, sql_spark: SparkSession, ns: str) -> None:
    table, name = (
        make(primary_key=["v"], partitioned_by=["bucket(4, v)"], properties=OFF),
        f"versioned.{ns}.t",
    )
    source(sql_spark).writeTo(name).append()
    assert table.refresh().inspect.segments().num_rows == 16, "four tasks of four partitions"
    source(sql_spark).writeTo(name).option("distributionMode", "hash").append()
    assert table.refresh().inspect.segments().num_rows == 16 + 4
    sql_spark.sql(f"DELETE FROM {name} WHERE u = 7")
    sql_spark.sql(f"UPDATE {name} SET u = 1000 WHERE u = 8")
    assert table.refresh().inspect.segments().num_rows <= 20 + 4 + 4
    plan = explained(sql_spark, f"DELETE FROM {name} WHERE u = 9")
    assert shuffles(plan)
    sql_spark.sql(
        f"MERGE INTO {name} t USING (SELECT v * 2 AS v FROM {name} WHERE v >= 250) s ON t.v = s.v "
        "WHEN MATCHED AND t.u = 9 THEN DELETE WHEN MATCHED THEN UPDATE SET u = 2000 "
        f"WHEN NOT MATCHED THEN INSERT (ts, u, v) VALUES (NULL, 3000, s.v)"
    )
    rows = {v: v % 50 for v in range(ROWS) if v % 50 != 7}
    rows = {v: 1000 if u == 8 else u for v, u in rows.items()}
    for v in [2 * v for v in rows if v >= 250]:
        if rows.get(v) == 9:
            del rows[v]
        else:
            rows[v] = 2000 if v in rows else 3000
    got = table.refresh().scan(columns=["v", "u"]).to_arrow()
    assert dict(zip(got["v"].to_pylist(), got["u"].to_pylist(), strict=True)) == rows


@pytest.mark.thorough
def test_partitions_by_nested_columns_with_a_sort_order(
    make: Make, sql_spark: SparkSession, ns: str
) -> None:
    table = make(
        "s STRUCT<`day.x`: DATE, `a``b`: STRING>, v BIGINT",
        partitioned_by=["months(s.`day.x`)", "s.`a``b`"],
        properties={"sort_by": "v DESC"},
    )
    rows = sql_spark.range(0, 60, 1, 3).selectExpr(
        "IF(id % 7 = 0, NULL, named_struct('day.x', date_from_unix_date(CAST(id % 3 * 40 - 40 AS INT)), "
        "'a`b', IF(id % 5 = 0, NULL, concat('x', id % 2)))) AS s",
        "id AS v",
    )
    rows.writeTo(f"versioned.{ns}.t").append()
    wanted = {
        (None, None)
        if v % 7 == 0
        else (str((-2, 0, 1)[v % 3]), None if v % 5 == 0 else f"x{v % 2}")
        for v in range(60)
    }
    assert count_segments(table) == len(wanted)
    assert values(table) == list(range(60))
    for record in table.inspect.segments().to_pylist():
        found = sql_spark.table(f"versioned.{ns}.t").where(f"_segment = '{record['path']}'")
        inside = [row.v for row in found.orderBy("_row_position").collect()]
        assert inside == sorted(inside, reverse=True)


@pytest.mark.thorough
def test_a_partition_column_is_altered_during_a_write(
    sql_spark: SparkSession, catalog: Catalog, ns: str, tmp_path: Path
) -> None:
    """Rows are distributed by the columns' names and types at the time the write was planned."""
    table = catalog.create_table(f"{ns}.t", "k INT, v BIGINT", partitioned_by=["truncate(10, k)"])
    started, go = tmp_path / "started", tmp_path / "go"

    @f.udf("int")
    def slow(value: int) -> int:
        import time

        started.touch()
        while not go.exists():
            time.sleep(0.05)
        return value

    frame = sql_spark.range(0, 40, 1, 2).select(
        slow(f.expr("CAST(id AS INT)")).alias("k"), f.col("id").alias("v")
    )
    writing = threading.Thread(target=frame.writeTo(f"versioned.{ns}.t").append)
    writing.start()
    while not started.exists():
        assert writing.is_alive()
    table.alter().rename_column("k", "key").change_type("key", "bigint").commit()
    table.alter().rename_column("v", "k").commit()
    go.touch()
    writing.join()
    table.refresh()
    assert sorted(tuple(key) for key in table.inspect.segments()["partition"].to_pylist()) == [
        ("0",),
        ("10",),
        ("20",),
        ("30",),
    ]
    got = table.scan(filters=[("key", ">=", 25)]).to_arrow()
    assert sorted(got["key"].to_pylist()) == sorted(got["k"].to_pylist()) == list(range(25, 40))


@pytest.mark.thorough
def test_transform_functions_give_the_results_of_the_vectors(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """The native write computes partitions by the same code."""
    types = {ddl: parse_type(ddl) for ddl in VALUES}
    names = {ddl: f"k{at}" for at, ddl in enumerate(VALUES)}
    count = max(map(len, VALUES.values()))
    columns = {
        names[ddl]: array_of([*texts, *[None] * (count - len(texts))], types[ddl])
        for ddl, texts in VALUES.items()
    }
    ddl_of_columns = "".join(f", {names[ddl]} {ddl}" for ddl in VALUES)
    table = catalog.create_table(f"{ns}.f", f"at INT{ddl_of_columns}")
    table.append(pa.table({"at": pa.array(range(count), pa.int32()), **columns}))
    calls = [(ddl, text) for ddl, results in RESULTS.items() for text in results]
    called = []
    for ddl, text in calls:
        name, _, size = text.rstrip(")").partition("(")
        arguments = f"{size}, {names[ddl]}" if size else names[ddl]
        called.append(f"versioned.system.{name}({arguments}) AS c{len(called)}")
    query = f"SELECT {', '.join(called)} FROM versioned.{ns}.f ORDER BY at"
    found = sql_spark.sql(query).toArrow()
    for (ddl, text), column in zip(calls, found.columns, strict=True):
        expected = RESULTS[ddl][text]
        result = transforms.result_type(transforms.parse_transform(text), types[ddl])
        column = column.cast(to_arrow_type(result))
        assert texts_of(column, result)[: len(expected)] == expected, (ddl, text)
    with pytest.raises(Exception, match="days does not apply to STRING; it applies to date"):
        sql_spark.sql("SELECT versioned.days('2024-01-01')")


def test_the_vectors_have_all_transforms_of_their_types() -> None:
    """The jar asks Python which transforms apply to a type."""
    texts = {text for results in RESULTS.values() for text in results}
    assert len(texts) == 5 + 2 * 4

    def applies(ddl: str, text: str) -> bool:
        type_ = SparkType(to_spark(parse_type(ddl)).jsonValue())
        return check_transform(CheckTransform(text, type_)).refusal is None

    for ddl, results in RESULTS.items():
        assert {text for text in texts if applies(ddl, text)} == results.keys()


def test_the_names_of_transform_functions(sql_spark: SparkSession, ns: str) -> None:
    query = "SELECT versioned.days(DATE'1969-12-31') AS a, versioned.system.BUCKET(16, 5L) AS b"
    assert [tuple(row) for row in sql_spark.sql(query).collect()] == [(-1, bucket(5))]
    shown = {row[0] for row in sql_spark.sql("SHOW USER FUNCTIONS IN versioned.system").collect()}
    # Temporary functions, which other tests may have registered, are in no catalog.
    ours = {name for name in shown if name.startswith("versioned.")}
    assert {name.rpartition(".")[2] for name in ours} == {
        "identity",
        "years",
        "months",
        "days",
        "hours",
        "bucket",
        "truncate",
    }
    for wrong in ("versioned.nope(1)", f"versioned.{ns}.days(DATE'2024-01-01')"):
        with pytest.raises(Exception, match="UNRESOLVED_ROUTINE"):
            sql_spark.sql(f"SELECT {wrong}")
    for wrong in ("versioned.bucket(5L)", "versioned.days()", "versioned.truncate('a', 'b')"):
        with pytest.raises(Exception, match=r"write (bucket|days|truncate)\("):
            sql_spark.sql(f"SELECT {wrong}")
    with pytest.raises(Exception, match="the number must be at least 1"):
        sql_spark.sql("SELECT versioned.bucket(0, 5L)").collect()


def bucket(value: int) -> int:
    buckets = apply_transform(transforms.Bucket(16), parse_type("BIGINT"), pa.array([value]))
    return int(buckets[0].as_py())
