"""Statements that replace rows of a table by rows computed from it conflict with concurrent commits.

Needs a JVM because the jar detects that a statement reads its own table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPLACING = {
    "overwrite": "INSERT OVERWRITE {t} SELECT a, landing(b) FROM {t}",
    "dynamic": "INSERT OVERWRITE {t} SELECT /*+ COALESCE(1) */ a, landing(b) FROM {t} WHERE a < 3",
    "where": "INSERT INTO {t} REPLACE WHERE a = 1 SELECT a, landing(b) FROM {t} WHERE a = 1",
    "replace": "CREATE OR REPLACE TABLE {t} AS SELECT a, landing(b) FROM {t}",
}
READS_ALL_ROWS = (
    "INSERT INTO {t} REPLACE WHERE a = 1 "
    "SELECT 1 + CAST(id AS INT), landing(CAST((SELECT sum(b) FROM {t}) AS INT)) FROM range(1)"
)


def integers(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def create(catalog: Catalog, ns: str, name: str, *key: str) -> Table:
    table = catalog.create_table(
        f"{ns}.t",
        "a INT, b INT",
        primary_key=key,
        properties={"isolation": "serializable"},
        partitioned_by=["a"] if name == "dynamic" else [],
    )
    table.append(integers(a=[1, 2], b=[1, 1]))
    return table


def run(spark: SparkSession, table: Table, statement: str, a: int) -> None:
    """Run a statement; after it has read the table, another writer appends (a, 50)."""
    location, before, name = table.location, table.version, table.name
    row = integers(a=[a], b=[50])

    @f.udf("int", useArrow=False)
    def landing(value: int) -> int:
        other = Catalog.load_path(location)
        if other.version == before:
            other.append(row)
        return value

    spark.udf.register("landing", landing)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(statement.format(t=f"versioned.{name}"))
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def rows(table: Table) -> list[tuple[int, int]]:
    found = Catalog.load_path(table.location).scan().to_arrow()
    return sorted(zip(*(found[name].to_pylist() for name in "ab"), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "key"), [("overwrite", "a"), ("dynamic", ""), ("where", ""), ("replace", "a")]
)
def test_a_replacement_of_rows_that_changed_conflicts(
    sql_spark: SparkSession, catalog: Catalog, ns: str, name: str, key: str
) -> None:
    """``tests/write/test_own_rows.py`` tests what each kind of replacement conflicts with."""
    table = create(catalog, ns, name, *filter(None, [key]))
    with pytest.raises(Exception, match="run it again"):
        run(sql_spark, table, REPLACING[name], 3)
    assert rows(table) == [(1, 1), (2, 1), (3, 50)]


@pytest.mark.thorough
def test_a_replacement_conflicts_with_changes_of_other_rows_it_read(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    table = create(catalog, ns, "where")
    with pytest.raises(Exception, match="run it again"):
        run(sql_spark, table, READS_ALL_ROWS, 2)
    assert (2, 50) in rows(table)


def test_an_older_version_may_replace_the_table(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    table = create(catalog, ns, "replace")
    table.append(integers(a=[3], b=[1]))
    sql_spark.sql(
        f"CREATE OR REPLACE TABLE versioned.{ns}.t AS SELECT * FROM versioned.{ns}.t VERSION AS OF 1"
    )
    assert rows(table) == [(1, 1), (2, 1)]
