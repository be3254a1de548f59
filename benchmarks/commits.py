"""Time small appends and ALTERs, from the first commit to the thousandth."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import IntegerType

from benchmarks.common import UNMAINTAINED, Figure, Report, Work, seconds
from versioned_catalog import Catalog

ROWS = pa.table(
    {
        "id": np.arange(1000),
        "a": np.random.default_rng(0).random(1000),
        "b": np.random.default_rng(1).random(1000),
        "s": [f"row {n}" for n in range(1000)],
        "n": pa.array(np.arange(1000), pa.int32()),
    }
)


def timed(work: Work, count: int) -> list[float]:
    """Milliseconds of each run."""
    return [seconds(work) * 1000 for _ in range(count)]


def record_appends(report: Report, name: str, times: list[float], target: float | None) -> None:
    """Median, 99th percentile and growth of many appends."""
    edge = min(100, len(times) // 2)
    growth = statistics.median(times[-edge:]) / statistics.median(times[:edge])
    report.record(
        Figure(f"{name}: append of 1,000 rows, median", statistics.median(times), target=target)
    )
    report.record(Figure(f"{name}: append, 99th percentile", sorted(times)[int(len(times) * 0.99)]))
    limit = None if target is None else 1.2
    report.record(Figure(f"{name}: last {edge} appends against the first", growth, "x", limit))


def ours(report: Report, folder: Path, commits: int) -> None:
    """Measure our tables."""
    table = Catalog.create_path(
        folder / "t", "id LONG, a DOUBLE, b DOUBLE, s STRING, n INT", properties=UNMAINTAINED
    )
    times: list[float] = []
    for count in (10, 100, commits):
        times += timed(lambda: table.append(ROWS), count - len(times))
        loads = timed(lambda: Catalog.load_path(folder / "t"), 9)
        report.record(Figure(f"versioned: load after {count} commits", statistics.median(loads)))
    record_appends(report, "versioned", times, 25)
    numbers = iter(range(10**6))
    alters = timed(lambda: table.alter().add_column(f"c{next(numbers)}", "int").commit(), 50)
    report.record(Figure("versioned: ALTER, median", statistics.median(alters), target=15))
    counts = timed(table.count, 100)
    report.record(
        Figure("versioned: count() from metadata", statistics.median(counts) * 1000, "us")
    )


def delta(report: Report, folder: Path, commits: int) -> None:
    """Measure the same with deltalake."""
    path = str(folder / "delta")
    record_appends(
        report,
        "deltalake",
        timed(lambda: deltalake.write_deltalake(path, ROWS, mode="append"), commits),
        None,
    )

    numbers = iter(range(10**6))

    def add_column() -> None:
        field = deltalake.Field(f"c{next(numbers)}", "integer")
        deltalake.DeltaTable(path).alter.add_columns([field])

    report.record(
        Figure("deltalake: add a column, median", statistics.median(timed(add_column, 20)))
    )


def iceberg(report: Report, folder: Path, commits: int) -> None:
    """Measure the same with pyiceberg and a catalog in SQLite."""
    (folder / "ice").mkdir()
    catalog = SqlCatalog(
        "bench", uri=f"sqlite:///{folder}/ice.db", warehouse=f"file://{folder}/ice"
    )
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", schema=ROWS.schema)
    record_appends(report, "pyiceberg", timed(lambda: table.append(ROWS), commits), None)
    numbers = iter(range(10**6))

    def add_column() -> None:
        with table.update_schema() as update:
            update.add_column(f"c{next(numbers)}", IntegerType())

    report.record(
        Figure("pyiceberg: add a column, median", statistics.median(timed(add_column, 20)))
    )


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--peer-commits", type=int, default=200)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    report = Report("commits")
    try:
        ours(report, folder, options.commits)
        peers: list[Callable[[Report, Path, int], None]] = [delta, iceberg]
        for peer in peers:
            peer(report, folder, options.peer_commits)
    finally:
        shutil.rmtree(folder)
    report.save()


if __name__ == "__main__":
    main()
