"""Compare DELETE, UPDATE and MERGE with Iceberg and Delta, each with a full read after it.

Each format runs on the newest Spark that it supports, in a process of its own, as it comes, which is
copy on write for Iceberg and Delta, and with deletion vectors: marks in our tables. Ours also runs with
copies. A table is filled by one append. Each statement changes rows that are spread over all segments;
with ``by range``, the rows are adjacent. All modes of all formats must end with the same rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from benchmarks.peers_spark import DATA, ENGINES, FILES, HERE, in_own_process, session

MERGE_ON_READ = ", ".join(
    f"'write.{what}.mode' = 'merge-on-read'" for what in ("delete", "update", "merge")
)
MODES = {
    "versioned": {
        "default": "",
        "marks": "TBLPROPERTIES ('row_changes' = 'mark')",
        "copies": "TBLPROPERTIES ('row_changes' = 'copy')",
    },
    "iceberg": {
        "default": ENGINES["iceberg"].properties,
        "marks": f"USING iceberg TBLPROPERTIES ('format-version' = '3', {MERGE_ON_READ})",
    },
    "delta": {
        "default": ENGINES["delta"].properties,
        "marks": ENGINES["delta"].properties[:-1] + ", 'delta.enableDeletionVectors' = 'true')",
    },
}
"""The clauses of CREATE TABLE of each format, by how it changes rows."""

COLUMNS = {
    "id": ("BIGINT", "id"),
    "usage": ("DOUBLE", "id * 0.37D"),
    "idle": ("DOUBLE", "id * 0.73D"),
    "n": ("INT", "CAST(id % 1000 AS INT)"),
    "m": ("INT", "CAST(id % 10 AS INT)"),
    "host": ("STRING", "concat('host-', id % 500)"),
    "t": ("STRING", "concat('t-', id % 50)"),
    "u": ("STRUCT<p: INT, q: STRING>", "named_struct('p', CAST(id % 100 AS INT), 'q', 'q')"),
}
"""The type and the value of each column."""

WARM_UP = 100_000
"""The most rows of a table on which each statement runs first, untimed."""


def fill(spark: Any, table: str, properties: str, rows: int) -> None:
    """Create a table, and fill it by one append."""
    types = ", ".join(f"{name} {type_}" for name, (type_, _) in COLUMNS.items())
    spark.sql(f"CREATE TABLE {table} ({types}) {properties}")
    values = (f"{value} AS {name}" for name, (_, value) in COLUMNS.items())
    spark.range(0, rows, 1, FILES).selectExpr(*values).writeTo(table).append()


def statements(table: str, rows: int, merged: int, run: int) -> dict[str, str]:
    """Statements to time; each run changes other rows."""
    begin = (run + 1) * rows // 20
    source = (
        f"SELECT id * {rows // merged} + {20 + run} + IF(id % 10 = 0, {rows}, 0) AS id, "
        f"'merged' AS host FROM range({merged})"
    )
    return {
        "DELETE of 0.1%": f"DELETE FROM {table} WHERE id % 1000 = {710 + run}",
        "DELETE of 1%": f"DELETE FROM {table} WHERE id % 100 = {run}",
        "UPDATE of 0.1%": f"UPDATE {table} SET n = n + 1 WHERE id % 1000 = {810 + run}",
        "UPDATE of 1%": f"UPDATE {table} SET n = n + 1 WHERE id % 100 = {50 + run}",
        "UPDATE of 1% by range": (
            f"UPDATE {table} SET n = n + 1 WHERE id >= {begin} AND id < {begin + rows // 100}"
        ),
        f"MERGE of {merged:,}": (
            f"MERGE INTO {table} t USING ({source}) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET t.host = s.host "
            "WHEN NOT MATCHED THEN INSERT (id, host) VALUES (s.id, s.host)"
        ),
    }


def measure(name: str, rows: int, merged: int, runs: int) -> dict[str, Any]:
    """Time each statement in each mode, alone and with a full read after it."""
    spark, table = session(name)
    namespace = table.rpartition(".")[0]
    spark.sql(f"CREATE NAMESPACE {namespace}")
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    sums = dict[str, str]()
    for mode, properties in MODES[name].items():
        warm = min(rows, WARM_UP)
        _timed(
            spark, f"{namespace}.warm_{mode}", properties, warm, max(merged * warm // rows, 1), 1
        )
        found["times"][mode], sums[mode] = _timed(
            spark, f"{namespace}.{mode}", properties, rows, merged, runs
        )
    assert len({*sums.values()}) == 1, f"{name}: the modes differ: {sums}"
    found["sum"] = sums.popitem()[1]
    spark.stop()
    return found


Times = dict[str, dict[str, list[float]]]


def _timed(
    spark: Any, table: str, properties: str, rows: int, merged: int, runs: int
) -> tuple[Times, str]:
    """The times of each statement on a new table, in seconds, and a sum over its rows at the end."""
    fill(spark, table, properties, rows)
    times: Times = {}
    for run in range(runs):
        for what, statement in statements(table, rows, merged, run).items():
            begun = time.perf_counter()
            spark.sql(statement)
            stated = time.perf_counter()
            spark.table(table).write.format("noop").mode("overwrite").save()
            of_statement = times.setdefault(what, {"both": [], "statement": []})
            of_statement["both"].append(time.perf_counter() - begun)
            of_statement["statement"].append(stated - begun)
    summed = "count(*)", "sum(CAST(hash(id, usage, n, host, t) AS BIGINT))"
    found = str(tuple(spark.table(table).selectExpr(*summed).first()))
    spark.sql(f"DROP TABLE {table}")
    return times, found


def main() -> None:
    """Print and save times, and the ratios of our default to copies and to the faster peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=int, default=5_000_000, help="rows of each table (5 million)"
    )
    parser.add_argument("--merged", type=int, default=10_000, help="rows of a MERGE (10,000)")
    parser.add_argument("--runs", type=int, default=3, help="how often each statement is timed (3)")
    parser.add_argument("--engine", choices=ENGINES, help="run this one alone, in this Python")
    options = parser.parse_args()
    sizes = options.rows, options.merged, options.runs
    DATA.mkdir(parents=True, exist_ok=True)
    if options.engine:
        print(json.dumps(measure(options.engine, *sizes)))
        return
    names = ("rows", "merged", "runs")
    arguments = [f"--{name}={size}" for name, size in zip(names, sizes, strict=True)]
    results = {name: in_own_process(name, "benchmarks.rows", *arguments) for name in ENGINES}
    assert len({result["sum"] for result in results.values()}) == 1, "the formats differ"
    (HERE / "results" / "rows.json").write_text(json.dumps(results, indent=1) + "\n")
    show(results)


def show(results: dict[str, Any]) -> None:
    """Print the medians of each mode, and ratios of those of our tables."""
    for what in results["versioned"]["times"]["default"]:
        medians = {
            (name, mode): {kind: statistics.median(times[what][kind]) for kind in times[what]}
            for name, result in results.items()
            for mode, times in result["times"].items()
        }
        for (name, mode), times in medians.items():
            print(
                f"{what:<22} {name:<10} {mode:<8} {times['both']:6.2f} s "
                f"({times['statement']:.2f} alone)"
            )
        for mode in ("default", "marks"):
            peer = min(medians[name, mode]["both"] for name in ("iceberg", "delta"))
            ours = results["versioned"]["times"][mode][what]["both"]
            ratios = [time / peer for time in ours]
            print(
                f"{what:<22} {mode}: {statistics.median(ratios):.2f}x of the faster peer "
                f"({min(ratios):.2f}-{max(ratios):.2f})"
            )
        copies = medians["versioned", "copies"]["both"]
        print(
            f"{what:<22} default: {medians['versioned', 'default']['both'] / copies:.2f}x of copies"
        )


if __name__ == "__main__":
    main()
