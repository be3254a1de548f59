"""Fail tasks, run tasks twice and kill machines, on a cluster of two workers.

``python -m cluster.run_faults WAREHOUSE ROWS FAULT:IO...`` prints the results as JSON. The warehouse is
a folder, or ``store`` for an object store that is started with the cluster.
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
"""The position of the fault among all rows: near the end of the third of four tasks."""

Passing = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def failing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass on all rows of a task; then fail the first attempts of two tasks."""
    from pyspark import TaskContext

    yield from batches
    task: Any = TaskContext.get()
    if task.partitionId() < 2 and task.attemptNumber() == 0:
        raise RuntimeError("the first attempt fails")


def slow(batches: Iterable[pa.RecordBatch], marker: str) -> Iterator[pa.RecordBatch]:
    """Pass on all rows of a task; the first attempt of the third task waits for its second one."""
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
    """Pass on rows; the first task that reaches the victim kills its machine in the middle of the task.

    The machine consists of the parents of the Python worker: the daemon, the executor, Spark's worker.
    """
    for batch in batches:
        yield batch
        ids = batch.column(0)
        if ids[0].as_py() <= victim <= ids[-1].as_py():
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            time.sleep(1)  # let the rows reach the writer
            for process in parents(os.getpid(), 3)[::-1]:
                os.kill(process, signal.SIGKILL)
            time.sleep(60)


def parents(process: int, generations: int) -> list[int]:
    """The parent processes of a process, the nearest first."""
    found = []
    for _ in range(generations):
        # The name in parentheses may hold anything; the parent is the second field after it.
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(process)
    return found


class Faults:
    """Runs writes and reads with faults.

    Args:
        spark: a session on the cluster.
        cluster: the cluster.
        warehouse: the location of the tables.
        rows: the number of rows of each table.
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
        """Write rows; return the state of the table, read without Spark."""
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
        """Read the rows of a table and count them in the tasks that read them."""
        reader = self._spark.read.format("versioned").option("warehouse", self._warehouse)
        frame = reader.option("io", io).load(f"db.{name}")
        passing = self._passing(fault, str(self._cluster.folder / f"{name}-read"))
        frame = frame.mapInArrow(passing, frame.schema)
        counts = ("count(*) AS rows", "count(DISTINCT id) AS different", "sum(id) AS sum")
        return dict(frame.selectExpr(*counts).collect()[0].asDict())

    def run(self, fault: str, io: str) -> dict[str, Any]:
        """Write by one I/O path and read by the other; replace a machine that was killed."""
        name, other = f"{fault}_{io}", "python" if io == "native" else "native"
        done = {}
        for what, how, which in (("written", self.write, io), ("read", self.read, other)):
            done[what] = how(fault, which, name)
            if fault == "kill":
                self._cluster.start_worker()
        return done


def describe_table(catalog: Catalog, name: str) -> dict[str, Any]:
    """Describe a table, without Spark."""
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
    """Vacuum until no orphan files are left, since killed attempts may end late; return their number."""
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
