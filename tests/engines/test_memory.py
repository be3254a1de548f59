"""A table that is larger than the memory it may take is read by every lazy engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pairwise import most_at_night
from versioned_catalog import Catalog

ROWS, SEGMENTS = 1_000_000, 12
LIMIT = 450_000_000
"""The table has 12 segments of a million rows of 5 doubles: 480 MB in memory."""

READ = """
import sys, resource
from versioned_catalog import Catalog
table = Catalog.load_path(sys.argv[1])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
if sys.argv[2] == "stream":
    import pyarrow as pa
    before = peak()
    rows = sum(batch.num_rows for batch in pa.RecordBatchReader.from_stream(table))
elif sys.argv[2] == "duckdb":
    import duckdb
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET enable_progress_bar = false")
    table.scan(limit=1).to_duckdb(connection).fetchall()
    before = peak()
    rows = table.to_duckdb(connection).aggregate(
        "count(*), " + ", ".join(f"sum(c{i})" for i in range(5))
    ).fetchall()[0][0]
else:
    import polars as pl
    before = peak()
    found = table.to_polars().select(pl.len(), pl.all().sum()).collect(engine="streaming")
    rows = found["len"][0]
print(rows, peak() - before)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "t"
    table = Catalog.create_path(folder, ", ".join(f"c{i} DOUBLE" for i in range(5)))
    random = np.random.default_rng(5)
    for _ in range(SEGMENTS):
        table.append(pa.table({f"c{i}": random.random(ROWS) for i in range(5)}))
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("engine", most_at_night({"duckdb"}, ["stream", "duckdb", "polars"]))
def test_memory_is_bounded(engine: str, large: Path) -> None:
    command = [sys.executable, "-c", READ, str(large), engine]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, grown = map(int, done.stdout.split())
    assert rows == ROWS * SEGMENTS
    assert grown < LIMIT / 2, grown
