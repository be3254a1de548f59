"""DELETE, UPDATE and MERGE with correlated subqueries on the table that they change.

Needs a JVM because Spark plans the subqueries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pairwise import most_at_night
from versioned_catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = dict[int, int | None]
ROWS: Rows = {1: 10, 2: 20, 3: 30, 4: None}
LESS = "(SELECT max(b.v) FROM {t} b WHERE b.k < t.k)"
BY_LESS: Rows = {1: None, 2: 10, 3: 20, 4: 30}
STATEMENTS: list[tuple[str, Rows]] = [
    ("DELETE FROM {t} t WHERE EXISTS (SELECT 1 FROM {t} b WHERE b.k < t.k)", {1: 10}),
    ("DELETE FROM {t} t WHERE t.v NOT IN (SELECT b.v FROM {t} b WHERE b.k < t.k)", {4: None}),
    (f"DELETE FROM {{t}} t WHERE t.v > {LESS}", {1: 10, 4: None}),
    (f"UPDATE {{t}} t SET v = {LESS}", BY_LESS),
    (f"UPDATE {{t}} t SET v = {LESS} WHERE v IS NULL OR v > {LESS}", {**BY_LESS, 1: 10}),
    (
        "MERGE INTO {t} t USING (SELECT k FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b "
        "WHERE b.k < a.k)) s ON t.k = s.k WHEN MATCHED THEN DELETE",
        {1: 10},
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", most_at_night({"mark"}, ["mark", "copy", "keyed"]))
def test_changes_by_correlated_subqueries(
    sql_spark: SparkSession, catalog: Catalog, ns: str, kind: str
) -> None:
    name = f"versioned.{ns}.t"
    kinds: dict[str, Any] = {"keyed": {"primary_key": ["k"]}}
    given = kinds.get(kind, {"properties": {"row_changes": kind}})
    table = catalog.create_table(f"{ns}.t", "k INT, v INT", **given)
    sql_spark.sql(
        f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * "
        "FROM VALUES (1, 10), (2, 20), (3, 30), (4, NULL)"
    )
    before = table.refresh().version
    for statement, expected in STATEMENTS:
        sql_spark.sql(statement.format(t=name))
        found = table.refresh().scan().to_arrow().to_pylist()
        assert {row["k"]: row["v"] for row in found} == expected, statement
        assert len(found) == len(expected)
        table.rollback(before)
