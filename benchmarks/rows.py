"""Compare DELETE, UPDATE and MERGE with Iceberg and Delta, each with a full read after it.

Each format runs on the newest Spark that it supports, in a process of its own, as it comes, which is
copy on write for Iceberg and Delta, and with deletion vectors: marks in our tables. Ours also runs with
copies. A table is filled by one append. Each statement changes rows that are spread over all segments;
with ``by range``, the rows are adjacent. All modes of all formats must end with the same rows.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.common import spread, table_of
from benchmarks.peers_spark import ENGINES, FILES, print_all, session

MODES = {
    name: {"default": engine.properties, "marks": engine.marks} for name, engine in ENGINES.items()
}
"""The clauses of CREATE TABLE of each format, by how it changes rows."""

MODES["versioned"]["copies"] = "TBLPROPERTIES ('row_changes' = 'copy')"

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


def measure(name: str, rows: int, merged: int, runs: int, only: str) -> dict[str, Any]:
    """Time each statement in each mode, alone and with a full read after it.

    Args:
        only: how the statements begin that are run.
    """
    spark, table = session(name)
    namespace = table.rpartition(".")[0]
    spark.sql(f"CREATE NAMESPACE {namespace}")
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    sums = dict[str, str]()
    for mode, properties in MODES[name].items():
        warm = min(rows, WARM_UP)
        few = max(merged * warm // rows, 1)
        _timed(spark, f"{namespace}.warm_{mode}", properties, warm, few, 1, only)
        found["times"][mode], sums[mode] = _timed(
            spark, f"{namespace}.{mode}", properties, rows, merged, runs, only
        )
    assert len({*sums.values()}) == 1, f"{name}: the modes differ: {sums}"
    found["sum"] = sums.popitem()[1]
    spark.stop()
    return found


Times = dict[str, dict[str, list[float]]]


def _timed(
    spark: Any, table: str, properties: str, rows: int, merged: int, runs: int, only: str
) -> tuple[Times, str]:
    """The times of each statement on a new table, in seconds, and a sum over its rows at the end."""
    fill(spark, table, properties, rows)
    times: Times = {}
    for run in range(runs):
        for what, statement in statements(table, rows, merged, run).items():
            if not what.startswith(only):
                continue
            begun = time.perf_counter()
            spark.sql(statement)
            stated = time.perf_counter()
            spark.sql(f"SELECT sum(hash(*)) FROM {table}").collect()
            of_statement = times.setdefault(what, {"both": [], "statement": []})
            of_statement["both"].append(time.perf_counter() - begun)
            of_statement["statement"].append(stated - begun)
    summed = f"count(*), sum(CAST(hash({', '.join(COLUMNS)}) AS BIGINT))"
    (found,) = map(str, map(tuple, spark.sql(f"SELECT {summed} FROM {table}").collect()))
    spark.sql(f"DROP TABLE {table}")
    return times, found


def table(results: dict[str, Any]) -> str:
    """Seconds of each statement and the full read after it, in Markdown.

    In brackets are the seconds of the statement alone. The last two columns are the ratios of our table
    to the faster peer in the same mode, with the least and the greatest of all runs.
    """
    modes = [(name, mode) for name, result in results.items() for mode in result["times"]]
    heads = [f"{name} {results[name]['spark']}, {mode}" for name, mode in modes]
    lines = [["statement and full read", *heads, "default / peer", "marks / peer"]]
    for what in results["versioned"]["times"]["default"]:
        times = {(name, mode): results[name]["times"][mode][what] for name, mode in modes}
        middles = {mode: statistics.median(each["both"]) for mode, each in times.items()}
        cells = [
            f"{middles[mode]:.2f} s ({statistics.median(each['statement']):.2f})"
            for mode, each in times.items()
        ]
        for mode in ("default", "marks"):
            peer = min(middles[name, mode] for name in ("iceberg", "delta"))
            cells.append(spread([time / peer for time in times["versioned", mode]["both"]]))
        lines.append([what, *cells])
    return table_of(lines)


if __name__ == "__main__":
    sizes = {"rows": 5_000_000, "merged": 10_000, "runs": 3}
    print_all("benchmarks.rows", __doc__, measure, table, **sizes, only="")
