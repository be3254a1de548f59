"""The cost of adopting Parquet files in place: 10,000 files of 50 schemas, killed in the middle.

``python -m benchmarks.imports`` prints milliseconds a file and the peak memory of the process that
imports,
for a directory of ``day=.../part-N.parquet`` files with 22 columns. Then an import is killed after half
of the files, and run again: each file is in the table once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import Figure, Report
from versioned_catalog import Catalog

COLUMNS, ROWS = 20, 100
MS_A_FILE, MEGABYTES = 5.0, 1024.0


def write_files(folder: Path, files: int, schemas: int) -> None:
    """Files whose schemas differ in the width of an integer and in a column of their own."""
    numbers = np.arange(ROWS)
    base = {f"c{at}": numbers * 0.5 if at % 2 else numbers for at in range(COLUMNS)}
    tables = []
    for at in range(schemas):
        width = pa.int32() if at % 2 else pa.int64()
        own = {"n": pa.array(numbers, width), f"own_{at}": numbers}
        tables.append(pa.table({**base, **own}))
    written: dict[int, bytes] = {}
    for number in range(files):
        at = number % schemas
        if at not in written:
            sink = pa.BufferOutputStream()
            pq.write_table(tables[at], sink)
            written[at] = sink.getvalue().to_pybytes()
        day = folder / f"day=2024-{1 + number % 12:02}-01"
        day.mkdir(parents=True, exist_ok=True)
        (day / f"part-{number:05}.parquet").write_bytes(written[at])


def adopt(warehouse: Path, lake: Path, name: str, kill_at: int | None, out: str) -> None:
    """Import in a process of its own, which may kill itself after some files."""

    def progress(step: str, done: int, total: int) -> None:
        if step == "files" and done == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    result = Catalog(warehouse, roots={"lake": lake}).import_files(name, lake, progress=progress)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    Path(out).write_text(f"{seconds} {peak} {result.files} {before}")


def run(
    warehouse: Path, lake: Path, name: str, kill_at: int | None = None
) -> tuple[float, float, int]:
    """Seconds, megabytes and files of an import; zeros if it was killed."""
    out = warehouse.parent / "out.txt"
    out.unlink(missing_ok=True)
    work = (warehouse, lake, name, kill_at, str(out))
    process = multiprocessing.get_context("spawn").Process(target=adopt, args=work)
    process.start()
    process.join()
    if not out.exists():
        assert process.exitcode == -signal.SIGKILL, "the import failed"
        return 0.0, 0.0, 0
    seconds, peak, files, _ = out.read_text().split()
    return float(seconds), float(peak), int(files)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--schemas", type=int, default=50)
    options = parser.parse_args()
    report = Report("imports")
    with tempfile.TemporaryDirectory() as folder:
        lake, warehouse = Path(folder) / "lake", Path(folder) / "warehouse"
        write_files(lake, options.files, options.schemas)
        what = f"adopting {options.files:,} files of {options.schemas} schemas"
        seconds, peak, files = run(warehouse, lake, "whole")
        assert files == options.files, files
        report.record(Figure(f"{what}, a file", seconds / files * 1000, "ms", MS_A_FILE))
        report.record(Figure(f"{what}, memory", peak, "MB", MEGABYTES))
        again, _, none = run(warehouse, lake, "whole")
        assert none == 0, none
        report.record(Figure("a second call that finds nothing new", again * 1000))
        run(warehouse, lake, "killed", options.files // 2)
        seconds, peak, files = run(warehouse, lake, "killed")
        report.record(Figure("after a kill in the middle: files left to adopt", files, "files"))
        table = Catalog(warehouse, roots={"lake": lake}).load_table("killed")
        assert table.count() == options.files * ROWS, table.count()
    report.save()


if __name__ == "__main__":
    main()
