"""Compare what CHECK constraints add to an INSERT in our tables and in Delta, by Spark.

The same rows are inserted into a table without constraints, with one that statistics decide, and with
one that needs a column to be read again. Iceberg has no constraints. Each format runs on the
newest Spark that it supports.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.common import spread, table_of
from benchmarks.peers_spark import ENGINES, print_all, session

DDL = "id BIGINT, a DOUBLE, n INT, host STRING"
VALUES = ("id", "id * 0.37D AS a", "CAST(id % 1000 AS INT) AS n", "concat('h-', id % 500) AS host")
CONSTRAINTS = {
    "none": (),
    "by statistics": ("id >= 0 AND n < 1000",),
    "by reading a column": ("id >= 0 AND n < 1000", "n <> 1000 AND host <> 'h-250x'"),
}


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time INSERTs into an empty table with each set of constraints, in turn."""
    times: dict[str, list[float]] = {kind: [] for kind in CONSTRAINTS}
    spark, table = session(name)
    spark.sql(f"CREATE NAMESPACE {table.rpartition('.')[0]}")
    for run in range(-1, runs):
        for kind, conditions in CONSTRAINTS.items():
            if conditions and name == "iceberg":
                continue
            spark.sql(f"CREATE TABLE {table} ({DDL}) {ENGINES[name].properties}")
            for number, condition in enumerate(conditions):
                spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT c{number} CHECK ({condition})")
            begun = time.perf_counter()
            spark.range(0, rows, 1, 2).selectExpr(*VALUES).writeTo(table).append()
            if run >= 0:  # the first does not count
                times[kind].append(time.perf_counter() - begun)
            found = str(spark.sql(f"SELECT count(*), sum(id) FROM {table}").first())
            spark.sql(f"DROP TABLE {table}")
    spark.stop()
    return {"engine": name, "spark": ENGINES[name].spark, "times": times, "sum": found}


def table(results: dict[str, Any]) -> str:
    """Seconds of an INSERT, and the ratio to the table without constraints, in Markdown."""
    lines = [["constraints", *(f"{name}, Spark {r['spark']}" for name, r in results.items())]]
    for kind in CONSTRAINTS:
        lines.append([kind, *(_cell(result["times"], kind) for result in results.values())])
    return table_of(lines)


def _cell(times: dict[str, list[float]], kind: str) -> str:
    if not times[kind]:
        return "has none"
    ratios = [mine / plain for mine, plain in zip(times[kind], times["none"], strict=True)]
    shown = f"{statistics.median(times[kind]):.2f} s"
    return shown if kind == "none" else f"{shown}, {spread(ratios)}"


if __name__ == "__main__":
    print_all("benchmarks.checks", __doc__, measure, table, rows=5_000_000, runs=5)
