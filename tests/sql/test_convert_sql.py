"""Spark converts a Delta table in place, merges into it, and follows its owner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pyspark_versioned.registering import catalog_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.thorough
def test_a_table_is_converted_merged_into_and_followed(spark: SparkSession, tmp_path: Path) -> None:
    session, name = spark.newSession(), "spark.sql.catalog.converted"
    session.conf.set(name, catalog_class())
    session.conf.set(f"{name}.warehouse", str(tmp_path / "warehouse"))
    session.conf.set(f"{name}.root.lake", str(tmp_path / "lake"))
    source = str(tmp_path / "lake" / "t")
    (tmp_path / "lake").mkdir()
    write_deltalake(source, pa.table({"id": [1, 2], "day": ["a", "b"]}), partition_by=["day"])

    def rows(text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in session.sql(text).collect()]

    (done,) = rows(f"CALL converted.system.convert(table => 't', source => '{source}')")
    assert done[1:] == ("0", 1 + 1, 0, 0, [])
    session.sql("ALTER TABLE converted.t ADD COLUMN note STRING DEFAULT 'x'")
    session.sql(
        "MERGE INTO converted.t AS t USING (SELECT 2L AS id UNION SELECT 3L) AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET note = 'merged' WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    write_deltalake(source, pa.table({"id": [4], "day": ["a"]}), mode="append")
    (done,) = rows("CALL converted.system.sync('t')")
    assert done[1:5] == ("1", 1, 0, 0)
    assert rows("SELECT * FROM converted.t ORDER BY id") == [
        (1, "a", "x"),
        (2, "b", "merged"),
        (3, None, "x"),
        (4, "a", "x"),
    ]
    assert rows("SELECT id FROM converted.t WHERE day = 'a' AND id > 1") == [(4,)]
    assert DeltaTable(source).to_pyarrow_table().num_rows == 3
