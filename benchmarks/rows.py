"""Compare DELETE, UPDATE and MERGE with Iceberg and Delta, each with a full read after it.

Ten million rows under the 16 schema versions of ``peers_spark``, on the newest Spark that each format
supports. Each format runs as it comes, which is copy on write for Iceberg and Delta, and with deletion
vectors: marks in our tables. Ours also runs with copies. Each statement changes rows that are spread
over all segments; with ``by range``, the rows are adjacent.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

from benchmarks.peers_spark import ENGINES, HERE, fill, run_all, session

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


def statements(table: str, rows: int, run: int) -> dict[str, str]:
    """Statements to time; each run changes other rows."""
    begin = (run + 1) * rows // 20
    source = (
        f"SELECT id * 100 + {20 + run} + IF(id % 10 = 0, {rows}, 0) AS id, 'merged' AS host "
        f"FROM range({rows // 100})"
    )
    return {
        "DELETE of 0.1%": f"DELETE FROM {table} WHERE id % 1000 = {710 + run}",
        "DELETE of 1%": f"DELETE FROM {table} WHERE id % 100 = {run}",
        "UPDATE of 0.1%": f"UPDATE {table} SET n = n + 1 WHERE id % 1000 = {810 + run}",
        "UPDATE of 1%": f"UPDATE {table} SET n = n + 1 WHERE id % 100 = {50 + run}",
        "UPDATE of 1% by range": (
            f"UPDATE {table} SET n = n + 1 WHERE id >= {begin} AND id < {begin + rows // 100}"
        ),
        "MERGE of 1%": (
            f"MERGE INTO {table} t USING ({source}) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET t.host = s.host "
            "WHEN NOT MATCHED THEN INSERT (id, host) VALUES (s.id, s.host)"
        ),
    }


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time each statement in each mode, alone and with a full read after it."""
    spark, table = session(name)
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    sums = set()
    for number, (mode, properties) in enumerate(MODES[name].items()):
        used = f"{table.rpartition('.')[0]}{number}.t"
        fill(spark, used, properties, rows)
        found["times"][mode] = _times(spark, used, rows, runs)
        summed = "count(*), sum(CAST(hash(id, host, n) AS BIGINT))"
        sums.add(str(spark.table(used).selectExpr(*summed.split(", ", 1)).collect()[0]))
        spark.sql(f"DROP TABLE {used}")
    assert len(sums) == 1, "the modes differ"
    found["sum"] = sums.pop()
    spark.stop()
    return found


def _times(spark: Any, table: str, rows: int, runs: int) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for run in range(runs + 1):
        for what, statement in statements(table, rows, run).items():
            begun = time.perf_counter()
            spark.sql(statement)
            stated = time.perf_counter()
            spark.table(table).write.format("noop").mode("overwrite").save()
            if run:  # the first does not count
                times = found.setdefault(what, {"both": [], "statement": []})
                times["both"].append(time.perf_counter() - begun)
                times["statement"].append(stated - begun)
    return found


def main() -> None:
    """Print and save times, and the ratios of our default to copies and to the faster peer."""
    results = run_all("benchmarks.rows", __doc__, 10_000_000, measure)
    if results is None:
        return
    (HERE / "results" / "rows.json").write_text(json.dumps(results, indent=1) + "\n")
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
