"""Time Spark's reads of ten overlapping runs against the same rows compacted, and lookups of one key.

The runs hold the same rows in two tables, of which one is compacted; reads of both alternate, so that
their ratio means something on a noisy machine.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.keyed_spark import COLUMNS, DDL, _alone, read_all
from benchmarks.peers_spark import session

RUNS = 10
KEYS = ("id", "host, id")


def fill(spark: Any, table: str, key: str, rows: int) -> None:
    """Write ten runs of different keys in one range."""
    spark.sql(f"CREATE TABLE {table} ({DDL}, PRIMARY KEY ({key}))")
    for run in range(RUNS):
        ids = f"SELECT id * {RUNS} + {run} AS id FROM range({rows // RUNS})"
        spark.sql(f"INSERT INTO {table} SELECT id, {COLUMNS} FROM ({ids})")


def _read(spark: Any, table: str) -> None:
    read_all(spark.table(table))


def _look_up(spark: Any, table: str, where: str) -> None:
    spark.table(table).where(where).collect()


def alternate(works: dict[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """The seconds of each work, run in turns; the first turn is a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for run in range(runs + 1):
        for name, work in works.items():
            (seconds,) = _alone(work, 0)
            if run:
                times[name].append(seconds)
    return times


def main() -> None:
    """Print the ratio of full reads, and milliseconds of lookups."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    spark, _ = session("versioned")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS c.b")
    for number, key in enumerate(KEYS):
        runs, compacted = f"c.b.runs{number}", f"c.b.compacted{number}"
        for table in (runs, compacted):
            fill(spark, table, key, options.rows)
        spark.sql(f"CALL c.system.compact(table => '{compacted[2:]}')")
        wanted = options.rows // 2
        where = f"host = 'host-{wanted % 500}' AND id = {wanted}"
        works: dict[str, Callable[[], object]] = {
            "runs": partial(_read, spark, runs),
            "compacted": partial(_read, spark, compacted),
            "lookup": partial(_look_up, spark, runs, where),
        }
        times = alternate(works, options.runs)
        ratios = [a / b for a, b in zip(times["runs"], times["compacted"], strict=True)]
        print(
            f"key {key}: ten overlapping runs / compacted {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f}-{max(ratios):.2f}); WHERE {where}: "
            f"{1000 * statistics.median(times['lookup']):.0f} ms"
        )
    spark.stop()


if __name__ == "__main__":
    main()
