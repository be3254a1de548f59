"""What a statement says of a new table counts, or is refused. Needs a JVM for Spark's side of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyspark_versioned.registering import catalog_class
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Step = Callable[["SparkSession", str], Any]


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE {0} (id BIGINT) USING parquet",
        "CREATE TABLE {0} USING PARQUET AS SELECT 1L AS id",
        "CREATE OR REPLACE TABLE {0} (id BIGINT) USING parquet",
        "REPLACE TABLE {1} USING parquet AS SELECT 1L AS id",
        "CREATE TABLE {0} LIKE {1} USING parquet",
        "CREATE TABLE {0} (id BIGINT) STORED AS parquet",
        "CREATE TABLE {0} (id BIGINT) ROW FORMAT SERDE 'a.b'",
    ],
)
def test_another_format_is_refused(
    sql_spark: SparkSession, catalog: Catalog, ns: str, statement: str
) -> None:
    """Also that of the session's default source, ``parquet``."""
    existing = catalog.create_table(f"{ns}.u", "id BIGINT")
    with pytest.raises(
        Exception, match=r"is not possible in this catalog; leave .* USING versioned"
    ):
        sql_spark.sql(statement.format(f"versioned.{ns}.t", f"versioned.{ns}.u"))
    assert not catalog.table_exists(f"{ns}.t")
    assert existing.refresh().version == 0


NEW: dict[str, Step] = {
    "SQL": lambda spark, t: spark.sql(f"CREATE TABLE {t} (id BIGINT)"),
    "query": lambda spark, t: spark.sql(f"CREATE TABLE {t} AS SELECT 1L AS id"),
    "iceberg": lambda spark, t: spark.sql(f"CREATE TABLE {t} (id BIGINT) USING iceberg"),
    "delta": lambda spark, t: spark.sql(f"CREATE TABLE {t} (id BIGINT) USING delta"),
    "writeTo": lambda spark, t: spark.range(1).writeTo(t).create(),
    "saveAsTable": lambda spark, t: spark.range(1).write.saveAsTable(t),
    "overwrite": lambda spark, t: spark.range(1).write.mode("overwrite").saveAsTable(t),
    "createTable": lambda spark, t: spark.catalog.createTable(t, schema=spark.range(1).schema),
}


@pytest.mark.parametrize("way", NEW)
def test_a_format_that_nobody_named_is_ours(
    sql_spark: SparkSession, catalog: Catalog, ns: str, way: str
) -> None:
    NEW[way](sql_spark, f"versioned.{ns}.t")
    assert catalog.load_table(f"{ns}.t").schema.names == ["id"]


def test_another_format_of_write_to_is_refused(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    writer = sql_spark.range(1).writeTo(f"versioned.{ns}.t").using("parquet")
    for create in (writer.create, writer.createOrReplace):
        with pytest.raises(Exception, match="USING parquet is not possible"):
            create()
    assert not catalog.table_exists(f"{ns}.t")


PATHS: dict[str, Callable[[SparkSession, str, str], Any]] = {
    "saveAsTable": lambda spark, t, p: spark.range(1).write.option("path", p).saveAsTable(t),
    "overwrite": lambda spark, t, p: (
        spark.range(1).write.mode("overwrite").option("path", p).saveAsTable(t)
    ),
    "append": lambda spark, t, p: (
        spark.range(1).write.mode("append").option("path", p).saveAsTable(t)
    ),
    "writeTo": lambda spark, t, p: spark.range(1).writeTo(t).option("path", p).create(),
    "toTable": lambda spark, t, p: (
        spark.readStream.format("rate")
        .load()
        .writeStream.option("checkpointLocation", f"{p}-checkpoint")
        .option("path", p)
        .trigger(availableNow=True)
        .toTable(t)
    ),
}


@pytest.mark.parametrize("way", PATHS)
def test_a_path_of_a_table_by_name_is_refused(
    sql_spark: SparkSession, catalog: Catalog, ns: str, way: str
) -> None:
    path = f"{catalog.store.url}/own/{ns}"
    with pytest.raises(Exception, match=r"the option path is not supported in .*LOCATION"):
        PATHS[way](sql_spark, f"versioned.{ns}.t", path)
    assert not catalog.table_exists(f"{ns}.t")
    assert not Path(path).exists()


def test_a_comment_is_set_changed_and_removed(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    t = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {t} (id INT) COMMENT 'one'")
    table = catalog.load_table(f"{ns}.t")

    def shown() -> list[str]:
        described = rows(sql_spark, f"DESCRIBE EXTENDED {t}")
        return [row[1] for row in described if row[0] == "Comment"]

    for text, expected in (("'two'", ["two"]), ("NULL", []), ("'three'", ["three"])):
        sql_spark.sql(f"COMMENT ON TABLE {t} IS {text}")
        assert shown() == expected
        version = table.refresh().version
        assert [table.comment] == (expected or [None])
        sql_spark.sql(f"COMMENT ON TABLE {t} IS {text}")
        assert table.refresh().version == version
    sql_spark.sql(f"ALTER TABLE {t} UNSET TBLPROPERTIES ('comment')")
    assert shown() == []


def test_a_warehouse_without_a_folder_is_empty(sql_spark: SparkSession, tmp_path: Path) -> None:
    spark = sql_spark.newSession()
    spark.conf.set("spark.sql.catalog.fresh", catalog_class())
    spark.conf.set("spark.sql.catalog.fresh.warehouse", str(tmp_path / "w"))
    for statement in ("DATABASES IN fresh", "NAMESPACES IN fresh", "TABLES IN fresh"):
        assert rows(spark, f"SHOW {statement}") == []
    assert not (tmp_path / "w").exists()
    with pytest.raises(Exception, match="SCHEMA_NOT_FOUND"):
        spark.sql("SHOW TABLES IN fresh.nothing")
    spark.sql("CREATE NAMESPACE fresh.db")
    assert rows(spark, "SHOW NAMESPACES IN fresh") == [("db",)]
