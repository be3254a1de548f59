"""Compare what constraints, generated and identity columns add to an INSERT, in our tables and in Delta.

The same rows are inserted into a table without constraints, with one that statistics decide, and with
one that they do not decide; and into one with a fifth column, which the rows bring or the table
generates or numbers. Iceberg has none of these. Each format runs on the newest Spark that it supports.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.common import spread, table_of
from benchmarks.peers_spark import ENGINES, print_all, session

DDL = "id BIGINT, a DOUBLE, n INT, host STRING"
VALUES = ("id", "id * 0.37D AS a", "CAST(id % 1000 AS INT) AS n", "concat('h-', id % 500) AS host")
G = "CAST(id % 7 AS INT)"


@dataclass(frozen=True)
class Kind:
    """A table, and what its rows bring.

    Args:
        checks: the conditions of its constraints.
        column: the declaration of its fifth column.
        value: the fifth value of each row.
        base: the kind that it is compared with.
    """

    checks: tuple[str, ...] = ()
    column: str = ""
    value: str = ""
    base: str = "none"

    @property
    def is_plain(self) -> bool:
        """Whether every format has such tables."""
        return not self.checks and "GENERATED" not in self.column


KINDS = {
    "none": Kind(),
    "by statistics": Kind(("id >= 0 AND n < 1000",)),
    "not by statistics": Kind(("id >= 0 AND n < 1000", "n <> 1000 AND host <> 'h-250x'")),
    "a fifth column": Kind(column=", g INT", value=f"{G} AS g"),
    "a generated column": Kind(column=f", g INT GENERATED ALWAYS AS ({G})", base="a fifth column"),
    "a number": Kind(column=", k BIGINT", value="id AS k"),
    "an identity column": Kind(column=", k BIGINT GENERATED ALWAYS AS IDENTITY", base="a number"),
}


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time INSERTs into an empty table with each set of constraints, in turn."""
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    spark, table = session(name)
    spark.sql(f"CREATE NAMESPACE {table.rpartition('.')[0]}")
    for run in range(-1, runs):
        for kind, made in KINDS.items():
            if name == "iceberg" and not made.is_plain:
                continue
            spark.sql(f"CREATE TABLE {table} ({DDL}{made.column}) {ENGINES[name].properties}")
            for number, condition in enumerate(made.checks):
                spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT c{number} CHECK ({condition})")
            begun = time.perf_counter()
            values = (*VALUES, made.value) if made.value else VALUES
            spark.range(0, rows, 1, 2).selectExpr(*values).writeTo(table).append()
            if run >= 0:  # the first does not count
                times[kind].append(time.perf_counter() - begun)
            found = str(spark.sql(f"SELECT count(*), sum(id) FROM {table}").first())
            spark.sql(f"DROP TABLE {table}")
    spark.stop()
    return {"engine": name, "spark": ENGINES[name].spark, "times": times, "sum": found}


def table(results: dict[str, Any]) -> str:
    """Seconds of an INSERT, and the ratio to the table without constraints, in Markdown."""
    lines = [["constraints", *(f"{name}, Spark {r['spark']}" for name, r in results.items())]]
    for kind in KINDS:
        lines.append([kind, *(_cell(result["times"], kind) for result in results.values())])
    return table_of(lines)


def _cell(times: dict[str, list[float]], kind: str) -> str:
    if not times[kind]:
        return "has none"
    base = times[KINDS[kind].base]
    ratios = [mine / plain for mine, plain in zip(times[kind], base, strict=True)]
    shown = f"{statistics.median(times[kind]):.2f} s"
    return shown if kind == "none" else f"{shown}, {spread(ratios)}"


if __name__ == "__main__":
    print_all("benchmarks.checks", __doc__, measure, table, rows=5_000_000, runs=5)
