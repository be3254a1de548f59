"""Measure tables with a primary key in PyArrow: upserts, merges, compaction, deletes, memory.

Peers are ``deltalake``, whose MERGE, DELETE and OPTIMIZE rewrite files, and our own compacted tables.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.common import DATA, UNMAINTAINED, Figure, Report, Row, Work, line, seconds
from versioned_catalog import Catalog, Table

DDL = "id LONG, host STRING, a DOUBLE, b DOUBLE, n INT"
FOLDER = DATA / "keyed"
MILLION = 1_000_000


def rows_of(ids: pa.Array, shift: float = 0.0) -> pa.Table:
    """Rows with the given keys."""
    hosts = pc.binary_join_element_wise("host", pc.bit_wise_and(ids, 511).cast(pa.string()), "-")
    numbers = pc.multiply(ids.cast(pa.float64()), 0.37)
    return pa.table(
        {
            "id": ids,
            "host": hosts,
            "a": pc.add(numbers, shift),
            "b": pc.subtract(numbers, shift),
            "n": pc.bit_wise_and(ids, 1023).cast(pa.int32()),
        }
    )


def ids(first: int, count: int, step: int = 1) -> pa.Array:
    """``count`` numbers from ``first`` on, ``step`` apart."""
    return pa.array(range(first, first + count * step, step), pa.int64())


def upserts(runs: int, rows: int) -> tuple[list[pa.Table], pa.Table]:
    """The existing rows, in parts, and the new rows of each run, half of them with new keys.

    Existing keys are even, new ones odd.
    """
    part = rows // 10
    existing = [rows_of(ids(2 * part * n, part, 2)) for n in range(10)]
    step = 2 * rows // (rows // 20)
    changed = [ids(2 * (run + 1), rows // 20, step) for run in range(runs + 1)]
    new = [ids(2 * (run + 1) + 1, rows // 20, step) for run in range(runs + 1)]
    both = [rows_of(pa.concat_arrays(pair), 1.0) for pair in zip(changed, new, strict=True)]
    return existing, both  # type: ignore[return-value]


def keyed(name: str, parts: list[pa.Table], key: tuple[str, ...] = ("id",)) -> Table:
    """Create our table, with one commit for each part."""
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    table = Catalog.create_path(FOLDER / name, DDL, primary_key=key, properties=UNMAINTAINED)
    for part in parts:
        table.append(part)
    return table


def delta(name: str, parts: list[pa.Table]) -> str:
    """Create the same table with deltalake."""
    path = str(FOLDER / f"delta-{name}")
    shutil.rmtree(path, ignore_errors=True)
    for part in parts:
        deltalake.write_deltalake(path, part, mode="append")
    return path


Timed = Callable[[int], object]
"""Function to time; its argument is the number of the run."""


def compare(
    report: Report,
    what: str,
    runs: int,
    ours: Timed,
    theirs: Timed,
    target: float | None,
    peer: str = "deltalake",
    set_up: Callable[[], None] = lambda: None,
) -> None:
    """Time ours and theirs in alternating runs, without the set-up and the warm-up runs."""
    row = Row(what, peer, [], [], target)
    for run in range(runs + 1):
        set_up()
        times = seconds(lambda run=run: ours(run)), seconds(lambda run=run: theirs(run))
        if run:
            row.ours.append(times[0])
            row.theirs.append(times[1])
    report.rows.append(row)
    print(line(row), flush=True)


def upsert(report: Report, runs: int, rows: int, *, fresh: bool) -> None:
    """Upsert a tenth as many rows as exist, half of them with new keys, and read all rows.

    Args:
        report, runs, rows: As for the other functions.
        fresh: Whether each run starts from the original table, not from the result of the last run.
    """
    existing, new_rows = upserts(runs, rows)
    table, path = keyed("upsert", existing), delta("upsert", existing)
    base = table.version, deltalake.DeltaTable(path).version()

    def set_up() -> None:
        if fresh:
            table.rollback(base[0])
            if deltalake.DeltaTable(path).version() > base[1]:
                deltalake.DeltaTable(path).restore(base[1])

    def ours(run: int) -> object:
        table.upsert(new_rows[run])
        return table.scan().to_arrow()

    def theirs(run: int) -> object:
        merge = deltalake.DeltaTable(path).merge(
            new_rows[run], "t.id = s.id", source_alias="s", target_alias="t"
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        return deltalake.DeltaTable(path).to_pyarrow_table()

    what = f"upsert {rows // 10:,} into {rows:,}, read all"
    what, target = (what, 0.5) if fresh else (f"{what}, {runs + 1} times over", None)
    compare(report, what, runs, ours, theirs, target, set_up=set_up)
    found = [
        t.select(["id", "a"]).sort_by("id")
        for t in (table.scan().to_arrow(), deltalake.DeltaTable(path).to_pyarrow_table())
    ]
    assert found[0]["a"].combine_chunks().equals(found[1]["a"].combine_chunks()), "they differ"


def overlapping(report: Report, runs: int, rows: int) -> None:
    """Read ten overlapping runs, and the same rows compacted."""
    for what, key in (("one number", ("id",)), ("text and number", ("host", "id"))):
        parts = [rows_of(ids(n, rows // 10, 10)) for n in range(10)]
        table, one = keyed("runs", parts, key), keyed("compacted", parts, key)
        one.maintenance.compact()
        peers: dict[str, tuple[Work, float | None]] = {
            "compacted": (lambda one=one: one.scan().to_arrow(), 2.5)
        }
        name = f"read 10 overlapping runs, {what}"
        report.compare(name, lambda table=table: table.scan().to_arrow(), peers, runs)


def compaction(report: Report, runs: int) -> None:
    """Compact 100 small segments into one."""
    parts = [rows_of(ids(10_000 * n, 10_000)) for n in range(100)]
    unkeyed = []
    for n in range(runs + 1):
        path = FOLDER / f"unkeyed{n}"
        shutil.rmtree(path, ignore_errors=True)
        table = Catalog.create_path(path, DDL, properties=UNMAINTAINED)
        for part in parts:
            table.append(part)
        unkeyed.append(table)
    paths = [delta(f"unkeyed{n}", parts) for n in range(runs + 1)]
    tables = [keyed(f"small{n}", parts) for n in range(runs + 1)]

    def optimize(run: int) -> object:
        return deltalake.DeltaTable(paths[run]).optimize.compact()

    what = "compact 100 small segments"
    compare(
        report,
        f"{what}, without a key",
        runs,
        lambda run: unkeyed[run].maintenance.compact(),
        optimize,
        1.0,
    )
    for n in range(runs + 1):
        delta(f"unkeyed{n}", parts)
    compare(
        report,
        f"{what}, with a key",
        runs,
        lambda run: tables[run].maintenance.compact(),
        optimize,
        1.0,
    )
    assert unkeyed[0].state.segments.count == tables[0].state.segments.count == 1


def deletes(report: Report, runs: int, rows: int) -> None:
    """Delete 1% of the rows by key, and by copying the segments that hold them."""
    parts = [rows_of(ids(rows // 10 * n, rows // 10)) for n in range(10)]
    table = keyed("delete", parts)
    shutil.rmtree(FOLDER / "delete-unkeyed", ignore_errors=True)
    unkeyed, path = (
        Catalog.create_path(FOLDER / "delete-unkeyed", DDL, properties=UNMAINTAINED),
        delta("delete", parts),
    )
    for part in parts:
        unkeyed.append(part)
    deleted_keys = [pa.table({"id": ids(run, rows // 100, 100)}) for run in range(runs + 1)]
    named = [one["id"].to_pylist() for one in deleted_keys]

    def ours(run: int) -> object:
        return table.delete_keys(deleted_keys[run])

    def copied(run: int) -> object:
        return unkeyed.delete([("id", "in", named[run])])

    def theirs(run: int) -> object:
        merge = deltalake.DeltaTable(path).merge(deleted_keys[run], "t.id = s.id", "s", "t")
        return merge.when_matched_delete().execute()

    what = "delete 1% by key"
    compare(report, what, runs, ours, copied, 0.2, "copy on write, ours")
    compare(report, what, runs, ours, theirs, 0.2)
    assert table.count() == unkeyed.count() == rows - rows // 100 * (runs + 1)


def memory(report: Report, gigabytes: float) -> None:
    """Measure the peak memory of merging a large group, in a separate process."""
    size = int(gigabytes * 1024**3)
    rows = size // 10 // 50
    shutil.rmtree(FOLDER / "large", ignore_errors=True)
    table = Catalog.create_path(FOLDER / "large", DDL, primary_key=["id"], properties=UNMAINTAINED)
    for n in range(10):
        for part in _large(n, rows):
            table.append(part)
    held = sum(table.state.segments.core["bytes"].to_pylist())
    report.record(Figure("bytes of Parquet in the group", held / 1024**2, "MiB"))
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks.keyed", "--merge", str(FOLDER / "large")],
        capture_output=True,
        text=True,
        check=True,
    )
    count, most, took = found.stdout.split()
    report.record(Figure(f"memory of merging {int(count):,} rows", float(most), "MiB", 1024))
    report.record(Figure("time of that", float(took) * 1000))


def _large(run: int, rows: int) -> Iterator[pa.Table]:
    for first in range(0, rows, 4 * MILLION):
        yield rows_of(ids(10 * first + run, min(4 * MILLION, rows - first), 10), run / 10)


def merge_all(path: str) -> None:
    """Read all rows in batches; print their number and the peak memory."""
    begun = time.perf_counter()
    count = sum(batch.num_rows for batch in Catalog.load_path(path).scan().to_batches())
    took = time.perf_counter() - begun
    peak = next(
        text for text in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in text
    )
    print(count, int(peak.split()[1]) / 1024, took)


def main() -> None:
    """Print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10 * MILLION)
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--merge", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.merge:
        merge_all(options.merge)
        return
    report = Report("keyed")
    works: dict[str, Work] = {
        "upsert": lambda: upsert(report, options.runs, options.rows, fresh=True),
        "upserts": lambda: upsert(report, options.runs, options.rows, fresh=False),
        "overlapping": lambda: overlapping(report, options.runs, options.rows),
        "compaction": lambda: compaction(report, options.runs),
        "deletes": lambda: deletes(report, options.runs, options.rows),
        "memory": lambda: memory(report, options.gigabytes),
    }
    for name, work in works.items():
        if options.only in ("", name):
            work()
    if not options.only:
        report.save()


if __name__ == "__main__":
    main()
