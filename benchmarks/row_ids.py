"""Compare what row IDs add to an INSERT, an UPDATE and a scan, in tables with and without them.

An INSERT should take at most 1% longer: its commit assigns two numbers, and no row holds one. The order
of the two tables changes in each run, and each pair gives one ratio.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.common import DATA, spread, table_of
from benchmarks.native_scan import start

DDL = "id BIGINT, a DOUBLE, n INT, host STRING"
VALUES = ("id", "id * 0.37D AS a", "CAST(id % 1000 AS INT) AS n", "concat('h-', id % 500) AS host")
TABLE = "versioned.b.t"

Times = dict[str, dict[str, list[float]]]
"""Seconds of each step, without and with IDs."""


def once(spark: Any, kind: str, rows: int, note: Callable[[str, float], None]) -> None:
    """Run all steps on a new table."""

    def timed(step: str, act: Callable[[], object]) -> None:
        begun = time.perf_counter()
        act()
        note(step, time.perf_counter() - begun)

    ids = "true" if kind == "with" else "false"
    spark.sql(f"CREATE TABLE {TABLE} ({DDL}) USING versioned TBLPROPERTIES (row_ids = '{ids}')")
    frame = spark.range(0, rows, 1, 2).selectExpr(*VALUES)
    timed("INSERT", lambda: frame.writeTo(TABLE).append())
    for how, step in (("copy", "UPDATE by copies"), ("mark", "UPDATE by marks")):
        spark.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES (row_changes = '{how}')")
        timed(step, lambda: spark.sql(f"UPDATE {TABLE} SET a = a + 1 WHERE n = 7"))
    timed("scan", lambda: spark.sql(f"SELECT sum(a) FROM {TABLE}").collect())
    if kind == "with":
        query = f"SELECT sum(_row_id), max(_row_updated) FROM {TABLE}"
        timed("scan of the IDs", lambda: spark.sql(query).collect())
    spark.sql(f"DROP TABLE {TABLE}")


def measure(rows: int, runs: int) -> Times:
    """Time each step on new tables with IDs and without, in turn; the first run does not count."""
    shutil.rmtree(DATA / "sql", ignore_errors=True)
    (DATA / "sql").mkdir(parents=True)
    times: Times = {}
    spark = start()
    spark.sql("CREATE NAMESPACE IF NOT EXISTS versioned.b")
    for run in range(-1, runs):
        for kind in ("without", "with") if run % 2 else ("with", "without"):

            def note(step: str, seconds: float, kind: str = kind, counts: bool = run >= 0) -> None:
                if counts:
                    both = times.setdefault(step, {"without": [], "with": []})
                    both[kind].append(seconds)

            once(spark, kind, rows, note)
    spark.stop()
    return times


def report(times: Times) -> str:
    """Seconds of each step without IDs, and the ratio with them, in Markdown."""
    lines = [["step", "without", "with"]]
    for step, by_kind in times.items():
        lines.append([step, *_cells(by_kind["without"], by_kind["with"])])
    return table_of(lines)


def _cells(without: list[float], with_ids: list[float]) -> tuple[str, str]:
    shown = f"{statistics.median(with_ids):.2f} s"
    if not without:
        return "", shown
    ratios = [mine / plain for mine, plain in zip(with_ids, without, strict=True)]
    return f"{statistics.median(without):.2f} s", f"{shown}, {spread(ratios)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    print(report(measure(options.rows, options.runs)))
