"""Measure commits and scans on a local S3 server: requests, milliseconds, commits per second."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import deltalake.exceptions
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
import s3fs
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import IntegerType
from pyspark.sql import SparkSession

from benchmarks import native_scan
from benchmarks.commits import ROWS
from benchmarks.common import DATA, UNMAINTAINED, Figure, Report, Work, seconds
from pyspark_versioned import configure
from s3.counting import Requests
from s3.hadoop_aws import PACKAGES
from s3.server import BUCKET, Server, serve
from versioned_catalog import Catalog

FEW = ROWS.slice(0, 10)
STAGES = (10, 1000, 10_000)
WRITERS = (1, 4, 16)
SECONDS = 8.0


def commits(report: Report, server: Server, last: int) -> None:
    """Measure appends, ALTERs and loads at growing numbers of commits; means, to include checkpoints."""
    url = f"s3://{BUCKET}/commits"
    ddl = "id LONG, a DOUBLE, b DOUBLE, s STRING, n INT"
    table = Catalog.create_path(url, ddl, properties=UNMAINTAINED, storage_options=server.options)
    requests, numbers, first = Requests(server), iter(range(10**6)), {}

    def append() -> None:
        table.append(FEW)

    def nothing() -> None:
        pass

    for stage in (stage for stage in STAGES if stage <= last):
        while table.version < stage:
            table.append(FEW)
        works: dict[str, tuple[Work, int, Work]] = {
            # A load takes longer the more commits there are since the last checkpoint.
            "load": (lambda: Catalog.load_path(url, server.options), 4 * 16, append),
            "append": (append, 300, nothing),
            "ALTER": (
                lambda: table.alter().set_comment("id", f"{next(numbers)}").commit(),
                3 * 16,
                nothing,
            ),
        }
        for what, (work, count, between) in works.items():
            times, sent = _measured(requests, work, count, between)
            mean = statistics.mean(times)
            name = f"{what} at {stage:,} commits"
            report.record(Figure(f"{name}, mean", mean))
            report.record(Figure(f"{name}, 99th percentile", sorted(times)[int(count * 0.99)]))
            report.record(Figure(f"{name}, requests", sent, ""))
            first.setdefault(what, mean)
            if stage != STAGES[0]:
                report.record(Figure(f"{name} against 10", mean / first[what], "x", 1.2))


def _measured(
    requests: Requests, work: Work, count: int, between: Work
) -> tuple[list[float], float]:
    """Milliseconds and requests of each run, with another action between the runs."""
    times: list[float] = []
    sent = 0
    for _ in range(count):
        sent += sum(requests.of(lambda: times.append(seconds(work) * 1000)).values())
        between()
    return times, sent / count


def _delta(server: Server) -> dict[str, str]:
    """Options for deltalake to reach the server."""
    return {
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_ACCESS_KEY_ID": server.options["key"],
        "AWS_SECRET_ACCESS_KEY": server.options["secret"],
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "conditional_put": "etag",
    }


def peers(report: Report, server: Server, folder: Path) -> None:
    """Measure the same appends with deltalake, and with pyiceberg and a catalog in SQLite."""
    delta = _delta(server)
    url = f"s3://{BUCKET}/delta"

    def append() -> None:
        deltalake.write_deltalake(url, FEW, mode="append", storage_options=delta)

    ice = SqlCatalog(
        "bench",
        uri=f"sqlite:///{folder}/ice.db",
        warehouse=f"s3://{BUCKET}/ice",
        **{
            "s3.endpoint": server.endpoint,
            "s3.access-key-id": server.options["key"],
            "s3.secret-access-key": server.options["secret"],
            "s3.region": "us-east-1",
        },
    )
    ice.create_namespace("n")
    table = ice.create_table("n.t", schema=FEW.schema)
    numbers = iter(range(10**6))

    def add_to_delta() -> None:
        field = deltalake.Field(f"c{next(numbers)}", "integer")
        deltalake.DeltaTable(url, storage_options=delta).alter.add_columns([field])

    def add_to_ice() -> None:
        with table.update_schema() as update:
            update.add_column(f"c{next(numbers)}", IntegerType())

    works: dict[str, tuple[Work, int]] = {
        "deltalake: append": (append, 200),
        "deltalake: load": (lambda: deltalake.DeltaTable(url, storage_options=delta), 20),
        "deltalake: add a column": (add_to_delta, 20),
        "pyiceberg: append": (lambda: table.append(FEW), 100),
        "pyiceberg: load": (lambda: ice.load_table("n.t"), 20),
        "pyiceberg: add a column": (add_to_ice, 20),
    }
    for what, (work, count) in works.items():
        report.record(
            Figure(f"{what}, mean", statistics.mean(seconds(work) * 1000 for _ in range(count)))
        )


def throughput(report: Report, server: Server) -> None:
    """Measure commits per second of several processes on one table."""
    for writers in WRITERS:
        ours, delta = f"s3://{BUCKET}/ours{writers}", f"s3://{BUCKET}/delta{writers}"
        Catalog.create_path(
            ours, FEW.schema, properties=UNMAINTAINED, storage_options=server.options
        )
        rate = _rate(_append_ours, ours, server.options, writers)
        report.record(Figure(f"{writers} writers, commits a second", rate, "/s"))
        deltalake.write_deltalake(delta, FEW, storage_options=_delta(server))
        rate = _rate(_append_delta, delta, _delta(server), writers)
        report.record(Figure(f"{writers} writers, commits a second, deltalake", rate, "/s"))


def _rate(target: Callable[..., None], url: str, options: dict[str, str], writers: int) -> float:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Barrier(writers + 1), context.Queue()
    processes = [
        context.Process(target=target, args=(url, options, ready, done)) for _ in range(writers)
    ]
    for process in processes:
        process.start()
    ready.wait()
    found = [done.get() for _ in processes]
    for process in processes:
        process.join()
    return sum(found) / SECONDS


def _append_ours(url: str, options: dict[str, Any], ready: Any, done: Any) -> None:
    table = Catalog.load_path(url, options)
    _timed(lambda: table.append(FEW), ready, done)


def _append_delta(url: str, options: dict[str, str], ready: Any, done: Any) -> None:
    table = deltalake.DeltaTable(url, storage_options=options)
    _timed(lambda: deltalake.write_deltalake(table, FEW, mode="append"), ready, done)


def _timed(append: Work, ready: Any, done: Any) -> None:
    """Count successful commits; a commit that gives up after many conflicts does not count."""
    append()
    ready.wait()
    end, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        with contextlib.suppress(deltalake.exceptions.CommitFailedError):
            append()
            count += 1
    done.put(count)


def scans(report: Report, server: Server, total: int, runs: int) -> None:
    """Measure the reads of ``native_scan`` over S3, native and through Python."""
    native_scan.prepare(total)
    fs = s3fs.S3FileSystem(**server.options, use_listings_cache=False)
    for name in ("w", "plain"):
        fs.put(f"{DATA}/sql/{name}/", f"{BUCKET}/scans/{name}/", recursive=True)
    spark = _session(server)
    url = f"s3a://{BUCKET}/scans/plain"
    native_scan.verify(spark, url)
    for io in ("native", "python"):
        native_scan.scans(spark, report, total, runs, url, io)
    spark.stop()
    table = Catalog(f"s3://{BUCKET}/scans/w", server.options).load_table("b.t")
    arrow = pa.fs.S3FileSystem(
        endpoint_override=server.endpoint,
        access_key=server.options["key"],
        secret_key=server.options["secret"],
        region="us-east-1",
    )
    plain = f"{BUCKET}/scans/plain"
    for columns in (["usage"], None):
        what = "PyArrow, one column" if columns else "PyArrow, all columns"
        peer = (lambda c=columns: pa.parquet.read_table(plain, columns=c, filesystem=arrow), None)
        report.compare(
            what,
            lambda c=columns: table.scan(c).to_arrow(),
            {"pq.read_table by Arrow's S3": peer},
            runs,
        )
    shutil.rmtree(DATA / "sql")


def _session(server: Server) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.driver.memory", "6g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.jars.packages", PACKAGES)
        .config("spark.jars.excludes", "software.amazon.awssdk:bundle")
        .config("spark.hadoop.fs.s3a.endpoint", server.endpoint)
        .config("spark.hadoop.fs.s3a.path.style.access", "true")
        .config("spark.hadoop.fs.s3a.access.key", server.options["key"])
        .config("spark.hadoop.fs.s3a.secret.key", server.options["secret"])
        .config("spark.hadoop.fs.s3a.endpoint.region", "us-east-1")
    )
    warehouse = f"s3://{BUCKET}/scans/w"
    spark = configure(builder, warehouse, storage_options=server.options).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=STAGES[-1])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--part", choices=["commits", "scans"], help="this part alone")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        with serve(folder / "server") as server:
            if options.part != "scans":
                report = Report("object_store_commits")
                commits(report, server, options.commits)
                throughput(report, server)
                peers(report, server, folder)
                report.save()
            if options.part != "commits":
                report = Report("object_store_scans")
                scans(report, server, options.rows, options.runs)
                report.save()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
