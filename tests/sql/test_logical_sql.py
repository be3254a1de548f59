"""Logical types by SQL and DataFrames.

Needs a JVM because Spark's own writer writes the segments that the commit looks into.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jar import ROOT
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.thorough

UUIDS = [f"00000000-0000-7000-8000-{at:012x}" for at in range(20)]
DECLARED = (
    "(id BIGINT, u STRING, n INT) "
    "TBLPROPERTIES ('logical_type.u' = 'uuid', 'logical_type.n' = 'ENUM(\\'low\\', \\'high\\')')"
)
SHOWN = {"u": "UUID", "n": "ENUM('low', 'high')"}


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


def refused(spark: SparkSession, statement: str, *texts: str) -> None:
    with pytest.raises(Exception, match="VERSIONED_") as caught:
        spark.sql(statement)
    for text in texts:
        assert text in str(caught.value), statement


def rows(spark: SparkSession, t: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(f"SELECT id, n FROM {t} ORDER BY id").collect()]


def test_statements_are_checked(sql_spark: SparkSession, t: str, ns: str, catalog: Catalog) -> None:
    spark = sql_spark
    spark.sql(f"CREATE TABLE {t} {DECLARED}")
    assert catalog.load_table(f"{ns}.t").logical_types == SHOWN
    spark.sql(f"INSERT INTO {t} VALUES (1, '{UUIDS[1]}', 1), (2, NULL, 2)")
    refused(spark, f"INSERT INTO {t} VALUES (3, 'x', 1)", "the column u is UUID", "u = 'x'")
    refused(spark, f"INSERT INTO {t} VALUES (3, NULL, 3)", "from 1 to 2", "n = 3")
    refused(spark, f"UPDATE {t} SET u = upper(u || 'f') WHERE id = 1", "UUID")
    spark.sql(f"DELETE FROM {t} WHERE id = 2")
    assert rows(spark, t) == [(1, 1)]


@pytest.mark.nightly
def test_statements_show_and_change_it(
    sql_spark: SparkSession, t: str, ns: str, catalog: Catalog
) -> None:
    spark = sql_spark
    spark.sql(f"CREATE TABLE {t} {DECLARED}")
    properties = dict(tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES {t}").collect())
    assert properties["logical_type.n"] == SHOWN["n"]
    created = spark.sql(f"SHOW CREATE TABLE {t}").collect()[0][0]
    spark.sql(f"DROP TABLE {t}")
    spark.sql(created)
    assert catalog.load_table(f"{ns}.t").logical_types == SHOWN
    refused(spark, f"ALTER TABLE {t} SET TBLPROPERTIES ('logical_type.u' = 'UINT8')", "SMALLINT")
    spark.sql(
        f'ALTER TABLE {t} SET TBLPROPERTIES (\'logical_type.n\' = \'ENUM("low", "high", "x")\')'
    )
    spark.sql(f"INSERT INTO {t} VALUES (3, NULL, 3)")
    refused(spark, f"ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT", "n can't be ENUM")
    spark.sql(f"ALTER TABLE {t} UNSET TBLPROPERTIES ('logical_type.n')")
    spark.sql(f"INSERT INTO {t} VALUES (4, NULL, 4)")
    assert rows(spark, t) == [(3, 3), (4, 4)]


@pytest.mark.nightly
@pytest.mark.parametrize("io", ["native", "python"])
@pytest.mark.parametrize("more", ["", ", 'row_changes' = 'copy'", ", 'schema_mode' = 'live'"])
def test_every_statement_is_checked(
    sql_spark: SparkSession, t: str, ns: str, catalog: Catalog, io: str, more: str
) -> None:
    spark = sql_spark.newSession()
    spark.conf.set("spark.versioned.io", io)
    spark.sql(f"CREATE TABLE {t} {DECLARED[:-1]}{more})")
    spark.sql(f"INSERT INTO {t} VALUES (1, '{UUIDS[1]}', 1)")
    bad = f"SELECT 1 AS id, '{UUIDS[10].upper()}' AS u, 1 AS n"
    for statement in (
        f"INSERT INTO {t} BY NAME {bad}",
        f"INSERT OVERWRITE {t} {bad}",
        f"INSERT INTO {t} REPLACE WHERE id = 1 {bad}",
        f"MERGE INTO {t} t USING ({bad}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        f"MERGE INTO {t} t USING ({bad}) s ON t.id = -1 WHEN NOT MATCHED THEN INSERT *",
        f"UPDATE {t} SET u = 'x'",
        f"UPDATE {t} SET u = upper(u || 'f') WHERE id = 1",
    ):
        refused(spark, statement, "the column u is UUID")
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="the column u is UUID"):
            spark.sql(bad).write.format("versioned").mode(mode).save(
                catalog.load_table(f"{ns}.t").location
            )
    with pytest.raises(Exception, match="the column u is UUID"):
        spark.sql(bad).writeTo(t).append()
    refused(
        spark,
        f"CREATE TABLE {t}2 TBLPROPERTIES ('logical_type.u' = 'UUID') AS {bad}",
        "the column u is UUID",
    )
    refused(
        spark,
        f"CREATE OR REPLACE TABLE {t} TBLPROPERTIES ('logical_type.u' = 'UUID') AS {bad}",
        "the column u is UUID",
    )
    assert not spark.catalog.tableExists(f"{t}2")
    assert rows(spark, t) == [(1, 1)]
    spark.sql(f"CREATE TABLE {t}3 LIKE {t}")
    assert catalog.load_table(f"{ns}.t3").logical_types == SHOWN
    spark.sql(f"CREATE TABLE {t}2 TBLPROPERTIES ('logical_type.u' = 'UUID') AS SELECT * FROM {t}")
    refused(spark, f"INSERT INTO {t}2 {bad}", "the column u is UUID")


@pytest.mark.nightly
def test_streams_are_checked(sql_spark: SparkSession, t: str, tmp_path: Path) -> None:
    spark = sql_spark
    spark.sql(f"CREATE TABLE {t} {DECLARED}")
    spark.sql(f"CREATE TABLE {t}_from (id BIGINT, u STRING, n INT)")

    def run() -> None:
        query = spark.readStream.table(f"{t}_from").writeStream.trigger(availableNow=True)
        query.option("checkpointLocation", str(tmp_path)).toTable(t).awaitTermination()

    spark.sql(f"INSERT INTO {t}_from VALUES (1, '{UUIDS[1]}', 1)")
    run()
    spark.sql(f"INSERT INTO {t}_from VALUES (2, 'x', 1)")
    with pytest.raises(Exception, match="the column u is UUID"):
        run()
    assert rows(spark, t) == [(1, 1)]


@pytest.mark.nightly
def test_the_statements_of_the_page_of_types(
    sql_spark: SparkSession, ns: str, catalog: Catalog
) -> None:
    page = (ROOT / "docs" / "types.md").read_text()
    block = page.split("## Logical types")[1].split("```sql\n")[1].split("```")[0]
    found = [text for text in block.replace(".shop.", f".{ns}.").split(";") if text.strip()]
    assert len(found) == 3
    for statement in found:
        sql_spark.sql(statement)
    shown = {"id": "UUID", "level": "ENUM('low', 'high')"}
    assert catalog.load_table(f"{ns}.sessions").logical_types == shown
