"""Statements that replace rows of a table by rows that they made of its own, and lose a race."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEVELS = ["snapshot", "serializable"]
REPLACING = {
    "overwrite": "INSERT OVERWRITE {t} SELECT a, landing(b) FROM {t}",
    "dynamic": "INSERT OVERWRITE {t} SELECT /*+ COALESCE(1) */ a, landing(b) FROM {t} WHERE a < 3",
    "where": "INSERT INTO {t} REPLACE WHERE a = 1 SELECT a, landing(b) FROM {t} WHERE a = 1",
    "replace": "CREATE OR REPLACE TABLE {t} AS SELECT a, landing(b) FROM {t}",
}
ELSEWHERE = (
    "INSERT INTO {t} REPLACE WHERE a = 1 "
    "SELECT 1 + CAST(id AS INT), landing(CAST((SELECT sum(b) FROM {t}) AS INT)) FROM range(1)"
)


def integers(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def made(catalog: Catalog, ns: str, name: str, level: str, *key: str) -> Table:
    table = catalog.create_table(
        f"{ns}.t",
        "a INT, b INT",
        primary_key=key,
        properties={"isolation": level},
        partitioned_by=["a"] if name == "dynamic" else [],
    )
    table.append(integers(a=[1, 2], b=[1, 1]))
    return table


def run(spark: SparkSession, table: Table, statement: str, a: int, *, updates: bool) -> None:
    """Run a statement; once it has read, another writer puts (a, 50) there."""
    location, before, name = table.location, table.version, table.name
    row = integers(a=[a], b=[50])

    @f.udf("int", useArrow=False)
    def landing(value: int) -> int:
        other = Catalog.load_path(location)
        if other.version == before and updates:
            other.update({"b": 50}, [("a", "=", a)])
        elif other.version == before:
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


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", REPLACING)
@pytest.mark.parametrize("updates", [False, True], ids=["upsert", "update"])
def test_a_row_that_was_read_is_written(
    sql_spark: SparkSession, catalog: Catalog, ns: str, level: str, name: str, updates: bool
) -> None:
    """The row that is there would be one that no order of the two leaves."""
    table = made(catalog, ns, name, level, "a")
    with pytest.raises(Exception, match="run it again"):
        run(sql_spark, table, REPLACING[name], 1, updates=updates)
    assert rows(table) == [(1, 50), (2, 1)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("key", ["a", ""])
@pytest.mark.parametrize("name", REPLACING)
def test_a_row_comes(
    sql_spark: SparkSession, catalog: Catalog, ns: str, level: str, name: str, key: str
) -> None:
    """Snapshot isolation keeps it; but a REPLACE TABLE would take away what it has not seen."""
    table = made(catalog, ns, name, level, *filter(None, [key]))
    if level == "snapshot" and name != "replace":
        run(sql_spark, table, REPLACING[name], 3, updates=False)
        assert rows(table) == [(1, 1), (2, 1), (3, 50)]
        return
    with pytest.raises(Exception, match="run it again"):
        run(sql_spark, table, REPLACING[name], 3, updates=False)
    assert rows(table) == [(1, 1), (2, 1), (3, 50)]


@pytest.mark.parametrize("key", ["a", ""])
def test_what_was_read_is_not_what_is_replaced(
    sql_spark: SparkSession, catalog: Catalog, ns: str, key: str
) -> None:
    table = made(catalog, ns, "where", "serializable", *filter(None, [key]))
    with pytest.raises(Exception, match="run it again"):
        run(sql_spark, table, ELSEWHERE, 2, updates=bool(key))
    assert (2, 50) in rows(table)
