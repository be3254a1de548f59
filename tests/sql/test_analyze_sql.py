"""ANALYZE TABLE by SQL reads in a Spark job, and the planner uses what it finds.

Needs a JVM because Spark parses the statement and its optimizer uses the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from versioned_catalog import Catalog, Table
from versioned_catalog.model.analysis import analyzed_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(catalog: Catalog, ns: str) -> Table:
    table = catalog.create_table(f"{ns}.t", "`an id` BIGINT, s STRING, l ARRAY<INT>")
    rows = range(1000)
    table.append(
        pa.table(
            {
                "an id": pa.array(rows, pa.int64()),
                "s": [f"s{n % 40}" for n in rows],
                "l": pa.array([[n] for n in rows], pa.list_(pa.int32())),
            }
        )
    )
    return table


def distinct(table: Table) -> dict[int, int]:
    found = analyzed_columns(table.refresh().state.properties)
    return {column_id: each.distinct for column_id, each in found.items()}


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("FOR ALL COLUMNS", {1: 1000, 2: 40}),
        ("FOR COLUMNS s", {2: 40}),
        ("FOR COLUMNS `an id`, S", {1: 1000, 2: 40}),
        ("", {}),
        ("NOSCAN", {}),
    ],
)
def test_the_statement(
    sql_spark: SparkSession, table: Table, ns: str, clause: str, expected: dict[int, int]
) -> None:
    sql_spark.sql(f"ANALYZE TABLE versioned.{ns}.t COMPUTE STATISTICS {clause}")
    assert distinct(table) == expected


def test_the_procedure(sql_spark: SparkSession, table: Table, ns: str) -> None:
    rows = sql_spark.sql(f"CALL versioned.system.analyze('{ns}.t', columns => '`an id`, s')")
    assert [tuple(row) for row in rows.collect()] == [
        ("an id", 1000, 1000, 2),
        ("s", 1000, 40, 2),
    ]


@pytest.mark.thorough
def test_explain_runs_nothing(sql_spark: SparkSession, table: Table, ns: str) -> None:
    statement = f"ANALYZE TABLE versioned.{ns}.t COMPUTE STATISTICS FOR ALL COLUMNS"
    sql_spark.sql(f"EXPLAIN {statement}").collect()
    assert distinct(table) == {}


def test_the_planner_uses_the_numbers(sql_spark: SparkSession, table: Table, ns: str) -> None:
    def size() -> int:
        frame: Any = sql_spark.sql(f"SELECT * FROM versioned.{ns}.t WHERE s = 's7'")
        return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))

    guessed = size()
    sql_spark.sql(f"ANALYZE TABLE versioned.{ns}.t COMPUTE STATISTICS FOR COLUMNS s")
    assert size() == pytest.approx(guessed / 4, rel=0.02)  # a fortieth of the rows, not a tenth


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS nowhere", "nowhere"),
        ("ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS l", "can't be analysed"),
        ("ANALYZE TABLE {t}x COMPUTE STATISTICS", "cannot be found"),
        ("ANALYZE TABLE {t}x COMPUTE STATISTICS FOR ALL COLUMNS", "cannot be found"),
        ("ALTER TABLE {t} SET TBLPROPERTIES ('analyzed_columns' = '{{}}')", "run ANALYZE TABLE"),
    ],
)
@pytest.mark.thorough
def test_what_is_refused(
    sql_spark: SparkSession, table: Table, ns: str, statement: str, message: str
) -> None:
    with pytest.raises(Exception, match=message):
        sql_spark.sql(statement.format(t=f"versioned.{ns}.t"))
