"""Jobs pinned to an earlier schema in SQL, and statements on a table with hidden columns.

Needs a JVM because Spark plans the statements, and the jar projects and writes the rows; ``tests/test_pins.py``
tests the same rules with PyArrow, with the same expectations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pins.cases import AFTER, ARROW, CHANGES, Change, Row, create, expected_now, touch
from sql.plans import is_native
from versioned_catalog import Catalog, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LABEL = "spark.sql.catalog.versioned.schema_label"
STATEMENTS = {
    "read": [],
    "insert": [
        "INSERT INTO {t} (id, n, p, l, k, j) "
        "VALUES (4, 40, named_struct('x', 4, 'y', 't'), array(named_struct('a', 4)), 4, 4)"
    ],
    "update": ["UPDATE {t} SET n = 21, p.x = 22 WHERE s = 'b'"],
    "delete": ["DELETE FROM {t} WHERE n = 10"],
    "merge": [
        "MERGE INTO {t} USING (SELECT * FROM VALUES (1, 11, 12), (2, 0, 0), (5, 50, 5) AS g(i, v, w)) "
        "ON id = i WHEN MATCHED AND v = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET n = v, p.x = w "
        "WHEN NOT MATCHED THEN INSERT (id, n, j, k, p, l) "
        "VALUES (i, v, 5, 5, named_struct('x', w, 'y', 'm'), array(named_struct('a', 5)))"
    ],
    "upsert": [
        "INSERT INTO {t} VALUES (2, 200, 'u', 2, 2, null, array(named_struct('a', 2))), "
        "(6, 60, 'v', 6, 6, named_struct('x', 6, 'y', 'w'), array(named_struct('a', 6)))"
    ],
}
"""What the pinned job runs; ``AFTER`` has the rows that it then sees."""


@pytest.fixture(scope="module")
def job(spark: SparkSession) -> SparkSession:
    """A session that sets nothing but the label of its pin."""
    session = spark.newSession()
    session.conf.set("spark.versioned.io", "native")
    session.conf.set(LABEL, "job")
    return session


@pytest.fixture(params=["native", "python"])
def io(request: pytest.FixtureRequest, job: SparkSession) -> Iterator[str]:
    job.conf.set("spark.versioned.io", request.param)
    yield request.param
    job.conf.set("spark.versioned.io", "native")


def rows_of(spark: SparkSession, query: str) -> list[Row]:
    return [row.asDict(recursive=True) for row in spark.sql(query).collect()]


def by_id(rows: list[Row]) -> list[list[tuple[str, Any]]]:
    """Rows in order, with their columns in order: a dictionary would compare equal in any order."""
    return [list(row.items()) for row in sorted(rows, key=lambda row: row["id"])]


def stored(table: Table) -> list[Row]:
    found: list[Row] = table.refresh().scan().to_arrow().to_pylist()
    return found


CASES = [
    pytest.param(
        change,
        operation,
        keyed,
        id=f"{change.name} / {operation} / {'key' if keyed else 'no key'}",
        marks=[]
        if change.name in ("several at once", "add a field to elements")
        else [pytest.mark.thorough],
    )
    for change in CHANGES
    for operation in STATEMENTS
    for keyed in (False, True)
    if change.keyed in (None, keyed) and (keyed or operation != "upsert")
]


@pytest.mark.parametrize(("change", "operation", "keyed"), CASES)
def test_a_pinned_job_works_as_before_the_change(
    job: SparkSession, catalog: Catalog, ns: str, io: str, change: Change, operation: str, keyed: bool
) -> None:
    table = create(catalog, keyed, f"{ns}.t")
    change.alter(table.alter()).commit()
    touch(table, change)
    t = f"versioned.{ns}.t"
    assert job.table(t).columns == ARROW.names
    for statement in STATEMENTS[operation]:
        job.sql(statement.format(t=t))
    assert by_id(rows_of(job, f"SELECT * FROM {t}")) == by_id(AFTER[operation](change.default))
    assert by_id(stored(table)) == by_id(expected_now(change, operation))
