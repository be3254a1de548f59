"""Python writes into many partitions: one segment per partition, however the rows are ordered."""

from __future__ import annotations

import datetime as dt
import resource
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest

from versioned_catalog import Catalog, StorageError, Table
from versioned_catalog.write import writer
from versioned_catalog.write import writer as spilling
from versioned_catalog.write.writer import Spill

Make = Callable[..., Table]
EPOCH = dt.datetime(1969, 12, 20, tzinfo=dt.UTC)  # so that some days are before 1970
DAYS = 30


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Create tables in memory, so that segments need no fsync."""
    return lambda ddl, **more: Catalog.create_path(
        f"memory://{tmp_path.name}/{uuid4()}", ddl, **more
    )


@pytest.fixture(params=["in memory", "spilled"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory limit that all rows fit in, and one that only a twentieth of them does."""
    if request.param == "spilled":
        monkeypatch.setattr(writer, "SORT_BUFFER_BYTES", 64 * 1024)
        monkeypatch.setattr(spilling, "FILE_BYTES", 200 * 1024)


def shuffled(rows: int, batches: int = 1) -> pa.Table:
    """Rows of all days and users in random order, in batches of different sizes."""
    random = np.random.default_rng(7)
    numbers = random.permutation(rows)
    moments = numbers % DAYS * 86_400_000_000 + numbers // DAYS + int(EPOCH.timestamp()) * 10**6
    table = pa.table(
        {
            "ts": pa.array(moments).cast(pa.timestamp("us", "UTC")),
            "u": pa.array(numbers // DAYS % 40),
            "v": pa.array(numbers),
        }
    )
    return pa.concat_tables(
        table.slice(rows * n // batches, rows * (n + 1) // batches - rows * n // batches)
        for n in range(batches)
    )


def days_of(rows: pa.Table) -> Counter[str]:
    """The number of rows of each day, computed from the calendar."""
    begin = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return Counter(str((ts - begin).days) for ts in rows["ts"].to_pylist())


def found(table: Table) -> Counter[tuple[str, ...]]:
    """The number of rows of each partition; asserts that it has one segment."""
    segments = table.inspect.segments()
    keys = [tuple(key) for key in segments["partition"].to_pylist()]
    assert len(keys) == len(set(keys)), "a partition has several segments"
    return Counter(dict(zip(keys, segments["rows"].to_pylist(), strict=True)))


def rows_of(table: pa.Table) -> list[Any]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.usefixtures("held")
def test_each_partition_gets_one_segment(make: Make) -> None:
    table = make("ts TIMESTAMP, u BIGINT, v BIGINT", partitioned_by=["days(ts)", "bucket(4, u)"])
    rows = shuffled(12_000, batches=50)
    table.append(rows)
    partitions = found(table)
    assert len(partitions) == DAYS * 4 > writer.MAX_OPEN
    days: Counter[str] = Counter()
    for (day, _), count in partitions.items():
        days[day] += count
    assert days == days_of(rows)
    assert rows_of(table.scan().to_arrow()) == rows_of(rows)
    assert table.maintenance.verify(deep=True).findings == ()


@pytest.mark.usefixtures("held")
def test_rows_are_sorted_within_a_partition(make: Make) -> None:
    """With a sort order, as many rows are sorted as were buffered: here all, or a part."""
    table = make(
        "ts TIMESTAMP, u BIGINT, v BIGINT",
        partitioned_by=["days(ts)"],
        properties={"sort_by": "u DESC, v"},
    )
    rows = shuffled(12_000, batches=50)
    table.append(rows)
    assert len(found(table)) == DAYS
    for day in range(DAYS):
        begin = EPOCH + dt.timedelta(days=day)
        part = table.scan(
            filters=[("ts", ">=", begin), ("ts", "<", begin + dt.timedelta(1))]
        ).to_arrow()
        pairs = [(-u, v) for u, v in zip(part["u"].to_pylist(), part["v"].to_pylist(), strict=True)]
        assert pairs == sorted(pairs)
    assert rows_of(table.scan().to_arrow()) == rows_of(rows)


@pytest.mark.thorough
@pytest.mark.usefixtures("held")
def test_each_partition_of_a_keyed_table_gets_one_segment_of_each_kind(make: Make) -> None:
    """Each partition gets one segment of rows and one of tombstones; the last row of a key wins."""
    table = make("u BIGINT, v BIGINT", primary_key=["u"], partitioned_by=["bucket(100, u)"])
    users = np.random.default_rng(3).permutation(20_000) % 5_000
    rows = pa.table({"u": users, "v": np.arange(20_000)})
    table.upsert(rows)
    last = {int(u): v for v, u in enumerate(users)}
    assert sum(found(table).values()) == 5_000
    assert len(found(table)) == 100
    got = table.scan().to_arrow()
    assert dict(zip(got["u"].to_pylist(), got["v"].to_pylist(), strict=True)) == last
    table.delete([("v", "<", 18_000)])
    assert table.inspect.segments().num_rows <= 200
    got = table.scan().to_arrow()
    assert dict(zip(got["u"].to_pylist(), got["v"].to_pylist(), strict=True)) == {
        u: v for u, v in last.items() if v >= 18_000
    }
    table.maintenance.compact(strategy="full")
    assert len(found(table)) <= 100
    assert table.scan().to_arrow().num_rows == len([v for v in last.values() if v >= 18_000])


@pytest.mark.usefixtures("held")
def test_an_update_that_moves_rows_writes_one_segment_per_partition(make: Make) -> None:
    """Each row moves to another partition: 16 segments become 16, not 16 for each."""
    table = make("u BIGINT, v BIGINT", partitioned_by=["bucket(16, u)"])
    numbers = np.arange(8_000)
    table.append(pa.table({"u": numbers, "v": numbers}))
    assert len(found(table)) == 16
    table.update({"u": 5}, [("v", "<", 4_000)])
    assert len(found(table)) == 16
    assert table.count() == 8_000
    table.delete([("v", "<", 1_000)])
    assert len(found(table)) == 16
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == list(range(1_000, 8_000))


def test_compaction_into_another_partitioning(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are more partitions than segments may be open, and rows of all in every batch."""
    monkeypatch.setattr(writer, "SORTED_ROWS", 1_000)
    monkeypatch.setattr(writer, "MAX_OPEN", 8)
    table = make("u BIGINT, v BIGINT")
    numbers = np.random.default_rng(5).permutation(10_000)
    for part in range(5):
        some = numbers[part * 2_000 : (part + 1) * 2_000]
        table.append(pa.table({"u": some % 50, "v": some}))
    table.alter().set_partitioning(["u"]).commit()
    table.maintenance.compact(strategy="full")
    assert found(table) == Counter({(str(u),): 200 for u in range(50)})
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == list(range(10_000))


def test_a_full_segment_is_followed_by_another(make: Make) -> None:
    table = make(
        "u BIGINT, t STRING",
        partitioned_by=["u"],
        properties={"target_segment_bytes": "100000"},
    )
    random = np.random.default_rng(1)
    text = [random.bytes(500).hex() for _ in range(2_000)]
    table.append(pa.table({"u": [1] * 2_000, "t": text}).combine_chunks())
    assert table.inspect.segments().num_rows == 1, "rows of one batch are one row group"
    assert table.count() == 2_000


HARD: list[tuple[str, str, list[Any], list[str | None]]] = [
    ("DATE", "years(k)", [dt.date(1969, 12, 31), dt.date(1970, 1, 1), None], ["-1", "0", None]),
    ("DATE", "months(k)", [dt.date(1969, 11, 30), dt.date(1970, 2, 1), None], ["-2", "1", None]),
    (
        "TIMESTAMP_NTZ",
        "days(k)",
        [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(1, 1, 1), None],
        ["-1", "-719162", None],
    ),
    (
        "TIMESTAMP_NTZ",
        "hours(k)",
        [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(1969, 12, 31, 22), None],
        ["-1", "-2", None],
    ),
    ("STRING", "truncate(2, k)", ["😀😁😂", "😀😁", "a😀b", "", None], ["😀😁", "a😀", "", None]),
    ("BINARY", "truncate(1, k)", [b"\xff\x00", b"\xff\x01", b"", None], ["/w==", "", None]),
    ("INT", "truncate(10, k)", [-1, -10, -11, 9, None], ["-10", "-20", "0", None]),
    (
        "DECIMAL(4,2)",
        "truncate(50, k)",
        [Decimal("-0.01"), Decimal("0.49"), Decimal("0.50"), None],
        ["-0.50", "0.00", "0.50", None],
    ),
    ("BOOLEAN", "k", [True, False, None], ["true", "false", None]),
]


@pytest.mark.parametrize(("kind", "by", "values", "texts"), HARD)
def test_partition_values_of_unusual_keys(
    make: Make, kind: str, by: str, values: list[Any], texts: list[str | None]
) -> None:
    table = make(f"k {kind}, v INT", partitioned_by=[by])
    type_ = table.scan().to_arrow().schema.field("k").type
    keys = pa.array(values * 3, type_)
    table.append(pa.table({"k": keys, "v": pa.array(range(len(keys)), pa.int32())}))
    assert {key for (key,) in found(table)} == set(texts)
    assert len(found(table)) == len(set(texts))
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == list(range(len(keys)))


def test_rows_with_nan_stay_in_their_partition(make: Make) -> None:
    """Floats can't partition; rows with NaN stay in their partition."""
    table = make("k INT, d DOUBLE", partitioned_by=["k"])
    table.append(pa.table({"k": pa.array([1, 2, 1], pa.int32()), "d": [float("nan"), 1.0, -0.0]}))
    assert found(table) == Counter({("1",): 2, ("2",): 1})
    assert table.scan(filters=[("d", "=", float("nan"))]).to_arrow()["k"].to_pylist() == [1]


def test_spill_keeps_the_order_of_each_key_and_leaves_nothing(tmp_path: Path) -> None:
    with Spill[str](str(tmp_path)) as spill:
        assert list(tmp_path.iterdir()) == []
        for number in range(6):
            spill.add("ab"[number % 2], pa.table({"v": [number, number + 10]}))
        assert "a" in spill
        assert "c" not in spill
        back = {key: pa.Table.from_batches(rows)["v"].to_pylist() for key, rows in spill.drain()}
        assert list(tmp_path.iterdir()) != []
    assert back == {"a": [0, 10, 2, 12, 4, 14], "b": [1, 11, 3, 13, 5, 15]}
    assert list(tmp_path.iterdir()) == []


def test_a_local_disk_that_is_full_is_named(tmp_path: Path) -> None:
    rows = pa.table({"v": pa.array(np.random.default_rng(0).integers(2**60, size=50_000))})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    spill = Spill[str](str(tmp_path))
    try:
        with pytest.raises(StorageError, match=f"{tmp_path}.*free space there"), spill:
            spill.add("a", rows)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
