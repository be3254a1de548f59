"""The history of SQL statements: conditions as they were written, and numbers of rows."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("mode", ["mark", "copy"])
def test_history_of_statements(sql_spark: SparkSession, ns: str, mode: str) -> None:
    table = f"versioned.{ns}.t"
    sql_spark.sql(
        f"CREATE TABLE {table} (id BIGINT, s STRING) TBLPROPERTIES ('row_changes' = '{mode}')"
    )
    sql_spark.sql(f"INSERT INTO {table} SELECT id, CAST(id AS STRING) FROM range(100)")
    sql_spark.sql(f"DELETE FROM {table} WHERE abs(id) = 7 OR id < 2")
    sql_spark.sql(f"UPDATE {table} SET s = 'x' WHERE id % 10 = 2")
    sql_spark.sql(
        f"MERGE INTO {table} AS t USING (SELECT id + 95 AS id FROM range(10)) AS n ON t.id = n.id "
        "WHEN MATCHED AND t.id = 96 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'm' "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (n.id, 'new')"
    )
    sql_spark.sql(f"INSERT INTO {table} REPLACE WHERE id = 50 VALUES (50, 'a'), (50, 'b')")
    shown = "operation, condition, rows_inserted, rows_updated, rows_deleted"
    history = sql_spark.sql(
        f"SELECT {shown} FROM {table}.history WHERE version >= 2 ORDER BY version"
    )
    assert list(map(tuple, history.collect())) == [
        ("delete", "((abs(id) = 7) OR (id < 2))", None, None, 3),
        ("update", "((id % 10) = 2)", None, 10, None),
        ("merge", "(t.id = n.id)", 5, 4, 1),
        ("overwrite", "id = 50", 2, None, 1),
    ]
    described = sql_spark.sql(f"DESCRIBE HISTORY {table} LIMIT 2").collect()
    assert [row.rowsDeleted for row in described] == [1, 1]
    assert described[1].operationParameters == ["condition=(t.id = n.id)"]
    assert described[1].executionTimeMs > 0
