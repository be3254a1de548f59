"""Measure loading a large table and planning scans of it, warm and cold.

The table is only a checkpoint: 100,000 segments of 20 columns whose files do not exist. A table with a
primary key is compared with one without, at 20,000 segments.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.common import Figure, Report, seconds
from versioned_catalog import Catalog, Table
from versioned_catalog.log.record import Delta
from versioned_catalog.log.segment_columns import SegmentColumns
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.segment_table import CORE, delta_to_text
from versioned_catalog.model.arrow import to_arrow_type
from versioned_catalog.model.types import Atom, Column
from versioned_catalog.names.folders import timeline_at
from versioned_catalog.read.filters import BoundFilter
from versioned_catalog.read.planning import select
from versioned_catalog.read.scan import Scan
from versioned_catalog.read.scan_columns import bind_filters
from versioned_catalog.storage.opening import open_store

KINDS = ["TIMESTAMP", "STRING", "BIGINT", "DOUBLE", "INT"]
ROWS = 1_000_000
KEYED_SEGMENTS = 20_000
BASE = 1_700_000_000_000_000
"""Start of the first segment in microseconds; each segment holds one minute."""

MINUTE = 60_000_000


def ddl(columns: int) -> str:
    """Columns of several types: the first is the time, the second a host."""
    return ", ".join(f"c{n} {KINDS[n % len(KINDS)]}" for n in range(columns))


def bounds(column: Column, count: int, random: np.random.Generator) -> tuple[pa.Array, pa.Array]:
    """Bounds of a column in each segment."""
    target = to_arrow_type(column.type)
    match column.type:
        case Atom.TIMESTAMP:
            first = BASE + np.arange(count) * MINUTE
            return pa.array(first).cast(target), pa.array(first + MINUTE - 1).cast(target)
        case Atom.STRING:
            hosts = random.integers(0, 1000, (2, count))
            return tuple(pa.array([f"host-{n:04d}" for n in np.sort(hosts, 0)[i]]) for i in (0, 1))
        case Atom.DOUBLE:
            low = random.random(count)
            return pa.array(low), pa.array(low + 1)
        case _:
            low = random.integers(0, 10**6, count)
            return pa.array(low).cast(target), pa.array(low + 1000).cast(target)


def segments(table: Table, count: int) -> SegmentSet:
    """Records of segments without files, in the layout of a checkpoint."""
    random = np.random.default_rng(0)
    numbers = np.arange(count)
    time = int(datetime.now(UTC).timestamp() * 1e6)
    core: dict[str, Any] = {
        "path": [f"data/0-{n:032x}.parquet" for n in range(count)],
        "schema_version": np.zeros(count, np.int32),
        "rows": np.full(count, ROWS),
        "bytes": np.full(count, 100 << 20),
        "sequence": numbers,
        "ordinal": np.zeros(count, np.int32),
        "commit_time": pa.array(np.full(count, time)).cast(pa.timestamp("us", "UTC")),
    }
    core |= {
        name: pa.nulls(count, CORE.field(name).type) for name in CORE.names if name not in core
    }
    return SegmentSet.of(SegmentColumns.of_table(rows(table, core, count, random)))


def rows(table: Table, core: dict[str, Any], count: int, random: np.random.Generator) -> pa.Table:
    """Core columns with statistics beside them."""
    found = pa.table(core, schema=CORE)
    for column in table.schema.columns:
        low, high = bounds(column, count, random)
        found = found.append_column(f"{column.id}.nulls", pa.array(random.integers(0, 9, count)))
        if column.type is Atom.DOUBLE:
            found = found.append_column(f"{column.id}.nans", pa.array(np.zeros(count, np.int64)))
        found = found.append_column(f"{column.id}.min", low)
        found = found.append_column(f"{column.id}.max", high)
        found = found.append_column(f"{column.id}.inexact", pa.nulls(count, pa.int8()))
    return found


def build(path: Path, count: int, columns: int) -> None:
    """Create the table from one entry and a checkpoint after it."""
    table = Catalog.create_path(path, ddl(columns))
    state = replace(table.state, version=count, segments=segments(table, count))
    timeline_at(open_store(path)).write_checkpoint(state)


def keyed_scan(count: int, *, keyed: bool, pairs: bool) -> Scan:
    """A scan of segments of distinct keys, or of pairs of overlapping segments with deltas."""
    key = {"primary_key": ["c2"]} if keyed else {}
    table = Catalog.create_path(f"memory://planning-{keyed}-{pairs}", ddl(4), **key)
    base = segments(table, count).base
    low = np.arange(count) % (count // 2 if pairs else count) * 1000
    columns = {"3.min": pa.array(low), "3.max": pa.array(low + 999)}
    if pairs:
        deltas = (Delta(sequences=(n, n), ops={0: n + 1, 1: 3}) for n in range(count))
        columns["extra"] = pa.array(map(delta_to_text, deltas), pa.string())
    for name, values in columns.items():
        base = base.with_column(name, pa.chunked_array([values]))
    state = replace(table.state, segments=SegmentSet.of(base))
    return Scan(table.store, state, state.schema.columns)


def record_keyed(report: Report, count: int, runs: int) -> None:
    """The figures of keyed tables beside one without a key, first and again."""
    cases = (
        ("no key", keyed_scan(count, keyed=False, pairs=False)),
        ("key, no overlaps", keyed_scan(count, keyed=True, pairs=False)),
        ("key, all in pairs", keyed_scan(count, keyed=True, pairs=True)),
    )
    for name, scan in cases:
        value = bind_filters([("c3", "<", 0.5)], scan.state.schema)
        for what, filter in (("", None), (", filtered", value)):

            def select_segments(scan: Scan = scan, filter: BoundFilter | None = filter) -> None:
                select(scan.state, filter, None, prune=True)

            def tasks(scan: Scan = scan, filter: BoundFilter | None = filter) -> None:
                Scan(scan.store, scan.state, scan.columns, filter).tasks()

            title = f"{count:,} segments, {name}{what}"
            if filter is None:
                report.record(Figure(f"{title}: select, first", seconds(select_segments) * 1000))
            report.record(Figure(f"{title}: select", median(select_segments, runs), target=20.0))
            report.record(Figure(f"{title}: tasks", median(tasks, runs)))


def selective(count: int) -> list[list[tuple[str, str, Any]]]:
    """A filter that few segments match: ten minutes and some hosts."""
    moment = datetime.fromtimestamp((BASE + count // 2 * MINUTE) / 1e6, UTC)
    later = datetime.fromtimestamp((BASE + (count // 2 + 10) * MINUTE) / 1e6, UTC)
    return [[("c0", ">=", moment), ("c0", "<", later), ("c1", ">=", "host-0100"), ("c3", "<", 0.9)]]


def median(work: Callable[[], object], runs: int) -> float:
    """Milliseconds of a warm run."""
    work()
    return statistics.median(seconds(work) for _ in range(runs)) * 1000


def record(report: Report, folder: Path, count: int, columns: int, runs: int) -> None:
    """Measure one number of segments."""
    path = folder / str(count)
    build(path, count, columns)
    filters = selective(count)
    table = Catalog.load_path(path)
    kept = len(table.scan(filters=filters).tasks())
    name = f"{count:,} segments of {columns} columns"
    report.record(Figure(f"{name}: kept by the filter", kept, "segments"))
    report.record(Figure(f"{name}: size of checkpoint", checkpoint_size(path), "MB"))

    def warm() -> None:
        table.refresh().scan(filters=filters).tasks()

    def new_filter() -> None:
        table.scan(filters=filters).tasks()

    def cold() -> None:
        Catalog.load_path(path).scan(filters=filters).tasks()

    targets = (300.0, 2000.0) if count >= 100_000 else (10.0, None)
    report.record(Figure(f"{name}: refresh", median(table.refresh, runs)))
    report.record(Figure(f"{name}: plan, from a loaded snapshot", median(new_filter, runs)))
    report.record(Figure(f"{name}: refresh and plan", median(warm, runs), target=targets[0]))
    report.record(Figure(f"{name}: load and plan", median(cold, runs), target=targets[1]))


def checkpoint_size(path: Path) -> float:
    """Resident memory in megabytes."""
    files = (path / "_versioned" / "checkpoint").iterdir()
    return sum(file.stat().st_size for file in files) / 1e6


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    report = Report("planning")
    folder = Path(tempfile.mkdtemp())
    try:
        for count in (10, options.segments):
            record(report, folder, count, options.columns, options.runs)
        record_keyed(report, KEYED_SEGMENTS, options.runs)
    finally:
        shutil.rmtree(folder)
    report.save()


if __name__ == "__main__":
    main()
