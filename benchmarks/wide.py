"""Measure wide tables and long logs: with Iceberg and Delta by Spark, and ours by Python alone.

By Spark, each format on the newest Spark that it supports and in its own process: ALTER, INSERT of
1,000 rows and SELECT of three columns at 1,000 columns, and MERGE of 1,000 rows into 200,000 of six
columns. By Python: ALTER at 1,000 columns after a thousand others; and history, a dry run of vacuum and
time travel on a log of several thousand versions.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks.common import UNMAINTAINED
from benchmarks.peers_spark import DATA, ENGINES, HERE, run_all, session

COLUMNS = 1000
TARGET = 200_000
TYPES = {
    "INT": "CAST(id % 1000 + {n} AS INT)",
    "DOUBLE": "id * 0.{n}D",
    "STRING": "concat('v', id % 50)",
    "TIMESTAMP": "timestamp_micros(id * 1000000 + {n})",
}


def declared(columns: int) -> dict[str, str]:
    """Columns and their types."""
    return {f"c{n}": list(TYPES)[n % len(TYPES)] for n in range(columns)}


def seconds(work: Callable[[], object], runs: int) -> list[float]:
    """Seconds of each run, after a warm-up run."""
    times = []
    for _ in range(runs + 1):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return times[1:]


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time each statement on one engine."""
    spark, table = session(name)
    spark.sql(f"CREATE NAMESPACE {table.rpartition('.')[0]}")
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    found["times"] |= wide(spark, f"{table}w", ENGINES[name].properties, rows, runs)
    found["times"] |= merging(spark, table, ENGINES[name].properties, rows, runs)
    sums = "count(*), count(DISTINCT id), sum(CAST(hash(id, a, n, s) AS BIGINT))"
    found["sum"] = str(spark.table(table).selectExpr(*sums.split(", ", 2)).collect()[0])
    spark.stop()
    return found


def wide(spark: Any, table: str, properties: str, rows: int, runs: int) -> dict[str, list[float]]:
    """Time INSERT and ALTER at many columns."""
    columns = declared(COLUMNS)
    ddl = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
    spark.sql(f"CREATE TABLE {table} ({ddl}) {properties}")
    values = [
        f"{TYPES[type_].format(n=n)} AS {column}"
        for n, (column, type_) in enumerate(columns.items())
    ]
    source = str(DATA / "wide_source")
    spark.range(0, rows, 1, 1).selectExpr(*values).write.mode("overwrite").parquet(source)
    spark.read.parquet(source).createOrReplaceTempView("source")
    added = iter(range(1000))
    return {
        "INSERT": seconds(lambda: spark.sql(f"INSERT INTO {table} SELECT * FROM source"), runs),
        "SELECT of 3": seconds(
            lambda: spark.sql(f"SELECT c0, c1, c2 FROM {table}").collect(), runs
        ),
        "ALTER": seconds(
            lambda: spark.sql(f"ALTER TABLE {table} ADD COLUMN x{next(added)} INT"), runs
        ),
    }


def merging(
    spark: Any, table: str, properties: str, rows: int, runs: int
) -> dict[str, list[float]]:
    """Time MERGE of few rows, a tenth of them new, into many."""
    ddl = "id BIGINT, a DOUBLE, b DOUBLE, n INT, m INT, s STRING"
    spark.sql(f"CREATE TABLE {table} ({ddl}) {properties}")
    spark.range(0, TARGET, 1, 2).selectExpr(
        *("id", "id * 0.37D AS a", "id * 0.73D AS b", "CAST(id % 1000 AS INT) AS n"),
        *("CAST(id % 10 AS INT) AS m", "concat('host-', id % 500) AS s"),
    ).writeTo(table).append()
    each, turns = TARGET // rows, iter(range(1000))

    def merge() -> None:
        run = next(turns)
        spark.sql(
            f"MERGE INTO {table} t USING (SELECT id * {each} + {run} + IF(id % 10 = 0, {TARGET}, 0) "
            f"AS id, 'merged' AS s FROM range({rows})) x ON t.id = x.id "
            "WHEN MATCHED THEN UPDATE SET t.s = x.s "
            "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (x.id, x.s)"
        )

    return {"MERGE": seconds(merge, runs)}


def by_python(versions: int, runs: int) -> dict[str, list[float]]:
    """Time our library without Spark."""
    from versioned_catalog import Catalog

    found: dict[str, list[float]] = {}
    ddl = ", ".join(f"{column} {type_}" for column, type_ in declared(COLUMNS).items())
    with tempfile.TemporaryDirectory() as folder:
        table = Catalog(folder).create_table("t", ddl)

        def alter() -> None:
            name = f"x{table.schema.version}"
            table.alter().add_column(name, "INT").commit()
            table.alter().drop_column(name).commit()

        found["two ALTERs at 1,000 columns"] = seconds(alter, runs)
        times = seconds(alter, (versions - table.version) // 2)
        found["two ALTERs at 1,000 columns, the last of all"] = times[-runs:]
        found["two ALTERs at 1,000 columns, all of them"] = times
        load = lambda: Catalog(folder).load_table("t")  # noqa: E731
        found["load at 1,000 columns and versions"] = seconds(load, runs)
    return found | long_log(4 * versions, runs)


def long_log(versions: int, runs: int) -> dict[str, list[float]]:
    """Time operations that read the past, on a table of one column."""
    import pyarrow as pa

    from versioned_catalog import Catalog

    with tempfile.TemporaryDirectory() as folder:
        table = Catalog(folder).create_table("t", "a INT", properties=UNMAINTAINED)
        rows = pa.table({"a": pa.array([1], pa.int32())})
        for _ in range(versions):
            table.append(rows)
        fresh = lambda: Catalog(folder).load_table("t")  # noqa: E731
        works: dict[str, Callable[[], object]] = {
            "load": fresh,
            "history": lambda: fresh().inspect.history(),  # noqa: PLW0108  loading is timed
            "vacuum, dry run": lambda: fresh().maintenance.vacuum(timedelta(0), force=True),
            **{
                f"time travel to {at} of {versions}": lambda at=at: fresh().at(at)
                for at in (10, versions // 4 + 5, versions // 2 + 5, versions - 20)
            },
        }
        return {
            f"{what} ({versions} versions)": seconds(work, runs) for what, work in works.items()
        }


def main() -> None:
    """Print and save times, and ratios to Iceberg and Delta."""
    results = run_all("benchmarks.wide", __doc__, 1000, measure)
    if results is None:
        return
    results["python"] = {"engine": "python", "times": by_python(1000, 5)}
    (HERE / "results" / "wide.json").write_text(json.dumps(results, indent=1) + "\n")
    for what, ours in results["versioned"]["times"].items():
        for peer in ("iceberg", "delta"):
            theirs = results[peer]["times"][what]
            middle = statistics.median(theirs)
            print(
                f"{what:<11} ours {statistics.median(ours) * 1000:>7.0f} ms, {peer} "
                f"{middle * 1000:>7.0f} ms: {statistics.median(ours) / middle:.2f}x "
                f"({min(ours) / middle:.2f}-{max(ours) / middle:.2f})"
            )
    for what, times in results["python"]["times"].items():
        print(
            f"{what:<52} {statistics.median(times) * 1000:>8.1f} ms "
            f"({min(times) * 1000:.1f}-{max(times) * 1000:.1f})"
        )


if __name__ == "__main__":
    main()
