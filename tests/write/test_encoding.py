"""Python stays out of the encoder's way: it is called for few writes, and with few arrays."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from versioned_catalog import Catalog
from versioned_catalog.log.statistics import StatsCollector
from versioned_catalog.read import merge
from versioned_catalog.write import segment_writer
from versioned_catalog.write.segment_writer import SegmentWriter, WriteSpec
from versioned_catalog.write.writer import buffered

DDL = "id LONG, " + ", ".join(f"c{at} DOUBLE" for at in range(10))


def some(first: int, rows: int) -> pa.Table:
    random = np.random.default_rng(first)
    columns = {f"c{at}": random.random(rows) for at in range(10)}
    return pa.table({"id": np.arange(first, first + rows), **columns})


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each write to a file of rows."""
    sizes: list[int] = []

    class Noting(segment_writer._Counting):
        def write(self, data: Any) -> int:
            sizes.append(memoryview(data).nbytes)
            return super().write(data)

    monkeypatch.setattr(segment_writer, "_Counting", Noting)
    return sizes


def test_the_pages_of_an_append_are_written_at_once(tmp_path: Path, writes: list[int]) -> None:
    """Each column has a page."""
    table = Catalog.create_path(tmp_path / "t", DDL)
    table.append(some(0, 1000))
    (size,) = table.state.segments.core["bytes"].to_pylist()
    assert sum(writes) == size
    assert len(writes) <= 3, "the row group, and the footer"


def test_a_small_append_starts_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [
        Catalog.create_path(tmp_path / "plain", DDL),
        Catalog.create_path(tmp_path / "keyed", DDL, primary_key=["id"]),
    ]
    started, start = list[threading.Thread](), threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda one: started.append(one) or start(one))
    for table in tables:
        table.append(some(0, 1000))
    assert started == []


def test_tables_of_a_number_of_rows_have_it_but_the_last() -> None:
    ends = (0, 3, 3, 8, 9)
    batches = [pa.record_batch({"n": pa.array(range(*pair))}) for pair in pairwise(ends)]
    tables = [table["n"].to_pylist() for table in buffered(batches, 1 << 30, 4)]
    assert tables == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


@pytest.mark.parametrize("key", [(), ("id",)], ids=["plain", "keyed"])
def test_compaction_encodes_whole_arrays_in_few_writes(
    key: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: list[int]
) -> None:
    table = Catalog.create_path(tmp_path / "t", DDL, primary_key=key)
    for number in range(20):
        table.append(some(1000 * number, 1000))
    before = table.scan().to_arrow().sort_by("id")
    writes.clear()
    chunks, update = list[int](), StatsCollector.update

    def counting(self: StatsCollector, rows: pa.Table) -> None:
        chunks.append(rows.column(0).num_chunks)
        update(self, rows)

    monkeypatch.setattr(StatsCollector, "update", counting)
    table.maintenance.compact()
    (size,) = table.state.segments.core["bytes"].to_pylist()
    assert chunks == [1], "the rows of twenty segments"
    assert sum(writes) == size
    assert len(writes) <= 15, "a page and its header for each of eleven columns, and the footer"
    assert table.scan().to_arrow().sort_by("id").equals(before)


def test_pages_that_are_collected_count_for_the_size_of_a_segment(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", DDL)
    uuid, schema = table.state.table_uuid, table.state.schema
    writer = SegmentWriter(table.store, WriteSpec(uuid, 0, schema, target_bytes=5000), ())
    writer.write(some(0, 10))
    assert not writer.is_full
    writer.write(some(10, 100))
    assert writer.is_full
    assert writer.close().rows == 110


def test_runs_that_do_not_overlap_are_merged_without_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Catalog.create_path(tmp_path / "t", DDL, primary_key=["id"])
    for number in range(5):
        table.append(some(1000 * number, 1000))
    searches, search = list[int](), merge.count_below
    monkeypatch.setattr(merge, "count_below", lambda *to: searches.append(1) or search(*to))
    table.maintenance.compact()
    assert (searches, table.state.segments.count) == ([], 1)
    monkeypatch.setattr(merge, "ROUND_ROWS", 1000)
    monkeypatch.setattr(merge, "MIN_STEP", 100)
    table.append(some(500, 1000))
    table.append(some(4900, 1000))
    assert table.scan().to_arrow().num_rows == 5900
    assert searches, "runs that overlap are searched"
