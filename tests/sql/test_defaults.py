"""DEFAULT in SQL: constants, the current date or time, and no other expression that changes.

The tests with a session need a JVM because Spark's parser and analyzer process the expressions.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark_types

from pyspark_versioned.sql.protocol.common import Default, TypedValue
from pyspark_versioned.sql.values import parse_default
from versioned_catalog import Catalog, InvalidRequestError
from versioned_catalog.model.ddl import parse_type
from versioned_catalog.model.sql_literals import to_python
from versioned_catalog.model.types import Constant, Now

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Json = dict[str, Any]
CHANGING = [
    "current_timestamp() + INTERVAL 1 HOUR",
    "localtimestamp()",
    "CAST(current_timestamp() AS STRING)",
    "current_date() + 30",
    "date_sub(current_date(), 1)",
    "unix_timestamp()",
    "current_time()",
    "current_user",
    "concat('a', session_user())",
    "current_timezone()",
    "current_database()",
    "current_catalog()",
    "uuid()",
    "rand()",
    "version()",
    "CAST(' Now' AS TIMESTAMP)",
    "to_timestamp('today')",
    "named_struct('a', array(now()))",
]
CONSTANT = ["1 + 1", "round(pi())", "CAST('2020-01-01' AS DATE) + 1", "'now'", "array(1, 1 + 1)"]


def default(sql: str, *changing: str, one: bool = False, literal: Json | None = None) -> Default:
    return Default(sql, changing, one, None if literal is None else TypedValue(**literal))


@pytest.mark.parametrize(
    "function, type_, now",
    [
        ("now", "TIMESTAMP", Now.TIMESTAMP),
        ("current_timestamp", "TIMESTAMP", Now.TIMESTAMP),
        ("curdate", "DATE", Now.DATE),
        ("current_date", "DATE", Now.DATE),
    ],
)
def test_functions_for_the_current_date_or_time_are_kept(
    function: str, type_: str, now: Now
) -> None:
    given = default(f"{function}()", function, one=True)
    assert parse_default(given, parse_type(type_), "t: the column x") is now


@pytest.mark.parametrize(
    "type_, given",
    [
        ("DATE", default("now()", "now", one=True)),
        ("TIMESTAMP_NTZ", default("current_timestamp()", "current_timestamp", one=True)),
        ("TIMESTAMP", default("current_timestamp() + make_interval(1)", "current_timestamp")),
        ("DATE", default("current_timestamp() + INTERVAL 1 HOUR", "current_timestamp")),
        ("STRING", default("current_user()", "current_user", one=True)),
        ("TIMESTAMP", default("TIMESTAMP 'now'")),
        ("TIMESTAMP", default("array(timestamp_ltz'Today CET')[0]")),
        ("DATE", default('DATE"yesterday"')),
    ],
)
def test_a_default_that_changes_is_refused(type_: str, given: Default) -> None:
    given = replace(given, literal=TypedValue("string", "0"))  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match=r"s\.t: the column x.*leave it out, and give"):
        parse_default(given, parse_type(type_), "s.t: the column x")


def test_a_nested_constant_is_stored() -> None:
    field = [
        {"name": "a", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "b", "type": "timestamp", "nullable": True, "metadata": {}},
    ]
    shape = {"type": "struct", "fields": field}
    pairs = {"type": "map", "keyType": "string", "valueType": shape, "valueContainsNull": True}
    literal = {"type": pairs, "value": [["k", "l"], [["1", "0"], None]]}
    type_ = parse_type("MAP<STRING, STRUCT<a: INT, b: TIMESTAMP>>")
    constant = parse_default(default("map(...)", literal=literal), type_, "t: the column x")
    assert isinstance(constant, Constant)
    value = to_python(constant, type_)
    assert [(k, v and v["a"]) for k, v in dict(value).items()] == [("k", 1), ("l", None)]


def test_the_jar_recognizes_expressions_that_change(sql_spark: SparkSession) -> None:
    defaults = sql_spark._jvm.versioned.spark.internals.SparkDefaults
    assert [sql for sql in CHANGING if defaults.of(sql).changing().isEmpty()] == []
    assert [sql for sql in CHANGING if not defaults.of(sql).changing().isEmpty()] == CHANGING
    assert [sql for sql in CONSTANT if defaults.of(sql).changing().isEmpty()] == CONSTANT
    for name in ("now()", "NOW ( )", "current_timestamp", "`current_timestamp`()"):
        assert defaults.of(name).isOneFunction()
    assert list(defaults.of("curdate()").changing()) == ["current_date"]
    assert not defaults.of("current_date() + 30").isOneFunction()


@pytest.mark.thorough
def test_defaults_by_sql(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    table = f"versioned.{ns}.t"

    def column(*path: str) -> Any:
        return catalog.load_table(f"{ns}.t").schema.get(path)

    sql_spark.sql(
        f"CREATE TABLE {table} (k INT DEFAULT 1 + 1, x TIMESTAMP DEFAULT now(), s STRUCT<a: INT>)"
    )
    assert column("x").write_default is Now.TIMESTAMP
    assert column("x").read_default is None
    sql_spark.sql(f"ALTER TABLE {table} ADD COLUMN s.d DATE DEFAULT curdate()")
    assert column("s", "d").write_default is Now.DATE
    sql_spark.sql(
        f"ALTER TABLE {table} ALTER COLUMN s.d SET DEFAULT CAST('2020-01-01' AS DATE) + 1"
    )
    assert column("s", "d").write_default == Constant('"18263"')
    sql_spark.sql(f"ALTER TABLE {table} ALTER COLUMN k SET DEFAULT CAST(round(pi()) AS INT)")
    assert column("k").write_default == Constant('"3"')
    for statement in (
        f"CREATE TABLE {table}2 (x STRING DEFAULT current_user())",
        f"CREATE OR REPLACE TABLE {table} (x TIMESTAMP DEFAULT localtimestamp())",
        f"ALTER TABLE {table} ADD COLUMN e DATE DEFAULT last_day(current_date())",
        f"ALTER TABLE {table} ALTER COLUMN x SET DEFAULT current_timestamp() - make_dt_interval(1)",
    ):
        with pytest.raises(Exception, match=f"{ns}.t.*the column [xe]: DEFAULT .*can't be stored"):
            sql_spark.sql(statement)
    assert not catalog.table_exists(f"{ns}.t2")
    assert column("x").write_default is Now.TIMESTAMP


EXPRESSIONS = {
    "a": ("TIMESTAMP", "current_timestamp() + INTERVAL 1 HOUR"),
    "b": ("TIMESTAMP_NTZ", "localtimestamp()"),
    "c": ("STRING", "CAST(current_date() + INTERVAL 1 MONTH AS STRING)"),
    "d": ("STRING", "current_timezone()"),
    "e": ("DATE", "date_sub(current_date(), 1) - INTERVAL 1 YEAR"),
    "f": ("STRING", "'v' || year(current_date()) || '.' || month(add_months(current_date(), 1))"),
    "g": ("TIMESTAMP", "CAST(current_date() AS TIMESTAMP) - INTERVAL 1 DAY 3 HOURS"),
    "h": ("INT", "day(current_date() + 2)"),
    "i": ("STRING", "CAST(current_timestamp() AS STRING)"),
}


@pytest.mark.thorough
def test_expressions_have_one_value_in_spark_and_python(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    spark = sql_spark.newSession()
    spark.conf.set("spark.versioned.io", "native")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    table = f"versioned.{ns}.t"
    columns = [f"{name} {type_} DEFAULT {sql}" for name, (type_, sql) in EXPRESSIONS.items()]
    spark.sql(f"CREATE TABLE {table} (k INT, {', '.join(columns)})")
    spark.sql(f"INSERT INTO {table} (k) VALUES (1), (2)")
    own = catalog.load_table(f"{ns}.t")
    own.append(pa.table({"k": pa.array([3], pa.int32())}))
    spark.sql(
        f"MERGE INTO {table} USING (SELECT 4 AS n) ON k = n WHEN NOT MATCHED THEN INSERT (k) VALUES (n)"
    )
    rows = own.refresh().scan().to_arrow().sort_by("k").to_pylist()
    first = dict(rows[0], k=2)
    assert first == rows[1]  # one value for all rows of a statement
    for row in rows[2:]:
        for name in "cdefgh":
            assert row[name] == first[name], name
        for name in "ab":
            assert abs(row[name] - first[name]) < timedelta(minutes=5)
        assert row["i"][:10] == first["i"][:10]
    spark.sql(f"UPDATE {table} SET d = DEFAULT, e = DEFAULT WHERE k = 3")
    (shown,) = (row[0] for row in spark.sql(f"SHOW CREATE TABLE {table}").collect())
    for _, sql in list(EXPRESSIONS.values())[:2]:
        assert f"DEFAULT {sql}" in shown
    spark.sql(f"ALTER TABLE {table} ADD COLUMN z DATE DEFAULT current_date() + 1")
    assert spark.sql(f"SELECT count(z) FROM {table}").first()[0] == 4
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN z SET DEFAULT current_date() - 1")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.sql(f"INSERT INTO {table} (k) VALUES (5)")
    assert spark.sql(f"SELECT d FROM {table} WHERE k = 5").first()[0] == "Asia/Tokyo"


@pytest.mark.thorough
def test_defaults_by_the_catalog_api(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    def schema(default: str) -> spark_types.StructType:
        metadata = {"CURRENT_DEFAULT": default, "EXISTS_DEFAULT": "TIMESTAMP'2020-01-01 00:00:00'"}
        return spark_types.StructType(
            [spark_types.StructField("x", spark_types.TimestampType(), True, metadata)]
        )

    name = f"versioned.{ns}.t"
    changing = schema("now() + make_interval(1)")
    with pytest.raises(Exception, match=r"the column x: DEFAULT .*can't be stored"):
        sql_spark.catalog.createTable(name, source="versioned", schema=changing)
    sql_spark.catalog.createTable(name, source="versioned", schema=schema("now()")).count()
    assert catalog.load_table(f"{ns}.t").schema.get(("x",)).write_default is Now.TIMESTAMP
    # A table that is created from a query gets no defaults of the query's columns.
    frame = sql_spark.createDataFrame([], schema("now() + make_interval(1)"))
    frame.writeTo(f"{name}2").create()
    assert catalog.load_table(f"{ns}.t2").schema.get(("x",)).write_default is None
