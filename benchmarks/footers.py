"""The cost of opening a file and of pruning its row groups, against PyArrow's own open.

``python -m benchmarks.footers`` prints ratios for files of 100 columns and 8 row groups, and of 300
columns and 16 row groups. Each run reads the bounds of one column, as a filter needs them. Nothing is
cached, so that the first read of a file costs as much as any other.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import Report
from versioned_catalog.log.footer_statistics import chunk_bounds
from versioned_catalog.storage.parquet import check_column_chunks, footer_of, open_parquet

ROWS = 200
"""Rows of a row group: only footers are read."""

TARGET = 1.2
OPEN: dict[str, Any] = {"memory_map": True, "pre_buffer": False}


def write(path: Path, columns: int, groups: int) -> None:
    """A file of integers, doubles and strings."""
    numbers = np.arange(ROWS * groups)
    kinds = (numbers, numbers * 0.5, [f"s{n % 977}" for n in numbers])
    table = pa.table({f"c{at}": pa.array(kinds[at % 3]) for at in range(columns)})
    pq.write_table(table, path, row_group_size=ROWS)


def works(path: str, column: str) -> tuple[Callable[[], object], ...]:
    """What a filtered read does, PyArrow's open, PyArrow's open with statistics, and the full check."""

    def ours() -> object:
        file = open_parquet(path, path, **OPEN)
        chunks = footer_of(path, file).chunks((column,))
        assert chunks is not None
        return chunk_bounds(chunks, pa.int64(), pa.int64())

    def plain() -> pq.ParquetFile:
        return pq.ParquetFile(path, **OPEN)

    def with_statistics() -> object:
        metadata = plain().metadata
        at = next(
            n for n in range(len(metadata.schema)) if metadata.schema.column(n).path == column
        )
        groups = range(metadata.num_row_groups)
        found = [metadata.row_group(group).column(at).statistics for group in groups]
        return [(one.min, one.max, one.null_count) for one in found]

    def checked() -> object:
        file = open_parquet(path, path, **OPEN)
        return check_column_chunks(path, file.metadata, path)

    return ours, plain, with_statistics, checked


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    report = Report("footers")
    with tempfile.TemporaryDirectory() as folder:
        for columns, groups in ((100, 8), (300, 16)):
            path = Path(folder) / f"{columns}.parquet"
            write(path, columns, groups)
            ours, plain, with_statistics, checked = works(str(path), f"c{columns // 3 * 3 - 3}")
            name = f"{columns} columns x {groups} row groups"
            # Apart: what frees memory before a run makes that run slower.
            report.compare(name, ours, {"PyArrow's open": (plain, TARGET)}, options.runs)
            peer = {"PyArrow's open, statistics": (with_statistics, None)}
            report.compare(name, ours, peer, options.runs)
            full = {"PyArrow's open": (plain, None)}
            report.compare(f"{name}, all checked", checked, full, max(3, options.runs // 5))
    report.save()


if __name__ == "__main__":
    main()
