"""UNDROP TABLE, SHOW TABLES DROPPED and RESTORE over a replacement, by SQL.

Needs a JVM because Spark parses the statements, and calls the procedures.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DEFINITIONS = [
    """(id BIGINT NOT NULL COMMENT 'the id', name STRING DEFAULT 'x', CONSTRAINT some CHECK (id > 0),
        PRIMARY KEY (id)) PARTITIONED BY (bucket(4, id)) COMMENT 'keyed' TBLPROPERTIES ('a' = '1')""",
    """(id BIGINT, s STRUCT<a: INT, b: ARRAY<STRING>>, d DATE DEFAULT DATE'2026-01-01',
        CONSTRAINT small CHECK (id < 100)) PARTITIONED BY (years(d))
        TBLPROPERTIES ('sort_by' = 'id DESC')""",
]


def rows_of(spark: SparkSession, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(sql).collect()]


def described(spark: SparkSession, name: str) -> list[Any]:
    """What SHOW CREATE TABLE says, and the rows."""
    (created,) = rows_of(spark, f"SHOW CREATE TABLE {name}")
    return [created, sorted(rows_of(spark, f"SELECT * FROM {name}"), key=repr)]


def create(spark: SparkSession, name: str, definition: str) -> None:
    spark.sql(f"CREATE TABLE {name} {definition}")
    spark.sql(f"INSERT INTO {name} (id) VALUES (1), (2)")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN later INT DEFAULT 7")
    spark.sql(f"UPDATE {name} SET later = 8 WHERE id = 2")


@pytest.mark.parametrize("definition", DEFINITIONS, ids=["keyed", "plain"])
def test_all_of_a_table_comes_back(sql_spark: SparkSession, ns: str, definition: str) -> None:
    name = f"versioned.{ns}.t"
    create(sql_spark, name, definition)
    before = described(sql_spark, name)
    sql_spark.sql(f"DROP TABLE {name}")
    (listed,) = rows_of(sql_spark, f"SHOW TABLES DROPPED IN versioned.{ns} LIKE 'T|u*'")
    assert (listed[0], listed[1], listed[6]) == (ns, "t", 3)
    assert (listed[5] - listed[3]).days == 7
    assert rows_of(sql_spark, f"SHOW TABLES DROPPED FROM versioned.{ns} 'u*'") == []
    assert rows_of(sql_spark, f"UNDROP TABLE {name}") == [(f"{ns}.t", listed[2], 5)]
    assert described(sql_spark, name) == before
    sql_spark.sql(f"CREATE OR REPLACE TABLE {name} AS SELECT 'k' AS other")
    after = described(sql_spark, name)
    (restored,) = rows_of(sql_spark, f"RESTORE TABLE {name} TO VERSION AS OF 3")
    assert restored[:2] == (6, 7)
    assert "column other is removed: other STRING" in restored[2]
    assert described(sql_spark, name) == before
    with pytest.raises(Exception, match="constraint"):
        sql_spark.sql(f"INSERT INTO {name} (id) VALUES (-1), (100)")
    sql_spark.sql(f"INSERT INTO {name} (id) VALUES (5)")
    sql_spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF 6")
    assert described(sql_spark, name) == after
    sql_spark.sql(f"CALL versioned.system.rollback_to_snapshot('{ns}.t', 3)")
    assert described(sql_spark, name) == before


def test_an_overwrite_with_another_schema_is_taken_back(
    sql_spark: SparkSession, ns: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    sql_spark.createDataFrame([(1, "a")], "id INT, x STRING").write.format("versioned").mode(
        "append"
    ).save(path)
    before = Catalog.load_path(path).ddl()
    other = sql_spark.createDataFrame([("k",)], "q STRING").write.format("versioned")
    other.option("overwriteSchema", "true").mode("overwrite").save(path)
    table = Catalog.load_path(path)
    assert table.schema.names == ["q"]
    table.rollback(0)
    assert table.ddl() == before
    assert [tuple(r) for r in sql_spark.read.format("versioned").load(path).collect()] == [(1, "a")]


@pytest.mark.thorough
def test_names(sql_spark: SparkSession, ns: str) -> None:
    """In the current namespace, under another name, and by UUID."""
    name = f"versioned.{ns}.t"
    current = sql_spark.sql("SELECT current_catalog(), current_schema()").first()
    assert current is not None
    sql_spark.sql(f"USE versioned.{ns}")
    try:
        sql_spark.sql("CREATE TABLE t AS SELECT 1 AS a")
        sql_spark.sql("DROP TABLE t")
        sql_spark.sql("CREATE TABLE t AS SELECT 2 AS a")
        with pytest.raises(Exception, match="rename what is there"):
            sql_spark.sql("UNDROP TABLE t")
        sql_spark.sql("DROP TABLE t;")
        second, first = rows_of(sql_spark, "show tables dropped")
        sql_spark.sql("undrop table T -- the last one\n;")
        assert rows_of(sql_spark, "SELECT a FROM t") == [(2,)]
        sql_spark.sql(
            f"CALL versioned.system.undrop('t', uuid => '{first[2]}', new_name => 'versioned.{ns}.u')"
        )
        assert rows_of(sql_spark, "SELECT a FROM u") == [(1,)]
        assert rows_of(sql_spark, "SHOW TABLES DROPPED") == []
        assert second[2] != first[2]
        for sql, why in (
            ("UNDROP TABLE t", "is not dropped"),
            ("UNDROP TABLE nope", "no table .*nope was dropped"),
            (f"UNDROP TABLE WITH ID '{first[2]}'", "system.undrop"),
            ("SHOW TABLES DROPPED IN versioned.nope", "no namespace nope"),
            ("UNDROP VIEW t", "PARSE_SYNTAX_ERROR"),
            ("UNDROP TABLE spark_catalog.default.t", "PARSE_SYNTAX_ERROR"),
            ("SHOW TABLES DROPPED IN spark_catalog.default", "PARSE_SYNTAX_ERROR"),
        ):
            with pytest.raises(Exception, match=why):
                sql_spark.sql(sql)
    finally:
        sql_spark.sql(f"USE {current[0]}.{current[1]}")
    sql_spark.sql(f"DROP TABLE {name}")
    sql_spark.sql(f"DROP NAMESPACE versioned.{ns} CASCADE")
    sql_spark.sql(f"CREATE NAMESPACE versioned.{ns}")
    sql_spark.sql(f"UNDROP TABLE {name} AS versioned.{ns}.v")
    assert rows_of(sql_spark, f"SELECT a FROM versioned.{ns}.v") == [(2,)]
