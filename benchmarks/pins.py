"""Compare reads through a schema pin with reads of the same columns in the current schema."""

from __future__ import annotations

import argparse
import shutil

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.common import DATA, UNMAINTAINED, Report
from benchmarks.native_scan import noop, start
from versioned_catalog import Catalog, Table

SEGMENTS = 16
DDL = "id BIGINT, a DOUBLE, n INT, s STRING, t STRING, b DOUBLE"
OLD, NEW = ["id", "a", "s", "t"], ["id", "usage", "host", "t"]
"""The same columns as the pinned job and as others name them."""


def rows(table: Table, first: int, count: int) -> pa.Table:
    """Rows in the current schema."""
    ids = np.arange(first, first + count)
    words = pa.array([f"host-{n}" for n in range(500)])
    made = {
        "id": pa.array(ids),
        "a": pa.array(ids * 0.37),
        "n": pa.array((ids % 1000).astype("int32")),
        "s": words.take(pa.array(ids % 500)),
        "t": words.take(pa.array(ids % 50)),
        "b": pa.array(ids * 0.5),
    }
    made |= {"usage": made["a"], "host": made["s"], "e": made["n"], "g": made["t"]}
    return pa.table({name: made[name] for name in table.schema.names})


def prepare(total: int) -> Catalog:
    """Write half of the rows before the pin and its changes, half after them."""
    shutil.rmtree(DATA / "sql", ignore_errors=True)
    (DATA / "sql").mkdir(parents=True)
    catalog = Catalog(DATA / "sql" / "w")
    catalog.create_namespace("b")
    table, each = catalog.create_table("b.t", DDL, properties=UNMAINTAINED), total // SEGMENTS
    for number in range(SEGMENTS):
        if number == SEGMENTS // 2:
            table.pin_schema("job")
            change = table.alter().rename_column("a", "usage").rename_column("s", "host")
            change = change.drop_column("b").change_type("n", "BIGINT")
            change.add_column("e", "INT", default=5, first=True).add_column("g", "STRING").commit()
        table.append(rows(table, number * each, each))
    return catalog


def in_python(report: Report, catalog: Catalog, runs: int) -> None:
    """Compare scans by PyArrow."""
    table = catalog.load_table("b.t")
    pinned = table.seen_as("job")
    last = table.count() - 1000
    for what, old, new, filters, target in [
        ("PyArrow, one column", ["a"], ["usage"], None, 1.05),
        ("PyArrow, the unchanged columns", OLD, NEW, None, 1.05),
        ("PyArrow, a widened column", ["n"], ["n"], None, None),
        ("PyArrow, selective filter", OLD, NEW, [("id", ">=", last)], 1.05),
    ]:
        assert pinned.scan(old).to_arrow().num_rows == table.scan(new).to_arrow().num_rows
        report.compare(
            what,
            lambda old=old, filters=filters: pinned.scan(old, filters).to_arrow(),
            {
                "the current schema": (
                    lambda new=new, filters=filters: table.scan(new, filters).to_arrow(),
                    target,
                )
            },
            runs,
        )


def by_spark(report: Report, spark: SparkSession, total: int, runs: int) -> None:
    """Compare native scans."""

    def pinned() -> DataFrame:
        return spark.read.option("schemaVersion", "job").table("versioned.b.t")

    def current() -> DataFrame:
        return spark.table("versioned.b.t")

    def sums(frame: DataFrame, names: list[str]) -> object:
        return frame.agg(*[f.sum(f.hash(name).cast("long")) for name in names]).collect()

    assert sums(pinned(), OLD) == sums(current(), NEW)
    for frame in (pinned(), current()):
        assert "python={" not in frame._jdf.queryExecution().executedPlan().toString()
    works = [
        (
            "Spark, one column",
            lambda: pinned().agg(f.sum("a")).collect(),
            lambda: current().agg(f.sum("usage")).collect(),
            1.05,
        ),
        (
            "Spark, the unchanged columns, to nowhere",
            lambda: noop(pinned().select(*OLD)),
            lambda: noop(current().select(*NEW)),
            1.05,
        ),
        (
            "Spark, a widened column",
            lambda: pinned().agg(f.sum("n")).collect(),
            lambda: current().agg(f.sum("n")).collect(),
            None,
        ),
        (
            "Spark, selective filter",
            lambda: pinned().where(f"id >= {total - 1000}").agg(f.sum("a")).collect(),
            lambda: current().where(f"id >= {total - 1000}").agg(f.sum("usage")).collect(),
            1.05,
        ),
    ]
    for what, ours, theirs, target in works:
        report.compare(what, ours, {"the current schema": (theirs, target)}, runs)


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    report, catalog = Report("pins"), prepare(options.rows)
    in_python(report, catalog, options.runs)
    spark = start()
    by_spark(report, spark, options.rows, options.runs)
    spark.stop()
    report.save()


if __name__ == "__main__":
    main()
