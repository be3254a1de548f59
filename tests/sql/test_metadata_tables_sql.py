"""Metadata tables in SQL: of ``t.history``, only the commits that a query asks for are read.

Needs a JVM because Spark pushes what is asked for to the jar's scan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEWEST = 30
ALL = list(range(NEWEST + 1))


@pytest.fixture
def history(catalog: Catalog, ns: str) -> str:
    """The history of a table of thirty appends."""
    table = catalog.create_table(f"{ns}.t", "id BIGINT", properties={"auto_maintain": "off"})
    for number in range(NEWEST):
        table.append(pa.table({"id": [number]}))
    return f"versioned.{ns}.t.history"


@pytest.mark.parametrize(
    "query, versions, read",
    [
        ("ORDER BY version DESC LIMIT 3", [30, 29, 28], "newest 3"),
        ("ORDER BY time DESC, operation LIMIT 3", [30, 29, 28], "newest 3"),
        ("ORDER BY version DESC LIMIT 3 OFFSET 2", [28, 27, 26], "newest 5"),
        ("ORDER BY version DESC LIMIT 100", ALL[::-1], "newest 100"),
        ("WHERE version >= 28 ORDER BY version", [28, 29, 30], "from version 28"),
        ("WHERE version > 28 ORDER BY version", [29, 30], "from version 28"),
        ("WHERE version = 28 AND operation = 'append'", [28], "from version 28"),
        ("WHERE version > 28 AND version >= 30", [30], "from version 30"),
        ("WHERE version > 40", [], "from version 40"),
        ("WHERE version >= -1 ORDER BY version", ALL, "from version 0"),
        ("WHERE version < 3 ORDER BY version", [0, 1, 2], None),
        ("WHERE NOT version >= 3 ORDER BY version", [0, 1, 2], None),
        ("WHERE version >= 28 OR version < 1 ORDER BY version", [0, 28, 29, 30], None),
        ("WHERE base_version >= 28 ORDER BY version", [29, 30], None),
        ("ORDER BY version LIMIT 3", [0, 1, 2], None),
        ("ORDER BY operation DESC, version DESC LIMIT 2", [0, 30], None),
        ("WHERE operation = 'create' ORDER BY version DESC LIMIT 3", [0], None),
    ],
)
def test_only_what_is_asked_for_is_read(
    sql_spark: SparkSession, history: str, query: str, versions: list[int], read: str | None
) -> None:
    frame = sql_spark.sql(f"SELECT version FROM {history} {query}")
    assert [row.version for row in frame.collect()] == versions
    scan = frame._jdf.queryExecution().optimizedPlan().collectLeaves().head().scan()  # type: ignore[operator]
    _, _, part = scan.description().partition(", ")
    assert part == (read or "")
