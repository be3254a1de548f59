"""Tasks that fail, tasks that run twice, and machines that are killed, on a cluster of two workers.

``python -m cluster.run_faults WAREHOUSE ROWS FAULT:WAY...`` prints, as JSON, what came of each. The
warehouse is a folder, or ``store``: one in an object store that is started with the cluster.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from cluster.sessions import local_cluster, session
from versioned_catalog import Catalog, Table

TASKS = 4
VICTIM = 23 / 32
"""Which part of all rows comes before the fault: in the third task of four, which is almost done."""

Passing = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def failing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass all rows of a task on; the first attempts of two tasks fail then."""
    from pyspark import TaskContext

    yield from batches
    task: Any = TaskContext.get()
    if task.partitionId() < 2 and task.attemptNumber() == 0:
        raise RuntimeError("the first attempt fails")


def slow(batches: Iterable[pa.RecordBatch], marker: str) -> Iterator[pa.RecordBatch]:
    """Pass all rows of a task on; the first attempt of the third task ends with its second."""
    from pyspark import TaskContext

    yield from batches
    task: Any = TaskContext.get()
    if task.partitionId() != 2:
        return
    if task.attemptNumber() > 0:
        Path(marker).touch()
    for _ in range(600):
        if Path(marker).exists():
            return
        time.sleep(0.1)


def killing(
    batches: Iterable[pa.RecordBatch], marker: str, victim: int
) -> Iterator[pa.RecordBatch]:
    """Pass rows on; whoever comes to the victim first kills its machine, in the middle of its task.

    The machine is what stands above the Python worker: the daemon, the executor, Spark's worker.
    """
    for batch in batches:
        yield batch
        ids = batch.column(0)
        if ids[0].as_py() <= victim <= ids[-1].as_py():
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            time.sleep(1)  # what was passed on gets to the writer
            for process in above(os.getpid(), 3)[::-1]:
                os.kill(process, signal.SIGKILL)
            time.sleep(60)


def above(process: int, generations: int) -> list[int]:
    """The processes that a process descends from, the nearest first."""
    found = []
    for _ in range(generations):
        # The name in parentheses may hold anything; the parent is the second field after it.
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(process)
    return found


class Faults:
    """Runs writes and reads that something happens to.

    Args:
        spark: a session on the cluster.
        cluster: the cluster.
        warehouse: where the tables are.
        rows: how many each table gets.
    """

    def __init__(self, spark: Any, cluster: Any, warehouse: str, rows: int) -> None:
        self._spark = spark
        self._cluster = cluster
        self._warehouse = warehouse
        self._rows = rows

    def _passing(self, fault: str, marker: str) -> Passing:
        match fault:
            case "fail":
                return failing
            case "slow":
                return partial(slow, marker=marker)
            case _:
                return partial(killing, marker=marker, victim=int(self._rows * VICTIM))

    def write(self, fault: str, io: str, name: str) -> dict[str, Any]:
        """Write rows; what is there afterwards, read without Spark."""
        self._spark.sql(f"CREATE TABLE versioned.db.{name} (id BIGINT, name STRING)")
        passing = self._passing(fault, str(self._cluster.folder / name))
        frame = self._spark.range(0, self._rows, 1, TASKS).selectExpr(
            "id", "concat('n', id) AS name"
        )
        frame = frame.mapInArrow(passing, frame.schema)
        if io == "native":
            frame.createOrReplaceTempView("frame")
            self._spark.sql(f"INSERT INTO versioned.db.{name} SELECT * FROM frame")
        else:
            writer = frame.write.format("versioned").option("warehouse", self._warehouse)
            writer.option("io", "python").mode("append").save(f"db.{name}")
        return describe_table(Catalog(self._warehouse), f"db.{name}")

    def read(self, fault: str, io: str, name: str) -> dict[str, Any]:
        """Read the rows of a table, counted where they are read: what a machine held is lost with it."""
        reader = self._spark.read.format("versioned").option("warehouse", self._warehouse)
        frame = reader.option("io", io).load(f"db.{name}")
        passing = self._passing(fault, str(self._cluster.folder / f"{name}-read"))
        frame = frame.mapInArrow(passing, frame.schema)
        counts = ("count(*) AS rows", "count(DISTINCT id) AS different", "sum(id) AS sum")
        return dict(frame.selectExpr(*counts).collect()[0].asDict())

    def run(self, fault: str, io: str) -> dict[str, Any]:
        """A write one io and a read the other; a machine that was killed is replaced."""
        name, other = f"{fault}_{io}", "python" if io == "native" else "native"
        done = {}
        for what, how, which in (("written", self.write, io), ("read", self.read, other)):
            done[what] = how(fault, which, name)
            if fault == "kill":
                self._cluster.start_worker()
        return done


def describe_table(catalog: Catalog, name: str) -> dict[str, Any]:
    """What a table is, read without Spark."""
    table = catalog.load_table(name)
    ids = table.scan(columns=["id"]).to_arrow()["id"].to_pylist()
    live = {Path(path).name for path in table.inspect.segments()["path"].to_pylist()}
    there = {file.name for file in table.store.files("data")}
    return {
        "rows": len(ids),
        "different": len(set(ids)),
        "sum": sum(ids),
        "lost": sorted(live - there),
        "orphans": len(there - live),
        "commits": table.version,
        "after_vacuum": orphans_after_vacuum(table, live),
    }


def orphans_after_vacuum(table: Table, live: set[str]) -> int:
    """How many files there are besides the table's own; attempts that are being killed may end late."""
    for _ in range(20):
        time.sleep(0.5)
        table.maintenance.vacuum(timedelta(0), dry_run=False, force=True)
        there = {file.name for file in table.store.files("data")}
        assert live <= there
        if live == there:
            break
    return len(there - live)


def main() -> None:
    warehouse, rows, *asked = sys.argv[1:]
    speculation = {
        "spark__speculation": "true",
        "spark__speculation__interval": "100ms",
        "spark__speculation__multiplier": "1.1",
        "spark__speculation__quantile": "0.5",
    }
    with local_cluster().started(2, store=warehouse == "store") as cluster:
        if warehouse == "store":
            warehouse = cluster.warehouse
            os.environ |= {k: v for k, v in cluster.environment.items() if k.startswith("AWS_")}
        spark = session(cluster.master, warehouse, **speculation)
        spark.sql("CREATE NAMESPACE versioned.db")
        faults = Faults(spark, cluster, warehouse, int(rows))
        found = {}
        for one in asked:
            begun = time.monotonic()
            found[one] = faults.run(*one.split(":"))
            found[one]["seconds"] = time.monotonic() - begun
        killed = sum(worker.poll() == -signal.SIGKILL for worker in cluster.workers)
        spark.stop()
    print(json.dumps({"found": found, "killed": killed}))


if __name__ == "__main__":
    main()
