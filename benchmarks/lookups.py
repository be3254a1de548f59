"""Compare lookups of one key in many rows in our tables, Iceberg and Delta, by Spark.

The rows are written in ten appends of consecutive keys. Ours has a primary key; a second table of ours
gets ten upserts of few rows over the whole range after that, which overlap with everything, and is then
resolved. Each format runs on the newest Spark that it supports.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.common import spread, table_of
from benchmarks.peers_spark import ENGINES, print_all, session

APPENDS = 10
UPSERTED = 1000
DDL = "id BIGINT{}, a DOUBLE, n INT, host STRING"
VALUES = ("id", "id * 0.37D AS a", "CAST(id % 1000 AS INT) AS n", "concat('h-', id % 500) AS host")


def fill(spark: Any, table: str, ddl: str, properties: str, rows: int) -> None:
    """Create a table, and fill it."""
    spark.sql(f"CREATE TABLE {table} ({ddl}) {properties}")
    each = rows // APPENDS
    for number in range(APPENDS):
        part = spark.range(number * each, (number + 1) * each, 1, 2)
        part.selectExpr(*VALUES).writeTo(table).append()


def overlap(spark: Any, table: str, rows: int) -> None:
    """Upsert few rows over the whole range, ten times."""
    step = rows // UPSERTED
    for number in range(APPENDS):
        part = spark.range(number, rows, step, 1).selectExpr(*VALUES[:3], "'new' AS host")
        part.writeTo(table).append()


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time lookups of keys that are drawn at random, the same in each table."""
    spark, table = session(name)
    namespace = table.rpartition(".")[0]
    spark.sql(f"CREATE NAMESPACE {namespace}")
    ours, properties = name == "versioned", ENGINES[name].properties
    ddl = DDL.format(" NOT NULL") + ", PRIMARY KEY (id)" if ours else DDL.format("")
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    fill(spark, f"{namespace}.rows", ddl, properties, rows)
    found["times"]["in order"], found["sum"] = _looked_up(spark, f"{namespace}.rows", rows, runs)
    if ours:
        overlap(spark, f"{namespace}.rows", rows)
        found["times"]["overlapping"], _ = _looked_up(spark, f"{namespace}.rows", rows, runs)
        short = f"{namespace}.rows".partition(".")[2]
        spark.sql(f"CALL c.system.compact(table => '{short}', strategy => 'resolve')")
        found["times"]["resolved"], _ = _looked_up(spark, f"{namespace}.rows", rows, runs)
    spark.stop()
    return found


def _looked_up(spark: Any, table: str, rows: int, runs: int) -> tuple[list[float], str]:
    """The seconds of each lookup, and the sum of the keys that were found."""
    keys = [random.Random(run).randrange(rows) for run in range(runs + 3)]
    times, total = [], 0
    for run, key in enumerate(keys):
        seconds, (row,) = _timed(
            lambda key=key: spark.sql(f"SELECT * FROM {table} WHERE id = {key}").collect()
        )
        total += row.id
        if run >= 3:  # the first do not count
            times.append(seconds)
    return times, str(total)


def _timed(work: Callable[[], list[Any]]) -> tuple[float, list[Any]]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def table(results: dict[str, Any]) -> str:
    """Milliseconds of a lookup and its 95th percentile, in Markdown."""
    peers = (results[name]["times"]["in order"] for name in ("iceberg", "delta"))
    peer = min(map(statistics.median, peers))
    lines = [["lookup of a key", "median", "95th percentile", "ours / the faster peer"]]
    for name, result in results.items():
        for what, times in result["times"].items():
            late = sorted(times)[int(len(times) * 0.95)]
            ratio = spread([time / peer for time in times])
            lines.append(
                [
                    f"{name} {result['spark']}, {what}",
                    f"{1000 * statistics.median(times):.0f} ms",
                    f"{1000 * late:.0f} ms",
                    ratio if name == "versioned" else "",
                ]
            )
    return table_of(lines)


if __name__ == "__main__":
    print_all("benchmarks.lookups", __doc__, measure, table, rows=100_000_000, runs=20)
