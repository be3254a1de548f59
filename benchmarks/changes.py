"""Compare the changes between versions with scans of the rows that changed, by PyArrow and Spark."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.common import DATA, UNMAINTAINED, Figure, Report
from benchmarks.native_scan import noop, start
from versioned_catalog import Catalog, Table

SEGMENTS = 16
DDL = "id BIGINT, k INT, a DOUBLE, n BIGINT, s STRING, t STRING"


def rows(first: int, count: int, shift: int = 0) -> pa.Table:
    """Rows of one segment; those of another ``shift`` have other values and the same IDs."""
    ids = np.arange(first, first + count)
    words = pa.array([f"host-{n}" for n in range(500)])
    return pa.table(
        {
            "id": pa.array(ids),
            "k": pa.array((ids % 100).astype("int32")),
            "a": pa.array((ids + shift) * 0.37),
            "n": pa.array(ids * 7 + shift),
            "s": words.take(pa.array(ids % 500)),
            "t": pa.array([f"text {n}" for n in range(1000)]).take(pa.array(ids % 1000)),
        }
    )


def prepare(total: int) -> Catalog:
    """Write the tables: appended rows, copies by an UPDATE, and upserts."""
    shutil.rmtree(DATA / "sql", ignore_errors=True)
    (DATA / "sql").mkdir(parents=True)
    catalog, each = Catalog(DATA / "sql" / "w"), total // SEGMENTS
    catalog.create_namespace("b")
    appended = catalog.create_table("b.appended", DDL, properties=UNMAINTAINED)
    updated = catalog.create_table("b.updated", DDL, properties=UNMAINTAINED)
    nested = catalog.create_table("b.nested", DDL + ", l ARRAY<INT>", properties=UNMAINTAINED)
    keyed = catalog.create_table("b.keyed", DDL, primary_key=["id"], properties=UNMAINTAINED)
    for number in range(SEGMENTS):
        part = rows(number * each, each)
        for table in (appended, updated, keyed):
            table.append(part)
        nested.append(part.append_column("l", lists(part)))
    for table in (updated, nested):  # one in a hundred rows, so all segments are copied
        table.update({"n": -1}, [("k", "=", 7)])
    shuffled = catalog.create_table("b.shuffled", DDL)
    shuffled.append(updated.snapshot(SEGMENTS).scan().to_arrow())
    order = np.random.default_rng(0).permutation(shuffled.count())
    shuffled.overwrite(updated.scan().to_arrow().take(pa.array(order)))
    for number in range(2):  # a tenth of the rows, half of them new
        first = total - total // 20 + number * total // 10
        keyed.append(rows(first, total // 10, shift=1))
    return catalog


def lists(part: pa.Table) -> pa.Array:
    """Lists of three elements, which all differ from row to row."""
    ids = part["id"].to_numpy()
    values = np.stack([ids, ids + 1, ids % 5], axis=1).astype("int32").reshape(-1)
    return pa.ListArray.from_arrays(pa.array(np.arange(0, 3 * len(ids) + 1, 3, "int32")), values)


def count(batches: Iterable[pa.RecordBatch]) -> int:
    """Read everything without keeping it."""
    return sum(batch.num_rows for batch in batches)


def in_python(report: Report, catalog: Catalog, total: int, runs: int) -> None:
    """Compare with scans by PyArrow."""
    appended, updated, nested, shuffled, keyed = (
        catalog.load_table(f"b.{name}")
        for name in ("appended", "updated", "nested", "shuffled", "keyed")
    )
    assert count(appended.changes(1).to_batches()) == appended.count()
    assert count(updated.changes(SEGMENTS + 1).to_batches()) == 2 * (total // 100)
    assert count(shuffled.changes(2).to_batches()) == 2 * (total // 100)
    changed = count(keyed.changes(SEGMENTS + 1).to_batches())
    print(f"{changed} of {keyed.count()} rows of the keyed table changed")
    works: list[tuple[str, Callable[[], object], str, Callable[[], object], float | None]] = [
        (
            "appended rows",
            lambda: count(appended.changes(1).to_batches()),
            "a scan",
            lambda: count(appended.scan().to_batches()),
            1.0,
        ),
        (
            "appended rows, one column",
            lambda: count(appended.changes(1, columns=["a"]).to_batches()),
            "a scan",
            lambda: count(appended.scan(["a"]).to_batches()),
            1.0,
        ),
        (
            "UPDATE of 1%, all rows copied",
            lambda: count(updated.changes(SEGMENTS + 1).to_batches()),
            "a scan of both versions",
            lambda: both(updated),
            3.0,
        ),
        (
            "the same with a list",
            lambda: count(nested.changes(SEGMENTS + 1).to_batches()),
            "a scan of both versions",
            lambda: both(nested),
            3.0,
        ),
        (
            "the same by INSERT OVERWRITE, shuffled",
            lambda: count(shuffled.changes(2).to_batches()),
            "a scan of both versions",
            lambda: both(shuffled),
            3.0,
        ),
        (
            "upserts, each commit",
            lambda: count(keyed.changes(SEGMENTS + 1).to_batches()),
            "a scan (merged)",
            lambda: count(keyed.scan().to_batches()),
            2.0,
        ),
        (
            "upserts, net",
            lambda: count(keyed.changes(SEGMENTS + 1, net=True).to_batches()),
            "a scan (merged)",
            lambda: count(keyed.scan().to_batches()),
            2.0,
        ),
    ]
    for what, ours, peer, theirs, target in works:
        report.compare(what, ours, {peer: (theirs, target)}, runs)


def both(table: Table) -> int:
    """Scan the versions before and after the last commit, all of whose rows were removed and added."""
    versions = (table.snapshot(table.version - 1), table)
    return sum(count(one.scan().to_batches()) for one in versions)


def by_spark(report: Report, spark: SparkSession, runs: int) -> None:
    """Compare SQL on changes with a native scan and one through Python."""
    name = "versioned.b.appended"
    changes = f"SELECT * FROM {name} CHANGES FROM VERSION 1"
    assert spark.sql(changes).count() == spark.table(name).count()
    ranges = f"SELECT sum(a) FROM {name} CHANGES FROM VERSION 1"
    report.compare(
        "Spark, appended rows, to nowhere",
        lambda: noop(spark.sql(changes)),
        {"SELECT *, natively": (lambda: noop(spark.table(name)), 1.2)},
        runs,
    )
    report.compare(
        "Spark, appended rows, one column",
        lambda: spark.sql(ranges).collect(),
        {"SELECT, natively": (lambda: spark.sql(f"SELECT sum(a) FROM {name}").collect(), 1.2)},
        runs,
    )
    report.compare(
        "Spark, a stream of the changes, appended rows, to nowhere",
        lambda: streamed(spark.readStream.option("startingVersion", 1).changes(name)),
        {
            "a stream of the rows": (
                lambda: streamed(spark.readStream.option("startingVersion", 1).table(name)),
                1.2,
            ),
            "SELECT *, natively": (lambda: noop(spark.table(name)), None),
        },
        runs,
    )
    last = f"{changes} WHERE _commit_version = {SEGMENTS}"
    one = spark.table(name).where(
        f"id >= {(SEGMENTS - 1) * (spark.table(name).count() // SEGMENTS)}"
    )
    report.compare(
        "Spark, the changes of one commit of 16, by a filter, to nowhere",
        lambda: noop(spark.sql(last)),
        {"SELECT of these rows, natively": (lambda: noop(one), 1.2)},
        runs,
    )
    spark.conf.set("spark.versioned.io", "python")
    report.compare(
        "Spark, appended rows, to nowhere",
        lambda: noop(spark.sql(changes)),
        {"SELECT *, through Python": (lambda: noop(spark.table(name)), None)},
        runs,
    )
    spark.conf.set("spark.versioned.io", "native")


def streamed(frame: DataFrame) -> None:
    """Read a stream to its end, without keeping its rows."""
    checkpoint = DATA / "checkpoint"
    shutil.rmtree(checkpoint, ignore_errors=True)
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


COMMITS = 2_000


def many_commits(report: Report) -> None:
    """CPU time of planning the changes of many small commits, and of reading them."""
    folder = DATA / "many"
    for what, removes in [("appends", False), ("overwrites", True)]:
        shutil.rmtree(folder, ignore_errors=True)
        table = Catalog(folder).create_table("t", "id BIGINT", properties=UNMAINTAINED)
        for number in range(COMMITS):
            rows_of_commit = pa.table({"id": [number]})
            table.overwrite(rows_of_commit) if removes else table.append(rows_of_commit)
        loaded = Catalog(folder).load_table("t")
        began = time.process_time()
        changes = loaded.changes(1)
        tasks = len(changes.plan.tasks)
        planned = time.process_time()
        count(changes.to_batches())
        ended = time.process_time()
        assert tasks == COMMITS
        report.record(Figure(f"{COMMITS} {what}: planned, CPU", planned - began, "s", 3))
        report.record(Figure(f"{COMMITS} {what}: read, CPU", ended - planned, "s"))


def memory(report: Report) -> None:
    """Peak memory of reading more changes than are kept in memory at once, in new processes."""
    for name, what in [
        ("updated", "UPDATE"),
        ("shuffled", "INSERT OVERWRITE, spilled by hash"),
        ("keyed", "upserts"),
    ]:
        command = [sys.executable, "-m", "benchmarks.changes", "--read", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        report.record(Figure(f"{what}: peak memory", found["peak"], "MiB", 1024))
        report.record(Figure(f"{what}: rows as Arrow", found["size"], "MiB"))


def read(name: str) -> dict[str, float]:
    """Read the last changes; return the peak memory and the size of the compared rows, in MiB."""
    table = Catalog(DATA / "sql" / "w").load_table(f"b.{name}")
    count(table.changes(table.version).to_batches())
    status = Path("/proc/self/status").read_text().splitlines()
    (line,) = (text for text in status if "VmHWM" in text)
    peak = int(line.split()[1]) / 1024
    versions = (table.snapshot(table.version - 1), table)
    size = sum(batch.nbytes for one in versions for batch in one.scan().to_batches())
    return {"peak": peak, "size": size / 1024**2}


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--read", help="read the changes of this table, and print the memory")
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(options.read)))
        return
    report, catalog = Report("changes"), prepare(options.rows)
    in_python(report, catalog, options.rows, options.runs)
    many_commits(report)
    memory(report)
    spark = start()
    by_spark(report, spark, options.runs)
    spark.stop()
    report.save()


if __name__ == "__main__":
    main()
