"""Loading costs what was committed since, planning what is read: counts of calls and bytes, not time."""

from __future__ import annotations

import dataclasses
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest

from calls import calls
from faults.store import FaultyStore, Plan
from versioned_catalog import Catalog, Table
from versioned_catalog.log.segment_set import SegmentSet
from versioned_catalog.log.state import TableState
from versioned_catalog.read.planning import Selected, select
from versioned_catalog.read.scan import Scan
from versioned_catalog.storage.local import LocalStore

INTS = pa.int32()


def ints(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, INTS), "f": pa.array(values, pa.float64())})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog(tmp_path)
    catalog.create_table("t", "a INT, f DOUBLE").append(ints(1))
    return catalog


def wide(table: Table, count: int) -> Table:
    """The same table with this many segments; the n-th holds nothing but n."""
    base = table.state.segments.table(table.state.schemas, table.state.schema_version)[0].take(
        pa.array([0] * count)
    )
    numbers = pa.array(range(count), INTS)
    columns = {
        "path": pa.array([f"data/0-{n:032x}.parquet" for n in range(count)]),
        "1.min": numbers,
        "1.max": numbers,
        "2.min": numbers.cast(pa.float64()),
        "2.max": numbers.cast(pa.float64()),
    }
    for name, values in columns.items():
        base = base.set_column(base.schema.get_field_index(name), base.schema.field(name), values)
    state = dataclasses.replace(table.state, segments=SegmentSet.of(base))
    log, loaded = table.log, dataclasses.replace(table.loaded, state=state)
    return Table(log, loaded, table.name)


def peak(scan: Scan, kept: int) -> int:
    """The most bytes of Python objects that planning allocates; Arrow's memory is not counted."""
    tracemalloc.start()
    try:
        assert len(scan.tasks()) == kept
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "filters",
    [[("a", "in", [5, 7, 900])], [("f", ">=", 5.0), ("f", "<", 8.0)], None],
    ids=["integers", "floats", "limit"],
)
def test_only_segments_that_are_read_become_objects(catalog: Catalog, filters: object) -> None:
    table = catalog.load_table("t")
    limit = 3 if filters is None else None
    costs = []
    for count in (1_000, 50_000):
        many = wide(table, count)
        many.scan(filters=filters, limit=limit).tasks()  # warm
        costs.append(peak(many.scan(filters=filters, limit=limit), 3))
    assert costs[1] < 2 * costs[0]


def in_pairs(table: Table, count: int) -> TableState:
    """A keyed table of this many pairs of segments of one key each, of which one is deleted there."""
    base = table.state.segments.table(table.state.schemas, table.state.schema_version)[0].take(
        pa.array([0] * 2 * count)
    )
    keys = pa.array(list(range(count)) * 2, INTS)
    texts = ['{"ops":{"1":1}}' if at >= count else None for at in range(2 * count)]
    columns = {"1.min": keys, "1.max": keys, "extra": pa.array(texts)}
    for name, values in columns.items():
        base = base.set_column(base.schema.get_field_index(name), base.schema.field(name), values)
    return dataclasses.replace(table.state, segments=SegmentSet.of(base))


def test_grouping_overlapping_segments_calls_nothing_for_each_of_them(catalog: Catalog) -> None:
    table = catalog.create_table("k", "a INT, f DOUBLE", primary_key=["a"])
    table.append(ints(1))
    counted = []
    for count in (3, 300, 3000):
        state, selected = in_pairs(table, count), list[Selected]()
        counted.append(calls(lambda: selected.append(select(state, None, None, prune=True))))  # noqa: B023
        assert selected[0].groups == tuple((at, count + at) for at in range(count))
    assert counted[2] < counted[1] + 100


def test_loading_an_unchanged_table_reads_two_entries(catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.load_table("t")
    for number in range(100):
        table.append(ints(number))
    plan = Plan()
    warm = Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan))
    assert warm.load_table("t").count() == 101
    plan.calls.clear()
    assert warm.load_table("t").count() == 101
    assert plan.calls == ["read _versioned/log/N.json", "read t/_versioned/log/N.json"]
    table.append(ints(7))
    plan.calls.clear()
    assert warm.load_table("t").count() == 102
    assert len(plan.calls) == 3


def test_a_catalog_reads_no_commit_of_the_table_that_it_loaded(tmp_path: Path) -> None:
    """By SQL, each ALTER of a wide table would parse the thousand columns of the one before."""
    plan = Plan()
    catalog = Catalog.over(FaultyStore(LocalStore(str(tmp_path)), plan))
    catalog.create_table("t", "a INT")
    catalog.load_table("t").alter().add_column("b", "INT").commit()
    plan.calls.clear()
    assert catalog.load_table("t").schema.names == ["a", "b"]
    assert plan.calls == ["read _versioned/log/N.json", "read t/_versioned/log/N.json"]


def test_a_cached_table_is_not_mistaken_for_a_namesake(catalog: Catalog, tmp_path: Path) -> None:
    """A catalog notices that others dropped, created, replaced or renamed a table that it knows."""
    other = Catalog(tmp_path)
    assert catalog.load_table("t").count() == 1
    other.drop_table("t")
    other.create_table("t", "b INT")
    assert catalog.load_table("t").schema.names == ["b"]
    other.replace_table("t", "c INT")
    assert catalog.load_table("t").schema.names == ["c"]
    other.rename_table("t", "u")
    other.create_table("t", "d INT")
    assert catalog.load_table("t").schema.names == ["d"]
    assert catalog.load_table("u").schema.names == ["c"]


def test_tables_loaded_from_one_catalog_refresh_independently(catalog: Catalog) -> None:
    first, second = catalog.load_table("t"), catalog.load_table("t")
    first.append(ints(2))
    assert (first.count(), second.count(), catalog.load_table("t").count()) == (2, 1, 2)
    assert second.version == 1


def test_a_catalog_caches_a_bounded_number_of_tables(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for number in range(40):
        catalog.create_table(f"t{number}", "a INT")
        catalog.load_table(f"t{number}")
    assert list(catalog._cached) == [f"t{number}" for number in range(8, 40)]


def test_an_append_builds_no_table_of_all_segments(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would cost more with each segment that the table has."""

    def core(_: SegmentSet) -> pa.Table:
        raise AssertionError("an append read the columns of all segments")

    table = catalog.load_table("t")
    monkeypatch.setattr(SegmentSet, "core", property(core))
    assert [table.append(ints(n)) for n in (2, 3)] == [2, 3]
