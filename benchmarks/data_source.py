"""Compare ``format("versioned")`` in Spark with constant batches and plain Parquet."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.common import DATA, UNMAINTAINED, Report, Work
from benchmarks.constant import BATCH, DDL, Constant, batch, keep_batch
from versioned_catalog import Catalog

FILES = 16


def start() -> SparkSession:
    """Start a local session of two cores."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    root = str(DATA.parent.parent)
    os.environ["PYTHONPATH"] = root + os.pathsep + os.environ.get("PYTHONPATH", "")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.driver.memory", "6g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.python.filterPushdown.enabled", True)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(Constant)
    return spark


def prepare(rows: int) -> None:
    """Write the same rows as plain Parquet and as a table, in files of the same size."""
    for name in ("parquet", "table"):
        shutil.rmtree(DATA / name, ignore_errors=True)
    (DATA / "parquet").mkdir(parents=True)
    keep_batch(str(DATA / "constant.arrow"))
    table = Catalog.create_path(DATA / "table", DDL, properties=UNMAINTAINED)
    each = rows // FILES
    whole = batch(each)
    for number in range(FILES):
        ids = pa.array(range(number * each, (number + 1) * each), pa.int64())
        part = pa.table(whole.set_column(0, "id", ids))
        pq.write_table(part, DATA / f"parquet/{number}.parquet", compression="zstd")
        table.append(part)


def reads(spark: SparkSession, report: Report, rows: int, runs: int) -> None:
    """Compare reads of one column, of all columns and of few rows."""

    def ours(**options: str) -> DataFrame:
        return spark.read.format("versioned").options(**options).load(str(DATA / "table"))

    def plain() -> DataFrame:
        return spark.read.parquet(str(DATA / "parquet"))

    def constant(ddl: str) -> DataFrame:
        options = {"rows": str(rows), "parts": str(FILES), "file": str(DATA / "constant.arrow")}
        return spark.read.format("constant").options(**options).schema(ddl).load()

    def total(frame: DataFrame, *names: str) -> Work:
        sums = [f.max(name) for name in names]
        return lambda: frame.agg(*sums).collect()

    everything = [part.split()[0] for part in DDL.split(", ")]
    reader = spark.read.format("versioned").schema("a double")
    report.compare(
        f"one of 8 columns by .schema, {rows:,}",
        total(reader.load(str(DATA / "table")), "a"),
        {
            "constant batches": (total(constant("a double"), "a"), 1.25),
            "spark.read.parquet": (total(plain(), "a"), None),
        },
        runs,
    )
    report.compare(
        "all columns",
        total(ours(), *everything),
        {
            "constant batches": (total(constant(DDL), *everything), 1.25),
            "spark.read.parquet": (total(plain(), *everything), None),
        },
        runs,
    )
    few = f"id >= {rows - 1000}"
    report.compare(
        "selective filter, pushed down",
        total(ours(pushdown="true").filter(few), "a"),
        {"spark.read.parquet": (total(plain().filter(few), "a"), 1.1)},
        runs,
    )
    report.compare(
        "count(*)",
        lambda: ours().count(),
        {"spark.read.parquet": (lambda: plain().count(), None)},
        runs,
    )


def writes(spark: SparkSession, report: Report, rows: int, runs: int) -> None:
    """Compare writing a frame to a table and to plain Parquet."""
    frame = spark.range(0, rows, 1, 8).selectExpr(
        "id",
        *(f"id * 0.{n}D AS a{n}" for n in range(1, 4)),
        "CAST(id % 1000 AS INT) AS n",
        "CAST(id % 10 AS INT) AS m",
        "CAST(id % 5000 AS STRING) AS s",
        "CAST(id % 50 AS STRING) AS t",
    )
    path = str(DATA / "written")
    plain = str(DATA / "written_parquet")
    shutil.rmtree(path, ignore_errors=True)
    report.compare(
        f"write of {rows:,} rows",
        lambda: frame.write.format("versioned").mode("overwrite").save(path),
        {
            "df.write.parquet": (
                lambda: frame.write.option("compression", "zstd").mode("overwrite").parquet(plain),
                1.25,
            )
        },
        runs,
    )
    shutil.rmtree(path)
    shutil.rmtree(plain)


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    prepare(options.rows)
    assert options.rows // FILES > BATCH or options.rows < BATCH * FILES
    spark = start()
    report = Report("data_source")
    reads(spark, report, options.rows, options.runs)
    writes(spark, report, options.rows // 2, options.runs)
    report.save()
    spark.stop()


if __name__ == "__main__":
    main()
