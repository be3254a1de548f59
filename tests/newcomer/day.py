"""The first day of a new user: ``python day.py`` prints each step and its error as a JSON line.

Every statement is what a user of Iceberg or Delta would write. Spark's ``spark-defaults.conf``
configures the session. Later steps run even if one fails.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

EVENTS = 2_000_000
DAYS = 20
STEPS: list[Callable[[Any], None]] = []


def step(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Register a step; steps run in the order of their definition."""
    STEPS.append(function)
    return function


def rows(spark: Any, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(sql).collect()]


def expect(found: Any, wanted: Any) -> None:
    if found != wanted:
        raise AssertionError(f"got {found!r}, expected {wanted!r}")


@step
def namespace(spark: Any) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS shop")
    spark.sql("USE shop")
    expect([row[0] for row in rows(spark, "SHOW SCHEMAS")], ["shop"])


@step
def save_as_table(spark: Any) -> None:
    orders = spark.range(100).selectExpr("id", "id % 7 AS customer", "CAST(id AS DOUBLE) AS price")
    orders.write.format("versioned").saveAsTable("shop.orders")
    orders.write.format("versioned").mode("append").saveAsTable("shop.orders")
    expect(spark.table("shop.orders").count(), 200)
    orders.write.format("versioned").mode("overwrite").saveAsTable("shop.orders")
    expect(spark.table("shop.orders").count(), 100)


@step
def save_as_table_without_format(spark: Any) -> None:
    spark.range(3).write.mode("overwrite").saveAsTable("shop.plain")
    expect(spark.table("shop.plain").count(), 3)


@step
def save_as_table_partitioned(spark: Any) -> None:
    frame = spark.range(100).selectExpr("id", "DATE'2026-01-01' AS day")
    frame.write.format("versioned").partitionBy("day").saveAsTable("shop.by_day")
    expect(rows(spark, "SHOW PARTITIONS shop.by_day"), [("day=2026-01-01",)])


@step
def insert_into(spark: Any) -> None:
    spark.range(1).selectExpr("id", "id AS c", "0.5D AS p").write.insertInto("shop.orders")
    expect(spark.table("shop.orders").count(), 101)


@step
def write_to(spark: Any) -> None:
    spark.range(10).writeTo("shop.numbers").using("versioned").create()
    spark.range(10, 20).writeTo("shop.numbers").append()
    expect(spark.table("shop.numbers").count(), 20)


@step
def merge_schema(spark: Any) -> None:
    more = spark.range(1).selectExpr("id + 100 AS id", "'x' AS note")
    more.write.format("versioned").option("mergeSchema", "true").mode("append").saveAsTable(
        "shop.numbers"
    )
    expect(rows(spark, "SELECT note FROM shop.numbers WHERE id = 100"), [("x",)])


@step
def overwrite_schema(spark: Any) -> None:
    other = spark.range(2).selectExpr("CAST(id AS STRING) AS name")
    other.write.format("versioned").option("overwriteSchema", "true").mode("overwrite").saveAsTable(
        "shop.numbers"
    )
    expect(spark.table("shop.numbers").columns, ["name"])


@step
def partitioned_ingest(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE shop.events (id BIGINT, ts TIMESTAMP, day DATE, kind STRING, value DOUBLE) "
        "USING versioned PARTITIONED BY (day)"
    )
    start = "TIMESTAMP'2026-01-01 00:00:00'"
    spark.sql(
        f"INSERT INTO shop.events SELECT id, ts, CAST(ts AS DATE), concat('k', id % 10), id / 2 "
        f"FROM (SELECT id, timestampadd(SECOND, id % {86_400 * DAYS}, {start}) AS ts "
        f"FROM range(0, {EVENTS}, 1, 4))"
    )
    found = rows(spark, "SELECT count(*), sum(id), count(DISTINCT day) FROM shop.events")
    expect(found, [(EVENTS, EVENTS * (EVENTS - 1) // 2, DAYS)])
    expect(len(rows(spark, "SHOW PARTITIONS shop.events")), DAYS)


@step
def one_day_is_read_from_few_files(spark: Any) -> None:
    (files,) = rows(spark, "SELECT count(*) FROM shop.events.segments")
    if files[0] > 4 * DAYS:
        raise AssertionError(f"{files[0]} files for {DAYS} days")


@step
def hidden_partitioning(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE shop.by_hour USING versioned PARTITIONED BY (hours(ts), bucket(4, id)) "
        "AS SELECT id, ts, kind FROM shop.events WHERE day = DATE'2026-01-02'"
    )
    spark.sql(
        "INSERT INTO shop.by_hour SELECT id, ts, kind FROM shop.events WHERE day = DATE'2026-01-03'"
    )
    wanted = rows(
        spark,
        "SELECT count(*) FROM shop.events "
        "WHERE ts >= TIMESTAMP'2026-01-02 10:00:00' AND ts < TIMESTAMP'2026-01-02 11:00:00'",
    )
    found = rows(
        spark,
        "SELECT count(*) FROM shop.by_hour "
        "WHERE ts >= TIMESTAMP'2026-01-02 10:00:00' AND ts < TIMESTAMP'2026-01-02 11:00:00'",
    )
    expect(found, wanted)


@step
def dynamic_overwrite(spark: Any) -> None:
    spark.sql("SET spark.sql.sources.partitionOverwriteMode=dynamic")
    spark.sql(
        "INSERT OVERWRITE TABLE shop.events PARTITION (day) "
        "SELECT id, ts, day, 'over' AS kind, value FROM shop.events WHERE day = DATE'2026-01-05'"
    )
    spark.sql("SET spark.sql.sources.partitionOverwriteMode=static")
    expect(rows(spark, "SELECT count(*) FROM shop.events"), [(EVENTS,)])
    expect(
        rows(spark, "SELECT DISTINCT day FROM shop.events WHERE kind = 'over'"),
        [(dt.date(2026, 1, 5),)],
    )


def changes(spark: Any, table: str, key: str) -> None:
    """Apply change data capture: inserts, updates and deletes in one MERGE."""
    spark.sql(f"CREATE TABLE {table} (id BIGINT, name STRING, city STRING{key}) USING versioned")
    spark.sql(f"INSERT INTO {table} SELECT id, concat('n', id), 'Rome' FROM range(1000)")
    spark.createDataFrame(
        [(1, "one", "Oslo", "U"), (2, None, None, "D"), (5000, "new", "Bern", "I")],
        "id BIGINT, name STRING, city STRING, op STRING",
    ).createOrReplaceTempView("feed")
    spark.sql(
        f"MERGE INTO {table} AS t USING feed AS s ON t.id = s.id "
        "WHEN MATCHED AND s.op = 'D' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT *"
    )
    wanted = [(0, "n0", "Rome"), (1, "one", "Oslo"), (5000, "new", "Bern")]
    expect(rows(spark, f"SELECT * FROM {table} WHERE id IN (0, 1, 2, 5000) ORDER BY id"), wanted)
    expect(rows(spark, f"SELECT count(*) FROM {table}"), [(1000,)])


@step
def change_capture(spark: Any) -> None:
    changes(spark, "shop.customers", "")


@step
def change_capture_with_a_key(spark: Any) -> None:
    changes(spark, "shop.accounts", ", PRIMARY KEY (id)")


@step
def update_and_delete(spark: Any) -> None:
    spark.sql("UPDATE shop.customers SET city = 'Paris' WHERE id < 10 AND city = 'Rome'")
    spark.sql("DELETE FROM shop.customers WHERE id >= 990")
    found = rows(spark, "SELECT count(*), count_if(city = 'Paris') FROM shop.customers")
    expect(found, [(989, 8)])


@step
def evolve(spark: Any) -> None:
    spark.sql("ALTER TABLE shop.customers ADD COLUMNS (vip BOOLEAN COMMENT 'pays', age INT)")
    spark.sql("ALTER TABLE shop.customers RENAME COLUMN name TO full_name")
    spark.sql("ALTER TABLE shop.customers ALTER COLUMN age TYPE BIGINT")
    spark.sql("ALTER TABLE shop.customers DROP COLUMN vip")
    spark.sql("ALTER TABLE shop.customers SET TBLPROPERTIES ('team' = 'sales')")
    expect(spark.table("shop.customers").columns, ["id", "full_name", "city", "age"])


@step
def travel_in_time(spark: Any) -> None:
    (first,) = rows(spark, "SELECT count(*) FROM shop.customers VERSION AS OF 1")
    expect(first, (1000,))
    expect(spark.read.option("versionAsOf", 1).table("shop.customers").count(), 1000)
    ((now,),) = rows(spark, "SELECT max(time) FROM shop.customers.snapshots")
    (past,) = rows(spark, f"SELECT count(*) FROM shop.customers TIMESTAMP AS OF '{now}'")
    expect(past, (989,))


@step
def inspect_table(spark: Any) -> None:
    expect(("shop", "customers", False) in rows(spark, "SHOW TABLES"), True)
    for statement in (
        "DESCRIBE TABLE EXTENDED shop.customers",
        "SHOW CREATE TABLE shop.customers",
        "SHOW TBLPROPERTIES shop.customers",
        "SHOW TABLE EXTENDED IN shop LIKE '*'",
        "SHOW COLUMNS IN shop.customers",
        "SELECT * FROM shop.customers.history",
        "SELECT input_file_name() FROM shop.customers LIMIT 1",
    ):
        if not rows(spark, statement):
            raise AssertionError(f"{statement} returns no rows")


@step
def create_table_like(spark: Any) -> None:
    spark.sql("CREATE TABLE shop.customers_too LIKE shop.customers USING versioned")
    expect(spark.table("shop.customers_too").columns, spark.table("shop.customers").columns)


@step
def views(spark: Any) -> None:
    spark.sql("CREATE VIEW shop.romans AS SELECT id FROM shop.customers WHERE city = 'Rome'")
    spark.sql("CREATE OR REPLACE VIEW shop.romans (who) AS SELECT id FROM shop.customers")
    expect(rows(spark, "SELECT count(who) FROM shop.romans"), [(989,)])
    expect([row[1] for row in rows(spark, "SHOW VIEWS IN shop")], ["romans"])
    spark.sql("DROP VIEW shop.romans")
    expect(rows(spark, "SHOW VIEWS IN shop"), [])


@step
def temporary_view(spark: Any) -> None:
    spark.table("shop.customers").createOrReplaceTempView("people")
    expect(rows(spark, "SELECT count(*) FROM people"), [(989,)])


@step
def catalog_of_the_session(spark: Any) -> None:
    expect(spark.catalog.tableExists("shop.customers"), True)
    expect("customers" in {table.name for table in spark.catalog.listTables("shop")}, True)
    if not spark.catalog.listColumns("shop.customers"):
        raise AssertionError("no columns")


@step
def maintain(spark: Any) -> None:
    spark.sql("CALL system.compact(table => 'shop.events')")
    spark.sql("CALL system.expire(table => 'shop.events')")
    spark.sql("CALL system.vacuum(table => 'shop.events')")
    expect(rows(spark, "SELECT count(*) FROM shop.events"), [(EVENTS,)])


@step
def rename_and_drop(spark: Any) -> None:
    spark.sql("ALTER TABLE shop.numbers RENAME TO shop.names")
    spark.sql("DROP TABLE shop.names")
    spark.sql("DROP TABLE IF EXISTS shop.names")
    expect(spark.catalog.tableExists("shop.names"), False)


def main() -> None:
    """Run the steps."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    for function in STEPS:
        error = None
        try:
            function(spark)
        except Exception as failed:
            error = f"{type(failed).__name__}: {failed}".partition("\nJVM stacktrace")[0]
        print(json.dumps({"step": function.__name__, "error": error}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
