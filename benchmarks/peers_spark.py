"""The same rows under the same 16 schema versions in our tables, Iceberg's and Delta's, by Spark.

Each runs on the newest Spark that it supports, beside plain Parquet on that Spark. What is not here is
fetched once: jars from Maven Central, PySpark from PyPI, into ``benchmarks/data``.
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
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DATA = HERE / "data" / "peers"
MAVEN = "https://repo1.maven.org/maven2"
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
    """A table format: the Spark it runs on, its jars, and how it is set up."""

    spark: str
    jars: tuple[str, ...]
    conf: dict[str, str]
    properties: str


ENGINES = {
    "versioned": Engine("4.3.0", (), {}, ""),
    "iceberg": Engine(
        "4.1.4",
        (
            "org/apache/iceberg/iceberg-spark-runtime-4.1_2.13/1.12.0/"
            "iceberg-spark-runtime-4.1_2.13-1.12.0.jar",
        ),
        {
            "spark.sql.catalog.c": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.c.type": "hadoop",
            "spark.sql.extensions": (
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
            ),
        },
        "USING iceberg TBLPROPERTIES ('format-version' = '2')",
    ),
    "delta": Engine(
        "4.2.1",
        (
            "io/delta/delta-spark_4.2_2.13/4.4.0/delta-spark_4.2_2.13-4.4.0.jar",
            "io/delta/delta-storage/4.4.0/delta-storage-4.4.0.jar",
        ),
        {
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        },
        "USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
        "'delta.enableTypeWidening' = 'true')",
    ),
}


def session(name: str) -> tuple[Any, str]:
    """A session of two cores, and the table's name."""
    from pyspark.sql import SparkSession

    engine, warehouse = ENGINES[name], str(DATA / name)
    shutil.rmtree(warehouse, ignore_errors=True)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "6g").config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.warehouse.dir", warehouse)
    for key, value in engine.conf.items():
        builder = builder.config(key, value)
    if name == "versioned":
        from pyspark_versioned import configure

        return configure(builder, warehouse, "c").getOrCreate(), "c.b.t"
    jars = ",".join(str(DATA / Path(jar).name) for jar in engine.jars)
    builder = builder.config("spark.jars", jars).config("spark.sql.catalog.c.warehouse", warehouse)
    return builder.getOrCreate(), "c.b.t" if name == "iceberg" else "b.t"


def fill(spark: Any, table: str, properties: str, rows: int) -> None:
    """The table in 16 appends with a change between any two."""
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
    """The table, and the same rows as plain Parquet."""
    fill(spark, table, properties, rows)
    plain = str(DATA / "plain")
    shutil.rmtree(plain, ignore_errors=True)
    spark.table(table).repartitionByRange(FILES * 16, "id").write.option(
        "compression", "zstd"
    ).parquet(plain)
    return plain


def queries(rows: int) -> dict[str, Callable[[Any], object]]:
    """What is timed, of a frame."""
    from pyspark.sql import functions as f

    return {
        "one column": lambda d: d.agg(f.sum("usage")).collect(),
        "all columns": lambda d: d.write.format("noop").mode("overwrite").save(),
        "selective filter": lambda d: d.where(f"id >= {rows - 1000}").agg(f.sum("usage")).collect(),
        "count(*)": lambda d: d.count(),
        "MIN and MAX": lambda d: d.agg(f.min("id"), f.max("id")).collect(),
    }


def measure(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Times of one engine, in turns with plain Parquet on the same Spark."""
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
                if run:  # the first does not count
                    times[who].append(time.perf_counter() - begun)
        found["times"][what] = times
    found["sum"] = str(spark.table(table).selectExpr("sum(hash(id, host, n))").collect())
    spark.stop()
    return found


def python_of(version: str) -> str:
    """A Python with this PySpark: named by PEER_PYTHON_<version>, else made here."""
    named = os.environ.get(f"PEER_PYTHON_{version.replace('.', '_')}")
    if version == ENGINES["versioned"].spark or named:
        return named or sys.executable
    place = DATA / f"venv-{version}"
    if not place.is_dir():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([place / "bin/pip", "install", "-q", f"pyspark=={version}"], check=True)
    return str(place / "bin/python")


def main() -> None:
    """Print times, and ratios to plain Parquet on the same Spark."""
    results = run_all("benchmarks.peers_spark", __doc__, 20_000_000, measure)
    if results is None:
        return
    for result in results.values():
        tell(result)
    found = json.dumps(list(results.values()), indent=1)
    (HERE / "results" / "peers_spark.json").write_text(found + "\n")


def run_all(
    module: str, about: str | None, rows: int, measure: Callable[[str, int, int], dict[str, Any]]
) -> dict[str, Any] | None:
    """What a module finds of every engine, each in a process of its own, with the same answers.

    Args:
        module: the one that is run.
        about: what it does.
        rows: how many there are, if the command line does not say.
        measure: what the module does with an engine: its name, rows and runs.

    Returns:
        By engine; None in such a process, which has printed what it found.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--engine", choices=ENGINES, help="run this one alone, in this Python")
    given = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    if given.engine:
        print(json.dumps(measure(given.engine, given.rows, given.runs)))
        return None
    results = {name: run_apart(name, given.rows, given.runs, module) for name in ENGINES}
    assert len({result["sum"] for result in results.values()}) == 1, "the answers differ"
    return results


def run_apart(name: str, rows: int, runs: int, module: str) -> dict[str, Any]:
    """One engine in a process, and a Python, of its own; what the module prints of it."""
    engine = ENGINES[name]
    for jar in engine.jars:
        place = DATA / Path(jar).name
        if not place.exists():
            urllib.request.urlretrieve(f"{MAVEN}/{jar}", place)
    python = python_of(engine.spark)
    done = subprocess.run(
        [
            *(python, "-m", module, "--engine", name),
            *("--rows", str(rows), "--runs", str(runs)),
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYSPARK_PYTHON": python},
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def tell(found: dict[str, Any]) -> None:
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
