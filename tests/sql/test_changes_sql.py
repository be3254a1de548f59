"""Changes between versions in SQL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from versioned_catalog import Catalog


def rows(sql_spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in sql_spark.sql(query).collect())


@pytest.mark.thorough
def test_changes_of_a_keyed_table(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.k", "id BIGINT, n BIGINT", primary_key=["id"])
    table.append(pa.table({"id": [1, 2], "n": [1, 2]}))
    table.append(pa.table({"id": [2, 3], "n": [5, 3]}))
    table.set_tag("then")
    table.alter().rename_column("n", "m").commit()
    table.delete([("id", "=", 1)])
    name = f"versioned.{ns}.k"
    shown = "id, m, _change_type, _commit_version"
    each = [(1, 1, "delete", 5), (2, 2, "delete", 2), (2, 5, "insert", 2), (3, 3, "insert", 2)]
    assert rows(sql_spark, f"SELECT {shown} FROM {name} CHANGES FROM VERSION 2") == each
    updates = f"SELECT {shown} FROM {name} CHANGES FROM VERSION 2 WITH (computeUpdates = 'true')"
    assert rows(sql_spark, updates)[1:3] == [
        (2, 2, "update_preimage", 2),
        (2, 5, "update_postimage", 2),
    ]
    assert rows(sql_spark, f"SELECT * FROM {name} CHANGES FROM VERSION 5 TO VERSION 5")[0][:4] == (
        *(1, 1, "delete", 5),
    )
    late = f"SELECT {shown} FROM {name} CHANGES FROM VERSION 'then' EXCLUSIVE"
    assert rows(sql_spark, late) == each[:1]
    assert rows(sql_spark, f"SELECT count(*) FROM {name} CHANGES FROM VERSION 2") == [(4,)]
    assert rows(sql_spark, f"SELECT {shown} FROM {name} CHANGES FROM VERSION 5 EXCLUSIVE") == []
    always = f"SELECT {shown} FROM {name} CHANGES FROM TIMESTAMP '2000-01-01'"
    assert len(rows(sql_spark, always)) == 6
    net = (
        f"SELECT {shown} FROM {name} CHANGES FROM VERSION 1 WITH (deduplicationMode = 'netChanges')"
    )
    assert rows(sql_spark, net) == [(2, 5, "insert", 5), (3, 3, "insert", 5)]
    read = sql_spark.read.option("startingVersion", "2").changes(name)
    assert sorted(tuple(r)[:4] for r in read.collect()) == each


def test_changes_that_do_not_exist(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    catalog.create_table(f"{ns}.t", "id BIGINT")
    name = f"versioned.{ns}.t"
    with pytest.raises(Exception, match="has no version 7; the newest is 0"):
        rows(sql_spark, f"SELECT * FROM {name} CHANGES FROM VERSION 0 TO VERSION 7")


@pytest.mark.thorough
def test_filters_are_pushed_down_and_change_no_answer(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """A filter on another column than the key can't skip rows before they are compared."""
    table = catalog.create_table(f"{ns}.k", "id BIGINT, n BIGINT", primary_key=["id"])
    table.append(pa.table({"id": [1, 2, 3], "n": [1, 2, 3]}))
    table.append(pa.table({"id": [2], "n": [5]}))
    table.append(pa.table({"id": [3], "n": [3]}))
    table.delete([("id", "=", 1)])
    name, shown = f"versioned.{ns}.k", "id, n, _change_type, _commit_version"

    def of(where: str, options: str = "") -> list[tuple[Any, ...]]:
        wanted = f"SELECT {shown} FROM {name} CHANGES FROM VERSION 2 {options} WHERE {where}"
        return rows(sql_spark, wanted)

    assert of("n = 2") == [(2, 2, "delete", 2)]
    assert of("n = 5", "WITH (computeUpdates = 'true')") == [(2, 5, "update_postimage", 2)]
    assert of("n = 3") == [], "an upsert of the same values"
    assert of("n = 3", "WITH (deduplicationMode = 'none')") == [
        *((3, 3, "delete", 3), (3, 3, "insert", 3))
    ]
    assert of("id = 1 AND _change_type = 'delete'") == [(1, 1, "delete", 4)]
    assert of("id < 3 AND n > 1", "WITH (deduplicationMode = 'netChanges')") == [
        *((2, 2, "delete", 4), (2, 5, "insert", 4))
    ]
    assert of("_commit_version > 3 OR id = 2") == [
        *((1, 1, "delete", 4), (2, 2, "delete", 2), (2, 5, "insert", 2))
    ]
    plan = sql_spark.sql(f"SELECT n FROM {name} CHANGES FROM VERSION 2 WHERE id = 2")
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert "ChangesScan" in text
    assert "filters: [" in text
    assert "id = 2" in text.split("filters: [")[1]


@pytest.mark.thorough
def test_rows_that_were_copied_in_a_wide_range(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    off = {"auto_maintain": "off"}
    table = catalog.create_table(f"{ns}.p", "id BIGINT, n BIGINT", properties=off)
    for one in range(30):
        table.append(pa.table({"id": [one, one + 100], "n": [0, 0]}))
    table.update({"n": 1}, [("id", "=", 7)])
    name, last = f"versioned.{ns}.p", table.version
    changes = f"SELECT count(*) FROM {name} CHANGES FROM VERSION 1"
    assert rows(sql_spark, changes) == [(62,)]
    copied = f"{changes} WITH (deduplicationMode = 'none')"
    assert rows(sql_spark, copied) == [(64,)], "row 107 was copied"
    net = f"{changes} WITH (deduplicationMode = 'netChanges')"
    assert rows(sql_spark, net) == [(60,)]
    by_version = f"SELECT _commit_version, count(*) FROM {name} CHANGES FROM VERSION 1 GROUP BY 1"
    assert rows(sql_spark, by_version)[-1] == (last, 2)
