"""A MERGE with a small source shuffles only the rows that match, and reads its source once."""

from __future__ import annotations

from collections.abc import Iterator
from secrets import randbelow
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT = "spark.sql.autoBroadcastJoinThreshold"
REUSE = "spark.sql.exchange.reuse"
ROWS = 1000


@pytest.fixture
def small(sql_spark: SparkSession) -> Iterator[SparkSession]:
    """A session that broadcasts at most 4 KB, which is less than the tables below."""
    before = {name: sql_spark.conf.get(name) for name in (LIMIT, REUSE)}
    sql_spark.conf.set(LIMIT, 4096)
    yield sql_spark
    for name, value in before.items():
        sql_spark.conf.set(name, value)


@pytest.fixture(params=["marks", pytest.param("keyed", marks=pytest.mark.thorough)])
def t(request: Any, small: SparkSession, catalog: Catalog, ns: str) -> str:
    """``id`` from 0 to 999, and ``v`` ten times as large."""
    keys = ["id"] if request.param == "keyed" else []
    catalog.create_table(f"{ns}.t", "id BIGINT, v BIGINT", primary_key=keys)
    small.sql(f"INSERT INTO versioned.{ns}.t SELECT id, id * 10 FROM range({ROWS})")
    return f"versioned.{ns}.t"


def merge(t: str, source: str, on: str = "t.id = s.id") -> str:
    return (
        f"MERGE INTO {t} t USING ({source}) s ON {on} "
        "WHEN MATCHED AND s.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    )


def plan(spark: SparkSession, statement: str) -> str:
    return str(spark.sql(f"EXPLAIN {statement}").collect()[0][0])


def rows(spark: SparkSession, t: str) -> dict[int, int]:
    return {row.id: row.v for row in spark.table(t).collect()}


NEW = "SELECT id * 400 AS id, IF(id = 1, NULL, -id) AS v FROM range(5)"
"""The rows 0, 400 (which is deleted) and 800, and two that do not match."""


@pytest.mark.thorough
def test_matching_rows_are_found_by_a_broadcast(small: SparkSession, t: str) -> None:
    statement = merge(t, NEW)
    explained = plan(small, statement)
    assert explained.count("BroadcastHashJoin") == 1
    assert "LeftSemi, BuildRight" in explained
    small.sql(statement)
    changed = {0: 0, 800: -2, 1200: -3, 1600: -4}
    others = {id: id * 10 for id in range(ROWS) if id not in (0, 400, 800)}
    assert rows(small, t) == others | changed


def test_a_source_that_changes_when_it_is_read_again_is_read_once(
    small: SparkSession, t: str
) -> None:
    """Each row of the source matches one row, whichever it is; a second reading would match others.

    Spark refuses a source with ``rand()``, but believes that a function of a user is deterministic.
    """
    small.udf.register("one_of_20", lambda number: number * 20 + randbelow(20), "long")
    source = "SELECT one_of_20(id) AS id, -1L AS v FROM range(50)"
    statement = merge(t, source)
    assert "LeftSemi, BuildRight" in plan(small, statement)
    small.sql(statement)
    found = rows(small, t)
    assert len(found) == small.table(t).count() == ROWS
    assert sum(v == -1 for v in found.values()) == 50


@pytest.mark.thorough
def test_rows_that_match_twice_are_refused(small: SparkSession, t: str) -> None:
    statement = merge(t, "SELECT 7 + id DIV 2 AS id, id AS v FROM range(2)")
    assert "LeftSemi, BuildRight" in plan(small, statement)
    with pytest.raises(PySparkException, match="MERGE_CARDINALITY_VIOLATION"):
        small.sql(statement)
    assert rows(small, t)[7] == 70


@pytest.mark.thorough
@pytest.mark.parametrize(
    "on",
    [
        "t.id = s.id AND t.v < 5000",
        "t.id <=> s.id AND s.v < 0",
        "t.id + 1 = s.id + 1 AND t.v <> s.v",
    ],
)
def test_conditions_beside_the_equality(small: SparkSession, t: str, on: str) -> None:
    """As the same statement does without a broadcast."""
    source = "SELECT id * 300 AS id, id - 2 AS v FROM range(6)"
    results = []
    for reuse in ("true", "false"):
        small.sql(f"DELETE FROM {t}")
        small.sql(f"INSERT INTO {t} SELECT id, id * 10 FROM range({ROWS})")
        small.conf.set(REUSE, reuse)
        statement = merge(t, source, on)
        assert ("LeftSemi" in plan(small, statement)) == (reuse == "true")
        small.sql(statement)
        results.append(sorted(map(tuple, small.table(t).collect())))
    assert results[0] == results[1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("source", "on"),
    [
        ("SELECT id, id AS v, map('a', id) AS m FROM range(5)", "t.id = s.id AND s.m['a'] >= 0"),
        ("SELECT id, id AS v FROM range(5000)", "t.id = s.id"),
    ],
    ids=["with a map", "large"],
)
def test_other_sources_are_joined_as_before(
    small: SparkSession, t: str, source: str, on: str
) -> None:
    statement = merge(t, source, on)
    assert "LeftSemi" not in plan(small, statement)
    small.sql(statement)
    found = rows(small, t)
    assert (found[3], found[4], found[999]) == (3, 4, 999 if "5000" in source else 9990)


@pytest.mark.thorough
def test_rows_that_the_source_does_not_match_are_all_read(small: SparkSession, t: str) -> None:
    statement = merge(t, NEW) + " WHEN NOT MATCHED BY SOURCE AND t.id > 990 THEN DELETE"
    assert "LeftSemi" not in plan(small, statement)
    small.sql(statement)
    assert max(id for id in rows(small, t) if id < ROWS) == 990
