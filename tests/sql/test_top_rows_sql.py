"""ORDER BY with LIMIT reads few segments, and GROUP BY of partitions none.

Needs a JVM because Spark decides what it pushes down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.functions import lit

from sql.plans import plan_of, pruned
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNMAINTAINED = {"auto_maintain": "off"}


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    """Five segments: n = 0..2, 10..12, ..., 40..42; the third has a null, too."""
    table = catalog.create_table(
        f"{ns}.t", "p STRING, n BIGINT", partitioned_by=["p"], properties=UNMAINTAINED
    )
    for tens in range(5):
        values = [10 * tens, 10 * tens + 1, None if tens == 2 else 10 * tens + 2]
        table.append(pa.table({"p": [f"p{tens}"] * 3, "n": pa.array(values, pa.int64())}))
    return table


@pytest.mark.parametrize(
    ("order", "expected", "skipped"),
    [
        ("n DESC LIMIT 2", [42, 41], 4),
        ("n DESC LIMIT 4", [42, 41, 40, 32], 3),
        ("n DESC LIMIT 2 OFFSET 2", [40, 32], 3),
        ("n DESC NULLS FIRST LIMIT 2", [None, 42], 3),  # the nulls are read, too
        ("n LIMIT 2", [None, 0], 3),
        ("n NULLS LAST LIMIT 2", [0, 1], 4),
        ("n DESC, p LIMIT 1", [42], 4),
        ("n + 1 DESC LIMIT 1", [42], 0),
        ("p DESC, n LIMIT 1", [40], 4),
        ("n DESC LIMIT 100", [42, 41, 40, 32, 31, 30, 21, 20, 12, 11, 10, 2, 1, 0, None], 0),
    ],
)
def test_top_rows(
    sql_spark: SparkSession,
    table: Table,
    ns: str,
    order: str,
    expected: list[int | None],
    skipped: int,
) -> None:
    frame = sql_spark.sql(f"SELECT n FROM versioned.{ns}.t ORDER BY {order}")
    assert rows_of(frame) == [(value,) for value in expected]
    assert pruned(frame) == (skipped, 5), plan_of(frame)


def test_top_rows_of_a_filter_are_searched_everywhere(
    sql_spark: SparkSession, table: Table, ns: str
) -> None:
    """Which rows the filter leaves, only Spark knows."""
    frame = sql_spark.sql(f"SELECT n FROM versioned.{ns}.t WHERE n % 7 = 0 ORDER BY n DESC LIMIT 1")
    assert rows_of(frame) == [(42,)]
    frame = sql_spark.sql(f"SELECT n FROM versioned.{ns}.t WHERE n < 30 ORDER BY n DESC LIMIT 1")
    assert rows_of(frame) == [(21,)]


def test_without_pushdown_everything_is_read(
    sql_spark: SparkSession, table: Table, ns: str
) -> None:
    plain = sql_spark.read.option("pushdown", "false").table(f"versioned.{ns}.t")
    assert pruned(plain.orderBy("n").limit(1)) == (0, 5)
    grouped = plain.groupBy("p").count()
    assert "LocalTableScan" not in plan_of(grouped)
    assert sorted(rows_of(grouped))[0] == ("p0", 3)


@pytest.mark.thorough
def test_through_a_pin(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    """A column that the pin shows in a narrower type is not pushed; the others are."""
    table = catalog.create_table(f"{ns}.t", "n INT, m INT", properties=UNMAINTAINED)
    for tens in range(3):
        values = pa.array([10 * tens, 10 * tens + 1], pa.int32())
        table.append(pa.table({"n": values, "m": values}))
    table.alter_sql("ALTER TABLE t ALTER COLUMN n TYPE BIGINT").commit()
    table.alter_sql("ALTER TABLE t RENAME COLUMN m TO renamed").commit()
    old = sql_spark.read.option("schemaVersion", "0").table(f"versioned.{ns}.t")
    for name, skipped in (("n", 0), ("m", 2)):
        frame = old.orderBy(name, ascending=False).limit(1).select(name)
        assert rows_of(frame) == [(21,)]
        assert pruned(frame) == (skipped, 3)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT p, count(*), count(n), min(n), max(n) FROM t GROUP BY p ORDER BY p",
            [
                ("p0", 3, 3, 0, 2),
                ("p1", 3, 3, 10, 12),
                ("p2", 3, 2, 20, 21),
                ("p3", 3, 3, 30, 32),
                ("p4", 3, 3, 40, 42),
            ],
        ),
        ("SELECT DISTINCT p FROM t ORDER BY p", [(f"p{tens}",) for tens in range(5)]),
        ("SELECT max(n), p FROM t GROUP BY p HAVING max(n) > 35", [(42, "p4")]),
        ("SELECT count(*) FROM t GROUP BY p ORDER BY p LIMIT 1", [(3,)]),
    ],
)
def test_groups_from_metadata(
    sql_spark: SparkSession, table: Table, ns: str, query: str, expected: list[tuple[Any, ...]]
) -> None:
    frame = sql_spark.sql(query.replace("FROM t", f"FROM versioned.{ns}.t"))
    assert rows_of(frame) == expected
    assert "LocalTableScan [answer_" in plan_of(frame)
    assert "VersionedScan" not in plan_of(frame)


@pytest.mark.parametrize(
    "shown",
    ["n, count(*)", "p, sum(n)", "upper(p), count(*)", "p, count(DISTINCT n)"],
)
@pytest.mark.thorough
def test_other_groups_are_read(sql_spark: SparkSession, table: Table, ns: str, shown: str) -> None:
    key = shown.partition(",")[0]
    frame = sql_spark.sql(f"SELECT {shown} FROM versioned.{ns}.t GROUP BY {key}")
    assert len(rows_of(frame)) == (15 if key == "n" else 5)
    assert "LocalTableScan" not in plan_of(frame)


def test_an_aggregation_of_nothing(sql_spark: SparkSession, table: Table, ns: str) -> None:
    """Spark pushes aggregations without functions, once it has pruned their columns."""
    t = f"versioned.{ns}.t"
    for query, expected in (
        (f"SELECT count(*) FROM (SELECT max(n) FROM {t})", [(1,)]),
        (f"SELECT 1 WHERE EXISTS (SELECT max(n) FROM {t})", [(1,)]),
        (f"SELECT count(*) FROM (SELECT p FROM {t} GROUP BY p)", [(5,)]),
    ):
        assert rows_of(sql_spark.sql(query)) == expected
    literal = sql_spark.table(t).groupBy().agg(lit(1).alias("one"))
    assert rows_of(literal) == [(1,)]
