"""Time 1,000 commits of 100 rows by SQL in our tables, Iceberg and Delta, at the start and at the end.

Each format runs with its defaults on the newest Spark that it supports, in a process of its own. Commits
to another table warm it up; then the first fifty and the last fifty are compared, and full reads after
them. All formats must end with the same rows.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.common import table_of
from benchmarks.peers_spark import ENGINES, print_all, session

DDL = "id BIGINT, a DOUBLE, n INT, s STRING"
COLUMNS = "id, id * 0.37D, CAST(id % 1000 AS INT), concat('host-', id % 500)"
WARM_UP = 20
"""Commits to another table that are not counted."""
EDGE = 50
"""The number of first and last commits that are compared."""
READS = 5


def append(spark: Any, table: str, commit: int, rows: int) -> float:
    """Seconds of one INSERT."""
    span = f"range({commit * rows}, {(commit + 1) * rows}, 1, 1)"
    begun = time.perf_counter()
    spark.sql(f"INSERT INTO {table} SELECT {COLUMNS} FROM {span}")
    return time.perf_counter() - begun


def read(spark: Any, table: str) -> list[float]:
    """Seconds of each full read."""
    times = []
    for _ in range(READS):
        begun = time.perf_counter()
        spark.table(table).write.format("noop").mode("overwrite").save()
        times.append(time.perf_counter() - begun)
    return times


def measure(name: str, commits: int, rows: int) -> dict[str, Any]:
    """Time each commit on one engine, and full reads after the first fifty and after the last."""
    spark, table = session(name)
    spark.sql(f"CREATE NAMESPACE {table.rpartition('.')[0]}")
    for each in (warm := f"{table}_warm", table):
        spark.sql(f"CREATE TABLE {each} ({DDL}) {ENGINES[name].properties}")
    for commit in range(WARM_UP):
        append(spark, warm, commit, rows)
    read(spark, warm)
    times, reads = list[float](), dict[str, list[float]]()
    for commit in range(commits):
        times.append(append(spark, table, commit, rows))
        if commit + 1 == min(EDGE, commits):
            reads["first"] = read(spark, table)
    reads["last"] = read(spark, table)
    summed = "count(*)", "sum(CAST(hash(id, a, n, s) AS BIGINT))"
    found = str(tuple(spark.table(table).selectExpr(*summed).first()))
    spark.stop()
    return {
        "engine": name,
        "spark": ENGINES[name].spark,
        "times": times,
        "reads": reads,
        "sum": found,
    }


def table(results: dict[str, Any]) -> str:
    """Milliseconds of commits and reads at the start and at the end, in Markdown."""
    lines = [
        [
            *("format", f"first {EDGE}, median", "95th percentile", f"last {EDGE}, median"),
            *("95th percentile", "last / first", "all", "read at first", "read at last"),
        ]
    ]
    for name, result in results.items():
        first, last = result["times"][:EDGE], result["times"][-EDGE:]
        lines.append(
            [
                f"{name}, Spark {result['spark']}",
                *(shown for edge in (first, last) for shown in _edge(edge)),
                f"{statistics.median(last) / statistics.median(first):.2f}",
                f"{sum(result['times']):.0f} s",
                *(
                    f"{statistics.median(times) * 1000:.0f} ms"
                    for times in result["reads"].values()
                ),
            ]
        )
    return table_of(lines)


def _edge(times: list[float]) -> tuple[str, str]:
    slow = sorted(times)[len(times) * 95 // 100]
    return f"{statistics.median(times) * 1000:.0f} ms", f"{slow * 1000:.0f} ms"


if __name__ == "__main__":
    print_all("benchmarks.small_commits", __doc__, measure, table, commits=1000, rows=100)
