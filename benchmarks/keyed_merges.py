"""Time Spark's reads of ten overlapping runs against the same rows compacted, and lookups of one key.

The runs hold the same rows in three tables, of which one is compacted and one resolved; reads of all
alternate, so that their ratios mean something on a noisy machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import UNMAINTAINED_SQL
from benchmarks.keyed_spark import COLUMNS, DDL, _alone, read_all
from benchmarks.peers_spark import session

RUNS = 10
KEYS = ("id", "host, id")


def fill(spark: Any, table: str, key: str, rows: int) -> None:
    """Write ten runs of different keys in one range."""
    spark.sql(f"CREATE TABLE {table} ({DDL}, PRIMARY KEY ({key})) {UNMAINTAINED_SQL}")
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


def ratios(times: dict[str, list[tuple[float, float]]], of: str, at: int) -> str:
    """The median ratio of full reads of a table to those of the compacted one, with its spread."""
    pairs = zip(times[of], times["compacted"], strict=True)
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
        tables = {state: f"c.b.{state}{number}" for state in ("runs", "resolved", "compacted")}
        for table in tables.values():
            fill(spark, table, key, options.rows)
        for state, strategy in (("compacted", "auto"), ("resolved", "resolve")):
            name = tables[state].removeprefix("c.")
            spark.sql(f"CALL c.system.compact(table => '{name}', strategy => '{strategy}')")
        wanted = options.rows // 2
        where = f"host = 'host-{wanted % 500}' AND id = {wanted}"
        works: dict[str, Callable[[], object]] = {
            state: partial(_read, spark, table) for state, table in tables.items()
        }
        for state in ("runs", "resolved"):
            works[f"lookup in {state}"] = partial(_look_up, spark, tables[state], where)
        times = alternate(spark, works, options.runs)
        for state in ("runs", "resolved"):
            lookups = zip(*times[f"lookup in {state}"], strict=True)
            seconds, cpu = (statistics.median(each) for each in lookups)
            print(
                f"key {key}: {state} / compacted {ratios(times, state, 0)}, by CPU "
                f"{ratios(times, state, 1)}; WHERE {where}: {1000 * seconds:.0f} ms, "
                f"{1000 * cpu:.0f} ms of CPU",
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    main()
