"""Compare upserts by Spark with Iceberg and Delta, and measure the cost of merging in our scans.

Each run merges a tenth as many rows as exist, half of them new and spread over all keys, into the
original table, and reads all rows. Each format runs with its defaults on the newest Spark that it
supports. Our table has a primary key; the benchmark also writes to it by INSERT, which is an upsert.
"""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.common import UNMAINTAINED_SQL
from benchmarks.peers_spark import DATA, ENGINES, HERE, run_all, session

COLUMNS = (
    "concat('host-', id % 500) AS host, id * 0.37D AS a, id * 0.73D AS b, "
    "CAST(id % 1000 AS INT) AS n"
)
DDL = "id BIGINT, host STRING, a DOUBLE, b DOUBLE, n INT"


def read_all(frame: Any) -> None:
    """Read every row of every column."""
    frame.write.format("noop").mode("overwrite").save()


def source(rows: int, run: int) -> str:
    """Query for a tenth as many rows: even keys, which exist, and odd ones, which do not."""
    step, half = 20, rows // 20
    return (
        f"SELECT id, {COLUMNS.replace('id * 0.37D', '-1.0D')} FROM "
        f"(SELECT id * {step} + {2 * (run % 10)} + IF(id % 2 = 0, 0, 1) AS id FROM range({2 * half}))"
    )


def make(spark: Any, name: str, table: str, rows: int) -> None:
    """Create the table and fill it by ten appends."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    key = ", PRIMARY KEY (id)" if name == "versioned" else ""
    spark.sql(f"CREATE TABLE {table} ({DDL}{key}) {ENGINES[name].properties}")
    for part in range(10):
        span = f"range({rows // 10 * part}, {rows // 10 * (part + 1)})"
        spark.sql(
            f"INSERT INTO {table} SELECT id, {COLUMNS} FROM (SELECT id * 2 AS id FROM {span})"
        )


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time each upsert, alone and with a full read after it."""
    spark, table = session(name)
    make(spark, name, table, rows)
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    statements = {
        "MERGE": f"MERGE INTO {table} t USING ({{}}) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    }
    restore = restoring(spark, name, table)
    _time(spark, table, statements, rows, runs, found["times"], restore)
    summed = "count(*) AS c", "sum(CAST(hash(id, host, a, n) AS BIGINT)) AS s"
    found["sum"] = str(spark.table(table).selectExpr(*summed).collect()[0])
    if name == "versioned":
        insert = {"INSERT": f"INSERT INTO {table} {{}}"}
        _time(spark, table, insert, rows, runs, found["times"], restore)
        found["times"] |= overlapping(spark, rows, runs)
    spark.stop()
    return found


def restoring(spark: Any, name: str, table: str) -> Callable[[], object]:
    """A function that restores the current state of the table."""
    short = table.partition(".")[2]
    newest, back = {
        "versioned": (
            f"SELECT max(version) FROM {table}.snapshots",
            f"CALL c.system.rollback_to_version('{short}', {{}})",
        ),
        "iceberg": (
            f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1",
            f"CALL c.system.rollback_to_snapshot('{short}', {{}})",
        ),
        "delta": (
            f"DESCRIBE HISTORY {table} LIMIT 1",
            f"RESTORE TABLE {table} TO VERSION AS OF {{}}",
        ),
    }[name]
    version = spark.sql(newest).collect()[0][0]
    return lambda: spark.sql(back.format(version)).collect()


def _time(
    spark: Any,
    table: str,
    statements: dict[str, str],
    rows: int,
    runs: int,
    times: Any,
    restore: Callable[[], object],
) -> None:
    for what, statement in statements.items():
        seconds = times.setdefault(what, {"both": [], "statement": []})
        for run in range(runs + 1):
            restore()
            begun = time.perf_counter()
            spark.sql(statement.format(source(rows, run)))
            stated = time.perf_counter()
            read_all(spark.table(table))
            if run:  # the first run is a warm-up
                seconds["both"].append(time.perf_counter() - begun)
                seconds["statement"].append(stated - begun)


def overlapping(spark: Any, rows: int, runs: int) -> dict[str, Any]:
    """Time reads of ten overlapping runs, of the same rows compacted, and as plain Parquet.

    The compacted table, read through Python, is the lower bound for reads through Python.
    """
    table = "c.b.runs"
    spark.sql(f"CREATE TABLE {table} ({DDL}, PRIMARY KEY (id)) {UNMAINTAINED_SQL}")
    for run in range(10):
        ids = f"SELECT id * 10 + {run} AS id FROM range({rows // 10})"
        spark.sql(f"INSERT INTO {table} SELECT id, {COLUMNS} FROM ({ids})")
    merged = _alone(lambda: read_all(spark.table(table)), runs)
    spark.sql("CALL c.system.compact(table => 'b.runs')")
    plain = str(DATA / "plain-keyed")
    shutil.rmtree(plain, ignore_errors=True)
    files = spark.sql(f"SELECT count(*) FROM {table}.segments").collect()[0][0]
    spark.table(table).repartitionByRange(files, "id").sortWithinPartitions("id").write.option(
        "compression", "zstd"
    ).parquet(plain)
    found = {"10 overlapping runs": merged}
    times: dict[str, list[float]] = {
        "compacted": [],
        "plain Parquet": [],
        "compacted, by Python": [],
    }
    works = {
        "compacted": lambda: read_all(spark.table(table)),
        "plain Parquet": lambda: read_all(spark.read.parquet(plain)),
        "compacted, by Python": lambda: read_all(spark.read.option("io", "python").table(table)),
    }
    for run in range(runs + 1):
        for what, work in works.items():
            (seconds,) = _alone(work, 0)
            if run:
                times[what].append(seconds)
    return {what: {"both": seconds} for what, seconds in {**found, **times}.items()}


def _alone(work: Any, runs: int) -> list[float]:
    times = []
    for _ in range(runs + 1):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return times[1:] if runs else times


def main() -> None:
    """Print and save times, and ratios to the faster peer."""
    results = run_all("benchmarks.keyed_spark", __doc__, 10_000_000, measure)
    if results is None:
        return
    (HERE / "results" / "keyed_spark.json").write_text(json.dumps(results, indent=1) + "\n")
    ours = results["versioned"]["times"]
    peer = {n: r["times"]["MERGE"]["both"] for n, r in results.items() if n != "versioned"}
    fastest = min(statistics.median(times) for times in peer.values())
    shown = {f"ours, {what}": ours[what]["both"] for what in ("MERGE", "INSERT")}
    for name, times in {**peer, **shown}.items():
        median = statistics.median(times)
        print(f"{name:<24} {median:6.2f} s  {median / fastest:.2f}x of the faster peer")
    for what, base in (
        ("10 overlapping runs", "compacted, by Python"),
        ("10 overlapping runs", "compacted"),
        ("compacted", "plain Parquet"),
    ):
        one, two = (statistics.median(ours[name]["both"]) for name in (what, base))
        print(f"{what:<24} {one:6.2f} s  {one / two:.2f}x of {base} ({two:.2f} s)")


if __name__ == "__main__":
    main()
