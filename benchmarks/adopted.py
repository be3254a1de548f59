"""Compare native scans of Parquet files adopted in place with Spark's own scan of the same files."""

from __future__ import annotations

import argparse
import shutil

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.common import DATA, UNMAINTAINED, Report
from benchmarks.native_scan import noop, start
from benchmarks.pins import rows
from versioned_catalog import Catalog

FILES, TARGET = 16, 1.05
LAKE = DATA / "lake"
DDL = "id BIGINT, a DOUBLE, n INT, s STRING, t STRING, b DOUBLE"
ROOT = "spark.sql.catalog.versioned.root.lake"


def prepare(total: int) -> None:
    """Write the files, adopt them, and alter the table: old name and type in all files."""
    for folder in (LAKE, DATA / "sql"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    catalog = Catalog(DATA / "sql" / "w", roots={"lake": str(LAKE)})
    catalog.create_namespace("b")
    model, each = catalog.create_table("b.model", DDL, properties=UNMAINTAINED), total // FILES
    for number in range(FILES):
        pq.write_table(rows(model, number * each, each), LAKE / f"part-{number:02}.parquet")
    catalog.import_files("b.t", LAKE)
    change = catalog.load_table("b.t").alter().rename_column("a", "usage").drop_column("b")
    change.add_column("e", "INT", default=5).change_type("n", "BIGINT").commit()


def compare(report: Report, spark: SparkSession, total: int, runs: int) -> None:
    """Compare the same questions to the table and to its files."""

    def ours() -> DataFrame:
        return spark.table("versioned.b.t")

    def plain() -> DataFrame:
        return spark.read.parquet(str(LAKE))

    names = ["id", "s", "t"]
    for frame in (ours(), ours().select("usage", *names)):
        assert "python={" not in frame._jdf.queryExecution().executedPlan().toString()
    assert ours().agg(f.sum("usage")).collect() == plain().agg(f.sum("a")).collect()
    report.compare(
        "one column, renamed",
        lambda: ours().agg(f.sum("usage")).collect(),
        {"spark.read.parquet": (lambda: plain().agg(f.sum("a")).collect(), TARGET)},
        runs,
    )
    report.compare(
        "four columns, to nowhere",
        lambda: noop(ours().select("usage", *names)),
        {"spark.read.parquet": (lambda: noop(plain().select("a", *names)), TARGET)},
        runs,
    )
    report.compare(
        "a widened column",
        lambda: ours().agg(f.sum("n")).collect(),
        {"spark.read.parquet": (lambda: plain().agg(f.sum("n")).collect(), TARGET)},
        runs,
    )
    few = f"id >= {total - 1000}"
    report.compare(
        "selective filter",
        lambda: ours().where(few).agg(f.sum("usage")).collect(),
        {"spark.read.parquet": (lambda: plain().where(few).agg(f.sum("a")).collect(), TARGET)},
        runs,
    )


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=16_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    prepare(options.rows)
    report, spark = Report("adopted"), start()
    spark.conf.set(ROOT, str(LAKE))
    compare(report, spark, options.rows, options.runs)
    spark.stop()
    report.save()


if __name__ == "__main__":
    main()
