"""Compare scans of the same rows and 16 schema versions in our tables, Iceberg's and Delta's.

Each format runs on the newest Spark that it supports, beside plain Parquet on the same Spark. Spark
fetches the formats' packages by their coordinates, and pip fetches PySpark, once, into
``benchmarks/data``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import append_results

HERE = Path(__file__).parent
DATA = HERE / "data" / "peers"
FILES = 13

CHANGES = [
    "RENAME COLUMN s TO host",
    "ALTER COLUMN n TYPE BIGINT",
    "ALTER COLUMN t FIRST",
    "RENAME COLUMN a TO usage",
    "DROP COLUMN b",
    "ADD COLUMN b DOUBLE",
    "ALTER COLUMN m TYPE BIGINT",
    "ADD COLUMN u.r INT",
    "RENAME COLUMN u.p TO pp",
    "ALTER COLUMN u.pp TYPE BIGINT",
    "DROP COLUMN t",
    "ADD COLUMN t STRING",
    "RENAME COLUMN b TO idle",
    "ALTER COLUMN id AFTER host",
    "ALTER COLUMN id COMMENT 'who'",
]
DDL = "id BIGINT, a DOUBLE, b DOUBLE, n INT, m INT, s STRING, t STRING, u STRUCT<p: INT, q: STRING>"
VALUES = {
    "id": "id",
    "a": "id * 0.37D",
    "usage": "id * 0.37D",
    "b": "id * 0.73D",
    "idle": "id * 0.73D",
    "n": "CAST(id % 1000 AS INT)",
    "m": "CAST(id % 10 AS INT)",
    "s": "concat('host-', id % 500)",
    "host": "concat('host-', id % 500)",
    "t": "concat('t-', id % 50)",
}


@dataclass(frozen=True)
class Engine:
    """A table format and its set-up.

    Args:
        spark: Version of Spark that it runs on.
        package: Coordinates for ``spark.jars.packages``, or None.
        conf: Spark settings.
        properties: Clauses of CREATE TABLE.
        marks: The same, with deletion vectors: marks, merge on read.
    """

    spark: str
    package: str | None
    conf: dict[str, str]
    properties: str
    marks: str


MERGE_ON_READ = ", ".join(
    f"'write.{what}.mode' = 'merge-on-read'" for what in ("delete", "update", "merge")
)
MAPPED = "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true'"
ENGINES = {
    "versioned": Engine("4.3.0", None, {}, "", "TBLPROPERTIES ('row_changes' = 'mark')"),
    "iceberg": Engine(
        "4.1.4",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        {
            "spark.sql.catalog.c": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.c.type": "hadoop",
            "spark.sql.extensions": (
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
            ),
        },
        "USING iceberg TBLPROPERTIES ('format-version' = '2')",
        f"USING iceberg TBLPROPERTIES ('format-version' = '3', {MERGE_ON_READ})",
    ),
    "delta": Engine(
        "4.2.1",
        "io.delta:delta-spark_4.2_2.13:4.4.0",
        {
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        },
        f"USING delta TBLPROPERTIES ({MAPPED})",
        f"USING delta TBLPROPERTIES ({MAPPED}, 'delta.enableDeletionVectors' = 'true')",
    ),
}


def session(name: str) -> tuple[Any, str]:
    """Start a session of two cores; return it and the table's name."""
    from pyspark.sql import SparkSession

    engine, warehouse = ENGINES[name], str(DATA / name)
    shutil.rmtree(warehouse, ignore_errors=True)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "6g").config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.warehouse.dir", warehouse)
    for key, value in engine.conf.items():
        builder = builder.config(key, value)
    if engine.package is None:
        from pyspark_versioned import configure

        return configure(builder, warehouse, "c").getOrCreate(), "c.b.t"
    builder = builder.config("spark.jars.packages", engine.package)
    builder = builder.config("spark.jars.ivy", str(DATA / "ivy"))
    builder = builder.config("spark.sql.catalog.c.warehouse", warehouse)
    return builder.getOrCreate(), "c.b.t" if name == "iceberg" else "b.t"


def fill(spark: Any, table: str, properties: str, rows: int) -> None:
    """Create the table and fill it by 16 appends, with a schema change before each but the first."""
    spark.sql(f"CREATE NAMESPACE {table.rpartition('.')[0]}")
    spark.sql(f"CREATE TABLE {table} ({DDL}) {properties}")
    each = rows // (len(CHANGES) + 1)
    for number in range(len(CHANGES) + 1):
        if number:
            spark.sql(f"ALTER TABLE {table} {CHANGES[number - 1]}")
        field = next(f for f in spark.table(table).schema if f.name == "u")
        inner = ", ".join(
            f"'{f.name}', {'concat(chr(113), id % 50)' if f.name == 'q' else 'CAST(id % 100 AS INT)'}"
            for f in field.dataType
        )
        known = {**VALUES, "u": f"named_struct({inner})"}
        columns = [f"{known[c]} AS {c}" for c in spark.table(table).columns]
        part = spark.range(number * each, (number + 1) * each, 1, FILES).selectExpr(*columns)
        part.writeTo(table).append()


def prepare(spark: Any, table: str, properties: str, rows: int) -> str:
    """Fill the table, and write the same rows as plain Parquet; return the folder of those."""
    fill(spark, table, properties, rows)
    plain = str(DATA / "plain")
    shutil.rmtree(plain, ignore_errors=True)
    spark.table(table).repartitionByRange(FILES * 16, "id").write.option(
        "compression", "zstd"
    ).parquet(plain)
    return plain


def queries(rows: int) -> dict[str, Callable[[Any], object]]:
    """Queries to time, each a function of a DataFrame."""
    from pyspark.sql import functions as f

    return {
        "one column": lambda d: d.agg(f.sum("usage")).collect(),
        "all columns": lambda d: d.write.format("noop").mode("overwrite").save(),
        "selective filter": lambda d: d.where(f"id >= {rows - 1000}").agg(f.sum("usage")).collect(),
        "count(*)": lambda d: d.count(),
        "MIN and MAX": lambda d: d.agg(f.min("id"), f.max("id")).collect(),
    }


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Time each query on one engine, alternating with plain Parquet on the same Spark."""
    spark, table = session(name)
    plain = prepare(spark, table, ENGINES[name].properties, rows)
    frames = {"ours": lambda: spark.table(table), "plain": lambda: spark.read.parquet(plain)}
    found: dict[str, Any] = {"engine": name, "spark": spark.version, "rows": rows, "times": {}}
    for what, query in queries(rows).items():
        times: dict[str, list[float]] = {"ours": [], "plain": []}
        for run in range(runs + 1):
            for who, frame in frames.items():
                begun = time.perf_counter()
                query(frame())
                if run:  # the first run is a warm-up
                    times[who].append(time.perf_counter() - begun)
        found["times"][what] = times
    found["sum"] = str(spark.table(table).selectExpr("sum(hash(id, host, n))").collect())
    spark.stop()
    return found


def python_of(version: str) -> str:
    """The Python with this PySpark: $PEER_PYTHON_<version>, or a new virtual environment."""
    named = os.environ.get(f"PEER_PYTHON_{version.replace('.', '_')}")
    if version == ENGINES["versioned"].spark or named:
        return named or sys.executable
    folder = DATA / f"venv-{version}"
    if not folder.is_dir():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", f"pyspark=={version}"], check=True)
    return str(folder / "bin/python")


def main() -> None:
    """Print times and their ratios to plain Parquet on the same Spark."""
    results = run_all("benchmarks.peers_spark", __doc__, 20_000_000, measure)
    if results is None:
        return
    for result in results.values():
        show(result)
    found = json.dumps(list(results.values()), indent=1)
    (HERE / "results" / "peers_spark.json").write_text(found + "\n")


def run_all(
    module: str, about: str | None, rows: int, measure: Callable[[str, int, int], dict[str, Any]]
) -> dict[str, Any] | None:
    """Run a benchmark for every engine in its own process, and check that the results agree.

    Args:
        module: Name of the benchmark's module.
        about: Its description, for ``--help``.
        rows: Default number of rows.
        measure: Measures one engine, given its name, rows and runs.

    Returns:
        Measurements by engine, or None in the process of one engine, which prints its own.
    """
    options = _parser(about, rows=rows, runs=5).parse_args()
    return _run_engines(module, measure, options, "rows", "runs")


def print_all(
    module: str,
    about: str | None,
    measure: Callable[..., dict[str, Any]],
    table: Callable[[dict[str, Any]], str],
    **sizes: int | str,
) -> None:
    """Run a benchmark as ``run_all`` does, and print its table; save it if ``--save`` names a file.

    Args:
        module: Name of the benchmark's module.
        about: Its description, for ``--help``.
        measure: Measures one engine, given its name and the sizes.
        table: Formats the measurements by engine.
        sizes: Defaults of the sizes and the other arguments, each an option.
    """
    parser = _parser(about, **sizes)
    parser.add_argument("--save", type=Path, help="append the table and the raw times to this file")
    options = parser.parse_args()
    results = _run_engines(module, measure, options, *sizes)
    if results is None:
        return
    print(table(results))
    if options.save:
        command = [module, *(f"--{name}={getattr(options, name)}" for name in sizes)]
        append_results(options.save, command, table(results), results)


def _parser(about: str | None, **sizes: int | str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    for name, size in sizes.items():
        shown = f"{size:,}" if isinstance(size, int) else size or "all"
        parser.add_argument(f"--{name}", type=type(size), default=size, help=f"by default {shown}")
    parser.add_argument("--engine", choices=ENGINES, help="run this one alone, in this Python")
    return parser


def _run_engines(
    module: str,
    measure: Callable[..., dict[str, Any]],
    options: argparse.Namespace,
    *names: str,
) -> dict[str, Any] | None:
    sizes = {name: getattr(options, name) for name in names}
    DATA.mkdir(parents=True, exist_ok=True)
    if options.engine:
        print(json.dumps(measure(options.engine, *sizes.values())))
        return None
    arguments = [f"--{name}={size}" for name, size in sizes.items()]
    results = {name: in_own_process(name, module, *arguments) for name in ENGINES}
    assert len({result["sum"] for result in results.values()}) == 1, "the results differ"
    return results


def in_own_process(name: str, module: str, *arguments: str) -> dict[str, Any]:
    """Run a benchmark's module for one engine in its own process; return the JSON that it prints."""
    python = python_of(ENGINES[name].spark)
    done = subprocess.run(
        [python, "-m", module, "--engine", name, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYSPARK_PYTHON": python},
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def show(found: dict[str, Any]) -> None:
    """Print the times of one engine."""
    for what, times in found["times"].items():
        ratios = [a / b for a, b in zip(times["ours"], times["plain"], strict=True)]
        print(
            f"{found['engine']:<10} Spark {found['spark']:<6} {what:<18} "
            f"{statistics.median(times['ours']) * 1000:>8.0f} ms  "
            f"{statistics.median(ratios):>5.2f}x of plain Parquet "
            f"({min(ratios):.2f}-{max(ratios):.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
