"""Delta's ``table_changes``, which is read as ``CHANGES FROM ... TO ...``.

Needs a JVM because Spark resolves table functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.thorough


@pytest.fixture
def t(sql_spark: SparkSession, ns: str) -> str:
    """Three versions: two rows, one of them changed, and an added column."""
    name = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {name} (id INT NOT NULL, n INT, PRIMARY KEY (id))")
    sql_spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    sql_spark.sql(f"UPDATE {name} SET n = 3 WHERE id = 2")
    sql_spark.sql(f"ALTER TABLE {name} ADD COLUMN s STRING")
    return name


def changes(spark: SparkSession, arguments: str) -> list[tuple[Any, ...]]:
    columns = "_commit_version, _change_type, id, n"
    found = spark.sql(f"SELECT {columns} FROM table_changes({arguments}) ORDER BY 1, 2 DESC, 3")
    return [tuple(row) for row in found.collect()]


FIRST = [(1, "insert", 1, 1), (1, "insert", 2, 2)]
SECOND = [(2, "update_preimage", 2, 2), (2, "update_postimage", 2, 3)]


def test_versions(sql_spark: SparkSession, t: str) -> None:
    assert changes(sql_spark, f"'{t}', 0") == FIRST + SECOND
    assert changes(sql_spark, f"'{t}', 0, 1") == FIRST
    assert changes(sql_spark, f"'{t}', 1 + 1, 3") == SECOND
    assert changes(sql_spark, f"'{t}', 3") == []


def test_times(sql_spark: SparkSession, t: str) -> None:
    for bounds in (
        "'2021-04-21 05:45:46', '2099-01-01'",
        "DATE'2021-04-21'",
        "TIMESTAMP'2021-04-21 05:45:46', current_timestamp()",
    ):
        assert changes(sql_spark, f"'{t}', {bounds}") == FIRST + SECOND
    with pytest.raises(Exception, match="did not exist yet at 2021-05-21"):
        changes(sql_spark, f"'{t}', '2021-04-21', '2021-05-21'")


def test_names(sql_spark: SparkSession, t: str, ns: str) -> None:
    spark = sql_spark.newSession()
    spark.sql(f"USE versioned.{ns}")
    quoted = "`odd.na``me`"
    spark.sql(f"CREATE TABLE {quoted} AS SELECT 1 AS id, 2 AS n")
    assert changes(spark, f"'{quoted}', 0") == [(0, "insert", 1, 2)]
    assert changes(spark, "'t', 2") == SECOND
    joined = spark.sql("SELECT c.n FROM table_changes('t', 2) AS c JOIN t ON c.n = t.n")
    assert [row.n for row in joined.collect()] == [3]
    spark.sql("CREATE TEMP VIEW v AS SELECT * FROM table_changes('t', 0)")
    assert spark.table("v").count() == 4


def test_a_path(sql_spark: SparkSession, t: str, tmp_path: Path) -> None:
    """As Delta has it, a path is a name in the catalog ``delta``."""
    spark = sql_spark.newSession()
    with pytest.raises(Exception, match="Catalog spark_catalog does not support"):
        spark.sql("SELECT * FROM table_changes_by_path('/a/b', 0)")
    with pytest.raises(Exception, match="VACUUM"):
        spark.sql("VACUUM '/a/b'")
    spark.conf.set("spark.sql.catalog.delta", "versioned.spark.VersionedCatalog")
    spark.conf.set("spark.sql.catalog.delta.warehouse", str(tmp_path))
    spark.sql("CREATE TABLE delta.`/a/b` AS SELECT 1 AS id, 2 AS n")
    rows = spark.sql("SELECT id, n, _change_type FROM table_changes_by_path('/a/b', 0)")
    assert [tuple(row) for row in rows.collect()] == [(1, 2, "insert")]
    assert [row.version for row in spark.sql("DESCRIBE HISTORY '/a/b'").collect()] == [0]
    (detail,) = spark.sql('DESC DETAIL "/a/b"').collect()
    assert detail.numRows == 1
    with pytest.raises(Exception, match="no table"):
        spark.sql("OPTIMIZE '/a/c'")


REFUSED = {
    "": "table_changes takes the name",
    "'{t}'": "table_changes takes the name",
    "'{t}', 0, 1, 2": "table_changes takes the name",
    "'{t}', NULL": "table_changes takes the name",
    "'{t}', 1.5": "table_changes takes the name",
    "'{t}', -1": "table_changes takes the name",
    "1, 0": "table_changes takes the name",
    "CAST(NULL AS STRING), 0": "table_changes takes the name",
    "'{t}; DROP TABLE x', 0": "but not",
    "'{t}x', 0": "TABLE_OR_VIEW_NOT_FOUND",
    "'{t}', 0, 10": "has no version 10; the newest is 3",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_is_no_range_is_refused(sql_spark: SparkSession, t: str, arguments: str) -> None:
    with pytest.raises(Exception, match=REFUSED[arguments]):
        sql_spark.sql(f"SELECT * FROM table_changes({arguments.format(t=t)})").collect()
