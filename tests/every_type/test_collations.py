"""Collated strings: Spark compares them by their collation, and nothing else compares them at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, InvalidRequestError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DDL = "id BIGINT, x STRING COLLATE UTF8_LCASE DEFAULT 'None'"


def test_the_collation_is_in_the_schema_and_needs_a_feature(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", DDL)
    table.append(pa.table({"id": [1], "x": ["Ab"]}))
    table.append(pa.table({"id": [2]}))
    create, first, _ = (
        json.loads((tmp_path / "t/_versioned/log" / f"{at:020d}.json").read_text())
        for at in range(3)
    )
    assert create["features"] == {"read": ["collations"], "write": ["checksums", "collations"]}
    assert create["schema"]["columns"][1]["type"] == "string collate UTF8_LCASE"
    assert first["added"][0]["columns"]["2"] == {"nulls": 0}
    assert table.refresh().ddl().count("STRING COLLATE UTF8_LCASE DEFAULT 'None'") == 1
    assert sorted(table.scan(["x"]).to_arrow()["x"].to_pylist()) == ["Ab", "None"]


@pytest.mark.parametrize(
    "ask, reason",
    [
        (lambda t: t.scan(filters=[("x", "=", "AB")]), "can't be compared outside Spark"),
        (lambda t: t.delete([("x", "=", "ab")]), "can't be compared outside Spark"),
        (lambda t: t.alter().add_check("c", "x = 'ab'").commit(), "can't be compared outside Spark"),
        (lambda t: t.alter().set_partitioning(["x"]).commit(), "identity does not apply"),
        (lambda t: t.alter().set_partitioning(["bucket(4, x)"]).commit(), "bucket"),
        (lambda t: t.maintenance.compact(zorder=["x"]), "cannot be clustered by x"),
        (lambda t: t.alter().change_type("x", "STRING").commit(), "only widenings"),
    ],
)  # fmt: skip
def test_what_would_compare_bytes_is_refused(
    tmp_path: Path, ask: Callable[[Any], object], reason: str
) -> None:
    table = Catalog.create_path(tmp_path / "t", DDL)
    with pytest.raises(InvalidRequestError, match=reason):
        ask(table)


@pytest.mark.thorough
def test_statements_compare_by_the_collation(sql_spark: SparkSession, ns: str) -> None:
    name = f"versioned.{ns}.t"
    sql_spark.sql(f"CREATE TABLE {name} ({DDL}, l ARRAY<STRING COLLATE UNICODE_CI>)")
    sql_spark.sql(
        f"INSERT INTO {name} VALUES (1, 'Ab', array('Q')), (2, 'B', NULL), (3, 'c', NULL)"
    )
    shown = sql_spark.table(name).schema
    assert shown["x"].dataType.simpleString() == "string collate UTF8_LCASE"
    assert shown["l"].dataType.simpleString() == "array<string collate UNICODE_CI>"

    def ids(where: str) -> list[int]:
        rows = sql_spark.sql(f"SELECT id FROM {name} WHERE {where} ORDER BY id").collect()
        return [row[0] for row in rows]

    assert ids("x = 'AB'") == [1]
    assert ids("x IN ('aB', 'C')") == [1, 3]
    assert ids("x < 'b'") == [1]
    assert ids("array_contains(l, 'q')") == [1]
    assert sql_spark.sql(f"SELECT max(x) FROM {name}").collect()[0][0] == "c"
    assert sql_spark.sql(f"SELECT x FROM {name} ORDER BY x LIMIT 1").collect()[0][0] == "Ab"
    sql_spark.sql(f"UPDATE {name} SET id = 10 WHERE x = 'AB'")
    sql_spark.sql(f"DELETE FROM {name} WHERE x = 'b'")
    source = "(SELECT 'C' AS x) s ON t.x = s.x COLLATE UTF8_LCASE"
    sql_spark.sql(f"MERGE INTO {name} t USING {source} WHEN MATCHED THEN UPDATE SET id = 30")
    assert ids("true") == [10, 30]
