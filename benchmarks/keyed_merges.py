"""Time Spark's reads of ten overlapping runs against the same rows compacted, and lookups of one key.

The runs hold the same rows in two tables, of which one is compacted; reads of both alternate, so that
their ratio means something on a noisy machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
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


def cpu_of(spark: Any) -> float:
    """The CPU seconds of the JVM so far, on Linux."""
    stat = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def alternate(
    spark: Any, works: dict[str, Callable[[], object]], runs: int
) -> dict[str, list[tuple[float, float]]]:
    """The seconds and the CPU seconds of each work, run in turns; the first turn is a warm-up."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for run in range(runs + 1):
        for name, work in works.items():
            begun = cpu_of(spark)
            (seconds,) = _alone(work, 0)
            if run:
                times[name].append((seconds, cpu_of(spark) - begun))
    return times


def ratios(times: dict[str, list[tuple[float, float]]], at: int) -> str:
    """The median ratio of full reads, with its spread."""
    pairs = zip(times["runs"], times["compacted"], strict=True)
    found = [runs[at] / compacted[at] for runs, compacted in pairs]
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})"


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
        times = alternate(spark, works, options.runs)
        seconds, cpu = (statistics.median(each) for each in zip(*times["lookup"], strict=True))
        print(
            f"key {key}: runs / compacted {ratios(times, 0)}, by CPU {ratios(times, 1)}; "
            f"WHERE {where}: {1000 * seconds:.0f} ms, {1000 * cpu:.0f} ms of CPU"
        )
    spark.stop()


if __name__ == "__main__":
    main()
