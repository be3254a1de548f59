"""Stream 1,000 small commits from our tables, Delta and Iceberg: latency of a micro-batch, throughput.

Each format runs on the newest Spark that it supports, fetched as for ``peers_spark``, in a process of
its own. The three take turns. The sink is Spark's ``noop``, so the time is that of source and Spark.

- Latency: one commit in each micro-batch, from the middle of the log on; ``triggerExecution`` of Spark's
  progress. The first batches of a query are left out.
- Throughput: all commits at once, from the first one on.
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
from dataclasses import dataclass
from typing import Any

from benchmarks.peers_spark import DATA, ENGINES, HERE, python_of, session

DDL = "id BIGINT, a DOUBLE, b DOUBLE, s STRING, n INT"
WARM_UP = 5
"""Batches of a query that are not counted."""

TARGET = 0.8
"""The greatest ratio to the faster peer that meets the target."""

DELTA = DATA / "delta-stream"
"""The Delta table, which is written before its session starts."""

# What one engine does, in its own process


@dataclass
class Engine:
    """A session and its table of small commits, whose rows are the same in every format.

    Args:
        middle: the option that starts a stream in the middle of the log.
    """

    name: str
    spark: Any
    table: str
    commits: int
    middle: dict[str, str]
    runs: int = 0

    def options(self, *, single: bool) -> dict[str, str]:
        """The options of the reader: one commit in a batch from the middle on, or all from the first."""
        match self.name:
            case "versioned":
                first, limit = {"startingVersion": "1"}, {"maxSegmentsPerTrigger": "1"}
            case "delta":
                first, limit = {"startingVersion": "1"}, {"maxFilesPerTrigger": "1"}
                limit = limit if single else {"maxFilesPerTrigger": str(10**6)}
            case _:
                first, limit = {}, {"streaming-max-files-per-micro-batch": "1"}
        if single:
            return {**self.middle, **limit}
        return first | (limit if self.name == "delta" else {})

    def start(self, *, single: bool) -> Any:
        """Start a query with a new checkpoint."""
        self.runs += 1
        reader = self.spark.readStream
        for name, value in self.options(single=single).items():
            reader = reader.option(name, value)
        writer = reader.table(self.table).writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(DATA / self.name / f"run-{self.runs}"))
        return (writer if single else writer.trigger(availableNow=True)).start()

    def latency(self, batches: int) -> dict[str, Any]:
        """Milliseconds of micro-batches, and of their phases in the median."""
        query = self.start(single=True)
        wanted = batches + WARM_UP
        while len(done := [p for p in query.recentProgress if p["numInputRows"]]) < wanted:
            if query.exception() is not None:
                raise query.exception()
            time.sleep(0.05)
        query.stop()
        done = done[WARM_UP:wanted]
        rows = {p["numInputRows"] for p in done}
        phases = {key for p in done for key in p["durationMs"]}
        return {
            "times": [p["durationMs"]["triggerExecution"] for p in done],
            "rows": sorted(rows),
            "phases": {
                key: statistics.median(p["durationMs"].get(key, 0) for p in done) for key in phases
            },
        }

    def throughput(self) -> dict[str, Any]:
        """Seconds to read everything, and how many rows and batches that was."""
        begun = time.perf_counter()
        query = self.start(single=False)
        query.awaitTermination()
        seconds = time.perf_counter() - begun
        progress = [p for p in query.recentProgress if p["numInputRows"]]
        return {
            "seconds": seconds,
            "rows": sum(p["numInputRows"] for p in progress),
            "batches": len(progress),
        }


def prepare(name: str, commits: int, rows: int) -> Engine:
    """Make the table."""
    spark, table = session(name)
    spark.sparkContext.setLogLevel("OFF")  # a query that is stopped complains
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 10**6)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
    middle = {"startingVersion": str(commits // 2)}
    match name:
        case "versioned":
            append_ours(spark, table, commits, rows)
        case "delta":
            spark.sql(f"CREATE TABLE {table} USING delta LOCATION '{DELTA}'")
        case _:
            append_iceberg(spark, table, commits, rows)
            middle = since_the_middle(spark, table, commits)
    return Engine(name, spark, table, commits, middle)


def append_ours(spark: Any, table: str, commits: int, rows: int) -> None:
    """Append by Python."""
    from versioned_catalog import Catalog

    spark.sql(f"CREATE TABLE {table} ({DDL})")
    found = Catalog(DATA / "versioned").load_table(table.partition(".")[2])
    for number in range(commits):
        found.append(arrow(number * rows, rows))


def append_delta(commits: int, rows: int) -> None:
    """Append by deltalake, in the process that starts the others: theirs have other packages."""
    import deltalake

    shutil.rmtree(DELTA, ignore_errors=True)
    empty = arrow(0, 0)
    deltalake.DeltaTable.create(DELTA, deltalake.Schema.from_arrow(empty.schema))
    for number in range(commits):
        deltalake.write_deltalake(DELTA, arrow(number * rows, rows), mode="append")


def append_iceberg(spark: Any, table: str, commits: int, rows: int) -> None:
    """Write all files at once to another table by Spark, and append each in a commit of its own."""
    staged = f"{table}_staged"
    for name in (staged, table):
        spark.sql(f"CREATE TABLE {name} ({DDL}) USING iceberg")
    spark.conf.set("spark.sql.iceberg.distribution-mode", "none")
    frame = spark.range(0, commits * rows, 1, commits)
    frame.selectExpr(
        *(
            "id",
            "id * 1.5D AS a",
            "id * 2.5D AS b",
            "concat('row ', id) AS s",
            "CAST(id AS INT) AS n",
        )
    ).writeTo(staged).append()
    load = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable
    source, target = (load(spark._jsparkSession, name) for name in (staged, table))
    tasks = source.newScan().planFiles().iterator()
    while tasks.hasNext():
        target.newFastAppend().appendFile(tasks.next().file()).commit()


def since_the_middle(spark: Any, table: str, commits: int) -> dict[str, str]:
    """The option by which a stream of an Iceberg table starts in the middle."""
    times = spark.sql(f"SELECT committed_at FROM {table}.snapshots ORDER BY committed_at").collect()
    assert len(times) == commits, "each commit must have one file"
    middle = times[commits // 2]["committed_at"]
    return {"stream-from-timestamp": str(int(middle.timestamp() * 1000))}


def arrow(first: int, rows: int) -> Any:
    """The rows of a commit."""
    import numpy as np
    import pyarrow as pa

    ids = np.arange(first, first + rows)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "a": pa.array(ids * 1.5, pa.float64()),
            "b": pa.array(ids * 2.5, pa.float64()),
            "s": pa.array([f"row {n}" for n in ids], pa.string()),
            "n": pa.array(ids.astype("int32")),
        }
    )


def serve(name: str, commits: int, rows: int) -> None:
    """Do what comes on standard input, a line each, and print what was measured."""
    engine = prepare(name, commits, rows)
    print(f"##{json.dumps({'spark': engine.spark.version})}", flush=True)
    for line in sys.stdin:
        what, _, number = line.strip().partition(" ")
        found = engine.latency(int(number)) if what == "latency" else engine.throughput()
        print(f"##{json.dumps(found)}", flush=True)
    engine.spark.stop()


# All engines


@dataclass(frozen=True)
class Peer:
    """The process of an engine."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, name: str, commits: int, rows: int) -> Peer:
        """Start it; it makes its table."""
        python = python_of(ENGINES[name].spark)
        sizes = ("--commits", str(commits), "--rows", str(rows))
        process = subprocess.Popen(
            [python, "-m", "benchmarks.streaming", "--engine", name, *sizes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYSPARK_PYTHON": python},
        )
        return cls(process)

    def answer(self) -> dict[str, Any]:
        """The next result."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("##"):
                found: dict[str, Any] = json.loads(line[2:])
                return found
        raise RuntimeError("the engine ended")

    def ask(self, what: str) -> dict[str, Any]:
        """Measure something."""
        assert self.process.stdin is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self.answer()

    def stop(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def measure(commits: int, rows: int, batches: int, runs: int) -> dict[str, Any]:
    """Let the engines take turns; the first turn of each is a warm-up."""
    append_delta(commits, rows)
    found: dict[str, Any] = {}
    peers: dict[str, Peer] = {}
    for name in ENGINES:  # one after the other: each makes its table alone
        peers[name] = Peer.start(name, commits, rows)
        found[name] = {**peers[name].answer(), "latency": [], "throughput": []}
    for run in range(runs + 1):
        for name, peer in peers.items():
            latency = peer.ask(f"latency {batches if run else WARM_UP}")
            assert latency["rows"] == [rows], "each batch must have one commit"
            throughput = peer.ask("throughput")
            assert throughput["rows"] == commits * rows, f"{name} read {throughput['rows']} rows"
            if run:
                found[name]["latency"].append(latency)
                found[name]["throughput"].append(throughput)
    for peer in peers.values():
        peer.stop()
    return found


def show(found: dict[str, Any]) -> None:
    """Print each engine's figures, and the ratio of ours to the faster peer's."""
    medians: dict[str, tuple[float, float, float]] = {}
    for name, result in found.items():
        times = sorted(time for run in result["latency"] for time in run["times"])
        speeds = [run["rows"] / run["seconds"] for run in result["throughput"]]
        medians[name] = (
            statistics.median(times),
            times[int(len(times) * 0.95)],
            1 / statistics.median(speeds),
        )
        median, late, _ = medians[name]
        batches = result["throughput"][0]["batches"]
        print(
            f"{name:<10} Spark {result['spark']:<6} micro-batch {median:.0f} ms, p95 {late:.0f} ms; "
            f"{statistics.median(speeds) / 1000:,.0f} thousand rows/s in {batches} batches",
            flush=True,
        )
    ours = medians.pop("versioned")
    for at, what in enumerate(["micro-batch, median", "micro-batch, p95", "throughput (time)"]):
        faster = min(medians, key=lambda name: medians[name][at])
        ratio = ours[at] / medians[faster][at]
        verdict = "met" if ratio <= TARGET else "MISSED"
        print(f"{what:<20} {ratio:.2f}x of {faster}  target {TARGET:g}: {verdict}", flush=True)


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1000, help="of each commit")
    parser.add_argument("--batches", type=int, default=60, help="micro-batches of each run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engine", choices=ENGINES, help="serve this one alone, in this Python")
    options = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    if options.engine:
        serve(options.engine, options.commits, options.rows)
        return
    found = measure(options.commits, options.rows, options.batches, options.runs)
    (HERE / "results" / "streaming.json").write_text(json.dumps(found, indent=1) + "\n")
    show(found)


if __name__ == "__main__":
    main()
