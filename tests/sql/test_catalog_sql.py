"""SQL registers tables in a catalog of PyIceberg, by properties."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from publish.lakes import Lake, lake_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """A catalog that Spark's workers find in PyIceberg's configuration file."""
    file = Path(os.environ["PYICEBERG_HOME"], ".pyiceberg.yaml")
    with lake_of("sql", tmp_path) as lake:
        lines = [f"    {key}: {value}" for key, value in lake.configuration.items()]
        file.write_text("\n".join(["catalog:", "  lake:", *lines, ""]))
        yield lake
    file.unlink()


def test_statements(sql_spark: SparkSession, ns: str, lake: Lake) -> None:
    def run(statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in sql_spark.sql(statement).collect()]

    table = f"versioned.{ns}.t"
    run(f"CREATE TABLE {table} (id BIGINT, s STRING) TBLPROPERTIES ('row_changes' = 'mark')")
    run(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('publish' = 'iceberg', 'publish.catalog' = 'lake')"
    )
    assert lake.rows(f"{ns}.t") == []
    run(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    run(f"ALTER TABLE {table} RENAME COLUMN s TO t")
    run(f"DELETE FROM {table} WHERE id = 2")
    run(f"UPDATE {table} SET t = 'z' WHERE id = 3")
    assert lake.rows(f"{ns}.t") == [{"id": 1, "t": "a"}, {"id": 3, "t": "z"}]
    run(
        f"MERGE INTO {table} USING (SELECT 4L AS id) s ON {table}.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    assert lake.ids(f"{ns}.t") == [1, 3, 4]
    (row,) = run(f"CALL versioned.system.publish('{ns}.t')")
    assert row[5] == f"lake: {ns}.t"
    run(f"CREATE TABLE versioned.{ns}.like LIKE {table}")
    keys = [key for key, _ in run(f"SHOW TBLPROPERTIES versioned.{ns}.like")]
    assert "publish" in keys
    assert not [key for key in keys if key.startswith("publish.")]
    run(f"CREATE TABLE versioned.{ns}.clone DEEP CLONE {table}")
    keys = [key for key, _ in run(f"SHOW TBLPROPERTIES versioned.{ns}.clone")]
    assert not [key for key in keys if key.startswith("publish.")]
    for statement, message in (
        (
            f"ALTER TABLE {table} SET TBLPROPERTIES ('publish.catalog' = 'gold')",
            "has lake; add it to",
        ),
        (f"ALTER TABLE {table} UNSET TBLPROPERTIES ('publish.catalog')", None),
        (
            f"CREATE TABLE versioned.{ns}.u (id INT) TBLPROPERTIES ('publish.catalog' = 'x')",
            "add it",
        ),
        (
            f"ALTER TABLE versioned.{ns}.clone SET TBLPROPERTIES ('publish.catalog.table' = 'a.b')",
            "no effect without publish.catalog",
        ),
    ):
        if message is None:
            run(statement)
            continue
        with pytest.raises(Exception, match=message):
            run(statement)
    assert lake.location(f"{ns}.t") is None
    run(f"ALTER TABLE {table} SET TBLPROPERTIES ('publish.catalog' = 'lake')")
    run(f"CREATE OR REPLACE TABLE {table} (x INT) TBLPROPERTIES ('publish' = 'iceberg')")
    assert lake.location(f"{ns}.t") is None
    run(f"ALTER TABLE {table} SET TBLPROPERTIES ('publish.catalog' = 'lake')")
    assert lake.rows(f"{ns}.t") == []
    run(f"DROP TABLE {table}")
    assert lake.location(f"{ns}.t") is None
    run(f"CALL versioned.system.undrop('{ns}.t')")
    assert lake.rows(f"{ns}.t") == []
