"""Tables with a primary key in SQL: how they are made, what their plans are, and what could go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def shown(spark: SparkSession, query: str) -> str:
    return "\n".join(" ".join(str(cell) for cell in row) for row in spark.sql(query).collect())


def key_of(table: Table) -> list[str]:
    return [table.schema.column(key).name for key in table.schema.row_key]


def test_made_by_a_constraint(sql_spark: SparkSession, t: str, ns: str, catalog: Catalog) -> None:
    sql_spark.sql(
        f"CREATE TABLE {t} (datacenter STRING, `a.host` STRING, ts TIMESTAMP, v DOUBLE, "
        "PRIMARY KEY (datacenter, `a.host`)) TBLPROPERTIES ('time_index' = 'ts')"
    )
    table = catalog.load_table(f"{ns}.t")
    assert key_of(table) == ["datacenter", "a.host", "ts"]
    assert [column.nullable for column in table.schema.columns] == [False, False, False, True]
    described = shown(sql_spark, f"DESCRIBE EXTENDED {t}")
    print(described)
    print(shown(sql_spark, f"SHOW CREATE TABLE {t}"))
    print(shown(sql_spark, f"SHOW TBLPROPERTIES {t}"))
    assert 0


@pytest.mark.parametrize("s", [
"CREATE TABLE {t} (a INT PRIMARY KEY, b INT)",
"CREATE TABLE {t} (a INT CONSTRAINT x PRIMARY KEY RELY, b INT)",
"CREATE TABLE {t} (a INT PRIMARY KEY ENFORCED, b INT)",
"CREATE TABLE {t} (a INT PRIMARY KEY NOT ENFORCED, b INT, PRIMARY KEY (b))",
"CREATE TABLE {t} (a INT CHECK (a > 0), b INT)",
"CREATE TABLE {t} (a INT UNIQUE, b INT)",
"CREATE TABLE {t} (a INT, PRIMARY KEY (a)) AS SELECT 1 AS a",
"CREATE TABLE {t} (PRIMARY KEY (a)) AS SELECT 1 AS a",
"CREATE TABLE {t} TBLPROPERTIES ('primary_key'='a') AS SELECT 1 AS a, 2 AS b",
"CREATE TABLE {t} (a INT, b INT, PRIMARY KEY (c))",
"CREATE TABLE {t} (a INT, b INT, PRIMARY KEY (a, a))",
"CREATE TABLE {t} (a INT, b INT, FOREIGN KEY (a) REFERENCES {t}(b))",
"CREATE OR REPLACE TABLE {t} (a INT, b INT, PRIMARY KEY (a))",
])
def test_ex(sql_spark, t, ns, catalog, s):
    try:
        sql_spark.sql(s.format(t=t))
        table = catalog.load_table(f"{ns}.t")
        print("OK", s, key_of(table))
        for x in ["ALTER TABLE {t} ADD CONSTRAINT p PRIMARY KEY (b)", "ALTER TABLE {t} DROP CONSTRAINT primary_key", "ALTER TABLE {t} ADD CONSTRAINT p CHECK (a > 0)", "ALTER TABLE {t} SET TBLPROPERTIES ('primary_key'='a')"]:
            try:
                sql_spark.sql(x.format(t=t))
            except Exception as e:
                print("  ", x, str(e)[:300])
    except Exception as e:
        print("ERR", s, str(e)[:300])
    assert 0
