"""Time publications after small commits, and DuckDB on a published table against plain Parquet."""

from __future__ import annotations

import argparse
import importlib
import shutil
import statistics
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.common import UNMAINTAINED, Figure, Report, Work, seconds
from versioned_catalog import Catalog, Table

COLUMNS = 22
ROW = pa.table({f"c{number}": [number] for number in range(COLUMNS)})
QUERIES = {
    "sum of one column": "SELECT sum(c) FROM {}",
    "selective filter": "SELECT count(*), max(s) FROM {} WHERE a BETWEEN 1000 AND 2000",
    "filter on a later column": "SELECT count(*) FROM {} WHERE d > 3",
}


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp())
    try:
        yield path
    finally:
        shutil.rmtree(path)


def table_of(path: Path, segments: int) -> Table:
    """A table of many records of one and the same file."""
    ddl = ", ".join(f"c{number} BIGINT" for number in range(COLUMNS))
    table = Catalog.create_path(path / "t", ddl, properties=UNMAINTAINED)
    transaction = table.transaction()
    plan = transaction.plan_write(ROW.schema)
    (record,) = plan.write(ROW.schema, ROW.to_batches())
    names = (f"data/0-{uuid.uuid4()}.parquet" for _ in range(segments))
    transaction.commit_append(plan, [replace(record, path=name) for name in names])
    return table


def small_commits(report: Report, segments: int, commits: int) -> None:
    """Publish after each of many appends, and after deletions of one segment."""
    with folder() as path:
        table = table_of(path, segments)
        name = f"{segments:,} segments"
        first = seconds(table.maintenance.publish) * 1000
        report.record(Figure(f"{name}: first publication", first))
        times = []
        for _ in range(commits):
            table.append(ROW)
            times.append(seconds(table.maintenance.publish) * 1000)
        median = statistics.median(times)
        report.record(Figure(f"{name}: publish an append, median", median, target=10))
        rank = int(len(times) * 0.99)
        report.record(Figure(f"{name}: publish an append, 99th percentile", sorted(times)[rank]))
        report.record(Figure(f"{name}: publish an ALTER", _after(table, _alter)))
        report.record(Figure(f"{name}: publish the removal of a segment", _after(table, _remove)))


def _after(table: Table, change: Any) -> float:
    change(table)
    return seconds(table.maintenance.publish) * 1000


def _alter(table: Table) -> None:
    table.alter().add_column("late", "INT", default=1).commit()


def _remove(table: Table) -> None:
    newest = table.state.segments.paths[-1]
    transaction = table.transaction()
    plan = transaction.plan_write(ROW.schema)
    transaction.commit_rewrite(plan, [], [newest], kind="delete")


def duckdb_reads(report: Report, rows: int, runs: int) -> None:
    """Run queries in DuckDB on a published table, and on its Parquet files as they are."""
    with folder() as path:
        table = Catalog.create_path(
            path / "t", "a BIGINT, c DOUBLE, s STRING, d INT", properties=UNMAINTAINED
        )
        random = np.random.default_rng(0)
        for start in range(0, rows, rows // 20):
            keys = np.arange(start, start + rows // 20)
            numbers = pa.array(random.integers(0, 10, len(keys)), pa.int32())
            texts = pa.array(keys % 1000).cast(pa.string())
            data = {"a": keys, "c": random.random(len(keys)), "s": texts, "d": numbers}
            table.append(pa.table(data))
        table.maintenance.publish()
        connection = _connect()
        published = f"iceberg_scan('{table.location}/iceberg')"
        plain = f"read_parquet('{table.location}/data/*.parquet')"
        for name, query in QUERIES.items():
            ours, theirs = (_work(connection, query.format(one)) for one in (published, plain))
            report.compare(f"DuckDB, {name}", ours, {"plain Parquet": (theirs, None)}, runs)


def _work(connection: Any, query: str) -> Work:
    return lambda: connection.execute(query).fetchall()


def _connect() -> Any:
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg"):
        module = importlib.import_module(f"duckdb_extension_{name}")
        (found,) = Path(str(module.__file__)).parent.rglob("*.duckdb_extension")
        connection.execute(f"LOAD '{found}'")
    return connection


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--segments", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    report = Report("publishing")
    for segments in options.segments:
        small_commits(report, segments, options.commits)
    duckdb_reads(report, options.rows, options.runs)
    report.save()


if __name__ == "__main__":
    main()
