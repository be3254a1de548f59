"""Compare writes of unordered rows into 480 partitions with Iceberg and Delta, by Spark.

The partitions are 16 buckets of users on each of 30 days. Delta has no transforms, so generated columns
replace them there. Each format runs with its defaults on the newest Spark that it supports, and every
write goes into a new table.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

from benchmarks.peers_spark import ENGINES, HERE, run_all, session

COLUMNS = "ts TIMESTAMP, u BIGINT, a DOUBLE, b DOUBLE, s STRING"
ROWS = [
    "timestamp_micros(pmod(hash(id), 30) * 86400000000L + pmod(id * 7919, 86400) * 1000000L) AS ts",
    "pmod(hash(id, 1), 100000) * 1L AS u",
    "id * 0.37D AS a",
    "id * 0.73D AS b",
    "concat('host-', id % 500) AS s",
]
GENERATED = (
    ", day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), part BIGINT GENERATED ALWAYS AS (u % 16)"
)
TASKS = 8
"""Number of tasks that produce the rows."""


def create(spark: Any, name: str, table: str) -> None:
    """Create an empty table."""
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    using = ENGINES[name].properties.partition("TBLPROPERTIES")[0]
    if name == "delta":
        spark.sql(f"CREATE TABLE {table} ({COLUMNS}{GENERATED}) {using} PARTITIONED BY (day, part)")
    else:
        spark.sql(
            f"CREATE TABLE {table} ({COLUMNS}) {using} PARTITIONED BY (days(ts), bucket(16, u))"
        )


def write(frame: Any, name: str, table: str) -> None:
    """Append rows."""
    if name == "delta":
        frame.write.format("delta").mode("append").saveAsTable(table)
    else:
        frame.writeTo(table).append()


def files(spark: Any, name: str, table: str) -> int:
    """Number of files of the table."""
    if name == "delta":
        return int(spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["numFiles"])
    kept = "segments" if name == "versioned" else "files"
    return int(spark.sql(f"SELECT count(*) FROM {table}.{kept}").collect()[0][0])


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time each write and count its files."""
    spark, table = session(name)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    frame = spark.range(0, rows, 1, TASKS).selectExpr(*ROWS)
    times: list[float] = []
    for run in range(runs + 1):
        create(spark, name, table)
        begun = time.perf_counter()
        write(frame, name, table)
        if run:  # the first does not count
            times.append(time.perf_counter() - begun)
    found = {
        "engine": name,
        "spark": spark.version,
        "rows": rows,
        "files": files(spark, name, table),
        "times": times,
        "sum": str(spark.table(table).selectExpr("sum(hash(ts, u, a, s))", "count(*)").collect()),
    }
    spark.stop()
    return found


def main() -> None:
    """Print and save times, and ratios to each peer."""
    results = run_all("benchmarks.partitioned", __doc__, 2_000_000, measure)
    if results is None:
        return
    kept = json.dumps(list(results.values()), indent=1)
    (HERE / "results" / "partitioned.json").write_text(kept + "\n")
    ours = results["versioned"]["times"]
    for name, found in results.items():
        times = found["times"]
        ratios = [a / b for a, b in zip(ours, times, strict=True)]
        print(
            f"{name:<10} Spark {found['spark']:<6} {statistics.median(times) * 1000:>8.0f} ms "
            f"({min(times) * 1000:.0f}-{max(times) * 1000:.0f})  {found['files']:>6} files; ours "
            f"{statistics.median(ratios):.2f}x of it ({min(ratios):.2f}-{max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
