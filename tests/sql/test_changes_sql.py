"""Changes between versions in SQL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from versioned_catalog import Catalog


def rows(sql_spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in sql_spark.sql(query).collect())


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
