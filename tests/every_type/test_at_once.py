"""All types beside each other in one table, written and read once by each path of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from every_type.kind import Path
from every_type.kinds import KINDS
from every_type.lanes import SourceLane, SqlLane

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from versioned_catalog import Catalog


CASES = [
    pytest.param(SqlLane, "sql", marks=pytest.mark.nightly),
    pytest.param(SourceLane, "source", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("lane", "path"), CASES)
def test_all_types_in_one_table(
    sql_spark: SparkSession, catalog: Catalog, ns: str, lane: type[SqlLane], path: Path
) -> None:
    # Of some types, Python writes the whole row, and Spark passes it no year-month intervals.
    passed = (kind for kind in KINDS if kind.group != "months")
    kinds = [kind for kind in passed if kind.refusal(path, "rows") is None]
    columns = {f"c{at}": kind for at, kind in enumerate(kinds)}
    by_path = lane(sql_spark, catalog, ns)
    properties = {
        key: text for name, kind in columns.items() for key, text in kind.properties(name).items()
    }
    table = by_path.create(
        ", ".join(f"{name} {kind.sql}" for name, kind in columns.items()), properties=properties
    )
    values = [kind.last.sql if kind.values else "NULL" for kind in kinds]
    for sql in (values, ["NULL"] * len(kinds)):
        pairs = zip(columns.items(), sql, strict=True)
        made = ", ".join(f"CAST({one} AS {kind.sql}) AS {name}" for (name, kind), one in pairs)
        by_path.save(sql_spark.sql(f"SELECT {made}"), table, {})
    shown = by_path.load(table, {}).selectExpr(
        *(k.show.format(name) for name, k in columns.items())
    )
    found = sorted(map(tuple, shown.collect()), key=lambda row: row[0] is None)
    last = tuple(kind.last.shown if kind.values else None for kind in kinds)
    assert found == [last, (None,) * len(kinds)]
