"""Measure what metadata costs over 1, 10, ... 1,000,000 segments, and over 10 to 10,000 commits.

The segments of the first table are those of a checkpoint, of 20 columns, whose files do not exist; the
second table is appended to row by row. Cold loads and memory are measured in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from benchmarks.common import UNMAINTAINED, Figure, Report, seconds
from benchmarks.curve import Panel, picture
from benchmarks.planning import ddl, segments, selective
from versioned_catalog import Catalog, Table
from versioned_catalog.model.arrow import to_arrow_type

PICTURE = Path(__file__).parent.parent / "docs" / "growth.svg"
COLUMNS = 20
APPENDS = 64
"""Appends at each size; the slowest of them writes a delta of the checkpoint."""

TARGETS = {"load and plan, cold": 1000.0, "plan, warm": 50.0, "append": 30.0, "ALTER": 30.0}

Costs = dict[str, float]
"""Milliseconds by what is measured; memory in megabytes."""


def build(path: Path, count: int) -> None:
    """Create a table of two commits and a checkpoint that says that it has these segments."""
    table = Catalog.create_path(path, ddl(COLUMNS))
    table.alter().set_comment("c0", "start of a minute").commit()
    table.log.write_checkpoint(replace(table.state, segments=segments(table, count)))


def powers(first: int, last: int) -> list[int]:
    """The powers of ten from one number to another."""
    return [10**power for power in range(len(str(last))) if first <= 10**power <= last]


def cold(path: Path, count: int) -> Costs:
    """Load a table and plan a selective filter, in a process that has done neither."""
    command = [sys.executable, "-m", "benchmarks.growth", "--cold", str(path), str(count)]
    costs: Costs = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return costs


def measure_cold(path: Path, count: int) -> Costs:
    """Milliseconds and megabytes of the process that runs this; imports and their code are warm."""
    small = Path(tempfile.mkdtemp())
    try:
        build(small / "t", 1)
        Catalog.load_path(small / "t").scan(filters=selective(1)).tasks()
    finally:
        shutil.rmtree(small)
    before = peak_megabytes()
    loaded: list[Table] = []
    load = seconds(lambda: loaded.append(Catalog.load_path(path)))
    plan = seconds(lambda: loaded[0].scan(filters=selective(count)).tasks())
    return {
        "load, cold": load * 1000,
        "load and plan, cold": (load + plan) * 1000,
        "memory": peak_megabytes(),
        "of it for the table": peak_megabytes() - before,
    }


def peak_megabytes() -> float:
    """Greatest resident memory of this process so far."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def warm(table: Table, count: int) -> Costs:
    """What a session that has the table does."""
    types = [(column.name, to_arrow_type(column.type)) for column in table.schema.columns]
    row = pa.table({name: pa.nulls(1, type_) for name, type_ in types})
    comments = iter(range(10**6))

    def plan() -> None:
        table.refresh().scan(filters=selective(count)).tasks()

    def alter() -> None:
        table.alter().set_comment("c0", f"{next(comments)}").commit()

    plan()
    plans = milliseconds(plan, 9)
    appends = milliseconds(lambda: table.append(row), APPENDS)
    return {
        "plan, warm": statistics.median(plans),
        "append": statistics.median(appends),
        "slowest append": max(appends),
        "ALTER": statistics.median(milliseconds(alter, 9)),
        "vacuum": milliseconds(
            lambda: table.maintenance.vacuum(timedelta(0), force=True, dry_run=True), 1
        )[0],
    }


def milliseconds(work: Callable[[], object], runs: int) -> list[float]:
    """Milliseconds of each run."""
    return [seconds(work) * 1000 for _ in range(runs)]


def by_segments(folder: Path, last: int) -> dict[int, Costs]:
    """Costs by number of segments."""
    costs: dict[int, Costs] = {}
    for count in powers(1, last):
        path = folder / f"segments-{count}"
        build(path, count)
        costs[count] = cold(path, count)
        costs[count] |= warm(Catalog.load_path(path), count)
        costs[count]["load, 64 commits later"] = cold(path, count)["load, cold"]
        shutil.rmtree(path)
    return costs


def by_commits(folder: Path, last: int) -> dict[int, Costs]:
    """Costs by number of commits, one segment each."""
    path = folder / "commits"
    table = Catalog.create_path(
        path, "c0 TIMESTAMP, c1 STRING, c2 BIGINT, c3 DOUBLE", properties=UNMAINTAINED
    )
    types = [(column.name, to_arrow_type(column.type)) for column in table.schema.columns]
    row = pa.table({name: pa.nulls(1, type_) for name, type_ in types})
    costs: dict[int, Costs] = {}
    for count in powers(10, last):
        while table.version < count:
            table.append(row)
        costs[count] = cold(path, count) | warm(Catalog.load_path(path), count)
        table.refresh()
    return costs


def record(report: Report, what: str, by_size: dict[int, Costs]) -> None:
    """Print and record the costs, with their targets at the largest size."""
    for size, costs in by_size.items():
        for name, value in costs.items():
            is_memory = name in ("memory", "of it for the table")
            target = 1000.0 if name == "memory" else TARGETS.get(name)
            unit = "MB" if is_memory else "ms"
            wanted = target if size == max(by_size) else None
            report.record(Figure(f"{size:,} {what}: {name}", value, unit, wanted))


def lines(by_size: dict[int, Costs]) -> dict[str, list[tuple[float, float]]]:
    """The lines of a diagram."""
    names = ("load and plan, cold", "plan, warm", "append", "slowest append", "ALTER", "vacuum")
    return {name: [(size, costs[name]) for size, costs in by_size.items()] for name in names}


def main() -> None:
    """Print and save the results, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--cold", nargs=2, metavar=("PATH", "SEGMENTS"))
    options = parser.parse_args()
    if options.cold:
        path, count = options.cold
        print(json.dumps(measure_cold(Path(path), int(count))))
        return
    report = Report("growth")
    folder = Path(tempfile.mkdtemp())
    try:
        of_segments = by_segments(folder, options.segments)
        record(report, "segments", of_segments)
        of_commits = by_commits(folder, options.commits)
        record(report, "commits", of_commits)
    finally:
        shutil.rmtree(folder)
    report.save()
    panels = [Panel("segments", lines(of_segments)), Panel("commits", lines(of_commits))]
    options.picture.write_text(picture(panels))


if __name__ == "__main__":
    main()
