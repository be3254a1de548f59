"""A MERGE with a small source shuffles only the rows that match, and reads its source once.

If it read the source twice, a row of the second reading could match a row of the table that the first
one left out. It would be inserted beside it, so the tests compare lists of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from pairwise import most_at_night
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT = "spark.sql.autoBroadcastJoinThreshold"
REUSE = "spark.sql.exchange.reuse"
ADAPTIVE = "spark.sql.adaptive.enabled"
ROWS = 1000


@pytest.fixture
def small(sql_spark: SparkSession) -> Iterator[SparkSession]:
    """A session that broadcasts at most 4 KB, which is less than the tables below."""
    before = {name: sql_spark.conf.get(name) for name in (LIMIT, REUSE, ADAPTIVE)}
    sql_spark.conf.set(LIMIT, 4096)
    yield sql_spark
    for name, value in before.items():
        sql_spark.conf.set(name, value)


@pytest.fixture(params=["marks", pytest.param("keyed", marks=pytest.mark.nightly)])
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


def rows(spark: SparkSession, t: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.table(t).collect()))


def expected(changes: dict[int, int | None]) -> list[tuple[int, int]]:
    """The rows of ``t`` with others; None deletes a row."""
    after = {id: id * 10 for id in range(ROWS)} | changes
    return sorted((id, v) for id, v in after.items() if v is not None)


NEW = "SELECT id * 400 AS id, IF(id = 1, NULL, -id) AS v FROM range(5)"
"""The rows 0, 400 (which is deleted) and 800, and two that do not match."""

CHANGED = {0: 0, 400: None, 800: -2, 1200: -3, 1600: -4}


@pytest.mark.thorough
def test_matching_rows_are_found_by_a_broadcast(small: SparkSession, t: str) -> None:
    statement = merge(t, NEW)
    explained = plan(small, statement)
    assert explained.count("BroadcastHashJoin") == 1
    assert "LeftSemi, BuildRight" in explained
    small.sql(statement)
    assert rows(small, t) == expected(CHANGED)


@pytest.mark.parametrize(
    ("on", "adaptive"),
    [
        ("t.id = s.id AND s.v < 0", "true"),
        pytest.param("t.id = s.id AND s.v < 0", "false", marks=pytest.mark.thorough),
        pytest.param("t.id = s.id", "true", marks=pytest.mark.nightly),
        pytest.param("t.id = s.id AND t.v > s.v", "true", marks=pytest.mark.nightly),
    ],
)
def test_a_source_that_changes_when_it_is_read_again_is_read_once(
    small: SparkSession, t: str, on: str, adaptive: str
) -> None:
    """Each row of the source matches one row, whichever it is; a second reading would match others.

    Spark refuses a source with ``rand()``, but believes that a function of a user is deterministic.
    """
    small.conf.set(ADAPTIVE, adaptive)
    small.udf.register("one_of_20", lambda number: number * 20 + randbelow(20), "long")
    source = "SELECT one_of_20(id) AS id, -1 - id AS v FROM range(50)"
    statement = merge(t, source, on)
    assert "LeftSemi, BuildRight" in plan(small, statement)
    small.sql(statement)
    found = rows(small, t)
    assert [id for id, _ in found] == [*range(ROWS)]
    assert sum(v < 0 for _, v in found) == 50


VIEWS = {
    "rows in memory": "SELECT * FROM VALUES (0L, 0L), (400L, NULL), (800L, -2L), (1200L, -3L), "
    "(1600L, -4L) AS s(id, v)",
    "files": "SELECT * FROM of_files",
    "a cached query": "SELECT * FROM cached",
    "a table of ours": "SELECT * FROM {ns}.source WHERE id >= 0",
    "keys alone": "SELECT id, max(v) AS v FROM of_files GROUP BY id",
    "a union": "SELECT * FROM of_files WHERE id < 900 "
    "UNION ALL SELECT * FROM {ns}.source WHERE id > 900",
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", most_at_night({"a cached query", "a union"}, VIEWS))
def test_both_joins_read_one_exchange(
    small: SparkSession, t: str, ns: str, kind: str, tmp_path: Path
) -> None:
    new = small.sql(NEW)
    new.write.parquet(str(tmp_path / "files"))
    small.read.parquet(str(tmp_path / "files")).createOrReplaceTempView("of_files")
    new.cache().createOrReplaceTempView("cached")
    new.writeTo(f"versioned.{ns}.source").create()
    source = VIEWS[kind].format(ns=f"versioned.{ns}")
    statement = merge(t, source, "t.id = s.id AND s.id < 5000")
    small.conf.set(ADAPTIVE, "false")
    explained = plan(small, statement)
    assert "LeftSemi, BuildRight" in explained
    assert explained.count("ReusedExchange") == 1, explained
    small.conf.set(ADAPTIVE, "true")
    small.sql(statement)
    assert rows(small, t) == expected(CHANGED)
    new.unpersist()


@pytest.mark.thorough
def test_rows_that_match_twice_are_refused(small: SparkSession, t: str) -> None:
    statement = merge(t, "SELECT 7 + id DIV 2 AS id, id AS v FROM range(2)")
    assert "LeftSemi, BuildRight" in plan(small, statement)
    with pytest.raises(PySparkException, match="MERGE_CARDINALITY_VIOLATION"):
        small.sql(statement)
    assert rows(small, t) == expected({})


@pytest.mark.thorough
@pytest.mark.parametrize(
    "on",
    most_at_night(
        {"t.id <=> s.id AND s.v < 0"},
        [
            "t.id = s.id AND t.v < 5000",
            "t.id <=> s.id AND s.v < 0",
            "t.id + 1 = s.id + 1 AND t.v <> s.v",
            "t.id = s.id AND (t.v < 100 OR s.v > 2)",
        ],
    ),
)
def test_conditions_beside_the_equality(
    small: SparkSession, catalog: Catalog, ns: str, on: str
) -> None:
    """Nulls, rows that are inserted twice and others are as without the broadcast."""
    source = (
        "SELECT IF(id = 4, NULL, id * 300) AS id, id - 2 AS v FROM range(6) "
        "UNION ALL SELECT 7000L, id FROM range(2)"
    )
    results = []
    for reuse in ("true", "false"):
        name = f"versioned.{ns}.t{reuse}"
        catalog.create_table(f"{ns}.t{reuse}", "id BIGINT, v BIGINT")
        small.sql(f"INSERT INTO {name} SELECT IF(id = 9, NULL, id), id * 10 FROM range({ROWS})")
        small.conf.set(REUSE, reuse)
        statement = merge(name, source, on)
        assert ("LeftSemi" in plan(small, statement)) == (reuse == "true")
        small.sql(statement)
        results.append(sorted(map(tuple, small.table(name).collect()), key=repr))
    assert results[0] == results[1]
    assert len(results[0]) > ROWS


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("source", "on"),
    [
        ("SELECT id, id AS v, map('a', id) AS m FROM range(5)", "t.id = s.id AND s.m['a'] >= 0"),
        ("SELECT id, id AS v FROM range(5000)", "t.id = s.id"),
        ("SELECT id, id AS v FROM range(5)", "t.id = one_of_1(s.id)"),
        ("SELECT id, (SELECT max(id) FROM range(5)) AS v FROM range(4)", "t.id = s.id"),
        ("SELECT id, id AS v FROM range(5)", "t.id >= s.id AND t.id <= s.id"),
        ("SELECT id, p AS v FROM parquet.`{folder}`", "t.id = s.id"),
    ],
    ids=["map", "large", "function of a user", "subquery", "no equality", "partitioned files"],
)
def test_other_sources_are_joined_as_before(
    small: SparkSession, t: str, source: str, on: str, tmp_path: Path
) -> None:
    small.udf.register("one_of_1", lambda number: number, "long")
    files = small.range(5).selectExpr("id", "id AS p").write
    files.partitionBy("p").parquet(str(tmp_path / "files"))
    statement = merge(t, source.format(folder=tmp_path / "files"), on)
    assert "LeftSemi" not in plan(small, statement)
    small.sql(statement)
    assert rows(small, t)[3:5] == [
        (3, 4 if "max(" in source else 3),
        (4, 40 if "max(" in source else 4),
    ]


@pytest.mark.thorough
def test_rows_that_the_source_does_not_match_are_all_read(small: SparkSession, t: str) -> None:
    statement = merge(t, NEW) + " WHEN NOT MATCHED BY SOURCE AND t.id > 990 THEN DELETE"
    assert "LeftSemi" not in plan(small, statement)
    small.sql(statement)
    assert rows(small, t) == expected(CHANGED | dict.fromkeys(range(991, ROWS)))
