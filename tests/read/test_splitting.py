"""Splits of large merges: each key is in one split, and a split reads only what it needs."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from read.keyed_table import make, rows, shown
from versioned_catalog import Catalog
from versioned_catalog.read import merge_planning as merge_splitting
from versioned_catalog.read.segment_file import open_segment
from versioned_catalog.read.tasks import MergeTask
from versioned_catalog.write import segment_writer

KEYS: dict[str, list[Any]] = {
    "INT": [-3, -1, 0, 1, 2, 7, 8, 9],
    "STRING": ["", "a", "ab", "b", "z", "é", "ü", "\U0001f600"],
    "BINARY": [b"", b"\0", b"\0\1", b"a", b"\x7f", b"\x80", b"\xff", b"\xff\xff"],
    "DATE": [dt.date(1969, 1, day) for day in range(1, 9)],
    "TIMESTAMP": [dt.datetime(1969, 12, 31, hour, tzinfo=dt.UTC) for hour in range(16, 24)],
    "DECIMAL(20,1)": [Decimal(n) / 2 for n in range(-4, 4)],
    "BOOLEAN": [False, True],
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of two rows, and as many splits as these allow."""
    monkeypatch.setattr(segment_writer, "KEYED_ROW_GROUP_ROWS", 2)
    monkeypatch.setattr(merge_splitting, "SPLIT_ROWS", 1)


@pytest.mark.parametrize("type_", KEYS)
def test_each_key_is_in_one_split(tmp_path: Path, type_: str) -> None:
    keys = KEYS[type_]
    table = Catalog.create_path(tmp_path / "t", f"k {type_}, v INT", primary_key=["k"])
    schema = table.scan().schema
    for number, some in enumerate((keys, keys[1::2], keys[::3])):
        table.append(pa.Table.from_pylist([{"k": key, "v": number} for key in some], schema))
    table.delete_keys(pa.Table.from_pylist([{"k": keys[1]}], schema.remove(1)))
    expected = [
        {"k": key, "v": 2 if at % 3 == 0 else at % 2} for at, key in enumerate(keys) if at != 1
    ]
    starts = {at for at in (0, 1, 2, 4, 5, 6) if at < len(keys)}  # of row groups
    assert len(table.scan().tasks()) == len(starts)
    assert table.scan().to_arrow().to_pylist() == expected
    for key in keys:
        found = table.scan(filters=[("k", ">=", key)]).to_arrow().to_pylist()
        assert found == [row for row in expected if row["k"] >= key]
    table.maintenance.compact()
    assert table.scan().to_arrow().to_pylist() == expected


@pytest.mark.parametrize(("split", "opened", "members"), [(6, 13, [3] * 6), (12, 1, [5] * 3)])
def test_splits_of_disjoint_segments_and_an_upsert_over_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: int, opened: int, members: list[int]
) -> None:
    """Each split reads the upsert and few others; the footers of small segments are not read."""
    monkeypatch.setattr(merge_splitting, "SPLIT_ROWS", split)
    reads: list[str] = []

    def watched(store: Any, task: Any) -> Any:
        reads.append(task.path)
        return open_segment(store, task)

    monkeypatch.setattr(merge_splitting, "open_segment", watched)
    table = make(tmp_path / "t", properties={"auto_maintain": "off"})
    names = "abcdefghijkl"
    for host in names:
        table.append(rows((host, 1, 1.0), (host, 2, 1.0)))
    table.append(rows(*((host, 1, 2.0) for host in names)))
    parts = [task for task, _ in table.scan().tasks()]
    assert [len(part.members) for part in parts] == members  # type: ignore[union-attr]
    assert len(reads) == opened
    assert shown(table) == [row for host in names for row in ((host, 1, 2.0, 7), (host, 2, 1.0, 7))]


def test_a_cut_goes_through_few_rows() -> None:
    """The nearest to the middle of the rows is 21, and both splits would read the block from 20 on."""
    runs = (
        ([(0, 9), (10, 19), (20, 29), (30, 39)], [10] * 4),
        ([(1, 8), (11, 18), (21, 28)], [10] * 3),
    )
    last = merge_splitting._Block(30, (31,), (38,))
    blocks = [
        merge_splitting._Block(count, (least,), (greatest,))
        for ends, rows_ in runs
        for (least, greatest), count in zip(ends, rows_, strict=True)
    ]
    assert merge_splitting._chosen([*blocks, last], 2) == [(20,)]


def test_a_small_merge_is_not_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_splitting, "SPLIT_ROWS", 5)
    table = make(tmp_path / "t")
    table.append(rows(("a", 1, 1.0), ("b", 1, 1.0), ("c", 1, 1.0)))
    table.append(rows(("a", 1, 1.0), ("b", 1, 1.0), ("c", 1, 1.0)))
    assert len(table.scan().tasks()) == 1
    table.append(rows(("a", 1, 1.0), ("b", 1, 1.0), ("c", 1, 1.0), ("d", 1, 1.0)))
    assert len(table.scan().tasks()) == 2


def test_the_size_of_a_split_does_not_depend_on_the_table(tmp_path: Path) -> None:
    """A split is sent to executors, so it must not carry metadata of segments that it does not read."""
    table = make(tmp_path / "t", properties={"auto_maintain": "off"})
    for value in (1.0, 2.0):
        table.append(rows(("a", 1, value)))
    sizes = []
    for hosts in (range(0), range(100)):
        for host in hosts:
            table.append(rows((f"b{host:02}", 1, 1.0)))
        (merge,) = [task for task, _ in table.scan().tasks() if isinstance(task, MergeTask)]
        sizes.append(len(pickle.dumps(merge)))
    assert sizes[1] < sizes[0] + 100


def test_filters_on_buckets_of_the_key(tmp_path: Path) -> None:
    """The segments that remain after pruning by bucket are in several Arrow chunks."""
    table = make(tmp_path / "t", partitioned_by=["bucket(2, host)"])
    for value in (1.0, 2.0):
        table.append(rows(*((host, 1, value) for host in "abcd")))
    for host in "abcd":
        assert shown(table, filters=[("host", "=", host)]) == [(host, 1, 2.0, 7)]
    table.delete([("host", "in", ["a", "b"])])
    assert shown(table) == [("c", 1, 2.0, 7), ("d", 1, 2.0, 7)]
