"""SQL statements that another process appends to and compacts in the middle of."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyspark.sql.functions as f
import pytest
from pyspark.sql import SparkSession

from versioned_catalog import Catalog
from versioned_catalog.log.entry import Commit

STATEMENTS = {
    "delete": ("DELETE FROM {t} WHERE landing(a) IN (3, 12)", {*range(20)} - {3, 12}),
    "update": ("UPDATE {t} SET a = a + 100 WHERE landing(a) = 3", {*range(20)} - {3} | {103}),
    "merge": (
        "MERGE INTO {t} USING (SELECT landing(a) AS x FROM {t} WHERE a IN (3, 12)) ON a = x "
        "WHEN MATCHED AND a = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET a = 112",
        {*range(20)} - {3, 12} | {112},
    ),
    "most": ("DELETE FROM {t} WHERE landing(a) < 9", {*range(9, 20)}),
    "overwrite": (
        "INSERT OVERWRITE {t} SELECT landing(CAST(id + 200 AS INT)) FROM range(2)",
        {200, 201},
    ),
    "where": (
        "INSERT INTO {t} REPLACE WHERE a < 5 SELECT landing(CAST(id AS INT)) FROM range(2)",
        {*range(5, 20)} | {0, 1},
    ),
}
"""Statements, and the rows after them, without those that another process appends."""


LATER = {"update": pytest.mark.thorough, "most": pytest.mark.thorough, "overwrite": ()}
"""When statements are tested that are not left to the night."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=LATER.get(n, pytest.mark.nightly)) for n in STATEMENTS]
)
def test_a_statement_follows_a_compaction_of_what_it_changes(
    sql_spark: SparkSession, catalog: Catalog, ns: str, name: str, tmp_path: Path
) -> None:
    table = catalog.create_table(f"{ns}.t", "a INT", properties={"auto_maintain": "off"})
    for first in (0, 10):
        table.append(pa.table({"a": pa.array(range(first, first + 10), pa.int32())}))
    location, before, landed = table.location, table.version, str(tmp_path / "landed")

    @f.udf("int", useArrow=False)
    def landing(value: int) -> int:
        try:
            os.close(os.open(landed, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return value  # another task has committed
        other = Catalog.load_path(location)
        other.append(pa.table({"a": pa.array([50], pa.int32())}))
        other.maintenance.compact(strategy="full")
        return value

    sql_spark.udf.register("landing", landing)
    statement, expected = STATEMENTS[name]
    sql_spark.sql(statement.format(t=f"versioned.{ns}.t"))
    table.refresh()
    *_, operation = table.inspect.history()["operation"].to_pylist()
    (entry,) = table._handle.log.entries(table.version, table.version)
    assert isinstance(entry, Commit)
    assert (entry.head.base_version, table.version) == (before, before + 3), operation
    found = [row.a for row in sql_spark.table(f"versioned.{ns}.t").collect()]
    assert sorted(found) == sorted([*expected, 50])
    assert table.maintenance.verify().is_clean
