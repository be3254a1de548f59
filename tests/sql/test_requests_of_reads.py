"""The requests that a read sends: one plans it, also where Python reads the rows.

Spark loads a table when it analyses a query, and again before it runs it, to show the rows of then
(``V2TableRefreshUtil``, since 4.2).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sql.plans import is_native, is_python, pruned
from sql.requests import Request, recorded
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

PLAN = Request("plan_scan", "t")


@pytest.fixture
def plain(catalog: Catalog, ns: str) -> Table:
    """Two segments that Spark reads itself."""
    table = catalog.create_table(f"{ns}.t", "id BIGINT, n BIGINT")
    for start in (0, 10):
        table.append(pa.table({"id": [start, start + 1], "n": [start, 1]}))
    return table


@pytest.fixture
def copied(plain: Table) -> Table:
    """The same, in which statements copy segments."""
    plain.alter().set_property("row_changes", "copy").commit()
    return plain


@pytest.fixture
def keyed(catalog: Catalog, ns: str) -> Table:
    """Two segments with the same keys, one of them of partial rows, which Python merges."""
    table = catalog.create_table(f"{ns}.t", "id BIGINT, n BIGINT", primary_key=["id"])
    for n in (1, 2):
        table.upsert(pa.table({"id": [0, 1], "n": [n, n]}), partial=n == 2)
    return table


def requests_of(spark: SparkSession, statement: str) -> tuple[list[Request], DataFrame]:
    """The requests of a statement, and what it has read."""
    with recorded(spark) as requests:
        frame = spark.sql(statement)
        frame.collect()
    return requests, frame


@pytest.mark.parametrize("where", ["", " WHERE id = 1", " WHERE n > 0 ORDER BY id LIMIT 1"])
@pytest.mark.parametrize("kind", ["plain", "keyed"])
def test_a_select_is_planned_once(
    request: pytest.FixtureRequest, sql_spark: SparkSession, ns: str, kind: str, where: str
) -> None:
    request.getfixturevalue(kind)
    requests, frame = requests_of(sql_spark, f"SELECT * FROM versioned.{ns}.t{where}")
    first, second, *others = requests
    assert {first.name, second.name} <= {"load", "load_relation"}
    assert others == [PLAN]
    reads_as: Callable[[DataFrame], bool] = is_native if kind == "plain" else is_python
    assert reads_as(frame)


@pytest.mark.usefixtures("plain")
def test_a_plan_is_kept_until_the_table_changes(sql_spark: SparkSession, ns: str) -> None:
    """Also one statement that reads a table twice plans it once."""
    t = f"versioned.{ns}.t"
    twice = f"SELECT a.n FROM {t} a JOIN {t} b ON a.id = b.id + 1 WHERE a.n = 1"
    self_join, _ = requests_of(
        sql_spark, f"SELECT count(*) FROM (TABLE {t} UNION ALL TABLE {t}) x WHERE n = 1"
    )
    assert self_join.count(PLAN) == 1
    requests_of(sql_spark, twice)
    assert requests_of(sql_spark, twice)[0].count(PLAN) == 0
    sql_spark.sql(f"INSERT INTO {t} VALUES (50, 1)")
    assert requests_of(sql_spark, twice)[0].count(PLAN) > 0


def test_a_plan_is_not_kept_if_rows_age(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    how = {"time_index": "at", "ttl": "1 day"}
    catalog.create_table(f"{ns}.t", "id BIGINT, at TIMESTAMP", properties=how).append(
        pa.table({"id": [1], "at": pa.array([dt.datetime.now(dt.UTC)], pa.timestamp("us", "UTC"))})
    )
    for _ in range(2):
        assert requests_of(sql_spark, f"TABLE versioned.{ns}.t")[0].count(PLAN) == 1


def test_a_runtime_filter_narrows_what_python_reads(
    sql_spark: SparkSession, catalog: Catalog, ns: str
) -> None:
    """A join sends the values that it has found with a second plan."""
    table = catalog.create_table(f"{ns}.t", "id BIGINT, n BIGINT", primary_key=["id"])
    for n in range(8):
        start = n // 2 * 10
        table.upsert(pa.table({"id": [start, start + 5], "n": [n, n]}), partial=n % 2 == 1)
    small = catalog.create_table(f"{ns}.small", "x BIGINT, word STRING")
    small.append(pa.table({"x": [10, 99], "word": ["yes", "no"]}))
    requests, frame = requests_of(
        sql_spark,
        f"SELECT n FROM versioned.{ns}.t t JOIN versioned.{ns}.small s ON t.id = s.x "
        "WHERE s.word = 'yes'",
    )
    assert requests.count(PLAN) == 2
    assert pruned(frame) == (6, 8)
    assert [row.n for row in frame.collect()] == [3]


@pytest.mark.usefixtures("keyed")
def test_changes_are_planned_once(sql_spark: SparkSession, ns: str) -> None:
    changes = f"SELECT * FROM versioned.{ns}.t CHANGES FROM VERSION 1"
    requests, frame = requests_of(sql_spark, changes)
    assert [request.name for request in requests] == ["load", "load_changes", "plan_changes"]
    assert len(frame.collect()) == 6


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["plain", "copied", "keyed"])
def test_an_update_plans_each_of_its_reads_once(
    request: pytest.FixtureRequest, sql_spark: SparkSession, ns: str, kind: str
) -> None:
    """Copy on write reads twice: which segments have such rows, and these segments."""
    table = request.getfixturevalue(kind)
    with recorded(sql_spark) as requests:
        sql_spark.sql(f"UPDATE versioned.{ns}.t SET n = n + 5 WHERE id = 1")
    assert requests.count(PLAN) == (2 if kind == "copied" else 1)
    changed = table.refresh().scan(["n"], filters=[("id", "=", 1)]).to_arrow()
    assert changed["n"].to_pylist() == [7 if kind == "keyed" else 6]


@pytest.mark.usefixtures("plain")
def test_a_pin_costs_no_request(sql_spark: SparkSession, catalog: Catalog, ns: str) -> None:
    """Which options are accepted is asked once, and whether it is a view with the first load."""
    catalog.load_table(f"{ns}.t").pin_schema("job")

    def read(reader: DataFrameReader) -> list[Request]:
        with recorded(sql_spark) as requests:
            assert len(reader.table(f"versioned.{ns}.t").where("id >= 10").collect()) == 2
        return requests

    pinned = sql_spark.read.option("schemaVersion", "job")
    read(pinned)
    assert [r.name for r in read(pinned)] == ["load", "load"]  # its plan is kept
    assert len(read(sql_spark.read)) == 3


@pytest.mark.parametrize("upserted", [0, 20])
def test_a_lookup_by_key_reads_one_task_and_no_python(
    sql_spark: SparkSession, catalog: Catalog, ns: str, upserted: int
) -> None:
    """Bounds skip all segments but the one, or the two that Spark merges, that may hold the key."""
    table = catalog.create_table(f"{ns}.t", "id BIGINT, n BIGINT", primary_key=["id"])
    for start in (0, 10, 20, 30):
        table.append(pa.table({"id": range(start, start + 10), "n": [start] * 10}))
    table.append(pa.table({"id": range(upserted, upserted + 10), "n": [1] * 10}))
    requests, frame = requests_of(sql_spark, f"SELECT n FROM versioned.{ns}.t WHERE id = 22")
    assert [row.n for row in frame.collect()] == [1 if upserted else 20]
    assert [request.name for request in requests][2:] == ["plan_scan"]
    assert is_native(frame)
    assert pruned(frame) == (3 if upserted else 4, 5)
    assert frame.rdd.getNumPartitions() == 1
