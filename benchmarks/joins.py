"""Compare joins of two tables on their partition key in our tables, Iceberg and Delta.

Both tables have the same buckets of the key; Delta has no buckets, so generated columns replace them.
Each format runs on the newest Spark that it supports, as it comes and with the settings for joins
without a shuffle, of which Iceberg needs one of its own. No table is broadcast. All must give the same
result.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.common import spread, table_of
from benchmarks.peers_spark import ENGINES, print_all, session

SETTINGS = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
}
TABLES = {
    "sales": {
        "u": ("BIGINT", "id % {users}"),
        "a": ("DOUBLE", "id * 0.37D"),
        "n": ("INT", "CAST(id % 1000 AS INT)"),
        "s": ("STRING", "concat('host-', id % 500)"),
    },
    "users": {
        "u": ("BIGINT", "id"),
        "b": ("DOUBLE", "id * 0.73D"),
        "t": ("STRING", "concat('t-', id % 50)"),
    },
}
"""The type and the value of each column."""

USERS = 4
"""There is one user for so many sales."""
TASKS = 8
"""Number of tasks that produce the rows."""


def fill(spark: Any, name: str, namespace: str, rows: int, buckets: int) -> None:
    """Create both tables, and fill each by one append."""
    users = max(rows // USERS, 1)
    using = ENGINES[name].properties.partition("TBLPROPERTIES")[0]
    for table, columns in TABLES.items():
        ddl = ", ".join(f"{column} {kind}" for column, (kind, _) in columns.items())
        by = f"bucket({buckets}, u)"
        if name == "delta":
            ddl, by = f"{ddl}, part BIGINT GENERATED ALWAYS AS (pmod(u, {buckets}))", "part"
        spark.sql(f"CREATE TABLE {namespace}.{table} ({ddl}) {using} PARTITIONED BY ({by})")
        frame = spark.range(0, rows if table == "sales" else users, 1, TASKS).selectExpr(
            *(f"{value.format(users=users)} AS {column}" for column, (_, value) in columns.items())
        )
        if name == "delta":
            frame.write.format("delta").mode("append").saveAsTable(f"{namespace}.{table}")
        else:
            frame.writeTo(f"{namespace}.{table}").append()


def measure(name: str, rows: int, buckets: int, runs: int) -> dict[str, Any]:
    """Time the join, and count the shuffles of its plan, with and without the settings."""
    spark, table = session(name)
    namespace = table.rpartition(".")[0]
    spark.sql(f"CREATE NAMESPACE {namespace}")
    fill(spark, name, namespace, rows, buckets)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    part = " AND x.part = y.part" if name == "delta" else ""
    query = (
        "SELECT count(*), sum(CAST(hash(x.u, a, n, s, b, t) AS BIGINT)) "
        f"FROM {namespace}.sales x JOIN {namespace}.users y ON x.u = y.u{part}"
    )
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "times": {}, "shuffles": {}}
    results = set()
    for mode, settings in (("default", {}), ("settings", SETTINGS)):
        for key, value in settings.items():
            spark.conf.set(key, value)
        plan = spark.sql(query)._jdf.queryExecution().executedPlan().toString()
        found["shuffles"][mode] = plan.count("Exchange hashpartitioning")
        found["times"][mode] = []
        for run in range(runs + 1):
            begun = time.perf_counter()
            (row,) = spark.sql(query).collect()
            if run:  # the first does not count
                found["times"][mode].append(time.perf_counter() - begun)
            results.add(str(row))
    (found["sum"],) = results
    spark.stop()
    return found


def table(results: dict[str, Any]) -> str:
    """Seconds of the join and its shuffles, in Markdown."""
    lines = [["join", *(f"{name}, Spark {result['spark']}" for name, result in results.items())]]
    ours = results["versioned"]["times"]
    for mode in ours:
        cells = [
            f"{statistics.median(result['times'][mode]):.2f} s, {result['shuffles'][mode]} shuffles, "
            f"ours {_ratio(ours[mode], result['times'][mode])} of it"
            for result in results.values()
        ]
        lines.append([mode, *cells])
    return table_of(lines)


def _ratio(ours: list[float], theirs: list[float]) -> str:
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])


if __name__ == "__main__":
    print_all("benchmarks.joins", __doc__, measure, table, rows=10_000_000, buckets=4, runs=5)
