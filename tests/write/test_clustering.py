"""Clustering by Z-order: the rows stay the same, and filters on each column skip segments."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from versioned_catalog import Catalog, InvalidRequestError, NotFoundError, Table
from versioned_catalog.write import clustering
from versioned_catalog.write.clustering import Curve
from versioned_catalog.write.segment_writer import SegmentWriter

SIDE = 64


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32())


def test_the_curve_is_the_morton_curve() -> None:
    """A four by four grid, numbered by hand; the first column has the higher bit."""
    grid = list(product(range(4), range(4)))
    columns = [ints(*(row for row, _ in grid)), ints(*(column for _, column in grid))]
    positions = Curve.of([ints(0, 1, 2, 3), ints(0, 1, 2, 3)]).positions(columns)
    order = sorted(range(16), key=lambda at: int(positions[at]))
    assert [grid[at] for at in order] == [
        *[(0, 0), (0, 1), (1, 0), (1, 1)],
        *[(0, 2), (0, 3), (1, 2), (1, 3)],
        *[(2, 0), (2, 1), (3, 0), (3, 1)],
        *[(2, 2), (2, 3), (3, 2), (3, 3)],
    ]


def test_each_column_has_the_same_weight() -> None:
    """The curve uses ranks, so it does not matter if a column's values are large, or mostly equal."""
    grid = list(product(range(4), range(4)))
    small = [ints(*(row for row, _ in grid)), ints(*(column for _, column in grid))]
    large = [small[0], ints(*(10 ** (2 * column) for _, column in grid))]
    few = ints(0, 1, 2, 3)
    many = ints(*(10 ** (2 * n) for n in range(4)))
    expected = Curve.of([few, few]).positions(small)
    assert list(Curve.of([few, many]).positions(large)) == list(expected)


def test_a_frequent_value_gets_the_middle_of_its_ranks() -> None:
    """Otherwise the first bit of a column of two values would not distinguish them."""
    halves = ints(*[0, 7] * 50)
    positions = [int(one) for one in Curve.of([halves]).positions([ints(0, 7, 3, None)])]
    assert positions[0] < 512 <= positions[1]
    assert positions[0] < positions[2] < positions[1] < positions[3]


def table_of_points(folder: Path, **more: Any) -> Table:
    """A grid of points, in segments that each hold points from all over it."""
    properties = {"target_segment_bytes": "2000"}
    table = Catalog.create_path(folder, "a INT, b INT, c STRING", properties=properties, **more)
    points = [(a, b, f"{a}-{b}") for a in range(SIDE) for b in range(SIDE)]
    Random(1).shuffle(points)
    for first in range(16):
        a, b, c = zip(*points[first::16], strict=True)
        table.append(pa.table({"a": ints(*a), "b": ints(*b), "c": c}))
    return table


def shown(table: Table, **how: Any) -> list[dict[str, Any]]:
    return sorted(table.scan(**how).to_arrow().to_pylist(), key=repr)


def read(table: Table, *filters: Any) -> float:
    """The share of the segments that a filter leaves to read."""
    return len(table.scan(filters=list(filters)).tasks()) / table.state.segments.count


def test_filters_on_either_column_skip_segments(tmp_path: Path) -> None:
    table = table_of_points(tmp_path / "t")
    before = shown(table)
    assert (read(table, ("a", "=", 5)), read(table, ("b", "=", 5))) == (1, 1)
    result = table.maintenance.compact(zorder=["a", "b"])
    assert (result.removed, result.version) == (16, 17)
    assert shown(table) == before == shown(table, version=16)
    assert table.state.segments.count >= 8
    for column in "ab":
        assert read(table, (column, "=", 5)) < 0.6
    assert read(table, ("a", "=", 5), ("b", "=", 5)) < 0.3
    assert [row["c"] for row in shown(table, filters=[("b", "=", 5), ("a", "<", 2)])] == [
        "0-5",
        "1-5",
    ]
    assert table.maintenance.verify(deep=True, every_version=True).findings == ()


def test_segments_follow_the_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result does not depend on how rows are split on the way, or how few are sampled."""
    whole = table_of_points(tmp_path / "whole")
    whole.maintenance.compact(zorder=["a", "b"])
    order = whole.scan().to_arrow().to_pylist()
    # One row in 27 is no power of two, so the sample is no corner of the grid.
    monkeypatch.setattr(clustering, "SAMPLE_ROWS", SIDE * SIDE // 27)
    again = table_of_points(tmp_path / "again")
    again.maintenance.compact(zorder=["a", "b"])
    assert shown(again) == shown(whole)
    assert read(again, ("a", "=", 5)) < 0.7
    corners = [(row["a"] // 32, row["b"] // 32) for row in order]
    assert corners == sorted(corners)


VALUES: dict[str, list[Any]] = {
    "INT": [3, None, -7],
    "BOOLEAN": [True, None, False],
    "STRING": ["b", None, "a", "", "é"],
    "BINARY": [b"\xff", None, b""],
    "DOUBLE": [float("inf"), None, -0.0, 0.0, -1.5],
    "DECIMAL(20,2)": [Decimal("1.50"), None, Decimal("-2.25")],
    "DATE": [dt.date(2026, 1, 1), None, dt.date(1969, 1, 1)],
    "TIMESTAMP_NTZ": [dt.datetime(2026, 1, 1), None, dt.datetime(1, 1, 1)],
}


@pytest.mark.thorough
@pytest.mark.parametrize("type_", VALUES)
def test_rows_of_every_plain_type_can_be_clustered(tmp_path: Path, type_: str) -> None:
    ddl = f"id INT, x {type_}, s STRUCT<y: {type_}>"
    properties = {"target_segment_bytes": "1"}
    table = Catalog.create_path(tmp_path / "t", ddl, properties=properties)
    schema, values = table.scan().schema, VALUES[type_] * 3
    for n, (value, other) in enumerate(zip(values, reversed(values), strict=True)):
        row = {"id": n, "x": value, "s": None if n == 4 else {"y": other}}
        table.append(pa.Table.from_pylist([row], schema))
    before = shown(table)
    assert table.maintenance.compact(zorder=["s.y", "x"]).removed == len(values)
    assert shown(table) == before
    for value in filter(None, VALUES[type_]):
        with_it = [row for row in before if row["x"] == value]
        assert shown(table, filters=[("x", "=", value)]) == with_it != []


def test_columns_are_identified_by_id(tmp_path: Path) -> None:
    """Rows without a value of a column that was added again are placed by its default."""
    table = table_of_points(tmp_path / "t")
    table.alter().drop_column("a").add_column("a", "INT", default=70).commit()
    table.append(pa.table({"a": ints(1), "b": ints(1), "c": ["new"]}))
    before = shown(table)
    table.maintenance.compact(zorder=["a", "b"])
    assert shown(table) == before
    assert shown(table, filters=[("a", "<", 70)]) == [{"b": 1, "c": "new", "a": 1}]
    assert read(table, ("b", "=", 5)) < 0.3


def test_each_partition_is_clustered_on_its_own(tmp_path: Path) -> None:
    table = table_of_points(tmp_path / "t", partitioned_by=["bucket(2, a)"])
    before = shown(table)
    assert read(table, ("b", "=", 5)) == 1
    table.maintenance.compact(zorder=["a", "b"])
    assert shown(table) == before
    assert read(table, ("b", "=", 5)) < 0.7
    partitions = [row["partition"] for row in table.inspect.segments().to_pylist()]
    assert len(set(map(str, partitions))) == 2


def test_segments_of_another_partitioning_are_refused(tmp_path: Path) -> None:
    """Each stretch of the curve would be split by partition again, into many small segments."""
    table = table_of_points(tmp_path / "t")
    table.alter().set_partitioning(["bucket(4, a)"]).commit()
    with pytest.raises(
        InvalidRequestError, match=r"16 segments have another partitioning .* 'full'"
    ):
        table.maintenance.compact(zorder=["a", "b"])
    table.maintenance.compact(strategy="full")
    before = table.state.segments.count
    table.maintenance.compact(zorder=["a", "b"])
    assert table.state.segments.count <= 2 * before


def test_equal_rows_can_be_clustered(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT", properties={"target_segment_bytes": "200"})
    for _ in range(3):
        table.append(pa.table({"a": ints(*[1] * 1000)}))
        table.append(pa.table({"a": ints(None)}))
    table.maintenance.compact(zorder=["a"])
    assert table.count() == 3003
    assert len(shown(table, filters=[("a", "=", 1)])) == 3000


def test_a_bucket_that_is_too_large_is_sorted_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clustering, "HELD_BYTES", 1000)
    table = table_of_points(tmp_path / "t")
    before = shown(table)
    table.maintenance.compact(zorder=["a", "b"])
    assert shown(table) == before
    groups = sum(
        pq.read_metadata(tmp_path / "t" / path).num_row_groups
        for path in table.state.segments.paths
    )
    assert groups > 2 * table.state.segments.count


def test_a_failed_compaction_leaves_no_local_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "local").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "local"))
    table = table_of_points(tmp_path / "t")
    (task,) = table.maintenance.plan_compaction(zorder=["a", "b"])
    table.maintenance.compact(zorder=["a", "b"])
    assert list((tmp_path / "local").iterdir()) == []
    write, held = SegmentWriter.write, list[int]()

    def fails(self: SegmentWriter, rows: pa.Table) -> None:
        held.append(_open_buckets())
        if len(held) == 3:
            raise OSError("the disk is full")
        write(self, rows)

    monkeypatch.setattr(SegmentWriter, "write", fails)
    with pytest.raises(OSError, match="full") as failed:
        task.run(table.store, str(tmp_path / "local"))
    assert failed.value.__traceback__, "the traceback may hold references to the buckets"
    assert list((tmp_path / "local").iterdir()) == []
    assert task.clustering
    assert task.clustering.buckets > 10
    assert max(held) < 5


def _open_buckets() -> int:
    """How many files of buckets this process holds open, including deleted ones."""
    links = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
    return sum("/versioned-" in os.readlink(link) for link in links if os.path.islink(link))


def test_invalid_columns_are_refused(tmp_path: Path) -> None:
    table = Catalog.create_path(tmp_path / "t", "a INT, l ARRAY<INT>, s STRUCT<x: INT>, v VARIANT")
    table.append(pa.Table.from_pylist([{"a": 1}], pa.schema([("a", pa.int32())])))
    for names, message in {
        ("l",): "cannot be clustered by l",
        ("s",): "cannot be clustered by s, which is a STRUCT",
        ("v",): "cannot be clustered by v, which is VARIANT",
        ("l.element",): "cannot be clustered by l.element, which has many",
        ("a", "A"): "names a column twice",
        ("a",) * 7: "1 to 6 columns",
    }.items():
        with pytest.raises(InvalidRequestError, match=message) as refused:
            table.maintenance.compact(zorder=names)
        assert table.name in str(refused.value)
    with pytest.raises(InvalidRequestError, match="must be the names"):
        table.maintenance.compact(zorder="a")
    with pytest.raises(NotFoundError, match="zz") as missing:
        table.maintenance.compact(zorder=["zz"])
    assert table.name in str(missing.value)
    with pytest.raises(InvalidRequestError, match="leave out the strategy 'small'"):
        table.maintenance.compact(strategy="small", zorder=["a"])


def test_a_table_with_a_sort_order_or_row_key_is_refused(tmp_path: Path) -> None:
    ordered = Catalog.create_path(tmp_path / "o", "a INT", properties={"sort_by": "a"})
    keyed = Catalog.create_path(tmp_path / "k", "a INT, b INT", primary_key=["a"])
    with pytest.raises(InvalidRequestError, match="unset sort_by"):
        ordered.maintenance.compact(zorder=["a"])
    with pytest.raises(InvalidRequestError, match=r"row key \(a\)"):
        keyed.maintenance.compact(zorder=["b"])
