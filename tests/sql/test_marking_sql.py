"""DELETE, UPDATE and MERGE by marks, in tables without a primary key.

Needs a JVM because Spark plans the statements and writes the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from pairwise import some
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RETRIES = "spark.versioned.conflictRetries"


@pytest.fixture
def t(ns: str) -> str:
    return f"versioned.{ns}.t"


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    """Two segments: a from 0 to 9 and from 10 to 19, and b ten times as large."""
    created = catalog.create_table(f"{ns}.t", "a INT, b INT", properties={"row_changes": "mark"})
    for start in (0, 10):
        created.append(numbers(start, start + 10))
    return created


def numbers(start: int, stop: int) -> pa.Table:
    a = range(start, stop)
    return pa.table({"a": pa.array(a, pa.int32()), "b": pa.array([10 * v for v in a], pa.int32())})


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def marked(table: Table) -> list[int]:
    """The number of marked rows of each live segment, in order of commits."""
    segments = table.refresh().state.segments
    marks = [segments.mark_of(path) for path in segments.paths]
    return [0 if mark is None else mark.rows for mark in marks]


def paths(table: Table) -> list[str]:
    return list(table.refresh().state.segments.paths)


def test_deletes_mark_rows_and_write_no_segment(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    before, of_all = paths(table), f"SELECT count(*), count(b), sum(a), max(a) FROM {t}"
    sql_spark.sql(f"DELETE FROM {t} WHERE a % 10 = 3")
    assert (marked(table), paths(table)) == ([1, 1], before)
    assert rows(sql_spark, of_all) == [(18, 18, 174, 19)]
    sql_spark.sql(f"DELETE FROM {t} WHERE a % 10 IN (3, 4) AND a < 10 OR a = 19")
    assert (marked(table), paths(table)) == ([2, 2], before)
    assert rows(sql_spark, of_all) == [(16, 16, 151, 18)]
    version = table.version
    assert rows(sql_spark, f"SELECT sum(a) FROM {t} VERSION AS OF {version - 1}") == [(174,)]
    assert rows(sql_spark, f"SELECT sum(a) FROM {t} VERSION AS OF 2") == [(190,)]
    feed = f"SELECT a, b, _change_type FROM {t} CHANGES FROM VERSION {version}"
    assert rows(sql_spark, feed) == [(19, 190, "delete"), (4, 40, "delete")]


def test_a_delete_reads_its_condition_only(sql_spark: SparkSession, table: Table, t: str) -> None:
    plan = sql_spark.sql(f"EXPLAIN DELETE FROM {t} WHERE a % 10 = 3").collect()[0][0]
    (scan,) = [line for line in plan.splitlines() if "VersionedScan" in line]
    assert "[a#" in scan
    assert "b#" not in scan
    assert "native={0=2}" in scan
    assert "Exchange" not in plan


@pytest.mark.thorough
def test_a_segment_without_rows_is_removed(sql_spark: SparkSession, table: Table, t: str) -> None:
    second = paths(table)[1]
    sql_spark.sql(f"DELETE FROM {t} WHERE a % 20 IN (0, 1, 2, 3, 4)")
    sql_spark.sql(f"DELETE FROM {t} WHERE a % 20 < 10")
    assert paths(table) == [second]
    assert rows(sql_spark, f"SELECT count(*), sum(a) FROM {t}") == [(10, 145)]


def test_an_update_of_all_rows_leaves_no_mark(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    before = set(paths(table))
    sql_spark.sql(f"UPDATE {t} SET b = a")
    assert before.isdisjoint(paths(table))
    assert set(marked(table)) == {0}
    assert rows(sql_spark, f"SELECT count(*), sum(b) FROM {t}") == [(20, 190)]


def test_an_update_marks_old_rows_and_writes_new_ones(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    before = paths(table)
    sql_spark.sql(f"UPDATE {t} SET b = b + 1, a = a + 100 WHERE a IN (3, 4)")
    assert marked(table) == [2, 0, 0]
    assert paths(table)[:2] == before
    assert rows(sql_spark, f"SELECT count(*), sum(a), sum(b) FROM {t}") == [(20, 390, 1902)]
    sql_spark.sql(f"UPDATE {t} SET b = 0 WHERE a = 103")
    assert rows(sql_spark, f"SELECT a, b FROM {t} WHERE a > 100") == [(103, 0), (104, 41)]
    feed = f"SELECT a, b, _change_type FROM {t} CHANGES FROM VERSION {table.refresh().version}"
    assert rows(sql_spark, feed) == [(103, 0, "insert"), (103, 31, "delete")]


def test_a_merge_marks_updates_and_inserts(sql_spark: SparkSession, table: Table, t: str) -> None:
    sql_spark.sql(
        f"MERGE INTO {t} t USING (VALUES (3, 1), (13, 2), (33, 3) AS s(a, c)) s ON t.a = s.a "
        "WHEN MATCHED AND c = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET b = c "
        "WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, c) "
        "WHEN NOT MATCHED BY SOURCE AND t.a = 19 THEN UPDATE SET b = -1 "
        "WHEN NOT MATCHED BY SOURCE AND t.a = 0 THEN DELETE"
    )
    assert marked(table)[:2] == [2, 2]
    of_changed = f"SELECT a, b FROM {t} WHERE a IN (0, 3, 13, 19, 33)"
    assert rows(sql_spark, of_changed) == [(19, -1), (3, 1), (33, 3)]
    assert rows(sql_spark, f"SELECT count(*), sum(a) FROM {t}") == [(19, 190 - 13 + 33)]


@pytest.mark.thorough
def test_a_row_that_matches_twice_is_deleted_once(
    sql_spark: SparkSession, table: Table, t: str
) -> None:
    """Spark checks that a row is updated once, but not that it is deleted once."""
    merge = f"MERGE INTO {t} t USING (VALUES (3), (3) AS s(a)) s ON t.a = s.a WHEN MATCHED THEN "
    with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        sql_spark.sql(merge + "UPDATE SET b = 1")
    sql_spark.sql(merge + "DELETE")
    assert marked(table) == [1, 0]
    assert rows(sql_spark, f"SELECT count(*), sum(a) FROM {t}") == [(19, 187)]


@pytest.mark.thorough
def test_rows_of_nested_columns(sql_spark: SparkSession, catalog: Catalog, ns: str, t: str) -> None:
    created = catalog.create_table(
        f"{ns}.t", "a INT, s STRUCT<x: INT, l: ARRAY<INT>>", properties={"row_changes": "mark"}
    )
    sql_spark.sql(
        f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES "
        "(1, named_struct('x', 1, 'l', array(1, 2))), (2, named_struct('x', 2, 'l', array(3))), "
        "(3, NULL)"
    )
    sql_spark.sql(f"UPDATE {t} SET s.x = s.x + 10 WHERE array_contains(s.l, 2)")
    sql_spark.sql(f"DELETE FROM {t} WHERE s.x * 2 = 4")
    assert marked(created) == [2, 0]
    assert rows(sql_spark, f"SELECT a, s.x, s.l FROM {t}") == [(1, 11, [1, 2]), (3, None, None)]


@pytest.mark.thorough
def test_new_rows_of_a_partitioned_table(
    sql_spark: SparkSession, catalog: Catalog, ns: str, t: str
) -> None:
    """Updated rows move to their partitions, of which each gets one segment; deletes stay behind."""
    created = catalog.create_table(
        f"{ns}.t", "a INT, b INT", partitioned_by=["b"], properties={"row_changes": "mark"}
    )
    sql_spark.sql(
        f"INSERT INTO {t} SELECT CAST(id AS INT), CAST(id % 4 AS INT) FROM range(0, 40, 1, 4)"
    )
    before = paths(created)
    assert len(before) == 4
    sql_spark.sql(f"UPDATE {t} SET b = (b + 1) % 4 WHERE a < 8")
    assert sorted(marked(created)) == [0, 0, 0, 0, 2, 2, 2, 2]
    found = rows(sql_spark, f"SELECT b, count(*), min(a) FROM {t} GROUP BY b")
    assert found == [(0, 10, 3), (1, 10, 0), (2, 10, 1), (3, 10, 2)]
    sql_spark.sql(
        f"MERGE INTO {t} t USING (SELECT CAST(id AS INT) AS a FROM range(4, 44)) s ON t.a = s.a "
        "WHEN MATCHED AND t.a < 39 THEN DELETE WHEN MATCHED THEN UPDATE SET b = 9 "
        "WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, 9)"
    )
    assert rows(sql_spark, f"SELECT a, b FROM {t}") == [
        *((value, (value + 1) % 4) for value in range(4)),
        *((value, 9) for value in range(39, 44)),
    ]
    assert created.maintenance.verify(deep=True).findings == ()


@pytest.fixture
def landing(sql_spark: SparkSession, table: Table) -> Callable[[int], None]:
    """Registers ``landing(x)``, which is x, and lets another writer delete rows of the table once."""
    location, before = table.location, table.version

    def register(deleted: int) -> None:
        @f.udf("int", useArrow=False)
        def land(value: int) -> int:
            other = Catalog.load_path(location)
            if other.version == before:
                other.delete([("a", "=", deleted)])
            return value

        sql_spark.udf.register("landing", land)

    return register


@pytest.mark.thorough
def test_two_statements_that_change_different_rows_of_a_segment_land(
    sql_spark: SparkSession, table: Table, t: str, landing: Any
) -> None:
    landing(5)
    assert sql_spark.conf.get(RETRIES) == "0"
    sql_spark.sql(f"DELETE FROM {t} WHERE a < 10 AND landing(a) = 3")
    assert marked(table) == [2, 0]
    assert table.version == 4
    assert rows(sql_spark, f"SELECT count(*), sum(a) FROM {t}") == [(18, 182)]


@pytest.mark.parametrize("retries", some({3}, [0, 3]))
def test_a_row_that_another_statement_deleted_is_not_updated(
    sql_spark: SparkSession, table: Table, t: str, landing: Any, retries: int
) -> None:
    """It would come back; run again, the statement does not find it."""
    landing(5)
    sql_spark.conf.set(RETRIES, str(retries))
    statement = f"UPDATE {t} SET b = landing(-1) WHERE a IN (5, 6)"
    try:
        if retries:
            sql_spark.sql(statement)
        else:
            with pytest.raises(Exception, match="run it again") as caught:
                sql_spark.sql(statement)
            assert t in str(caught.value)
    finally:
        sql_spark.conf.set(RETRIES, "0")
    expected = [(6, -1 if retries else 60)]
    assert rows(sql_spark, f"SELECT a, b FROM {t} WHERE a IN (5, 6)") == expected


@pytest.mark.thorough
def test_a_compaction_and_a_rollback(
    sql_spark: SparkSession, table: Table, t: str, ns: str
) -> None:
    sql_spark.sql(f"DELETE FROM {t} WHERE a % 10 = 3")
    sql_spark.sql(f"CALL versioned.system.compact('{ns}.t')")
    assert set(marked(table)) == {0}
    assert rows(sql_spark, f"SELECT count(*), sum(a) FROM {t}") == [(18, 174)]
    sql_spark.sql(f"CALL versioned.system.rollback_to_version('{ns}.t', 3)")
    assert marked(table) == [1, 1]
    sql_spark.sql(f"CALL versioned.system.rollback_to_version('{ns}.t', 2)")
    assert rows(sql_spark, f"SELECT count(*), sum(a) FROM {t}") == [(20, 190)]


@pytest.mark.thorough
def test_adjacent_rows_are_marked_one_by_one(sql_spark: SparkSession) -> None:
    """Runs of a bitmap are refused by readers, so that none is written, whatever rows change."""
    sql_spark.sql("CREATE NAMESPACE IF NOT EXISTS versioned.runs")
    sql_spark.sql("CREATE TABLE versioned.runs.t (id BIGINT, n INT)")
    sql_spark.range(0, 200_000, 1, 1).selectExpr("id", "0 AS n").writeTo(
        "versioned.runs.t"
    ).append()
    sql_spark.sql("UPDATE versioned.runs.t SET n = 1 WHERE id BETWEEN 1000 AND 2000")
    sql_spark.sql("DELETE FROM versioned.runs.t WHERE id >= 60000 AND id < 140000")
    shown = sql_spark.sql("SELECT count(*), sum(n), sum(id) FROM versioned.runs.t").collect()[0]
    assert tuple(shown) == (120_000, 1001, 19_999_900_000 - 7_999_960_000)
    sql_spark.sql("DROP NAMESPACE versioned.runs CASCADE")
