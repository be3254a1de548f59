"""Compare SQL on a table of 16 schema versions with Spark's Parquet reader on one schema."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.common import DATA, UNMAINTAINED, Figure, Report, Work
from pyspark_versioned import configure
from versioned_catalog import Catalog, Table
from versioned_catalog.read.tasks import read_segment

SEGMENTS = 208
DDL = "id LONG, a DOUBLE, b DOUBLE, n INT, m INT, s STRING, t STRING, u STRUCT<p: INT, q: STRING>"
INNER = pa.struct([("p", pa.int32()), ("q", pa.string())])


def changes(table: Table) -> list[Any]:
    """Fifteen schema changes."""
    alter = table.alter
    return [
        lambda: alter().rename_column("s", "host"),
        lambda: alter().change_type("n", "long"),
        lambda: alter().move_column("t", first=True),
        lambda: alter().rename_column("a", "usage"),
        lambda: alter().drop_column("b"),
        lambda: alter().add_column("b", "double", default=1.5),
        lambda: alter().change_type("m", "double"),
        lambda: alter().add_column("u.r", "int"),
        lambda: alter().rename_column("u.p", "pp"),
        lambda: alter().change_type("u.pp", "long"),
        lambda: alter().drop_column("t"),
        lambda: alter().add_column("t", "string", default="new"),
        lambda: alter().rename_column("b", "idle"),
        lambda: alter().move_column("id", after="host"),
        lambda: alter().set_comment("id", "who"),
    ]


def rows(first: int, count: int, table: Table) -> pa.Table:
    """Rows in the current schema."""
    ids = np.arange(first, first + count)
    words = pa.array([f"host-{n}" for n in range(500)])
    columns: dict[str, pa.Array] = {}
    for column in table.schema.columns:
        match column.name:
            case "id":
                columns["id"] = pa.array(ids)
            case "a" | "usage" | "b" | "idle":
                columns[column.name] = pa.array(ids * 0.37)
            case "n":
                columns["n"] = pa.array((ids % 1000).astype("int32"))
            case "m":
                columns["m"] = pa.array((ids % 10).astype("int32"))
            case "u":
                columns["u"] = _struct(ids, [field.name for field in column.type.fields])
            case name:
                columns[name] = words.take(pa.array(ids % 500))
    return pa.table(columns)


def _struct(ids: Any, names: list[str]) -> pa.Array:
    numbers = pa.array((ids % 100).astype("int32"))
    texts = pa.array([f"q{n}" for n in range(50)]).take(pa.array(ids % 50))
    return pa.StructArray.from_arrays([texts if n == "q" else numbers for n in names], names)


def prepare(total: int) -> Catalog:
    """Write the table, and the same rows as plain Parquet in files of the same sizes."""
    shutil.rmtree(DATA / "sql", ignore_errors=True)
    plain = DATA / "sql" / "plain"
    plain.mkdir(parents=True)
    catalog = Catalog(DATA / "sql" / "w")
    catalog.create_namespace("b")
    table = catalog.create_table("b.t", DDL, properties=UNMAINTAINED)
    todo, each = changes(table), total // SEGMENTS
    for number in range(SEGMENTS):
        if number and number % 13 == 0:
            todo[number // 13 - 1]().commit()
        table.append(rows(number * each, each, table))
    assert len(table.state.schemas) == 16
    for number, (task, _) in enumerate(table.scan().tasks()):
        shown = pa.Table.from_batches(list(read_segment(table.store, task)))
        pq.write_table(
            shown, plain / f"{number:03}.parquet", compression="zstd", use_dictionary=True
        )
    return catalog


def start() -> SparkSession:
    """Start a local session of two cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.driver.memory", "6g")
        .config("spark.sql.session.timeZone", "UTC")
    )
    spark = configure(builder, DATA / "sql" / "w").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def noop(frame: DataFrame) -> None:
    """Read all of a DataFrame and discard the rows."""
    frame.write.format("noop").mode("overwrite").save()


def verify(spark: SparkSession, path: str) -> None:
    """Check that both give the same results."""
    ours, plain = spark.table("versioned.b.t"), spark.read.parquet(path)
    named = [c for c in plain.columns if c != "u"]

    def rows_of_frame(frame: DataFrame) -> Any:
        sums = [f.sum(f.hash(c).cast("long")) for c in named]
        return frame.agg(f.count("*"), f.sum("u.pp"), f.count("u.r"), f.max("u.q"), *sums).collect()

    assert rows_of_frame(ours) == rows_of_frame(plain)
    assert "python={" not in ours._jdf.queryExecution().executedPlan().toString()


def scans(
    spark: SparkSession, report: Report, total: int, runs: int, path: str, io: str = "native"
) -> None:
    """Compare reads, native or through Python, with plain Parquet files."""

    def ours() -> DataFrame:
        return spark.read.option("io", io).table("versioned.b.t")

    def plain() -> DataFrame:
        return spark.read.parquet(path)

    def versus(what: str, work: Any, wanted: float) -> None:
        target = wanted if io == "native" else None
        peers: dict[str, tuple[Work, float | None]] = {
            "spark.read.parquet": (lambda: work(plain()), target)
        }
        what = what if io == "native" else f"{what}, by {io}"
        report.compare(what, lambda: work(ours()), peers, runs)

    versus(f"one column of 8, {total:,}", lambda d: d.agg(f.sum("usage")).collect(), 1.1)
    versus("all columns, to nowhere", noop, 1.05)
    few = f"id >= {total - 1000}"
    versus("selective filter", lambda d: d.where(few).agg(f.sum("usage")).collect(), 1.0)
    word = "host = 'host-17' AND id < 2000000"
    versus("filter by a text and a range", lambda d: d.where(word).agg(f.max("n")).collect(), 1.0)
    versus("count(*)", lambda d: d.count(), 0.5)
    versus("MIN and MAX", lambda d: d.agg(f.min("id"), f.max("id"), f.max("host")).collect(), 0.5)


def small(spark: SparkSession, report: Report, catalog: Catalog, runs: int) -> None:
    """Measure a table of 1,000 rows, and the planning of a statement."""
    table = catalog.create_table("b.small", DDL, properties=UNMAINTAINED)
    part = rows(0, 1000, table)
    table.append(part)
    path = str(DATA / "sql" / "small.parquet")
    pq.write_table(part, path)
    report.compare(
        "1,000 rows, warm",
        lambda: [spark.table("versioned.b.small").agg(f.sum("a")).collect() for _ in range(5)],
        {
            "spark.read.parquet": (
                lambda: [spark.read.parquet(path).agg(f.sum("a")).collect() for _ in range(5)],
                1.5,
            )
        },
        runs,
    )
    report.record(Figure("load and plan in Python, warm", statement(), "ms", 10))


def statement() -> float:
    """Milliseconds of Python for the requests of one SELECT over all 208 segments."""
    from pyspark_versioned.sql.dispatch import respond

    where = {"name": "versioned", "warehouse": str(DATA / "sql" / "w"), "storage": {}}
    where |= {"schema_label": None}
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        load = {"catalog": where, "name": ["b", "t"], "version": None, "timestamp": None}
        load |= {"views": False, "schema_version": None, "overflow": None}
        loaded = json.loads(respond({"request": "load", "body": load}))["response"]["relation"]
        wanted = [c for c in loaded["columns"] if c["name"] == "usage"]
        schema = [{**c, "metadata": {}} for c in wanted]
        scan = {"table": loaded["table"], "schema": {"type": "struct", "fields": schema}}
        scan |= {"filters": [], "limit": None, "allow_native": True}
        scan |= {"whole": False, "in_python": None}
        respond({"request": "plan_scan", "body": scan})
        times.append((time.perf_counter() - begun) * 1000)
    return sorted(times)[10]


def inserts(spark: SparkSession, report: Report, total: int, runs: int) -> None:
    """Compare INSERT of a frame with writing it as plain Parquet."""
    frame = spark.range(0, total, 1, 4).selectExpr(
        "id",
        "id * 0.1D AS a",
        "id * 0.2D AS b",
        "CAST(id % 1000 AS INT) AS n",
        "CAST(id % 10 AS INT) AS m",
        "CAST(id % 5000 AS STRING) AS s",
        "CAST(id % 50 AS STRING) AS t",
        "named_struct('p', CAST(id % 100 AS INT), 'q', 'q') AS u",
    )
    spark.sql(f"CREATE TABLE versioned.b.w ({DDL})")
    plain = str(DATA / "sql" / "written")

    def parquet(codec: str) -> Work:
        writer = frame.write.mode("overwrite")
        return lambda: writer.option("compression", codec).parquet(plain)

    report.compare(
        f"INSERT of {total:,} rows",
        lambda: frame.writeTo("versioned.b.w").overwrite(f.lit(True)),
        {
            "df.write.parquet, zstd": (parquet("zstd"), 1 / 0.95),
            "df.write.parquet, snappy": (parquet("snappy"), None),
        },
        runs,
    )


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    catalog = prepare(options.rows)
    spark = start()
    path = str(DATA / "sql" / "plain")
    verify(spark, path)
    report = Report("native_scan")
    scans(spark, report, options.rows, options.runs, path)
    small(spark, report, catalog, options.runs)
    inserts(spark, report, options.rows // 4, options.runs)
    report.save()
    spark.stop()
    shutil.rmtree(Path(DATA) / "sql")


if __name__ == "__main__":
    main()
