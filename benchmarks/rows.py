"""Compare DELETE, UPDATE and MERGE with Iceberg and Delta, each with a full read after it.

Ten million rows under the 16 schema versions of ``peers_spark``. Each format runs with its defaults,
which are copy on write for all three, on the newest Spark that it supports. Each statement changes one
percent of the rows, spread over all segments, so that it rewrites all of them; with ``by range``, the
rows are adjacent.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

from benchmarks.peers_spark import ENGINES, HERE, fill, run_all, session


def statements(table: str, rows: int, run: int) -> dict[str, str]:
    """Statements to time; each run changes other rows."""
    begin = (run + 1) * rows // 20
    source = (
        f"SELECT id * 100 + {20 + run} + IF(id % 10 = 0, {rows}, 0) AS id, 'merged' AS host "
        f"FROM range({rows // 100})"
    )
    return {
        "DELETE of 1%": f"DELETE FROM {table} WHERE id % 100 = {run}",
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
    """Time each statement, alone and with a full read after it."""
    spark, table = session(name)
    fill(spark, table, ENGINES[name].properties, rows)
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    for run in range(runs + 1):
        for what, statement in statements(table, rows, run).items():
            begun = time.perf_counter()
            spark.sql(statement)
            stated = time.perf_counter()
            spark.table(table).write.format("noop").mode("overwrite").save()
            if run:  # the first does not count
                times = found["times"].setdefault(what, {"both": [], "statement": []})
                times["both"].append(time.perf_counter() - begun)
                times["statement"].append(stated - begun)
    summed = "count(*), sum(CAST(hash(id, host, n) AS BIGINT))"
    found["sum"] = str(spark.table(table).selectExpr(*summed.split(", ", 1)).collect()[0])
    spark.stop()
    return found


def main() -> None:
    """Print and save times, and ratios to the faster peer."""
    results = run_all("benchmarks.rows", __doc__, 10_000_000, measure)
    if results is None:
        return
    (HERE / "results" / "rows.json").write_text(json.dumps(results, indent=1) + "\n")
    for what in results["versioned"]["times"]:
        both = {n: statistics.median(r["times"][what]["both"]) for n, r in results.items()}
        alone = {n: statistics.median(r["times"][what]["statement"]) for n, r in results.items()}
        ours, peer = both["versioned"], min(both["iceberg"], both["delta"])
        spread = [time / peer for time in results["versioned"]["times"][what]["both"]]
        print(
            f"{what:<22} "
            + "  ".join(f"{n} {both[n]:.2f} s ({alone[n]:.2f} alone)" for n in both)
            + f"  {ours / peer:.2f}x of the faster ({min(spread):.2f}-{max(spread):.2f})"
        )


if __name__ == "__main__":
    main()
